/*
 * dice - random numbers that depend only on a seed (splitmix64).
 */
#ifndef TESTS_LIB_DICE_H
#define TESTS_LIB_DICE_H

#include <stdbool.h>
#include <stdint.h>

struct dice {
	uint64_t state;
};

static inline uint64_t dice_roll(struct dice *d)
{
	uint64_t z = d->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* A random number from 0 to n - 1. */
static inline int dice_below(struct dice *d, int n)
{
	return (int)(dice_roll(d) % (uint64_t)n);
}

static inline bool dice_percent(struct dice *d, int percent)
{
	return dice_below(d, 100) < percent;
}

#endif
