/*
 * clock - the machine's clocks.
 *
 * The code of a noun (such as core/task/) reads no clock, but takes the time from struct call.
 */
#ifndef CORE_BASE_CLOCK_H
#define CORE_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* The time since 1970. This time leaps when somebody sets the clock. */
int64_t clock_wall_ms(void);
int64_t clock_wall_ns(void);

/* A clock for the duration of work: nobody sets this clock, and the time in which the machine
 * sleeps does not count. */
int64_t clock_steady_ms(void);

/* As clock_steady_ms(), but in nanoseconds, and at the pace of the hardware: nothing corrects
 * this pace. */
int64_t clock_raw_ns(void);

/* A clock for elapsed time: nobody sets this clock, and the time in which the machine sleeps
 * counts. */
int64_t clock_boot_ms(void);

/* Writes a time of the wall clock for a file's name, in UTC: 20261121-080000. Returns the
 * text's length. */
enum { CLOCK_STAMP = 16 };
size_t clock_stamp(int64_t wall_ms, char out[CLOCK_STAMP]);

#endif
