/*
 * clock - the machine's clocks.
 *
 * The code of a noun (such as core/task/) reads no clock, but takes the time from struct call.
 */
#ifndef CORE_BASE_CLOCK_H
#define CORE_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Milliseconds since 1970. The result leaps when somebody sets the machine's clock. */
int64_t clock_wall_ms(void);
int64_t clock_wall_ns(void);

/* A clock for the duration of work. Nobody can set this clock, and the clock stops while the
 * machine sleeps. */
int64_t clock_steady_ms(void);

/* A clock for the duration of work, as clock_steady_ms(), but in nanoseconds. The clock runs at
 * the pace of the hardware, and nothing corrects this pace. */
int64_t clock_raw_ns(void);

/* A clock for elapsed time. Nobody can set this clock, and the clock runs on while the machine
 * sleeps. */
int64_t clock_boot_ms(void);

/* Writes a time of the wall clock for a file's name, in UTC: 20261121-080000. Returns the
 * text's length. */
enum { CLOCK_STAMP = 16 };
size_t clock_stamp(int64_t wall_ms, char out[CLOCK_STAMP]);

#endif
