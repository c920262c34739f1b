/*
 * mcp_request - finds the kind, the caller and the session of a request at /mcp, and gives the
 * request to its peer.
 */
#include "core/host/mcp/mcp_door_inside.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "mcp/rpc.h"

enum {
	MESSAGE_MOST = 4 << 20, /* maximum size of a message in bytes */
	MESSAGE_SMALL = 4 << 10, /* maximum number of bytes that are read before the token
				    is checked */
	TRUST_MS = 1000, /* after this time a peer's token is checked again; each call
			    also checks the token */
};

/* A request that its peer has not taken yet. The struct is in the request's arena. */
struct arriving {
	struct http *x;
	struct host *host;
	json_t *message; /* owned; NULL: the request has no message */
	struct mcp_headers headers;
	bool legacy;
	const char *id; /* id of the request's session, which may be new; NULL: no
			   session */
	bool begins;
	struct mcp_wants wants;
	char name[NAME_SIZE]; /* name of the peer: see struct mcp_peer */
	char proof[NAME_SIZE]; /* SHA-256 of the request's token */
	struct identity who;
	struct mcp_session *row; /* row of a session whose peer is not in memory; or
				    NULL */
	bool looked; /* the token was checked for this request */
	struct conn *call; /* call that checks the token; NULL: no check is under way */
	const char *why; /* why the message is not valid JSON */
	/* A job that reads or ends the session's row has a pointer to this request. `slot`
	 * points to this pointer. NULL: there is no such job. */
	struct arriving **slot;
};

/* --- refusals -------------------------------------------------------------------------- */

static void forget_message(struct arriving *a)
{
	json_decref(a->message);
	a->message = NULL;
}

/* Answers with an error of JSON-RPC. No peer has taken the request yet. */
static void mcp_request_refuse(struct arriving *a, int status, int code, const char *why)
{
	json_t *id = json_object_get(a->message, "id");
	struct text out = { 0 }, text = { 0 };

	if (rpc_is_id(id))
		rpc_add_id(&text, id);
	rpc_add_error(&out, text.data, code, why, NULL);
	forget_message(a);
	http_answer(a->x, status, "application/json", out.data, out.len);
	text_release(&out);
	text_release(&text);
}

static void refuse_fault(struct arriving *a, const struct fault *f)
{
	forget_message(a);
	web_refuse_call(a->x, f);
}

static void mcp_request_on_gone(struct http *x)
{
	struct arriving *a = x->owner;

	if (a->call)
		conn_close(a->call);
	if (a->slot)
		*a->slot = NULL;
	forget_message(a);
}

static void refuse_method(struct http *x, const char *why)
{
	struct fault f = { 0 };

	http_add_header(x, "Allow", "POST, GET, DELETE");
	fault_set(&f, FAULT_INVALID, "", "%s", why);
	http_fault(x, 405, &f);
}

/* --- its kind -------------------------------------------------------------------------- */

/* Whether the HTTP method is DELETE, which ends a session. No other method that this file
 * handles begins with D. */
static bool is_end(const struct http *x)
{
	return *x->method == 'D';
}

static bool mcp_request_is_word(const char *value, const char *word)
{
	return value && strcasecmp(value, word) == 0;
}

static void read_wants(struct arriving *a)
{
	const char *sets = http_query(a->x, "toolsets");
	const char *structured = http_query(a->x, "output_schemas");

	a->wants.toolsets = sets ? sets : http_header(a->x, "cadre-toolsets");
	a->wants.structured = mcp_request_is_word(structured, "true") ||
			      mcp_request_is_word(structured, "1");
}

/* Sets the name of the request's peer. Requests without a session share a peer if their tokens
 * and options are equal. */
static void name_peer(struct arriving *a)
{
	if (a->id)
		mcp_name(a->id, a->name);
	else
		mcp_name(arena_printf(&a->x->arena, "%s\n%s\n%d",
				      a->who.bearer ? a->who.bearer : "",
				      a->wants.toolsets ? a->wants.toolsets : "",
				      a->wants.structured),
			 a->name);
	if (a->who.bearer)
		mcp_name(a->who.bearer, a->proof);
}

/* An id that nobody can guess, from 256 random bits. */
static const char *new_id(struct arriving *a)
{
	struct text t = { 0 };
	char *id;

	for (int i = 0; i < 4; i++)
		text_addf(&t, "%016llx", (unsigned long long)home_random());
	id = arena_strdup(&a->x->arena, t.data);
	text_release(&t);
	return id;
}

/* Finds the revision and the session of a request. Returns false if the request was refused,
 * because the request needs a session but names no session. */
static bool read_era(struct arriving *a)
{
	const char *version = a->headers.version;

	a->id = http_header(a->x, "mcp-session-id");
	if (version && !mcp_is_legacy(version)) {
		a->id = NULL; /* clients of newer revisions have no session */
		return true;
	}
	a->begins = !a->id && mcp_begins(a->message);
	a->legacy = a->id || a->begins || version;
	if (a->begins)
		a->id = new_id(a);
	if (!a->legacy || a->id)
		return true;
	mcp_request_refuse(a, 400, RPC_INVALID_REQUEST,
			   "Mcp-Session-Id is missing: begin with initialize");
	return false;
}

/* --- peer ------------------------------------------------------------------------------ */

static void take_post(struct arriving *a, struct mcp_peer *p)
{
	struct http *x = a->x;
	json_t *message = a->message;
	struct exchange *e;

	a->message = NULL;
	e = exchange_new(p, x);
	if (a->begins)
		snprintf(e->id, sizeof(e->id), "%s", a->id);
	e->taking = true;
	mcp_at(p->mcp, p->requests - 1);
	if (!mcp_take(p->mcp, message, a->legacy ? NULL : &a->headers, e) && !e->over)
		exchange_accept(e);
	e->taking = false;
	if (e->over)
		exchange_end(e);
	json_decref(message);
	peer_keep(p, false);
	peer_rouse(p, false);
}

/* A session whose end is being written to the session's row. */
struct ending {
	struct arriving *a; /* the request with DELETE; NULL: the request has ended */
	struct host *host;
};

/* If the session's end was written to the row, ends the session's peer too. peer_find() is
 * called here, since another request may have made a new peer from the session's row meanwhile. */
static void mcp_request_on_ended(struct job *job)
{
	const struct session_close_in *in = job->call.in;
	struct ending *end = job->owner;
	struct arriving *a = end->a;
	struct mcp_peer *p = peer_find(end->host, in->name);

	if (a)
		a->slot = NULL;
	if (p && !job->call.fault.code)
		peer_end(p);
	if (a && job->call.fault.code)
		refuse_fault(a, &job->call.fault);
	else if (a)
		http_answer(a->x, 204, NULL, "", 0);
	free(end);
	job_free(job);
}

static void close_session(struct arriving *a)
{
	struct ending *end = xmalloc(sizeof(*end));

	*end = (struct ending){ a, a->host };
	a->slot = &end->a;
	host_ask(a->host, session_close, mcp_request_on_ended, end, .name = a->name);
}

static void mcp_request_find(struct arriving *a);

static void arrive(struct arriving *a)
{
	struct mcp_peer *p = peer_find(a->host, a->name);
	struct fault f = { 0 };

	if (!p && a->id && !a->begins && !a->row) {
		/* The session has no peer in memory. The session's row shows whether the
		 * session still exists. */
		mcp_request_find(a);
		return;
	}
	if (!p) {
		p = peer_new(a->host, a->name, a->proof, &a->who, a->id != NULL,
			     &a->wants, &f);
		if (!p && f.code == FAULT_INVALID)
			mcp_request_refuse(a, 400, RPC_INVALID_PARAMS, f.text);
		else if (!p)
			refuse_fault(a, &f);
		if (!p)
			return;
		p->kept = a->row && mcp_restore(p->mcp, a->row);
	}
	if (a->looked)
		p->checked = uv_now(&a->host->loop);
	if (strcmp(a->x->method, "POST") == 0)
		take_post(a, p);
	else if (is_end(a->x))
		close_session(a);
	else
		exchange_listen(exchange_new(p, a->x),
				http_header(a->x, "last-event-id"));
}

/* --- caller ---------------------------------------------------------------------------- */

static void on_who(struct conn *c, struct job *job)
{
	struct http *x = c->owner;
	struct arriving *a = x->owner;
	const struct token_who_out *out = job->call.out;
	struct arena *arena = &x->arena;

	a->call = NULL;
	web_note_use(c->host, &job->call);
	if (job->call.fault.code) {
		refuse_fault(a, &job->call.fault);
		return;
	}
	a->who.bearer = arena_strdup(arena, a->who.bearer);
	a->who.team = arena_strdup(arena, out->team);
	a->who.agent = arena_strdup(arena, out->name);
	a->who.level = job->call.identity.level;
	a->who.looks = job->call.identity.looks;
	a->looked = true;
	arrive(a);
}

static void mcp_request_check(struct arriving *a)
{
	const struct mcp_peer *p = peer_find(a->host, a->name);

	if (a->looked ||
	    (p && p->checked && uv_now(&a->host->loop) - p->checked < TRUST_MS))
		arrive(a);
	else if (!(a->call = web_start(a->x, op_token_who, json_object(), on_who)))
		forget_message(a);
}

/* --- session --------------------------------------------------------------------------- */

static bool is_holder(struct arriving *a, const char *proof)
{
	if (strcmp(a->proof, proof) == 0)
		return true;
	mcp_request_refuse(a, 404, RPC_INVALID_REQUEST, "there is no such session");
	return false;
}

static struct mcp_session *copy_row(struct arena *arena, const struct session *s)
{
	struct mcp_session *row = arena_alloc(arena, sizeof(*row));

	*row = (struct mcp_session){ .version = arena_strdup(arena, s->version),
				     .client = arena_strdup(arena, s->client),
				     .level = (int)s->level,
				     .watches = arena_strdup(arena, s->watches) };
	return row;
}

/* Gets the session's row from the job, if the request has not ended. `*slot` is NULL if the
 * request has ended. */
static void mcp_request_on_found(struct job *job)
{
	struct arriving **slot = job->owner, *a = *slot;
	const struct session_find_out *out = job->call.out;
	const struct session *s = &out->session;

	free(slot);
	if (a && job->call.fault.code) {
		a->slot = NULL;
		if (job->call.fault.code == FAULT_NOT_FOUND)
			mcp_request_refuse(a, 404, RPC_INVALID_REQUEST,
					   "there is no such session");
		else
			refuse_fault(a, &job->call.fault);
	} else if (a) {
		a->slot = NULL;
		a->row = copy_row(&a->x->arena, s);
		a->wants.toolsets = *s->toolsets ? arena_strdup(&a->x->arena, s->toolsets)
						 : NULL;
		a->wants.structured = s->structured;
		if (is_holder(a, s->proof))
			mcp_request_check(a);
	}
	job_free(job);
}

static void mcp_request_find(struct arriving *a)
{
	const struct mcp_peer *p = a->id ? peer_find(a->host, a->name) : NULL;

	if (!a->id || a->begins) {
		mcp_request_check(a);
		return;
	}
	if (p) {
		if (is_holder(a, p->proof))
			mcp_request_check(a);
		return;
	}
	a->slot = xmalloc(sizeof(*a->slot));
	*a->slot = a;
	host_ask(a->host, session_find, mcp_request_on_found, a->slot, .name = a->name);
}

/* --- requests ---------------------------------------------------------------------------- */

static struct arriving *arriving_new(struct http *x)
{
	const struct web_door *door = x->service;
	struct arriving *a = arena_alloc(&x->arena, sizeof(*a));

	*a = (struct arriving){ .x = x,
				.host = door->host,
				.headers = { http_header(x, "mcp-protocol-version"),
					     http_header(x, "mcp-method"),
					     http_header(x, "mcp-name") } };
	x->owner = a;
	x->gone = mcp_request_on_gone;
	x->unhurried = true;
	return a;
}

/* Called when the token was checked. Only a client with a valid token is told that the body is
 * not valid JSON. */
static void mcp_request_on_judged(struct conn *c, struct job *job)
{
	struct http *x = c->owner;
	struct arriving *a = x->owner;

	a->call = NULL;
	if (job->call.fault.code)
		refuse_fault(a, &job->call.fault);
	else
		mcp_request_refuse(a, 400, RPC_PARSE, a->why);
}

static void on_parsed(struct http *x, json_t *message, const char *why)
{
	struct arriving *a = x->owner;

	a->message = message;
	if (!message) {
		a->why = arena_strdup(&x->arena, why);
		a->call = web_judge(x, RATE_DEFAULT, mcp_request_on_judged);
		return;
	}
	if (!read_era(a))
		return;
	read_wants(a);
	name_peer(a);
	mcp_request_find(a);
}

static void mcp_request_on_body(struct http *x)
{
	web_parse(x, JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES,
		  on_parsed);
}

/* Called when the token was checked. A client with a valid token may send a large message. */
static void mcp_request_on_known(struct conn *c, struct job *job)
{
	struct http *x = c->owner;
	struct arriving *a = x->owner;

	a->call = NULL;
	if (job->call.fault.code)
		refuse_fault(a, &job->call.fault);
	else
		http_collect(x, MESSAGE_MOST, mcp_request_on_body);
}

static void with_body(struct http *x)
{
	const struct web_door *door = x->service;
	struct arriving *a = arriving_new(x);
	struct fault f = { 0 };

	if (web_identity(x, door, &a->who, &f) < 0)
		refuse_fault(a, &f);
	else if (x->has_length && x->length <= MESSAGE_SMALL)
		http_collect(x, MESSAGE_SMALL, mcp_request_on_body);
	else
		a->call = web_start(x, op_token_who, json_object(), mcp_request_on_known);
}

static void without_body(struct http *x)
{
	const struct web_door *door = x->service;
	struct arriving *a = arriving_new(x);
	struct fault f = { 0 };

	a->id = http_header(x, "mcp-session-id");
	a->legacy = true;
	if (!a->id || (a->headers.version && !mcp_is_legacy(a->headers.version))) {
		refuse_method(x, "without a session, only POST is allowed");
	} else if (web_identity(x, door, &a->who, &f) < 0) {
		web_refuse_call(x, &f);
	} else {
		name_peer(a);
		mcp_request_find(a);
	}
}

void mcp_door_request(struct http *x)
{
	struct fault f = { 0 };

	if (strcmp(x->method, "GET") == 0 || is_end(x)) {
		without_body(x);
	} else if (strcmp(x->method, "POST") != 0) {
		refuse_method(x, "this is not a method of MCP");
	} else if (!web_is_json(x)) {
		fault_set(&f, FAULT_INVALID, "", "Content-Type must be application/json");
		web_refuse(x, 415, &f);
	} else {
		with_body(x);
	}
}
