/*
 * floor - measures how long calls take, and how long fixed work without cadre takes.
 *
 * The fixed work is measured during the whole run, since other programs load the same machine.
 * Call times are compared with the times of the fixed work.
 */
#ifndef TESTS_SOAK_FLOOR_H
#define TESTS_SOAK_FLOOR_H

#include <stdint.h>
#include <sys/types.h>

/* Slots of a histogram. The first slot is for 10 us, and each next slot for 2 % more. */
enum { TIMES_SLOTS = 1600 };

/* A histogram of times. Several processes may share the histogram's memory. */
struct times {
	_Atomic uint32_t n[TIMES_SLOTS];
};

double mono_ms(void);
void times_add(struct times *t, double ms);
long times_count(const struct times *t);
/* Returns a quantile in ms; `q` is 0.5 for the median. */
double times_quantile(const struct times *t, double q);

/* The kinds of fixed work. Each kind is about the minimum of work that a reading or writing
 * call needs. Another process gets a byte, computes for a moment and sends the byte back. For a
 * write, the other process also syncs a file. */
enum floor_kind { FLOOR_READ, FLOOR_WRITE, FLOOR_KINDS };

struct soak_floor {
	pid_t other;
	int to; /* socket to the other process */
	int file;
};

/* Starts the other process. Returns -1 if this fails. */
int floor_open(struct soak_floor *f, const char *dir);
void floor_close(struct soak_floor *f);
/* Does the fixed work of both kinds once, and adds the two times to `reads` and `writes`. */
void floor_step(struct soak_floor *f, struct times *reads, struct times *writes);

#endif
