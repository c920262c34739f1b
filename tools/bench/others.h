/*
 * others - how much of the machine was somebody else's.
 *
 * A base with one thread keeps its pace beside a busy neighbour for whom a host and its
 * clients have to make room, so its spread alone does not tell that nothing can be said.
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
