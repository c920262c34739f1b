/*
 * subscribe - tells a peer when what it watches has changed.
 *
 *   watch   one URI that a request (modern) or the peer (legacy) watches
 *   feed    the event log of one team, read by a call that waits; all watches
 *           of the team share it
 *
 * A feed opens by asking where the log ends; only then is a subscription
 * acknowledged, so nothing that happens later is missed.  Then one call after
 * another waits for what comes.  Calls are started from feeds_run() only, never
 * from the end of another one.
 */
#include "mcp/peer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/uri.h"

enum {
	WATCHES_MAX = 1000,
	RETRY_MS = 1000, /* after a feed's call failed */
	FEED_WAIT_S = 300,
};

struct watch {
	struct watch *next;
	struct feed *feed;
	struct request *owner; /* NULL: the legacy peer, once acknowledged */
	struct uri uri;
	char *text;
	bool changed;
};

enum feed_state {
	FEED_OPENING, /* nobody knows yet where the log ends */
	FEED_LIVE,
	FEED_BROKEN, /* the team is not there, or not for this caller */
};

struct feed {
	struct feed *next;
	struct mcp *mcp;
	enum feed_state state;
	char team[65];
	int64_t after;
	int64_t number; /* of the call under way */
	bool busy;
	int64_t due; /* when to call next */
};

/* --- watches ---------------------------------------------------------------------- */

static struct feed *feed_get(struct mcp *m, const char *team)
{
	struct feed *feed;

	for (feed = m->feeds; feed; feed = feed->next)
		if (strcmp(feed->team, team) == 0 && feed->state != FEED_BROKEN)
			return feed;
	feed = calloc(1, sizeof(*feed));
	if (!feed)
		abort();
	feed->mcp = m;
	feed->due = mcp_now();
	snprintf(feed->team, sizeof(feed->team), "%s", team);
	feed->next = m->feeds;
	m->feeds = feed;
	return feed;
}

bool watch_add(struct request *r, const char *uri)
{
	struct mcp *m = r->mcp;
	struct watch *w;
	struct uri read;

	if (m->n_watches >= WATCHES_MAX || !uri_read(&read, uri))
		return false;
	w = calloc(1, sizeof(*w));
	if (!w)
		abort();
	*w = (struct watch){
		.next = m->watches, .owner = r, .uri = read, .text = strdup(uri)
	};
	w->feed = feed_get(m, read.team);
	m->watches = w;
	m->n_watches++;
	r->subscribing = true;
	if (w->feed->state == FEED_OPENING)
		r->pending++;
	return true;
}

/* Takes out the watches that `is` wants gone. */
static void watch_sweep(struct mcp *m, bool (*is)(const struct watch *, const void *),
			const void *arg)
{
	struct watch **at = &m->watches, *w;

	while ((w = *at)) {
		if (!is(w, arg)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		m->n_watches--;
		free(w->text);
		free(w);
	}
}

static bool is_legacy_of(const struct watch *w, const void *uri)
{
	return !w->owner && strcmp(w->text, uri) == 0;
}

static bool is_owned(const struct watch *w, const void *request)
{
	return w->owner == request;
}

static bool is_broken(const struct watch *w, const void *none)
{
	(void)none;
	return w->feed->state == FEED_BROKEN;
}

void watch_drop(struct mcp *m, const char *uri)
{
	watch_sweep(m, is_legacy_of, uri);
}

void watch_forget(struct mcp *m, const struct request *r)
{
	watch_sweep(m, is_owned, r);
}

/* --- acknowledgements --------------------------------------------------------------- */

static void write_honoured(const struct request *r, struct text *out)
{
	const char *comma = "";

	text_adds(out, "\"notifications\":{\"resourceSubscriptions\":[");
	for (struct watch *w = r->mcp->watches; w; w = w->next) {
		if (w->owner != r)
			continue;
		text_adds(out, comma);
		text_add_json(out, w->text);
		comma = ",";
	}
	text_adds(out, "]}");
}

static void write_subscription(const struct request *r, struct text *out)
{
	text_addf(out, "\"_meta\":{\"" META "subscriptionId\":%s},", r->id);
}

static void listen_ready(struct request *r)
{
	struct text *out = note_begin(r->mcp, "notifications/subscriptions/acknowledged");

	write_subscription(r, out);
	write_honoured(r, out);
	note_end(r->mcp, r->stream);
	request_hold(r);
}

/* The peer keeps the watch; once is enough, however often it asks. */
static void subscribe_ready(struct request *r)
{
	struct watch *mine = NULL;

	for (struct watch *w = r->mcp->watches; w; w = w->next)
		if (w->owner == r)
			mine = w;
	if (!mine) {
		answer_no_resource(r, r->word, "no such resource");
		return;
	}
	watch_drop(r->mcp, mine->text);
	mine->owner = NULL;
	answer_begin(r, CACHE_NONE);
	answer_end(r);
}

void watch_ready(struct request *r)
{
	r->opening = r->pending;
	if (r->opening)
		request_hold(r);
	else if (r->listening)
		listen_ready(r);
	else
		subscribe_ready(r);
}

/* A feed has opened, or never will: whoever waited for it waits for one less. */
static void feed_opened(struct feed *feed)
{
	struct mcp *m = feed->mcp;
	struct request *next;

	for (struct watch *w = m->watches; w; w = w->next)
		if (w->feed == feed && w->owner && w->owner->pending)
			w->owner->pending--;
	if (feed->state == FEED_BROKEN)
		watch_sweep(m, is_broken, NULL);
	for (struct request *r = m->requests; r; r = next) {
		next = r->next;
		if (r->opening && !r->pending)
			watch_ready(r);
	}
}

/* --- changes ------------------------------------------------------------------------- */

/* What an event changes, by how its name begins; the first that fits. */
static const struct {
	const char *prefix;
	unsigned kinds;
} changes[] = {
	{ "message.", 1 << URI_INBOX },
	{ "task.", 1 << URI_TASK | 1 << URI_BOARD | 1 << URI_TEAM },
	{ "agent.updated", 1 << URI_TEAM | 1 << URI_INBOX | 1 << URI_BOARD },
	{ "agent.replaced", 1 << URI_TEAM | 1 << URI_INBOX | 1 << URI_BOARD },
	{ "team.destroyed",
	  1 << URI_TEAM | 1 << URI_INBOX | 1 << URI_BOARD | 1 << URI_TASK },
	{ "", 1 << URI_TEAM },
};

static unsigned changed_kinds(const char *event)
{
	size_t i = 0;

	while (strncmp(event, changes[i].prefix, strlen(changes[i].prefix)) != 0)
		i++;
	return changes[i].kinds;
}

/* An event names the task or recipient that it is about; when it names none,
 * it may be about any. */
static bool is_about(const struct watch *w, json_t *event)
{
	const char *kind = param_text(event, "event");
	const char *named = NULL;

	if (!kind || !(changed_kinds(kind) & 1U << w->uri.kind))
		return false;
	if (w->uri.kind == URI_TASK && strncmp(kind, "task.", 5) == 0)
		named = param_text(event, "subject");
	else if (w->uri.kind == URI_INBOX && strncmp(kind, "message.", 8) == 0)
		named = param_text(event, "target");
	return !named || strcmp(named, w->uri.rest) == 0;
}

static void tell(struct mcp *m, const struct watch *w)
{
	struct text *out = note_begin(m, "notifications/resources/updated");

	if (w->owner)
		write_subscription(w->owner, out);
	text_adds(out, "\"uri\":");
	text_add_json(out, w->text);
	note_end(m, w->owner ? w->owner->stream : NULL);
}

/* However many events a resource has had, it is told once. */
static void feed_events(struct feed *feed, json_t *events)
{
	struct mcp *m = feed->mcp;
	json_t *event;
	size_t i;

	for (struct watch *w = m->watches; w; w = w->next) {
		if (w->feed != feed)
			continue;
		json_array_foreach(events, i, event) if (is_about(w, event))
		{
			tell(m, w);
			break;
		}
	}
}

/* --- feeds --------------------------------------------------------------------------- */

static void feed_failed(struct feed *feed, const struct fault *f)
{
	bool gone = f->code == FAULT_NOT_FOUND || f->code == FAULT_DENIED ||
		    f->code == FAULT_INVALID;

	feed->due = mcp_now() + RETRY_MS;
	if (gone) {
		bool opening = feed->state == FEED_OPENING;

		feed->state = FEED_BROKEN;
		if (opening)
			feed_opened(feed);
	}
}

static void feed_done(void *arg, const char *result, const struct fault *f)
{
	struct feed *feed = arg;
	json_t *answer = result ? json_loads(result, 0, NULL) : NULL;
	json_t *next = json_object_get(answer, "next");

	feed->busy = false;
	feed->number = 0;
	feed->due = mcp_now();
	if (!result) {
		feed_failed(feed, f);
		return;
	}
	if (json_is_integer(next))
		feed->after = json_integer_value(next);
	if (feed->state == FEED_LIVE) {
		feed_events(feed, json_object_get(answer, "events"));
	} else {
		feed->state = FEED_LIVE;
		feed_opened(feed);
	}
	json_decref(answer);
}

static void feed_call(struct feed *feed)
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
		args = json_pack("{s:s, s:i}", "team", feed->team, "limit", 1);
	else
		args = json_pack("{s:s, s:I, s:i}", "team", feed->team, "after",
				 (json_int_t)feed->after, "wait_seconds", FEED_WAIT_S);
	feed->busy = true;
	number = client_start(c, op_find("event.list"), args, feed_done, feed);
	if (number)
		feed->number = number;
	json_decref(args);
}

static bool is_watched(const struct feed *feed)
{
	for (const struct watch *w = feed->mcp->watches; w; w = w->next)
		if (w->feed == feed)
			return true;
	return false;
}

static void feed_free(struct feed *feed)
{
	if (feed->number)
		client_cancel(feed->mcp->client, feed->number);
	free(feed);
}

void feeds_run(struct mcp *m, int64_t now)
{
	struct feed **at = &m->feeds, *feed;

	while ((feed = *at)) {
		if (!is_watched(feed)) {
			*at = feed->next;
			feed_free(feed);
			continue;
		}
		if (!feed->busy && feed->state != FEED_BROKEN && feed->due <= now)
			feed_call(feed);
		at = &feed->next;
	}
}

int64_t feeds_due(const struct mcp *m)
{
	int64_t due = 0;

	for (const struct feed *feed = m->feeds; feed; feed = feed->next)
		if (!feed->busy && feed->state != FEED_BROKEN &&
		    (!due || feed->due < due))
			due = feed->due;
	return due;
}

static bool is_any(const struct watch *w, const void *none)
{
	(void)w, (void)none;
	return true;
}

void feeds_release(struct mcp *m)
{
	struct feed *feed;

	watch_sweep(m, is_any, NULL);
	while ((feed = m->feeds)) {
		m->feeds = feed->next;
		feed_free(feed);
	}
}
