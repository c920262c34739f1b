/*
 * floor - how long a call takes, and how long the machine itself does.
 *
 * Others work on the same machine.  So what it takes for a fixed piece of work without
 * cadre is measured all the while, and calls are put beside that.
 */
#ifndef TESTS_SOAK_FLOOR_H
#define TESTS_SOAK_FLOOR_H

#include <stdint.h>
#include <sys/types.h>

enum { TIMES_SLOTS = 1600 }; /* of a histogram: steps of 2 %, from 10 us on */

/* May lie in memory that several processes share. */
struct times {
	_Atomic uint32_t n[TIMES_SLOTS];
};

double mono_ms(void);
void times_add(struct times *t, double ms);
long times_count(const struct times *t);
/* In ms; `q` is 0.5 for the median. */
double times_quantile(const struct times *t, double q);

/* The least that a call that reads, or one that writes, takes: a question to another
 * process, which works for a moment, and for a write its sync of a file. */
enum floor_kind { FLOOR_READ, FLOOR_WRITE, FLOOR_KINDS };

struct soak_floor {
	pid_t other;
	int to; /* the other process */
	int file;
};

/* -1 when there is no floor to be had. */
int floor_open(struct soak_floor *f, const char *dir);
void floor_close(struct soak_floor *f);
/* Does a piece of work of each kind. */
void floor_step(struct soak_floor *f, struct times *reads, struct times *writes);

#endif
