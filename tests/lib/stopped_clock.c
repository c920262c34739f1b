#include <stdlib.h>

#include "core/base/clock.h"

/* $CADRE_TEST_CLOCK, in milliseconds: screens are the same whenever they are drawn. */
int64_t clock_stopped_ns(void)
{
	const char *stopped = getenv("CADRE_TEST_CLOCK");

	return stopped ? strtoll(stopped, NULL, 10) * 1000000 : 0;
}
