/*
 * web_events - the event log as a stream (server-sent events, of the HTML standard).
 *
 * A follower first reads missed events, page by page, as calls of event.list.  These calls
 * check the caller's rights.  Then the follower joins a group for new events: web_feed.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/access/limit.h"
#include "core/host/web/web_inside.h"

/* No event has this number. */
#define BEYOND ((json_int_t)1 << 53)

enum {
	PAGE = 200,
	COME_BACK_MS =
		2000, /* told: a client that was cut off comes back after so long */
};

/* The follower has all that there was when it asked: it joins the others. */
static void web_events_catch_up(struct follower *f, const struct call *call)
{
	if (!web_feed_join(f, call->caller.team))
		web_events_read(f);
}

/* The events are gone, or the state is another one since: 410, with the last that is gone. */
static void refuse_gone(struct follower *f, const struct call *call)
{
	struct text body = { 0 };

	text_addf(&body, "{\"error\":");
	fault_write(&call->fault, HINT_ROUTE, &body);
	text_addf(&body, ",\"oldest\":%" PRId64 "}\n", call->as_of + 1);
	http_answer(f->x, 410, "application/json", body.data, body.len);
	text_release(&body);
}

static void web_events_on_gone(struct http *x);

/* Whether `other` is an open stream of the caller of `one`. */
static bool web_events_is_same(const struct http *one, const struct http *other)
{
	const struct follower *a = one->owner, *b = other->owner;

	return other->gone == web_events_on_gone && b->flows &&
	       (a->agent ? a->agent == b->agent : a->bearer == b->bearer);
}

/* Whether the follower has as many streams as it may; its request is refused then.  That is what
 * limits streams, and no bucket of calls: all of a host's clients come back at once to the next. */
static bool has_enough(struct follower *f, const struct call *call)
{
	const struct config *config = &call->settings->config;
	const int64_t most = config->limits_max_streams;
	struct fault why = { 0 };

	if (!limit_binds(config, &call->identity, call->op->rate) ||
	    http_count(f->x, web_events_is_same) < most)
		return false;
	fault_set(&why, FAULT_EXHAUSTED, "",
		  "%" PRId64 " streams of this client are open already", most);
	fault_hint(&why, "Close one. limits.max_streams says how many there may be.");
	why.retry_after_ms = COME_BACK_MS;
	web_refuse(f->x, 0, &why);
	return true;
}

static void on_missed(struct conn *c, struct job *job)
{
	struct http *x = c->owner;
	struct follower *f = x->owner;
	struct call *call = &job->call;
	const struct event_list_out *out = call->out;
	struct web_feed *feed = f->host->web_feed;
	struct text frames = { 0 };
	bool more;

	f->call = NULL;
	web_note_use(f->host, call);
	if (call->fault.code && f->flows) {
		http_end(x); /* it comes back, and is told then */
		return;
	}
	if (call->fault.code == FAULT_NOT_FOUND && !strcmp(call->fault.where, "/after")) {
		refuse_gone(f, call);
		return;
	}
	if (call->fault.code) {
		web_refuse_call(x, &call->fault);
		return;
	}
	snprintf(feed->incarnation, sizeof(feed->incarnation), "%.*s",
		 (int)strcspn(out->cursor, "."), out->cursor);
	if (f->state && strcmp(f->state, feed->incarnation) != 0) {
		f->sent = -1; /* numbers of another state mean nothing: all are gone */
		f->state = NULL;
		web_events_read(f);
		return;
	}
	f->state = NULL;
	f->agent = call->identity.agent ? call->caller.self : 0;
	f->bearer = call->bearer.row;
	f->until = call->bearer.until;
	if (!f->flows && has_enough(f, call))
		return;
	if (!f->flows) {
		http_flow(x, 200, "text/event-stream");
		text_addf(&frames, "retry: %d\n\n", COME_BACK_MS);
	}
	f->flows = true;
	for (size_t i = 0; i < out->n_events && f->has_sent; i++)
		web_feed_frame(&frames, feed->incarnation, &out->events[i]);
	more = out->more && f->has_sent;
	/* Numbers that no event has yet are of a state that was lost: it goes on from now. */
	f->sent = out->next < call->as_of ? out->next : call->as_of;
	f->has_sent = true;
	web_feed_tell(f, frames.data, frames.len);
	text_release(&frames);
	if (more && http_unsent(f->x) > 0)
		f->waits = true;
	else if (more)
		web_events_read(f);
	else
		web_events_catch_up(f, call);
}

static void on_drained(struct http *x)
{
	struct follower *f = x->owner;

	if (!f->waits)
		return;
	f->waits = false;
	web_events_read(f);
}

void web_events_wait(struct follower *f)
{
	web_feed_leave(f);
	f->waits = true;
}

static void web_events_on_gone(struct http *x)
{
	struct follower *f = x->owner;

	if (f->call)
		conn_close(f->call);
	web_feed_leave(f);
}

/* Reads the next page for a follower. */
void web_events_read(struct follower *f)
{
	json_t *args = json_pack("{s:s*, s:s*, s:i}", "team", f->team, "kind", f->kind,
				 "limit", f->has_sent ? PAGE : 1);

	/* Beyond the last there is nothing to look through. */
	json_object_set_new(args, "after", json_integer(f->has_sent ? f->sent : BEYOND));
	f->call = web_go_on(f->x, op_event_list, args, on_missed);
	if (!f->call && f->flows)
		http_end(f->x);
}

static bool web_events_is_number(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s) && strlen(s) < 19;
}

static int refuse_last(struct follower *f, const char *said)
{
	struct fault why = { 0 };

	fault_set(&why, FAULT_INVALID, "/after", "%.80s is no id of an event", said);
	fault_hint(&why, "Send the `id` of the last event that you have, as it came.");
	web_refuse(f->x, 0, &why);
	return why.code;
}

/* Reads the number that a client has seen last, "INCARNATION.SEQ" or "SEQ": 0, or the request
 * is refused. */
static int take_last(struct follower *f)
{
	const char *said = http_header(f->x, "last-event-id"), *dot, *number;

	if (!said)
		said = http_query(f->x, "after");
	if (!said || !*said)
		return 0;
	dot = strchr(said, '.');
	number = dot ? dot + 1 : said;
	if (!web_events_is_number(number) && strcmp(number, "-1") != 0)
		return refuse_last(f, said);
	f->has_sent = true;
	if (dot)
		f->state = arena_strndup(&f->x->arena, said, (size_t)(dot - said));
	f->sent = strtoll(number, NULL, 10);
	return 0;
}

/* Whether the query asks for nothing else than there is; else the request is refused. */
static bool knows_query(struct http *x)
{
	static const char *const known[] = { "team=", "kind=", "after=" };
	struct fault f = { 0 };
	const char *at = x->query;
	size_t i = 0;

	while (*at && i < 3) {
		for (i = 0; i < 3 && strncmp(at, known[i], strlen(known[i])) != 0; i++)
			;
		if (i < 3) {
			at += strcspn(at, "&");
			at += strspn(at, "&");
		}
	}
	if (!*at)
		return true;
	fault_set(&f, FAULT_INVALID, "", "/events takes team, kind and after, not %.60s",
		  at);
	web_refuse(x, 0, &f);
	return false;
}

void web_events(struct http *x)
{
	const struct web_door *door = x->service;
	struct follower *f = arena_alloc(&x->arena, sizeof(*f));

	*f = (struct follower){
		.x = x,
		.host = door->host,
		.team = http_query(x, "team"),
		.kind = http_query(x, "kind"),
	};
	if (!knows_query(x) || take_last(f))
		return;
	x->owner = f;
	x->gone = web_events_on_gone;
	x->drained = on_drained;
	web_events_read(f);
}
