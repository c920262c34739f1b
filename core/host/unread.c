#include "core/host/unread.h"

#include "core/host/host_inside.h"

static void close_one(struct conn *c, const char *why)
{
	struct host *host = c->host;

	log_seldom(host->log, &host->clients->unread.closed, LOG_LEVEL_WARN,
		   "a client that does not read is closed",
		   LOG_TEXT("team", c->identity.team),
		   LOG_TEXT("agent", c->identity.agent),
		   LOG_NUMBER("unread_bytes", flow_left(&c->flow)),
		   LOG_TEXT("error", why));
	conn_close(c);
}

static void close_largest(struct host *host)
{
	struct conn *most = NULL;

	for (struct conn *c = host->clients->first; c; c = c->next)
		if (!most || c->unread.memory > most->unread.memory)
			most = c;
	if (most)
		close_one(most, "the most of all where there is no room for more");
}

void unread_forget(struct conn *c)
{
	c->host->clients->unread.memory -= c->unread.memory;
	c->unread.memory = 0;
}

void unread_note(struct conn *c)
{
	struct host *host = c->host;
	size_t left = flow_left(&c->flow), memory = flow_memory(&c->flow);

	host->clients->unread.memory += memory - c->unread.memory;
	c->unread.memory = memory;
	if (left <= UNREAD_SOFT)
		c->unread.seconds = 0;
	if (left > UNREAD_HARD)
		close_one(c, "more than one may have");
	else if (host->clients->unread.memory > UNREAD_ALL)
		close_largest(host);
}

void unread_tick(struct host *host)
{
	struct conn *next;

	for (struct conn *c = host->clients->first; c; c = next) {
		next = c->next;
		if (flow_left(&c->flow) > UNREAD_SOFT &&
		    ++c->unread.seconds >= UNREAD_SOFT_S)
			close_one(c, "for a minute");
	}
}
