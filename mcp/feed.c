#include "mcp/feed.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "ops.gen.h"

/* No event has this number: there is nothing to look through, and `next` tells the last one's. */
#define BEYOND ((json_int_t)1 << 53)

enum {
	RETRY_MS = 1000, /* after a feed's call failed */
	FEED_WAIT_S = 300,
};

struct mcp_feed *feed_get(struct mcp *m, const char *team)
{
	struct mcp_feed *feed;

	for (feed = m->feeds; feed; feed = feed->next)
		if (strcmp(feed->team, team) == 0 && feed->state != FEED_BROKEN)
			return feed;
	feed = xcalloc(1, sizeof(*feed));
	feed->mcp = m;
	feed->due = clock_steady_ms();
	snprintf(feed->team, sizeof(feed->team), "%s", team);
	feed->next = m->feeds;
	m->feeds = feed;
	return feed;
}

static void feed_failed(struct mcp_feed *feed, const struct fault *f)
{
	bool gone = f->code == FAULT_NOT_FOUND || f->code == FAULT_DENIED ||
		    f->code == FAULT_INVALID;

	if (feed->state == FEED_LIVE && strcmp(f->where, "/after") == 0) {
		/* Events that were not read yet have been deleted: subscribers are
		 * told that anything may have changed. */
		subscriptions_tell(feed, NULL);
		feed->state = FEED_OPENING;
		return;
	}
	feed->due = clock_steady_ms() + RETRY_MS;
	if (!gone && feed->state == FEED_LIVE)
		return;
	feed->state = FEED_BROKEN;
	feed->fault = *f;
}

static void feed_done(void *arg, const char *result, const struct fault *f)
{
	struct mcp_feed *feed = arg;
	json_t *answer = result ? json_loads(result, 0, NULL) : NULL;
	json_t *next = json_object_get(answer, "next");

	feed->busy = false;
	feed->number = 0;
	feed->due = clock_steady_ms();
	if (!result) {
		feed_failed(feed, f);
		return;
	}
	if (json_is_integer(next))
		feed->after = json_integer_value(next);
	if (feed->state == FEED_LIVE)
		subscriptions_tell(feed, json_object_get(answer, "events"));
	feed->state = FEED_LIVE;
	json_decref(answer);
}

static void feed_call(struct mcp_feed *feed)
{
	struct mcp *m = feed->mcp;
	struct fault f = { 0 };
	struct client *c = mcp_client(m, &f);
	json_t *args;
	int64_t number;

	if (!c) {
		feed_failed(feed, &f);
		return;
	}
	if (feed->state == FEED_OPENING)
		args = json_pack("{s:i, s:I}", "limit", 1, "after", BEYOND);
	else
		args = json_pack("{s:I, s:i}", "after", (json_int_t)feed->after,
				 "wait_seconds", FEED_WAIT_S);
	if (*feed->team)
		json_object_set_new(args, "team", json_string(feed->team));
	else
		json_object_set_new(args, "kind", json_string("team"));
	feed->busy = true;
	number = client_start(c, op_event_list, args, feed_done, feed);
	if (number)
		feed->number = number;
	json_decref(args);
}

static void feed_free(struct mcp_feed *feed)
{
	if (feed->number)
		client_cancel(feed->mcp->client, feed->number);
	free(feed);
}

/* Whether a feed may call: a peer without a stream for notifications reads no events, and has
 * them later. */
static bool may_call(const struct mcp_feed *feed)
{
	return !feed->busy && feed->state != FEED_BROKEN &&
	       !(feed->mcp->holds && feed->state == FEED_LIVE);
}

static void feed_stop(struct mcp_feed *feed)
{
	if (feed->number)
		client_cancel(feed->mcp->client, feed->number);
	feed->number = 0;
	feed->busy = false;
	feed->due = clock_steady_ms();
}

void mcp_hold(struct mcp *m, bool held)
{
	m->holds = held;
	for (struct mcp_feed *feed = m->feeds; held && feed; feed = feed->next)
		if (feed->state == FEED_LIVE)
			feed_stop(feed);
}

void mcp_place(const struct mcp *m, struct text *out)
{
	const char *comma = "";

	for (const struct mcp_feed *feed = m->feeds; feed; feed = feed->next) {
		if (feed->state != FEED_LIVE)
			continue;
		text_addf(out, "%s%s=%lld", comma, feed->team, (long long)feed->after);
		comma = ",";
	}
}

/* Texts are "TEAM=SEQ,TEAM=SEQ".  A number that no event has yet fails at the next call, which
 * then tells that anything may have changed. */
void mcp_go_back(struct mcp *m, const char *place)
{
	while (*place) {
		size_t n = strcspn(place, ",");
		const char *equals = memchr(place, '=', n);
		size_t len = equals ? (size_t)(equals - place) : n;
		int64_t after = equals ? strtoll(equals + 1, NULL, 10) : 0;

		for (struct mcp_feed *feed = m->feeds; feed; feed = feed->next) {
			if (strlen(feed->team) != len ||
			    strncmp(feed->team, place, len) != 0 ||
			    feed->state != FEED_LIVE || after < 0)
				continue;
			feed_stop(feed);
			feed->after = after;
		}
		place += n + (place[n] == ',');
	}
}

int64_t feeds_due(const struct mcp *m)
{
	int64_t due = 0;

	for (const struct mcp_feed *feed = m->feeds; feed; feed = feed->next)
		if (may_call(feed) && (!due || feed->due < due))
			due = feed->due;
	return due;
}

void feeds_run(struct mcp *m, int64_t now)
{
	struct mcp_feed **at = &m->feeds, *feed;

	while ((feed = *at)) {
		if (!subscriptions_use(feed)) {
			*at = feed->next;
			feed_free(feed);
			continue;
		}
		if (may_call(feed) && feed->due <= now)
			feed_call(feed);
		at = &feed->next;
	}
}

void feeds_release(struct mcp *m)
{
	struct mcp_feed *feed;

	while ((feed = m->feeds)) {
		m->feeds = feed->next;
		feed_free(feed);
	}
}
