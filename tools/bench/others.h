/*
 * others - the share of the machine that other programs used.
 *
 * A busy neighbour slows down a host and its clients, but not a base with one thread. So the
 * spread of the base's rounds does not show every case in which no verdict is possible.
 */
#ifndef TOOLS_BENCH_OTHERS_H
#define TOOLS_BENCH_OTHERS_H

/* Seconds of all processors, counted since some earlier time. */
struct others {
	double busy, all; /* of the machine, including time that a hypervisor took */
	double ours; /* of this process, and of its children that have ended */
};

/* Makes this process the parent of orphaned descendants, so that it can wait for them. Call
 * this once. */
void others_init(void);
void others_now(struct others *o);
/* The share of the machine's time since `from` that other programs used, 0 to 1. All processes
 * that we started must have ended. */
double others_since(const struct others *from);

#endif
