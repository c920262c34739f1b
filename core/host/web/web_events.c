/*
 * web_events - the event log as a stream (server-sent events, of the HTML standard).
 *
 * A follower first reads what it has missed, page by page, as calls of event.list; these say
 * who it is and what it may see.  Then it joins those who are told what is new: web_feed.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/host/web/inside.h"

enum {
	PAGE = 200,
	COME_BACK_MS =
		2000, /* told: a client that was cut off comes back after so long */
};

/* The follower has all that there was when it asked: it joins the others. */
static void catch_up(struct follower *f, const struct call *call)
{
	f->agent = call->identity.agent ? call->caller.self : 0;
	f->bearer = call->bearer;
	f->until = call->bearer_until;
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

static void on_missed(struct conn *c, struct job *job)
{
	struct http *x = c->owner;
	struct follower *f = x->owner;
	struct call *call = &job->call;
	const struct event_list_out *out = call->out;
	struct web_feed *feed = &f->host->web.feed;
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
	if (f->x->owner != f)
		return; /* it was cut off */
	if (more)
		web_events_read(f);
	else
		catch_up(f, call);
}

static void on_gone(struct http *x)
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

	if (f->has_sent)
		json_object_set_new(args, "after", json_integer(f->sent));
	f->call = web_start(f->x, op_event_list, args, on_missed);
	if (!f->call && f->flows)
		http_end(f->x);
}

/* Reads the number that a client has seen last: "INCARNATION.SEQ" or "SEQ". */
static void take_last(struct follower *f)
{
	const char *said = http_header(f->x, "last-event-id"), *dot;

	if (!said)
		said = http_query(f->x, "after");
	if (!said || !*said)
		return;
	f->has_sent = true;
	dot = strchr(said, '.');
	if (dot)
		f->state = arena_strndup(&f->x->arena, said, (size_t)(dot - said));
	f->sent = strtoll(dot ? dot + 1 : said, NULL, 10);
	if (f->sent < 0)
		f->sent = -1;
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
	take_last(f);
	x->owner = f;
	x->gone = on_gone;
	web_events_read(f);
}
