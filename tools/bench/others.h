/*
 * others - the share of the machine that other programs used.
 *
 * A busy neighbour slows down a host and its clients, but not a base with one thread.  So the
 * base's spread alone does not show that no verdict is possible.
 */
#ifndef TOOLS_BENCH_OTHERS_H
#define TOOLS_BENCH_OTHERS_H

/* Seconds of all processors since some time before. */
struct others {
	double busy, all; /* of the machine, what a hypervisor took included */
	double ours; /* of this process, and of its children that have ended */
};

/* Makes the children of children that end ours to wait for: call it once. */
void others_init(void);
void others_now(struct others *o);
/* The share of the machine's time since `from` that others had, 0 to 1; all that we
 * started must have ended. */
double others_since(const struct others *from);

#endif
