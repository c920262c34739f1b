#include "core/access/rate.h"

enum { MINUTE_US = 60000000 };

/* Microseconds until one more call is there. */
static int64_t each(const struct rate_size *size)
{
	return MINUTE_US / size->per_minute;
}

/* Microseconds until a bucket is full: at most the time that fills an empty bucket.
 * `full_at` may be later after a change of the limits, or when the clock was put back. */
static int64_t lack_of(const struct rate_size *size, int64_t now, int64_t full_at)
{
	int64_t whole = size->burst * each(size), lack = full_at - now;

	return lack < 0 ? 0 : lack > whole ? whole : lack;
}

int64_t rate_take(const struct rate_size *size, int64_t now, int64_t *full_at)
{
	int64_t lack = lack_of(size, now, *full_at) + each(size);
	int64_t over = lack - size->burst * each(size);

	*full_at = now + lack - (over > 0 ? each(size) : 0);
	return over > 0 ? over : 0;
}

int64_t rate_left(const struct rate_size *size, int64_t now, int64_t full_at)
{
	return size->burst - (lack_of(size, now, full_at) + each(size) - 1) / each(size);
}
