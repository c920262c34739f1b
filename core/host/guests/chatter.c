#include "core/host/guests/chatter.h"

/* A clock that went back takes nothing off, and begins anew. */
static void chatter_settle(struct chatter *c, int64_t now)
{
	int64_t ms = now > c->at ? now - c->at : 0;

	c->at = now;
	c->bytes -= ms * (CHATTER_SECOND / 1000);
	if (c->bytes < 0)
		c->bytes = 0;
}

void chatter_note(struct chatter *c, size_t size, int64_t now)
{
	chatter_settle(c, now);
	c->bytes += CHATTER_FRAME + (int64_t)size;
}

bool chatter_waits(struct chatter *c, int64_t now)
{
	chatter_settle(c, now);
	return c->bytes > CHATTER_SECOND;
}
