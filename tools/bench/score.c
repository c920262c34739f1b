/* Chooses, judges and prints the lines of the table. */
#include "tools/bench/bench.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct score *score_of(struct bench_ground *g, const struct line *l)
{
	for (size_t i = 0; i < g->n_scores; i++)
		if (g->scores[i].line == l)
			return &g->scores[i];
	abort(); /* score_choose() has made a score for each line */
}

int score_choose(struct bench_ground *g, int n, char *const *names)
{
	bool known[256] = { 0 };

	for (const struct bench *b = bench_table; b->name; b++)
		for (const struct line *l = b->lines; l->name; l++) {
			struct score *s = &g->scores[g->n_scores++];

			assert(g->n_scores <= SCORES_MOST);
			*s = (struct score){ .line = l, .chosen = n == 0 };
			for (int i = 0; i < n && i < (int)sizeof(known); i++)
				if (!strcmp(names[i], b->name) ||
				    !strcmp(names[i], l->name))
					s->chosen = known[i] = true;
		}
	for (int i = 0; i < n; i++)
		if (i >= (int)sizeof(known) || !known[i])
			return bench_fail("there is no line or bench %s: see --help",
					  names[i]);
	return 0;
}

bool score_due(struct bench_ground *g, const struct line *l)
{
	const struct score *s = score_of(g, l);

	return s->chosen && (g->peers || !l->peer) && !judge_stays(s->found.verdict);
}

void score_rounds(struct bench_ground *g, const struct line *l, const struct judge *j)
{
	struct score *s = score_of(g, l);

	if (!j->n || !score_due(g, l))
		return;
	for (size_t i = 0; i < j->n && l->beside; i++)
		bench_tell("%s round %zu: %.4g %s, base %.4g, ratio %.3f, %+.4g %s",
			   l->name, i + 1, j->value[i], l->unit, j->base[i],
			   j->value[i] / j->base[i], j->value[i] - j->base[i], l->unit);
	s->found = l->beside ? judge_find(j, l->want, l->limit, others_since(&g->others))
			     : judge_alone(j->value[0], l->limit);
}

void score_print(const struct score *s)
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

/* Prints the names of the chosen lines with the verdict `v`. Returns the number of names. */
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
	return bad || !(good + noisy);
}
