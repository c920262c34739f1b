/*
 * clock - milliseconds of the machine's three clocks.
 *
 * The nouns of core see none of them: time comes to them in struct call.
 */
#ifndef CORE_BASE_CLOCK_H
#define CORE_BASE_CLOCK_H

#include <stdint.h>

/* Since 1970.  It leaps when somebody sets it. */
int64_t clock_wall_ms(void);

/* Never set, and still while the machine sleeps: how long something takes. */
int64_t clock_steady_ms(void);

/* Never set, and on while the machine sleeps: how much time has passed. */
int64_t clock_boot_ms(void);

#endif
