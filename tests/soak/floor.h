/*
 * floor - measures how long calls take, and how long fixed work of the machine takes.
 *
 * Other programs run on the same machine. So the time for a fixed piece of work without cadre
 * is measured during the whole run, and call times are compared with this time.
 */
#ifndef TESTS_SOAK_FLOOR_H
#define TESTS_SOAK_FLOOR_H

#include <stdint.h>
#include <sys/types.h>

enum { TIMES_SLOTS = 1600 }; /* slots of a histogram in steps of 2 %, from 10 us */

/* A histogram, which several processes may share in memory. */
struct times {
	_Atomic uint32_t n[TIMES_SLOTS];
};

double mono_ms(void);
void times_add(struct times *t, double ms);
long times_count(const struct times *t);
/* Returns a quantile in ms; `q` is 0.5 for the median. */
double times_quantile(const struct times *t, double q);

/* The least work of a reading or writing call: a question to another process, which computes
 * for a moment, and for a write also syncs a file. */
enum floor_kind { FLOOR_READ, FLOOR_WRITE, FLOOR_KINDS };

struct soak_floor {
	pid_t other;
	int to; /* socket to the other process */
	int file;
};

/* Starts the other process. -1 if this fails. */
int floor_open(struct soak_floor *f, const char *dir);
void floor_close(struct soak_floor *f);
/* Does a piece of work of each kind and adds its time. */
void floor_step(struct soak_floor *f, struct times *reads, struct times *writes);

#endif
