#include "core/base/clock.h"

#include <time.h>

enum { NS_PER_MS = 1000000 };

static int64_t ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000 * NS_PER_MS + t.tv_nsec;
}

int64_t clock_wall_ns(void)
{
	return ns_of(CLOCK_REALTIME);
}

int64_t clock_wall_ms(void)
{
	return clock_wall_ns() / NS_PER_MS;
}

int64_t clock_steady_ms(void)
{
	return ns_of(CLOCK_MONOTONIC) / NS_PER_MS;
}

int64_t clock_raw_ns(void)
{
	return ns_of(CLOCK_MONOTONIC_RAW);
}

int64_t clock_boot_ms(void)
{
	return ns_of(CLOCK_BOOTTIME) / NS_PER_MS;
}

size_t clock_stamp(int64_t wall_ms, char out[CLOCK_STAMP])
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;

	gmtime_r(&s, &tm);
	return strftime(out, CLOCK_STAMP, "%Y%m%d-%H%M%S", &tm);
}
