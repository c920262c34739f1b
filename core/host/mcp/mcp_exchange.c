/* mcp_exchange - messages of a peer as answers and streams of HTTP. */
#include "core/host/mcp/mcp_door_inside.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "mcp/rpc.h"

enum {
	UNSENT_MOST = 1 << 20, /* of a stream whose client does not read */
	COME_BACK_MS = 2000,
};

/* --- life ------------------------------------------------------------------------------- */

/* A client of 2026-07-28 that leaves cancels its request; one with a session does not. */
static void mcp_exchange_on_gone(struct http *x)
{
	struct exchange *e = x->owner;
	struct mcp_peer *p = e->peer;

	e->x = NULL;
	if (p->listener == e)
		exchange_end(e);
	else if (!p->has_session)
		mcp_cut(p->mcp, e);
	peer_rouse(p, false);
}

struct exchange *exchange_new(struct mcp_peer *p, struct http *x)
{
	struct exchange *e = xcalloc(1, sizeof(*e));

	e->peer = p;
	e->x = x;
	e->next = p->exchanges;
	e->at = &p->exchanges;
	if (e->next)
		e->next->at = &e->next;
	p->exchanges = e;
	x->owner = e;
	x->gone = mcp_exchange_on_gone;
	x->unhurried = true;
	http_watch(x);
	p->used = uv_now(&p->host->loop);
	p->requests++;
	return e;
}

/* Takes the request of HTTP from an exchange, which is not told of its end any more. */
static struct http *mcp_exchange_let_go(struct exchange *e)
{
	struct http *x = e->x;

	e->x = NULL;
	if (x) {
		x->gone = NULL;
		x->owner = NULL;
	}
	return x;
}

static void begin_stream(struct http *x)
{
	http_add_header(x, "X-Accel-Buffering", "no");
	http_flow(x, 200, "text/event-stream");
}

/* A request that gets no answer, since it was cancelled, gets a stream with nothing in it. */
void exchange_end(struct exchange *e)
{
	struct mcp_peer *p = e->peer;
	struct http *x = mcp_exchange_let_go(e);

	if (p->listener == e) {
		p->listener = NULL;
		mcp_hold(p->mcp, true);
		mcp_renews(p->mcp, false);
	}
	*e->at = e->next;
	if (e->next)
		e->next->at = e->at;
	if (x && !e->flows)
		begin_stream(x);
	if (x)
		http_end(x);
	text_release(&e->held);
	free(e);
}

/* --- streams ------------------------------------------------------------------------------ */

static void send_event(struct exchange *e, const struct mcp_message *message)
{
	struct text out = { 0 };

	if (message->places) {
		text_adds(&out, "id: ");
		mcp_place(e->peer->mcp, &out);
		text_adds(&out, "\n");
	}
	text_adds(&out, "event: message\ndata: ");
	text_add(&out, message->text, message->len);
	text_add(&out, "\n", 1);
	http_send(e->x, out.data, out.len);
	text_release(&out);
}

void exchange_accept(struct exchange *e)
{
	http_answer(mcp_exchange_let_go(e), 202, NULL, "", 0);
	e->over = true;
}

/* Says where a client is before anything else: a stream that ends with no event would leave it
 * without a place to come back to.  Clients before revision 2025-11-25 know no event without data. */
static void mcp_exchange_add_place(const struct mcp *m, struct text *out)
{
	struct text place = { 0 };

	mcp_place(m, &place);
	if (place.len > 0 && mcp_is_revision(m, "2025-11-25"))
		text_addf(out, "id: %.*s\ndata: \n\n", (int)place.len, place.data);
	text_release(&place);
}

void exchange_listen(struct exchange *e, const char *place)
{
	struct mcp_peer *p = e->peer;
	struct text out = { 0 };

	if (p->listener)
		exchange_end(p->listener);
	begin_stream(e->x);
	e->flows = true;
	p->listener = e;
	if (place)
		mcp_go_back(p->mcp, place);
	text_addf(&out, "retry: %d\n\n", COME_BACK_MS);
	mcp_exchange_add_place(p->mcp, &out);
	http_send(e->x, out.data, out.len);
	text_release(&out);
	mcp_hold(p->mcp, false);
	mcp_renews(p->mcp, true);
	peer_rouse(p, true);
}

void exchanges_stir(struct mcp_peer *p)
{
	for (struct exchange *e = p->exchanges, *next; e; e = next) {
		next = e->next;
		if (e->x && e->flows)
			http_send(e->x, ":\n\n", 3);
	}
}

/* --- answers -------------------------------------------------------------------------------- */

static void mcp_exchange_answer(struct exchange *e, const struct mcp_message *message)
{
	struct http *x = mcp_exchange_let_go(e);

	if (*e->id)
		http_add_header(x, "Mcp-Session-Id", e->id);
	http_answer(x, message->status, "application/json", message->text, message->len);
}

static void answer_held(struct exchange *e)
{
	if (e->x)
		mcp_exchange_answer(e, &(struct mcp_message){ .text = e->held.data,
							      .len = e->held.len,
							      .status = 200 });
	exchange_end(e);
}

void exchanges_release(struct mcp_peer *p, const struct fault *f)
{
	for (struct exchange *e = p->exchanges, *next; e; e = next) {
		next = e->next;
		if (!e->held.len)
			continue;
		if (f && e->x)
			web_refuse_call(mcp_exchange_let_go(e), f);
		answer_held(e);
	}
}

/* Keeps an answer until the row of its session says what was asked for: a session, or what it has
 * subscribed to. */
static bool hold_answer(struct exchange *e, const struct mcp_message *message)
{
	if (e->flows || !peer_keep(e->peer, *e->id))
		return false;
	text_add(&e->held, message->text, message->len);
	return true;
}

static void send_last(struct exchange *e, const struct mcp_message *message)
{
	struct mcp_peer *p = e->peer;
	const bool arrives = e->x != NULL;

	if (arrives && hold_answer(e, message))
		return;
	if (e->x && e->flows) {
		send_event(e, message);
	} else if (e->x) {
		*e->id = '\0'; /* no session was begun */
		mcp_exchange_answer(e, message);
	}
	mcp_wrote(p->mcp, arrives, p->requests);
	exchange_drop(p, e);
}

void exchange_send(void *arg, const struct mcp_message *message)
{
	struct mcp_peer *p = arg;
	struct exchange *e = message->stream ? message->stream : p->listener;

	if (message->last && e) {
		send_last(e, message);
		return;
	}
	if (!e || !e->x)
		return;
	if (http_unsent(e->x) > UNSENT_MOST) {
		http_cut(
			e->x); /* it does not read; a session's stream goes on from there */
		return;
	}
	if (!e->flows)
		begin_stream(e->x);
	e->flows = true;
	send_event(e, message);
}

void exchange_drop(void *peer, void *exchange)
{
	struct exchange *e = exchange;

	(void)peer;
	if (e->taking)
		e->over = true;
	else
		exchange_end(e);
}
