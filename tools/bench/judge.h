/*
 * judge - the verdict that rounds of a measurement give, beside a base.
 *
 * A figure of a machine says as much of the machine as of what was measured: two
 * machines, or one on two days, differ threefold.  So each round measures ours and the
 * base, one behind the other within seconds, and what is judged is their ratio.  Where
 * the base's own rounds differ too much the machine was busy, and nothing is said.
 */
#ifndef TOOLS_BENCH_JUDGE_H
#define TOOLS_BENCH_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

enum { JUDGE_ROUNDS = 16 };

#define JUDGE_SPREAD 1.5 /* the base's slowest and quickest round are noisy beyond it */

/* Rounds in turn; zeroed before the first. */
struct judge {
	size_t n;
	double value[JUDGE_ROUNDS], base[JUDGE_ROUNDS];
};
void judge_round(struct judge *j, double value, double base);

enum want { AT_LEAST, AT_MOST };
enum verdict { VERDICT_OK, VERDICT_SHORT, VERDICT_NOISY };

struct finding {
	double value, base; /* medians */
	double ratio; /* the median of the rounds' own ratios */
	double spread; /* of the base: its largest round by its smallest */
	enum verdict verdict;
};

/* Judges the rounds, of which there is at least one, none with a base of 0. */
struct finding judge_find(const struct judge *j, enum want want, double limit);

/* The value in the middle, or at this share (0.99) of all; sorts them. */
double judge_median(double *v, size_t n);
double judge_share(double *v, size_t n, double share);

#endif
