/*
 * subscription - notifies a peer of changes in the resources that the peer watches.
 *
 * A watch is for one URI, or for the list of resources. A modern watch belongs to a request,
 * and a legacy watch belongs to the peer. A watch of a URI needs the right to read the
 * resource, so such a watch begins with a read. The peer gets the acknowledgement after each
 * watch of the subscription is open or refused. So the peer misses no later change of an open
 * watch. Calls are started only by subscriptions_run(), never at the end of another call. The
 * end of a call only stores its result.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "mcp/mcp_peer.h"
#include "mcp/uri.h"
#include "ops.gen.h"

/*
 * feed - a reader of one team's event log, which all watches of the team share.
 *
 * A feed first asks for the end of the log. Each later call waits for new events, which the
 * feed passes to the watches.
 */

enum feed_state {
	FEED_OPENING, /* the end of the log is not yet known */
	FEED_LIVE,
	FEED_BROKEN, /* the team is missing or may not be read, or opening failed */
};

struct mcp_feed {
	struct mcp_feed *next;
	struct mcp *mcp;
	enum feed_state state;
	char team[65]; /* "": the events about all teams that the caller may see */
	int64_t after;
	int64_t number; /* number of the running call */
	bool busy;
	int64_t due; /* time of the next call */
	struct fault fault; /* why the feed is broken */
};

/* A number that no event has. A call that reads the events after this number finds no event,
 * and the `next` of its answer is the number of the last event. */
#define BEYOND ((json_int_t)1 << 53)

enum {
	RETRY_MS = 1000, /* pause after a failed call of a feed */
	FEED_WAIT_S = 300,
};

/* Returns the team's feed. If the team has no feed, or only broken feeds, makes a feed. A feed
 * that no watch uses is freed by feeds_run(). */
static struct mcp_feed *feed_get(struct mcp *m, const char *team)
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

static void subscriptions_tell(struct mcp_feed *feed, json_t *events);
static bool subscriptions_use(const struct mcp_feed *feed);

static void feed_failed(struct mcp_feed *feed, const struct fault *f)
{
	bool gone = f->code == FAULT_NOT_FOUND || f->code == FAULT_DENIED ||
		    f->code == FAULT_INVALID;

	if (feed->state == FEED_LIVE && strcmp(f->where, "/after") == 0) {
		/* Events that were not read yet have been deleted. The subscribers are told
		 * that anything may have changed. */
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

/* Whether a feed may make calls. While a peer has no stream for notifications, the peer's live
 * feeds make no calls, and read the events later. */
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

/* A place is a text such as "TEAM=SEQ,TEAM=SEQ". If no event has a number as high as SEQ, the
 * next call fails, and the peer is told that anything may have changed. */
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

/* Starts the calls that are due, and frees the feeds that no watch uses. */
static void feeds_run(struct mcp *m, int64_t now)
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

static void feeds_release(struct mcp *m)
{
	struct mcp_feed *feed;

	while ((feed = m->feeds)) {
		m->feeds = feed->next;
		feed_free(feed);
	}
}

enum { WATCHES_MAX = 1000 };

enum watch_state {
	WATCH_NEW,
	WATCH_READING, /* a running read shows whether the caller may read */
	WATCH_FINE,
	WATCH_REFUSED,
};

struct subscription {
	struct subscription *next;
	struct mcp_feed *feed;
	struct request *owner; /* NULL: the legacy peer owns the acknowledged watch */
	enum watch_state state;
	int64_t number; /* number of the call that reads the resource */
	struct fault fault; /* why the watch is refused */
	struct uri uri;
	char *text; /* the watched URI; NULL: the list of resources */
};

/* --- watches ---------------------------------------------------------------------- */

static struct subscription *watch_new(struct mcp *m, const char *team)
{
	struct subscription *w = xcalloc(1, sizeof(*w));

	w->next = m->watches;
	w->feed = feed_get(m, team);
	m->watches = w;
	m->n_watches++;
	return w;
}

bool subscription_add(struct request *r, const char *uri)
{
	struct mcp *m = r->mcp;
	struct subscription *w;
	struct uri read;

	if (m->n_watches >= WATCHES_MAX || !uri_read(&read, uri))
		return false;
	w = watch_new(m, read.team);
	w->owner = r;
	w->uri = read;
	w->text = xstrdup(uri);
	return r->subscribing = true;
}

void subscription_add_list(struct request *r)
{
	struct subscription *w = watch_new(r->mcp, "");

	w->owner = r;
	w->state = WATCH_FINE;
	r->subscribing = true;
}

void subscription_listed(struct mcp *m, int64_t seq)
{
	struct subscription *w;

	for (w = m->watches; w; w = w->next)
		if (!w->owner && !w->text)
			return;
	w = watch_new(m, "");
	m->changes++;
	w->state = WATCH_FINE;
	if (w->feed->state == FEED_OPENING && !w->feed->busy) {
		w->feed->state = FEED_LIVE;
		w->feed->after = seq;
	}
}

static void watch_free(struct mcp *m, struct subscription *w)
{
	if (w->number)
		client_cancel(m->client, w->number);
	free(w->text);
	free(w);
	m->n_watches--;
}

/* Removes the watches for which the function `is` returns true. */
static void watch_sweep(struct mcp *m,
			bool (*is)(const struct subscription *, const void *),
			const void *arg)
{
	struct subscription **at = &m->watches, *w;

	while ((w = *at)) {
		if (!is(w, arg)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		watch_free(m, w);
	}
}

static bool is_legacy_of(const struct subscription *w, const void *uri)
{
	return !w->owner && w->text && strcmp(w->text, uri) == 0;
}

static bool is_owned(const struct subscription *w, const void *request)
{
	return w->owner == request;
}

static const struct fault *why_refused(const struct subscription *w)
{
	if (w->state == WATCH_REFUSED)
		return &w->fault;
	return w->feed->state == FEED_BROKEN ? &w->feed->fault : NULL;
}

static bool is_refused(const struct subscription *w, const void *request)
{
	return w->owner == request && why_refused(w);
}

void subscription_drop(struct mcp *m, const char *uri)
{
	m->changes++;
	watch_sweep(m, is_legacy_of, uri);
}

void subscription_forget(struct mcp *m, const struct request *r)
{
	watch_sweep(m, is_owned, r);
}

/* --- acknowledgements --------------------------------------------------------------- */

static void write_honoured(const struct request *r, struct text *out)
{
	const char *comma = "";

	text_adds(out, "\"notifications\":{\"resourceSubscriptions\":[");
	for (struct subscription *w = r->mcp->watches; w; w = w->next) {
		if (w->owner != r || !w->text)
			continue;
		text_adds(out, comma);
		text_add_json(out, w->text);
		comma = ",";
	}
	text_adds(out, "]");
	for (struct subscription *w = r->mcp->watches; w; w = w->next)
		if (w->owner == r && !w->text)
			text_adds(out, ",\"resourcesListChanged\":true");
	text_adds(out, "}");
}

static void write_subscription(const struct request *r, struct text *out)
{
	text_addf(out, "\"_meta\":{\"" META "subscriptionId\":%s},", r->id);
}

/* Answers a modern subscription. Drops the refused watches first, so that the answer lists only
 * open watches. */
static void listen_ready(struct request *r)
{
	struct text *out;

	watch_sweep(r->mcp, is_refused, r);
	out = note_begin(r->mcp, "notifications/subscriptions/acknowledged");
	write_subscription(r, out);
	write_honoured(r, out);
	note_end(r->mcp, r->stream);
}

/* Answers a legacy subscription. If the watch is open, the peer becomes the owner of the watch,
 * and the peer's older watch of the same URI is removed. */
static void subscribe_ready(struct request *r)
{
	struct subscription *mine = r->mcp->watches;
	const struct fault *why;

	while (mine->owner != r)
		mine = mine->next;
	why = why_refused(mine);
	if (why) {
		answer_unread(r, mine->text, why);
		return;
	}
	subscription_drop(r->mcp, mine->text);
	mine->owner = NULL;
	answer_begin(r, CACHE_NONE);
	answer_end(r);
}

void subscription_open(struct request *r)
{
	r->opening = true;
	request_hold(r);
}

static bool is_settled(const struct subscription *w)
{
	return why_refused(w) || (w->state == WATCH_FINE && w->feed->state == FEED_LIVE);
}

static bool are_settled(const struct request *r)
{
	for (const struct subscription *w = r->mcp->watches; w; w = w->next)
		if (w->owner == r && !is_settled(w))
			return false;
	return true;
}

/* Answers each request whose watches are all open or refused. */
static void watches_settle(struct mcp *m)
{
	struct request *next;

	for (struct request *r = m->requests; r; r = next) {
		next = r->next;
		if (!r->opening || !are_settled(r))
			continue;
		r->opening = false;
		if (r->listening)
			listen_ready(r);
		else
			subscribe_ready(r);
	}
}

static void read_done(void *arg, const char *result, const struct fault *f)
{
	struct subscription *w = arg;

	w->number = 0;
	w->state = result ? WATCH_FINE : WATCH_REFUSED;
	if (!result)
		w->fault = *f;
}

static void watch_read(struct mcp *m, struct subscription *w)
{
	struct client *c = mcp_client(m, &w->fault);
	json_t *args = NULL;
	const struct op *op;
	int64_t number;

	if (!c) {
		w->state = WATCH_REFUSED;
		return;
	}
	w->state = WATCH_READING;
	op = uri_op(&w->uri, &args);
	number = client_start(c, op, args, read_done, w);
	if (number)
		w->number = number;
	json_decref(args);
}

/* --- changes ------------------------------------------------------------------------- */

/* The kinds of resources that an event changes. For an event, only one line counts: the first
 * line with a `prefix` that the event's name begins with. */
static const struct {
	const char *prefix;
	unsigned kinds;
} changes[] = {
	{ "message.", 1 << URI_INBOX },
	{ "task.", 1 << URI_TASK | 1 << URI_BOARD | 1 << URI_TEAM },
	{ "agent.updated", 1 << URI_TEAM | 1 << URI_INBOX | 1 << URI_BOARD },
	{ "team.updated", 1 << URI_TEAM | 1 << URI_INBOX | 1 << URI_BOARD },
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

/* Whether an event is about the resource of a watch. An event without a task counts as an event
 * about every task, and an event without a recipient counts as an event about every inbox. */
static bool subscription_is_about(const struct subscription *w, json_t *event)
{
	const char *kind = json_find_text(event, "event");
	const char *named = NULL;

	if (kind && !w->text)
		return !strcmp(kind, "team.created") || !strcmp(kind, "team.updated") ||
		       !strcmp(kind, "team.destroyed");
	if (!kind || !(changed_kinds(kind) & 1U << w->uri.kind))
		return false;
	if (w->uri.kind == URI_TASK && strncmp(kind, "task.", 5) == 0)
		named = json_find_text(event, "subject");
	else if (w->uri.kind == URI_INBOX && strncmp(kind, "message.", 8) == 0)
		named = json_find_text(event, "target");
	return !named || strcmp(named, w->uri.rest) == 0;
}

static bool is_about_one(const struct subscription *w, json_t *events)
{
	for (size_t i = 0; i < json_array_size(events); i++)
		if (subscription_is_about(w, json_array_get(events, i)))
			return true;
	return false;
}

/* Notifies the owner of a watch. `last` is true for the last notification about the events that
 * one call returned. */
static void subscription_tell(struct mcp *m, const struct subscription *w, bool last)
{
	struct text *out =
		note_begin(m, w->text ? "notifications/resources/updated"
				      : "notifications/resources/list_changed");

	if (w->owner)
		write_subscription(w->owner, out);
	if (w->text) {
		text_adds(out, "\"uri\":");
		text_add_json(out, w->text);
	}
	if (last && !w->owner)
		note_end_last(m);
	else
		note_end(m, w->owner ? w->owner->stream : NULL);
}

/* Notifies the owners of a feed's watches about the events. `events` is borrowed; it is NULL if
 * events were missed, so that anything may have changed. A watch gets one notification for all
 * events about its resource. A watch that is not acknowledged yet gets no notification, because
 * the client has not read the resource yet. */
static void subscriptions_tell(struct mcp_feed *feed, json_t *events)
{
	const struct subscription *before = NULL;

	for (const struct subscription *w = feed->mcp->watches; w; w = w->next) {
		if (w->feed != feed || w->state != WATCH_FINE ||
		    (w->owner && w->owner->opening) ||
		    (events && !is_about_one(w, events)))
			continue;
		if (before)
			subscription_tell(feed->mcp, before, false);
		before = w;
	}
	if (before)
		subscription_tell(feed->mcp, before, true);
}

/* --- start and end ------------------------------------------------------------------- */

/* Whether any watch uses the feed. */
static bool subscriptions_use(const struct mcp_feed *feed)
{
	for (const struct subscription *w = feed->mcp->watches; w; w = w->next)
		if (w->feed == feed)
			return true;
	return false;
}

void subscriptions_run(struct mcp *m, int64_t now)
{
	for (struct subscription *w = m->watches; w; w = w->next)
		if (w->state == WATCH_NEW)
			watch_read(m, w);
	feeds_run(m, now);
	watches_settle(m);
}

static bool is_any(const struct subscription *w, const void *none)
{
	(void)w, (void)none;
	return true;
}

void subscriptions_release(struct mcp *m)
{
	watch_sweep(m, is_any, NULL);
	feeds_release(m);
}

/* --- watches as JSON, kept in a row of the state -------------------------------------- */

void subscriptions_write(const struct mcp *m, struct text *out)
{
	json_t *all = json_array();
	char *text;

	for (const struct subscription *w = m->watches; w; w = w->next)
		if (!w->owner && w->state == WATCH_FINE)
			json_array_append_new(all,
					      json_pack("{s:s, s:I}", "uri",
							w->text ? w->text : "", "after",
							(json_int_t)w->feed->after));
	text = json_dumps(all, JSON_COMPACT);
	text_adds(out, text);
	free(text);
	json_decref(all);
}

static void restore_one(struct mcp *m, const char *text, int64_t after)
{
	struct subscription *w;
	struct uri uri;

	if (*text && !uri_read(&uri, text))
		return;
	w = watch_new(m, *text ? uri.team : "");
	if (w->feed->state == FEED_OPENING) {
		w->feed->state = FEED_LIVE;
		w->feed->after = after;
	}
	w->state = WATCH_FINE; /* checked already, when the peer subscribed */
	if (!*text)
		return;
	w->uri = uri;
	w->text = xstrdup(text);
}

void subscriptions_restore(struct mcp *m, const char *watches)
{
	json_t *all = json_loads(watches, 0, NULL), *one;
	size_t i;

	json_array_foreach(all, i, one)
		restore_one(m, json_find_text(one, "uri"), json_int_at(one, "after"));
	json_decref(all);
}
