#include "tools/bench/judge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double judge_share(double *v, size_t n, double share)
{
	if (n == 0)
		return 0;
	qsort(v, n, sizeof(*v), by_size);
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

struct finding judge_find(const struct judge *j, enum want want, double limit)
{
	double value[JUDGE_ROUNDS], base[JUDGE_ROUNDS], ratio[JUDGE_ROUNDS];
	struct finding f;
	bool ok;

	assert(j->n > 0);
	memcpy(value, j->value, sizeof(value));
	memcpy(base, j->base, sizeof(base));
	for (size_t i = 0; i < j->n; i++)
		ratio[i] = j->value[i] / j->base[i];
	f.value = judge_median(value, j->n);
	f.base = judge_median(base, j->n); /* sorted from here on */
	f.ratio = judge_median(ratio, j->n);
	f.spread = base[j->n - 1] / base[0];
	ok = want == AT_LEAST ? f.ratio >= limit : f.ratio <= limit;
	f.verdict = f.spread > JUDGE_SPREAD ? VERDICT_NOISY
		    : ok                    ? VERDICT_OK
					    : VERDICT_SHORT;
	return f;
}
