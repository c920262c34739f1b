/*
 * judge - the verdict that rounds of a measurement give, beside a base.
 *
 * A figure of a machine says as much of the machine as of the measured program: two
 * machines, or one machine on two days, differ threefold.  So each round measures ours and
 * the base, one behind the other within seconds, and the judge takes their ratio, or our
 * excess over the base.  The machine was busy if the base's own rounds differ too much, or
 * if others used too much of the machine: no verdict is given, and the line is measured again.
 */
#ifndef TOOLS_BENCH_JUDGE_H
#define TOOLS_BENCH_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

enum { JUDGE_ROUNDS = 16, JUDGE_REPEATS = 3 };

#define JUDGE_SPREAD 1.5 /* a line is noisy where the base's rounds differ by more */
#define JUDGE_OTHERS 0.2 /* so it is where others had a larger share of the machine */

/* Rounds in turn; zeroed before the first. */
struct judge {
	size_t n;
	double value[JUDGE_ROUNDS], base[JUDGE_ROUNDS];
};
void judge_round(struct judge *j, double value, double base);

enum want {
	AT_LEAST, /* the ratio */
	AT_MOST, /* the ratio */
	AT_MOST_OVER, /* the excess over the base, in the line's unit */
	AT_MOST_ALONE, /* the value: it stands beside nothing */
};
enum verdict { VERDICT_NONE, VERDICT_OK, VERDICT_SHORT, VERDICT_NOISY };

struct finding {
	double value, base; /* medians; base 0: none */
	double ratio, over; /* the medians of the rounds' own */
	double spread; /* the base's largest round divided by the base's smallest */
	double others; /* the share of the machine that others had */
	enum verdict verdict; /* VERDICT_NONE: not measured yet */
};

/* Judges the rounds, of which there is at least one, none with a base of 0. */
struct finding judge_find(const struct judge *j, enum want want, double limit,
			  double others);
/* Judges a value that others cannot change, such as memory: at most `limit`. */
struct finding judge_alone(double value, double limit);

/* Whether a verdict is to stay, so that nobody picks the better of two. */
bool judge_stays(enum verdict v);
/* Whether a line is measured once more, after so many runs of which the last found this. */
bool judge_again(enum verdict v, int runs);

/* The value in the middle, or at this share (0.99) of all; sorts them. */
double judge_median(double *v, size_t n);
double judge_share(double *v, size_t n, double share);

#endif
