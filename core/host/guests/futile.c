#include "core/host/guests/futile.h"

static int64_t twice(int64_t ms)
{
	return ms * 2 < FUTILE_MOST_MS ? ms * 2 : FUTILE_MOST_MS;
}

void futile_note(struct futile *f, int64_t now)
{
	bool anew = f->ms == 0 || now - f->until > FUTILE_MOST_MS;

	f->ms = anew ? FUTILE_FIRST_MS : twice(f->ms);
	f->until = now + f->ms;
}

void futile_end(struct futile *f)
{
	*f = (struct futile){ 0 };
}

bool futile_waits(const struct futile *f, int64_t now)
{
	return now < f->until && f->until - now <= FUTILE_MOST_MS;
}
