#include "core/base/clock.h"

#include <time.h>

static int64_t ms_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_wall_ms(void)
{
	return ms_of(CLOCK_REALTIME);
}

int64_t clock_steady_ms(void)
{
	return ms_of(CLOCK_MONOTONIC);
}

int64_t clock_boot_ms(void)
{
	return ms_of(CLOCK_BOOTTIME);
}
