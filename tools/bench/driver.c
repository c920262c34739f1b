/* The driver runs the two acts of each line, one after the other, in rounds. The driver runs a
 * bench again while a line is noisy, but at most JUDGE_REPEATS times. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tools/bench/stage.h"

void series_add(struct series *s, double ms)
{
	if (s->n == s->room) {
		s->room = s->room ? s->room * 2 : 1 << 10;
		s->ms = xreallocarray(s->ms, s->room, sizeof(*s->ms));
	}
	s->ms[s->n++] = ms;
}

void series_rate(struct series *s, double rate)
{
	s->rate += rate;
	s->rates++;
}

/* The figure of a series for a line, in the line's unit. */
static double driver_figure(const struct line *l, struct series *s)
{
	const double each = l->unit[0] == 'u' ? 1e3 : l->unit[0] == 's' ? 1e-3 : 1;

	if (l->share > 0)
		return judge_share(s->ms, s->n, l->share) * each;
	/* For the unit us, the figure of a rate is the time of one cycle. */
	return !strcmp(l->unit, "us") ? 1e6 * s->rates / s->rate : s->rate / s->rates;
}

/* Measures both acts `times` times. The act that runs first changes after each pair of runs. */
static int driver_round(struct scene *s, const struct line *l, struct series both[2])
{
	const struct act *acts[2] = { &l->ours, &l->base };
	int times = l->times ? l->times : 1, rc = 0;

	if (times > 1 && s->ground->fast)
		times = times / 4 + 1;
	for (int i = 0; i < 2 * times && rc == 0; i++) {
		int which = !((i & 1) ^ (i >> 1 & 1));

		if (acts[which]->run)
			rc = acts[which]->run(s, acts[which], &both[which]);
	}
	return rc ? bench_fail("%s", l->name) : 0;
}

/* Measures a line. The rounds of a line also count for the next lines, if the next lines have
 * no run of their own. */
static int driver_measure(struct scene *s, const struct line *first,
			  const struct line *end, struct judge *judges)
{
	int rounds = first->rounds ? first->rounds : 5, rc = 0;

	for (int i = 0; i < rounds && rc == 0; i++) {
		struct series both[2] = { 0 };

		rc = driver_round(s, first, both);
		for (const struct line *l = first; l < end && rc == 0; l++)
			judge_round(&judges[l - first], driver_figure(l, &both[0]),
				    l->beside ? driver_figure(l, &both[1]) : 1);
		free(both[0].ms);
		free(both[1].ms);
	}
	return rc;
}

/* Measures the due lines of a bench in an open scene. */
static int driver_play(struct scene *s, const struct bench *b, struct judge *judges)
{
	const struct line *end;
	int rc = 0;

	for (const struct line *l = b->lines; l->name && rc == 0; l = end) {
		bool due = score_due(s->ground, l);

		for (end = l + 1; end->name && !end->ours.run; end++)
			due |= score_due(s->ground, end);
		if (due)
			rc = driver_measure(s, l, end, &judges[l - b->lines]);
	}
	return rc;
}

/* Does one run of a bench. Opens a scene, measures the due lines, closes the scene, and judges
 * the lines after all started processes have ended. */
static int driver_run(struct bench_ground *g, const struct bench *b)
{
	struct judge judges[BENCH_LINES] = { 0 };
	struct scene *s = xcalloc(1, sizeof(*s));
	int64_t begun = bench_now();
	cpu_set_t all, one;
	int rc;

	s->ground = g;
	s->bench = b;
	others_now(&g->others);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_getaffinity(0, sizeof(all), &all);
	rc = b->cores == ONE_CORE && sched_setaffinity(0, sizeof(one), &one);
	if (rc == 0)
		rc = b->open ? b->open(s) : scene_open(s);
	if (rc == 0 && !s->skipped)
		rc = driver_play(s, b, judges);
	scene_close(s);
	sched_setaffinity(0, sizeof(all), &all);
	for (const struct line *l = b->lines; l->name && rc == 0; l++)
		score_rounds(g, l, &judges[l - b->lines]);
	bench_tell("%s took %.1f s", b->name, bench_ms(begun) / 1e3);
	return rc ? bench_fail("%s", b->name) : 0;
}

/* Whether the bench must run once more after `runs` runs. */
static bool driver_repeats(struct bench_ground *g, const struct bench *b, int runs)
{
	bool more = false;

	for (const struct line *l = b->lines; l->name; l++) {
		const bool again = score_due(g, l) &&
				   judge_again(score_of(g, l)->found.verdict, runs);

		if (again && runs)
			bench_tell("%s is noisy: once more (%d of %d)", l->name, runs,
				   JUDGE_REPEATS);
		more |= again;
	}
	return more;
}

int bench_run(struct bench_ground *g, const struct bench *b)
{
	int rc = 0;

	for (int runs = 0; rc == 0 && driver_repeats(g, b, runs); runs++)
		rc = driver_run(g, b);
	for (const struct line *l = b->lines; l->name; l++)
		if (score_of(g, l)->found.verdict != VERDICT_NONE)
			score_print(score_of(g, l));
	return rc;
}
