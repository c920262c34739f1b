#include "tools/bench/judge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int judge_by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double judge_share(double *v, size_t n, double share)
{
	if (n == 0)
		return 0;
	qsort(v, n, sizeof(*v), judge_by_size);
	return v[(size_t)((double)(n - 1) * share)];
}

double judge_median(double *v, size_t n)
{
	return judge_share(v, n, 0.5);
}

void judge_round(struct judge *j, double value, double base)
{
	assert(j->n < JUDGE_ROUNDS && base > 0);
	j->value[j->n] = value;
	j->base[j->n++] = base;
}

static bool is_met(const struct finding *f, enum want want, double limit)
{
	if (want == AT_MOST_OVER)
		return f->over <= limit;
	return want == AT_LEAST ? f->ratio >= limit : f->ratio <= limit;
}

struct finding judge_find(const struct judge *j, enum want want, double limit,
			  double others)
{
	double value[JUDGE_ROUNDS], base[JUDGE_ROUNDS], ratio[JUDGE_ROUNDS],
		over[JUDGE_ROUNDS];
	struct finding f = { .others = others };

	assert(j->n > 0);
	memcpy(value, j->value, sizeof(value));
	memcpy(base, j->base, sizeof(base));
	for (size_t i = 0; i < j->n; i++) {
		ratio[i] = j->value[i] / j->base[i];
		over[i] = j->value[i] - j->base[i];
	}
	f.value = judge_median(value, j->n);
	f.base = judge_median(base, j->n); /* sorts `base` */
	f.ratio = judge_median(ratio, j->n);
	f.over = judge_median(over, j->n);
	f.spread = base[j->n - 1] / base[0];
	f.verdict = f.spread > JUDGE_SPREAD || others > JUDGE_OTHERS ? VERDICT_NOISY
		    : is_met(&f, want, limit)                        ? VERDICT_OK
								     : VERDICT_SHORT;
	return f;
}

struct finding judge_alone(double value, double limit)
{
	return (struct finding){ .value = value,
				 .verdict = value <= limit ? VERDICT_OK : VERDICT_SHORT };
}

bool judge_stays(enum verdict v)
{
	return v == VERDICT_OK || v == VERDICT_SHORT;
}

bool judge_again(enum verdict v, int runs)
{
	return runs == 0 || (v == VERDICT_NOISY && runs <= JUDGE_REPEATS);
}
