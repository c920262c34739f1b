/* Writes docs/speed.md: the findings of a whole run. */
#include "tools/bench/bench.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void page_head(FILE *out)
{
	time_t now = time(NULL);
	char date[16];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y-%m-%d", &tm);
	fprintf(out,
		"# How fast it is\n\n"
		"`make bench` wrote this page on %s, on a machine of %ld cores.\n\n"
		"A figure depends on the machine. So each line compares cadre with a base, "
		"measured on the same machine. The base is another program, or cadre in "
		"another situation. `make bench` measures cadre and the base alternately, within "
		"seconds, and judges their ratio or difference.\n\n"
		"- **ratio**: cadre's figure divided by the base's figure (×), or cadre's "
		"figure minus the base's figure (µs, ms). Memory has no base: the figure is "
		"cadre's own.\n"
		"- **wanted**: the lowest (≥) or highest (≤) value allowed.\n"
		"- **verdict**: `ok`: the wanted value is reached. `short`: it is not "
		"reached. `noisy`: the machine was too busy for a verdict, even after %d "
		"repeats. Each time, the base's rounds differed by more than %g ×, or other "
		"processes used more than %g %% of the machine.\n\n"
		"`make bench NAME=…` measures one line on your machine, and leaves this page "
		"unchanged. `PEERS=1` adds the comparisons with Redis and PostgreSQL.\n\n"
		"A call costs the same number of instructions on every machine. "
		"`make bench-guard`, a part of `make check`, fails if this number changes by "
		"more than 10 %%.\n\n"
		"| what | compared with | ratio | wanted | verdict | `make bench NAME=` |\n"
		"| --- | --- | --- | --- | --- | --- |\n",
		date, sysconf(_SC_NPROCESSORS_ONLN), JUDGE_REPEATS, JUDGE_SPREAD,
		JUDGE_OTHERS * 100);
}

/* Writes the measured figure, and the required figure, in a form for people. */
static void page_figures(FILE *out, const struct line *l, const struct finding *f)
{
	const char *unit = strcmp(l->unit, "us") == 0 ? "µs" : l->unit;

	if (l->want == AT_MOST_ALONE)
		fprintf(out, "%.1f %s | ≤ %g %s", f->value, unit, l->limit, unit);
	else if (l->want == AT_MOST_OVER)
		fprintf(out, "%+.1f %s | ≤ +%g %s", f->over, unit, l->limit, unit);
	else
		fprintf(out, "%.*f × | %s %g ×", f->ratio < 10 ? 2 : 0, f->ratio,
			l->want == AT_LEAST ? "≥" : "≤", l->limit);
}

static void page_row(FILE *out, const struct score *s)
{
	static const char *const verdicts[] = { "", "ok", "**short**", "noisy" };
	const struct line *l = s->line;

	fprintf(out, "| %s | %s | ", l->what, l->beside ? l->beside : "");
	page_figures(out, l, &s->found);
	fprintf(out, " | %s | `%s` |\n", verdicts[s->found.verdict], l->name);
}

int page_write(const struct bench_ground *g, const char *path)
{
	const char *before = "\nNot measured in this run: ";
	FILE *out = fopen(path, "we");
	bool bad;

	if (!out)
		return bench_fail("%s: %m", path);
	page_head(out);
	for (size_t i = 0; i < g->n_scores; i++)
		if (g->scores[i].found.verdict != VERDICT_NONE)
			page_row(out, &g->scores[i]);
	for (size_t i = 0; i < g->n_scores; i++)
		if (g->scores[i].found.verdict == VERDICT_NONE) {
			fprintf(out, "%s`%s`", before, g->scores[i].line->name);
			before = ", ";
		}
	fputs(before[0] == ',' ? ".\n" : "", out);
	bad = ferror(out);
	return fclose(out) || bad ? bench_fail("%s: %m", path) : 0;
}
