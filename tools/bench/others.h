/*
 * others - the share of the machine that other programs used.
 *
 * A busy neighbour slows down a host and its clients, but not a base with one thread. Therefore
 * the spread of the base's rounds alone does not always show that the machine was too busy for
 * a verdict.
 */
#ifndef TOOLS_BENCH_OTHERS_H
#define TOOLS_BENCH_OTHERS_H

/* Seconds of processor time, counted since some earlier time, over all processors. */
struct others {
	double busy, all; /* time of the machine, including time that a hypervisor took */
	double ours; /* time of this process, and of its children that have ended */
};

/* Makes this process the parent of orphaned descendants, so that this process can wait for the
 * orphans. Call others_init() once. */
void others_init(void);
void others_now(struct others *o);
/* The share of the machine's time since `from` that other programs used, as a number from 0 to
 * 1. All processes that this process started must have ended. */
double others_since(const struct others *from);

#endif
