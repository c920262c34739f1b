/* The lines of the table as they are found: chosen, measured, measured again, printed. */
#include "tools/bench/bench.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct score *score_of(const struct bench_ground *g, const char *name)
{
	for (size_t i = 0; i < g->n_scores; i++)
		if (!strcmp(g->scores[i].line->name, name))
			return (struct score *)&g->scores[i];
	abort(); /* bench_table.c has each line that a bench measures */
}

/* --- which --------------------------------------------------------------------- */

static void score_fill(struct bench_ground *g)
{
	for (const struct bench *b = bench_table; b->name; b++)
		for (const struct line *l = b->lines; l->name; l++) {
			assert(g->n_scores < SCORES_MOST);
			g->scores[g->n_scores++] = (struct score){ .line = l };
		}
}

/* Chooses what has this name; how many lines. */
static int score_name(struct bench_ground *g, const char *name)
{
	int n = 0;

	for (const struct bench *b = bench_table; b->name; b++)
		for (const struct line *l = b->lines; l->name; l++)
			if (!strcmp(name, b->name) || !strcmp(name, l->name)) {
				score_of(g, l->name)->chosen = true;
				n++;
			}
	return n;
}

int score_choose(struct bench_ground *g, int n, char *const *names)
{
	score_fill(g);
	for (size_t i = 0; i < g->n_scores; i++)
		g->scores[i].chosen = n == 0;
	for (int i = 0; i < n; i++)
		if (!score_name(g, names[i]))
			return bench_fail("there is no line or bench %s: see --help",
					  names[i]);
	return 0;
}

bool score_due(const struct bench_ground *g, const char *name)
{
	const struct score *s = score_of(g, name);

	return s->chosen && !judge_stays(s->found.verdict);
}

/* --- what was found ------------------------------------------------------------- */

void score_rounds(struct bench_ground *g, const char *name, const struct judge *j)
{
	struct score *s = score_of(g, name);
	const struct line *l = s->line;

	if (!j->n || !score_due(g, name))
		return;
	for (size_t i = 0; i < j->n; i++)
		bench_tell("%s round %zu: %.4g %s, base %.4g, ratio %.3f, %+.4g %s", name,
			   i + 1, j->value[i], l->unit, j->base[i],
			   j->value[i] / j->base[i], j->value[i] - j->base[i], l->unit);
	s->found = judge_find(j, l->want, l->limit, others_since(&g->others));
}

void score_alone(struct bench_ground *g, const char *name, double value)
{
	struct score *s = score_of(g, name);

	if (score_due(g, name))
		s->found = judge_alone(value, s->line->limit);
}

static void score_print(const struct score *s)
{
	static const char *const verdicts[] = { "none", "ok", "short", "noisy" };
	const struct line *l = s->line;
	const struct finding *f = &s->found;
	const bool by_ratio = l->want == AT_LEAST || l->want == AT_MOST;
	char base[80] = "base=none ratio=none spread=none";

	if (f->base > 0)
		snprintf(base, sizeof(base), "base=%.4g ratio=%.3f spread=%.2f", f->base,
			 f->ratio, f->spread);
	printf("BENCH name=%s value=%.*f unit=%s %s others=%.2f target=%s%s%g%s "
	       "verdict=%s\n",
	       l->name, f->value >= 1000 ? 0 : 3, f->value, l->unit, base, f->others,
	       l->want == AT_LEAST ? ">=" : "<=", l->want == AT_MOST_OVER ? "base+" : "",
	       l->limit, by_ratio ? "x" : l->unit, verdicts[f->verdict]);
	fflush(stdout);
}

/* --- running --------------------------------------------------------------------- */

static int score_measure(struct bench_ground *g, const struct bench *b)
{
	int64_t begun = bench_now();
	cpu_set_t all, one;
	int rc;

	others_now(&g->others);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_getaffinity(0, sizeof(all), &all);
	if (b->cores == ONE_CORE && sched_setaffinity(0, sizeof(one), &one))
		return bench_fail("%s: no core of its own: %m", b->name);
	rc = b->run(g);
	sched_setaffinity(0, sizeof(all), &all);
	bench_tell("%s took %.1f s", b->name, (double)(bench_now() - begun) / 1e9);
	return rc ? bench_fail("%s", b->name) : 0;
}

/* Whether the bench is run once more, after so many runs. */
static bool score_runs(const struct bench_ground *g, const struct bench *b, int runs)
{
	bool more = false;

	for (const struct line *l = b->lines; l->name; l++) {
		const struct score *s = score_of(g, l->name);
		const bool again = s->chosen && judge_again(s->found.verdict, runs);

		if (again && runs)
			bench_tell("%s is noisy: once more (%d of %d)", l->name, runs,
				   JUDGE_REPEATS);
		more |= again;
	}
	return more;
}

int score_run(struct bench_ground *g, const struct bench *b)
{
	int rc = 0;

	for (int runs = 0; rc == 0 && score_runs(g, b, runs); runs++)
		rc = score_measure(g, b);
	for (const struct line *l = b->lines; l->name; l++)
		if (score_of(g, l->name)->found.verdict != VERDICT_NONE)
			score_print(score_of(g, l->name));
	return rc;
}

/* Names the chosen lines that were found so; how many. */
static int score_tell(const struct bench_ground *g, enum verdict v, const char *what)
{
	int n = 0;

	for (size_t i = 0; i < g->n_scores; i++)
		if (g->scores[i].chosen && g->scores[i].found.verdict == v)
			fprintf(stderr, "%s %s", n++ ? "," : what,
				g->scores[i].line->name);
	if (n)
		fputc('\n', stderr);
	return n;
}

int score_end(const struct bench_ground *g)
{
	const int good = score_tell(g, VERDICT_OK, "bench: ok:");
	const int noisy = score_tell(g, VERDICT_NOISY, "bench: never quiet:");
	const int bad = score_tell(g, VERDICT_SHORT, "bench: short:");

	score_tell(g, VERDICT_NONE, "bench: not measured:");
	return bad || !(good + noisy) ? -1 : 0;
}
