/*
 * judge - the verdict on the rounds of a measurement, compared with a base.
 *
 * A figure depends on the machine as much as on the measured program. The figures of two
 * machines, or of one machine on two days, can differ by a factor of three. So each round
 * measures our act and the base within seconds of each other. The judge takes the ratio of our
 * figure to the base, or our excess over the base. The machine was busy if the base's own
 * rounds differ too much, or if other programs used too much of the machine. If the machine was
 * busy, the line is noisy, and is measured again (at most JUDGE_REPEATS times).
 */
#ifndef TOOLS_BENCH_JUDGE_H
#define TOOLS_BENCH_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

enum { JUDGE_ROUNDS = 16, JUDGE_REPEATS = 3 };

#define JUDGE_SPREAD 1.5 /* a line is noisy if the base's spread is larger than this */
#define JUDGE_OTHERS 0.2 /* a line is noisy if other programs use more than this share */

/* The rounds of a line so far. The caller zeroes the struct before the first round. */
struct judge {
	size_t n;
	double value[JUDGE_ROUNDS], base[JUDGE_ROUNDS];
};
void judge_round(struct judge *j, double value, double base);

enum want {
	AT_LEAST, /* the ratio is at least the limit */
	AT_MOST, /* the ratio is at most the limit */
	AT_MOST_OVER, /* the excess over the base, in the line's unit, is at most the limit */
	AT_MOST_ALONE, /* there is no base, and the value is at most the limit */
};
enum verdict { VERDICT_NONE, VERDICT_OK, VERDICT_SHORT, VERDICT_NOISY };

struct finding {
	double value, base; /* medians; a `base` of 0 means that there is no base */
	double ratio, over; /* medians of the rounds' ratios and excesses */
	double spread; /* the base's largest round divided by the base's smallest */
	double others; /* the share of the machine that other programs used */
	enum verdict verdict; /* VERDICT_NONE: not measured yet */
};

/* Judges one or more rounds. No round may have a base of 0. */
struct finding judge_find(const struct judge *j, enum want want, double limit,
			  double others);
/* Judges a value that other programs cannot change, such as memory. The value must be at most
 * `limit`. */
struct finding judge_alone(double value, double limit);

/* Whether a verdict is final. If so, the line is not measured again. */
bool judge_stays(enum verdict v);
/* Whether a line that has had `runs` runs is measured once more. `v`: the verdict of the last
 * run. */
bool judge_again(enum verdict v, int runs);

/* The median, and the value at a share of the sorted values (0.99: only a hundredth of the
 * values is larger). Both functions sort the values. */
double judge_median(double *v, size_t n);
double judge_share(double *v, size_t n, double share);

#endif
