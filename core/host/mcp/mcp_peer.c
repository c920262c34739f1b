/* mcp_peer - the clients of MCP over HTTP that the host has in memory. */
#include <stdlib.h>
#include <string.h>

#include "core/access/token.h"
#include "core/base/alloc.h"
#include "core/host/handout.h"
#include "core/host/mcp/mcp_door_inside.h"
#include "mcp/rpc.h"

static void exchange_drop(void *peer, void *exchange);

/* --- calls ------------------------------------------------------------------- */

/* calls - runs the operations that a peer calls, in the host's process. */

struct peer_call {
	struct peer_call *next, **at; /* in peer->calls */
	struct mcp_peer *peer;
	struct client *client;
	int64_t number; /* number that the client gave the call */
	bool confirms;
	struct conn *conn;
};

static void call_free(struct peer_call *pc)
{
	*pc->at = pc->next;
	if (pc->next)
		pc->next->at = pc->at;
	free(pc);
}

/* Stores that the peer's token is not valid any more, and ends the peer's stream for
 * notifications. A client that opens the stream again is refused. */
static void peer_end_trust(struct mcp_peer *p)
{
	p->checked = 0;
	if (p->listener)
		exchange_end(p->listener);
}

static void mcp_peer_calls_told(struct conn *c, struct job *job)
{
	struct peer_call *pc = c->owner;
	struct mcp_peer *p = pc->peer;
	struct client *client = pc->client;
	struct call *call = &job->call;
	const int64_t number = pc->number;
	const bool settles = pc->confirms && call->given.agent && !call->fault.code;
	struct text out = { 0 };

	web_note_use(c->host, call);
	/* If `settles` is true, the peer says later whether the answer arrived. `arrived` keeps
	 * handout_answered() from remembering the answer meanwhile. */
	job->arrived = settles;
	call_free(pc);
	if (call->fault.code && strcmp(call->fault.where, "/token") == 0)
		peer_end_trust(p);
	if (!call->fault.code)
		call_encode(call, &out);
	client_answer(client, number,
		      call->fault.code ? NULL
		      : out.data       ? out.data
				       : "{}",
		      &call->fault, settles ? &call->given : NULL);
	text_release(&out);
	peer_rouse(p, mcp_watches(p->mcp));
}

/* The identity of a peer's calls. The texts of this identity are in the arena. */
static struct identity peer_identity(const struct mcp_peer *p, struct arena *a)
{
	struct identity who = p->who;

	who.bearer = arena_strdup(a, p->bearer);
	who.session = arena_printf(a, "mcp:%.16s", p->name);
	who.agent = NULL; /* NULL, because the token names the agent */
	who.team = arena_strdup(a, p->bearer ? NULL : p->team);
	return who;
}

static int mcp_peer_calls_start(void *arg, struct client *client, int64_t number,
				const struct op *op, json_t *args, struct form form,
				bool confirms, struct fault *f)
{
	struct mcp_peer *p = arg;
	struct job *job = job_new(&p->host->jobs);
	struct call *call = &job->call;
	struct peer_call *pc = xcalloc(1, sizeof(*pc));

	job->packet.json = json_copy(args);
	job->confirms = confirms;
	call->identity = peer_identity(p, &call->arena);
	call->settings = &p->host->settings;
	call->form = form;
	call->settles = confirms;
	pc->conn = call_decode(call, op, (json_t *)job->packet.json) == 0
			   ? conn_single(p->host, mcp_peer_calls_told, pc)
			   : NULL;
	if (!pc->conn) {
		if (!call->fault.code)
			fault_set(&call->fault, FAULT_UNAVAILABLE, "",
				  "there is no memory for the call");
		*f = call->fault;
		job_free(job);
		free(pc);
		return f->code;
	}
	job_own(job);
	pc->peer = p;
	pc->client = client;
	pc->number = number;
	pc->confirms = confirms;
	pc->next = p->calls;
	pc->at = &p->calls;
	if (pc->next)
		pc->next->at = &pc->next;
	p->calls = pc;
	conn_call(pc->conn, job);
	return 0;
}

static void mcp_peer_calls_cancel(void *arg, int64_t number)
{
	struct mcp_peer *p = arg;

	for (struct peer_call *pc = p->calls; pc; pc = pc->next)
		if (pc->number == number) {
			conn_close(pc->conn);
			call_free(pc);
			return;
		}
}

static void mcp_peer_calls_settle(void *arg, const struct given *given, bool arrived)
{
	struct mcp_peer *p = arg;

	handout_settle(p->host, given, arrived, false);
}

const struct client_way peer_way = { mcp_peer_calls_start, mcp_peer_calls_cancel,
				     mcp_peer_calls_settle };

/* --- exchange ---------------------------------------------------------------- */

/* exchange - sends the messages of a peer as HTTP answers and HTTP streams. */

enum {
	UNSENT_MOST = 1 << 20, /* a stream with more unsent bytes than this number is
				  closed */
	COME_BACK_MS = 2000,
};

/* --- life ------------------------------------------------------------------------------- */

/* Called when a client has left. Cancels the client's request if the client has no session. */
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

/* Takes the HTTP request from an exchange. From now on, mcp_exchange_on_gone() is not called if
 * the client leaves. */
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

/* Ends an exchange. If the exchange has no answer, since its request was cancelled, the client
 * gets an empty stream. */
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

/* Appends a first event without data, whose id is the stream's place (mcp_place()). If the
 * stream ends before any other event, the client can open the stream again at this place.
 * Clients of revisions before 2025-11-25 cannot read events without data. */
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

/* Sends a comment on all streams of a peer, so that no proxy closes a stream as idle. */
static void exchanges_stir(struct mcp_peer *p)
{
	for (struct exchange *e = p->exchanges, *next; e; e = next) {
		next = e->next;
		if (e->x && e->flows)
			http_send(e->x, ":\n\n", 3);
	}
}

/* --- answers -------------------------------------------------------------------------------- */

/* A written answer, until it is known whether the answer arrived. The peer may end before. */
struct mcp_fate {
	struct host *host;
	char name[NAME_SIZE]; /* name of the peer */
	uint64_t sent;
};

static void mcp_exchange_told(void *arg, bool arrived)
{
	struct mcp_fate *fate = arg;
	struct mcp_peer *p = peer_find(fate->host, fate->name);

	if (p)
		mcp_told(p->mcp, fate->sent, arrived);
	free(fate);
}

static void mcp_exchange_answer(struct exchange *e, const struct mcp_message *message,
				uint64_t sent)
{
	struct http *x = mcp_exchange_let_go(e);
	struct mcp_fate *fate = xmalloc(sizeof(*fate));

	fate->host = e->peer->host;
	memcpy(fate->name, e->peer->name, NAME_SIZE);
	fate->sent = sent;
	http_tell(x, mcp_exchange_told, fate);
	if (*e->id)
		http_add_header(x, "Mcp-Session-Id", e->id);
	http_answer(x, message->status, "application/json", message->text, message->len);
}

/* Sends the last message of an exchange, if the client has not left. A client may close a
 * stream as soon as the last event has come, so such a stream's answer counts as arrived. */
static void mcp_exchange_give(struct exchange *e, const struct mcp_message *message)
{
	struct mcp_peer *p = e->peer;
	const uint64_t sent = p->requests++;

	mcp_wrote(p->mcp, e->x != NULL, sent);
	if (e->x && e->flows) {
		send_event(e, message);
		mcp_told(p->mcp, sent, true);
	} else if (e->x) {
		mcp_exchange_answer(e, message, sent);
	}
}

static void answer_held(struct exchange *e)
{
	mcp_exchange_give(e, &(struct mcp_message){ .text = e->held.data,
						    .len = e->held.len,
						    .status = 200 });
	exchange_end(e);
}

/* Sends the answers that wait for the session's row. `f`: why the row could not be written;
 * NULL: the row is written. */
static void exchanges_release(struct mcp_peer *p, const struct fault *f)
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

/* Keeps an answer until the session's row is written, if the session is new or has changed.
 * Returns false if the answer can be sent now. */
static bool hold_answer(struct exchange *e, const struct mcp_message *message)
{
	if (e->flows || !peer_keep(e->peer, *e->id))
		return false;
	text_add(&e->held, message->text, message->len);
	return true;
}

static void send_last(struct exchange *e, const struct mcp_message *message)
{
	if (e->x && hold_answer(e, message))
		return;
	*e->id = '\0'; /* the request began no session */
	mcp_exchange_give(e, message);
	exchange_drop(e->peer, e);
}

/* exchange_send() is mcp_options.send, and exchange_drop() is mcp_options.drop. */
static void exchange_send(void *arg, const struct mcp_message *message)
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
		/* Too many unsent bytes: the client does not read its stream. A client with a
		 * session can open its stream again later. */
		http_cut(e->x);
		return;
	}
	if (!e->flows)
		begin_stream(e->x);
	e->flows = true;
	send_event(e, message);
}

static void exchange_drop(void *peer, void *exchange)
{
	struct exchange *e = exchange;

	(void)peer;
	if (e->taking)
		e->over = true;
	else
		exchange_end(e);
}

enum {
	PEERS_MOST = 2000,
	TICK_MS = 15000,
	KEPT_MS = 3600000, /* the row of an unchanged session is written again after this
			      time */
	IDLE_MS = 120000, /* a peer ends after this time without a request */
	UNREAD_MS = 1800000, /* replaces IDLE_MS if the client may have unread answers */
};

void mcp_name(const char *text, char out[NAME_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t hash[TOKEN_HASH];

	token_hash(text, hash);
	for (int i = 0; i < TOKEN_HASH; i++) {
		out[2 * i] = hex[hash[i] >> 4];
		out[2 * i + 1] = hex[hash[i] & 15];
	}
	out[NAME_SIZE - 1] = '\0';
}

static struct mcp_peer **bucket(struct host *host, const char *name)
{
	unsigned n = 0;

	for (int i = 0; i < 8; i++)
		n = n * 31 + (unsigned char)name[i];
	return &host->mcp_door->peers[n % MCP_BUCKETS];
}

struct mcp_peer *peer_find(struct host *host, const char *name)
{
	struct mcp_peer *p = *bucket(host, name);

	while (p && strcmp(p->name, name) != 0)
		p = p->next;
	return p;
}

/* --- time ------------------------------------------------------------------------------ */

static void mcp_peer_on_timer(uv_timer_t *timer)
{
	struct mcp_peer *p = timer->data;

	mcp_step(p->mcp);
	peer_keep(p, false);
	peer_rouse(p, false);
}

void peer_rouse(struct mcp_peer *p, bool now)
{
	int due = now ? 0 : mcp_timeout(p->mcp);

	if (due < 0)
		uv_timer_stop(&p->timer);
	else
		uv_timer_start(&p->timer, mcp_peer_on_timer, (uint64_t)due, 0);
}

static bool is_idle(const struct mcp_peer *p, uint64_t now)
{
	const uint64_t most = mcp_has_answers(p->mcp) ? UNREAD_MS : IDLE_MS;

	return !p->exchanges && !p->calls && !p->keeping && mcp_idle(p->mcp) &&
	       now - p->used >= most;
}

static void on_checked(struct job *job)
{
	struct mcp_peer *p = peer_find(job->owner, job->call.identity.session);

	if (p && job->call.fault.code && strcmp(job->call.fault.where, "/token") == 0)
		peer_end_trust(p);
	job_free(job);
}

/* Checks whether the token of a client with a stream for notifications is still valid. */
static void check_trust(struct mcp_peer *p)
{
	struct job *job = host_job(p->host, op_token_who, on_checked, p->host);

	job->call.identity = peer_identity(p, &job->call.arena);
	job->call.identity.session = arena_strdup(&job->call.arena, p->name);
	host_submit(p->host, job);
}

static void mcp_peer_on_tick(uv_timer_t *timer)
{
	struct host *host = timer->data;
	const uint64_t now = uv_now(&host->loop);

	for (int i = 0; i < MCP_BUCKETS; i++)
		for (struct mcp_peer *p = host->mcp_door->peers[i], *next; p; p = next) {
			next = p->next;
			exchanges_stir(p);
			if (p->listener && p->bearer)
				check_trust(p);
			if (is_idle(p, now))
				peer_end(p);
		}
}

/* --- rows ------------------------------------------------------------------------------ */

static void mcp_peer_on_kept(struct job *job)
{
	struct host *host = job->owner;
	/* The job is a session_open or a session_keep; both inputs begin with the member
	 * `name`. */
	const struct session_open_in *in = job->call.in;
	struct mcp_peer *p = peer_find(host, in->name);
	const struct fault *f = job->call.fault.code ? &job->call.fault : NULL;

	if (p && f)
		p->changes_kept--; /* makes peer_keep() try the write again */
	/* The peer may have ended during the write, and `p` may be a new peer of the same name. */
	if (p && p->keeping > 0 && --p->keeping == 0)
		exchanges_release(p, f);
	if (p && f && !p->kept)
		peer_end(p);
	else if (p)
		p->kept = true;
	job_free(job);
}

static void open_row(struct mcp_peer *p, const struct mcp_session *s)
{
	host_ask(p->host, session_open, mcp_peer_on_kept, p->host, .name = p->name,
		 .session = { .proof = p->proof,
			      .version = s->version,
			      .client = s->client,
			      .toolsets = p->toolsets ? p->toolsets : "",
			      .structured = p->structured,
			      .level = s->level,
			      .watches = s->watches });
}

static void keep_row(struct mcp_peer *p, const struct mcp_session *s)
{
	host_ask(p->host, session_keep, mcp_peer_on_kept, p->host, .name = p->name,
		 .level = s->level, .watches = s->watches);
}

bool peer_keep(struct mcp_peer *p, bool begins)
{
	const uint64_t now = uv_now(&p->host->loop);
	const bool changed = p->kept && mcp_changes(p->mcp) != p->changes_kept;
	struct mcp_session s;

	if (!begins && !changed && (!p->kept || now - p->kept_at < KEPT_MS))
		return false;
	if (!mcp_session(p->mcp, &s))
		return false;
	p->changes_kept = mcp_changes(p->mcp);
	p->kept_at = now;
	p->keeping++;
	if (begins)
		open_row(p, &s);
	else
		keep_row(p, &s);
	return begins || changed;
}

/* --- life ------------------------------------------------------------------------------ */

static char *mcp_peer_copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void copy_identity(struct mcp_peer *p, const struct identity *who)
{
	p->who = *who;
	p->who.bearer = p->bearer = mcp_peer_copy(who->bearer);
	p->who.team = p->team = mcp_peer_copy(who->team);
	p->who.agent = p->agent = mcp_peer_copy(who->agent);
	p->who.token = NULL;
}

static void peer_free(struct mcp_peer *p)
{
	free(p->bearer);
	free(p->toolsets);
	free(p->team);
	free(p->agent);
	free(p);
}

static void mcp_peer_on_closed(uv_handle_t *timer)
{
	peer_free(timer->data);
}

/* Whether the peer `a` is evicted before the peer `b`. Peers without unread answers are evicted
 * before peers with unread answers. Of two peers with unread answers, or of two peers without
 * unread answers, the peer that has been idle longer is evicted first. */
static bool goes_before(const struct mcp_peer *a, const struct mcp_peer *b)
{
	const bool first = mcp_has_answers(a->mcp), second = mcp_has_answers(b->mcp);

	return first != second ? second : a->used < b->used;
}

static void mcp_peer_make_room(struct host *host)
{
	struct mcp_peer *oldest = NULL;

	for (int i = 0; i < MCP_BUCKETS; i++)
		for (struct mcp_peer *p = host->mcp_door->peers[i]; p; p = p->next)
			if (!p->exchanges && !p->calls && !p->keeping &&
			    (!oldest || goes_before(p, oldest)))
				oldest = p;
	if (oldest)
		peer_end(oldest);
}

static struct mcp_options options(struct mcp_peer *p)
{
	return (struct mcp_options){
		.home = (struct home *)p->host->home,
		.toolsets = p->toolsets,
		.output_schemas = p->structured,
		.eras = p->has_session ? MCP_LEGACY : MCP_MODERN,
		.identity = &p->who,
		.way = &peer_way,
		.send = exchange_send,
		.drop = exchange_drop,
		.arg = p,
	};
}

struct mcp_peer *peer_new(struct host *host, const char *name, const char *proof,
			  const struct identity *who, bool session,
			  const struct mcp_wants *wants, struct fault *f)
{
	struct mcp_door *door = host->mcp_door;
	struct mcp_options o;
	struct mcp_peer *p;

	if (door->n_peers >= PEERS_MOST)
		mcp_peer_make_room(host);
	if (door->n_peers >= PEERS_MOST) {
		fault_set(f, FAULT_UNAVAILABLE, "", "too many MCP clients are at work");
		f->retry_after_ms = 1000;
		return NULL;
	}
	p = xcalloc(1, sizeof(*p));
	p->host = host;
	p->has_session = session;
	p->structured = wants->structured;
	p->toolsets = mcp_peer_copy(wants->toolsets);
	copy_identity(p, who);
	memcpy(p->name, name, NAME_SIZE);
	memcpy(p->proof, proof, NAME_SIZE);
	o = options(p);
	if (mcp_open(&p->mcp, &o, f)) {
		peer_free(p);
		return NULL;
	}
	mcp_renews(p->mcp, false);
	mcp_hold(p->mcp, session);
	uv_timer_init(&host->loop, &p->timer);
	p->timer.data = p;
	p->used = uv_now(&host->loop);
	p->next = *bucket(host, name);
	*bucket(host, name) = p;
	if (door->n_peers++ == 0)
		uv_timer_start(&door->alive, mcp_peer_on_tick, TICK_MS, TICK_MS);
	return p;
}

void peer_end(struct mcp_peer *p)
{
	struct mcp_peer **at = bucket(p->host, p->name);

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (--p->host->mcp_door->n_peers == 0)
		uv_timer_stop(&p->host->mcp_door->alive);
	if (p->listener)
		exchange_end(p->listener);
	mcp_settle(p->mcp);
	mcp_close(p->mcp); /* drops the requests that are not answered yet */
	while (p->exchanges)
		exchange_end(p->exchanges);
	uv_close((uv_handle_t *)&p->timer, mcp_peer_on_closed);
}

static void mcp_door_make(struct host *host)
{
	uv_timer_init(&host->loop, &host->mcp_door->alive);
	host->mcp_door->alive.data = host;
}

static void mcp_door_close(struct host *host)
{
	for (int i = 0; i < MCP_BUCKETS; i++)
		while (host->mcp_door->peers[i])
			peer_end(host->mcp_door->peers[i]);
	uv_close((uv_handle_t *)&host->mcp_door->alive, NULL);
}

const struct host_room room_mcp_door = {
	.size = sizeof(struct mcp_door),
	.make = mcp_door_make,
	.end = mcp_door_close,
};
