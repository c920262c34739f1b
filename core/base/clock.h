/*
 * clock - the machine's clocks.
 *
 * The nouns of core see none of them: time comes to them in struct call.
 */
#ifndef CORE_BASE_CLOCK_H
#define CORE_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* The time since 1970.  It leaps when somebody sets the clock. */
int64_t clock_wall_ms(void);
int64_t clock_wall_ns(void);

/* A clock for the duration of work: nobody sets this clock, and sleep of the machine does
 * not count. */
int64_t clock_steady_ms(void);

/* The same in nanoseconds, at the pace of the hardware: nobody corrects it. */
int64_t clock_raw_ns(void);

/* A clock for elapsed time: nobody sets this clock, and sleep of the machine counts. */
int64_t clock_boot_ms(void);

/* Writes a time of the wall clock for a file's name, in UTC: 20261121-080000.  Returns its
 * length. */
enum { CLOCK_STAMP = 16 };
size_t clock_stamp(int64_t wall_ms, char out[CLOCK_STAMP]);

#endif
