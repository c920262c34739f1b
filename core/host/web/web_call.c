/* web_call - calls the operation of a request, and answers the request. */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/host/handout.h"
#include "core/host/metrics/metrics.h"
#include "core/host/web/web.h"
#include "core/op/face.h"
#include "ops.gen.h"

/* --- bodies of JSON ---------------------------------------------------------- */

/* bodies - parses the body of a request. Another thread parses a large body. */

/* Maximum number of bytes that the loop's thread parses. */
enum { HERE_MOST = 256 << 10 };

/* A body that another thread parses. While the body is being parsed, x->owner is this struct. */
struct parsing {
	uv_work_t work;
	struct http *x; /* NULL: the request has ended */
	void *owner; /* x->owner before and after the parsing */
	void (*gone)(struct http *x);
	web_parsed *done;
	struct http_body body;
	size_t flags;
	json_t *json;
	json_error_t error;
};

static void parsing_run(uv_work_t *work)
{
	struct parsing *p = work->data;

	p->json = json_take(p->body.text.data, p->body.text.len, p->flags, &p->error);
}

static void parsing_gone(struct http *x)
{
	struct parsing *p = x->owner;

	p->x = NULL;
	x->owner = p->owner;
	if (p->gone)
		p->gone(x);
}

static void parsing_done(uv_work_t *work, int status)
{
	struct parsing *p = work->data;

	(void)status; /* unused, since the work is never cancelled */
	http_give_back(&p->body);
	if (p->x) {
		p->x->owner = p->owner;
		p->x->gone = p->gone;
		p->done(p->x, p->json, p->json ? NULL : p->error.text);
	} else {
		json_decref(p->json);
	}
	free(p);
}

static void parse_here(struct http *x, size_t flags, web_parsed *done)
{
	json_error_t error;
	json_t *json = json_take(x->body.data, x->body.len, flags, &error);

	http_drop_body(x);
	done(x, json, json ? NULL : error.text);
}

void web_parse(struct http *x, size_t flags, web_parsed *done)
{
	const struct web_door *door = x->service;
	struct parsing *p;

	if (x->body.len <= HERE_MOST) {
		parse_here(x, flags, done);
		return;
	}
	p = xcalloc(1, sizeof(*p));
	p->work.data = p;
	p->x = x;
	p->owner = x->owner;
	p->gone = x->gone;
	p->flags = flags;
	p->done = done;
	p->body = http_lend_body(x);
	x->owner = p;
	x->gone = parsing_gone;
	uv_queue_work(&door->host->loop, &p->work, parsing_run, parsing_done);
}

enum {
	BODY_MOST = 12 << 20, /* enough for the largest text of a note in JSON */
	BODY_SMALL = 4 << 10, /* maximum number of bytes that are read before the token is
				 checked */
	USED_MS = 60000, /* a token's use is stored at most once in this time */
};

/* --- arguments ------------------------------------------------------------------------ */

/* Whether a text of a request is valid UTF-8, since operations take only UTF-8. */
static bool web_call_is_utf8(const char *text)
{
	json_t *as_json = text ? json_string(text) : NULL;

	json_decref(as_json);
	return as_json != NULL;
}

/* Adds an argument of the query.  A repeated argument becomes a list. */
static void web_call_add_word(const struct record *in, json_t *args, const char *name,
			      const char *value)
{
	const struct field *fd = field_find(in, name);
	json_t *old = json_object_get(args, name), *list;
	json_t *new = fd ? field_word(fd, value) : json_string(value);

	if (!old) {
		json_object_set_new(args, name, new);
		return;
	}
	if (!json_is_array(old)) {
		list = json_pack("[O]", old);
		json_object_set_new(args, name, list);
		old = list;
	}
	json_array_append_new(old, new);
}

/* Decodes a part of the query. A '+' means a blank, as in HTML forms. */
static char *web_call_unescape(struct arena *a, const char *s, size_t n)
{
	char *copy = arena_strndup(a, s, n);

	for (char *at = copy; (at = strchr(at, '+')); at++)
		*at = ' ';
	return http_unescape(a, copy, n);
}

/* Adds the arguments of the query. Returns 0 or a fault. */
static int take_query(struct http *x, const struct record *in, json_t *args,
		      struct fault *f)
{
	for (const char *at = x->query; *at; at += strspn(at, "&")) {
		size_t len = strcspn(at, "&"), n = strcspn(at, "=&");
		const char *name = web_call_unescape(&x->arena, at, n);
		const char *value =
			n < len ? web_call_unescape(&x->arena, at + n + 1, len - n - 1)
				: "true";

		if (!web_call_is_utf8(name) || !web_call_is_utf8(value))
			return fault_set(f, FAULT_INVALID, "",
					 "the query holds %%XX that is not UTF-8");
		if (*name)
			web_call_add_word(in, args, name, value);
		at += len;
	}
	return 0;
}

/* Adds the arguments of a body, which has to be a JSON object. Returns a fault if the body has
 * another value for an argument of the path or the query. `why` says why the body is not valid
 * JSON. */
static int web_call_take_body(json_t *body, const char *why, json_t *args,
			      struct fault *f)
{
	json_t *value;
	const char *name;

	if (!body && !why)
		return 0;
	if (!json_is_object(body))
		return fault_set(f, FAULT_INVALID, "",
				 "the body is not a JSON object: %.100s",
				 body ? "the value has another type" : why);
	json_object_foreach(body, name, value) {
		json_t *path = json_object_get(args, name);

		if (path && !json_equal(path, value))
			return fault_set(
				f, FAULT_INVALID, "",
				"the body and the path have different values of %.40s",
				name);
		json_object_set(args, name, value);
	}
	return 0;
}

/* Adds the value of the header Idempotency-Key as an argument. Returns 0 or a fault. */
static int web_call_take_key(struct http *x, const struct op *op, json_t *args,
			     struct fault *f)
{
	const char *key = http_header(x, "idempotency-key");
	json_t *said = json_object_get(args, "idempotency_key");

	if (!key || !field_find(op->in, "idempotency_key"))
		return 0;
	if (!web_call_is_utf8(key))
		return fault_set(f, FAULT_INVALID, "/idempotency_key",
				 "the header Idempotency-Key is not UTF-8");
	if (said && strcmp(key, json_is_string(said) ? json_string_value(said) : ""))
		return fault_set(
			f, FAULT_INVALID, "/idempotency_key",
			"the header Idempotency-Key and the body have different keys");
	json_object_set_new(args, "idempotency_key", json_string(key));
	return 0;
}

/* --- answers ----------------------------------------------------------------------------- */

/* Stores that a call's token was used, at most once a minute for each token. */
void web_note_use(struct host *host, const struct call *call)
{
	struct web *web = host->web;
	struct token_used_in *in;
	struct job *job;

	if (!call->bearer.row || call->bearer.used_at > call->now - USED_MS)
		return;
	for (int i = 0; i < WEB_NOTED; i++)
		if (web->noted[i].row == call->bearer.row &&
		    web->noted[i].at > call->now - USED_MS)
			return;
	web->noted[web->noted_turn].row = call->bearer.row;
	web->noted[web->noted_turn].at = call->now;
	web->noted_turn = (web->noted_turn + 1) % WEB_NOTED;
	job = host_job(host, op_token_used, job_free, NULL);
	in = job->call.in;
	in->tokens = arena_alloc(&job->call.arena, sizeof(*in->tokens));
	in->tokens[0] = call->bearer.row;
	in->n_tokens = 1;
	host_submit(host, job);
}

/* A request that calls an operation. The struct is in the request's memory. */
struct asked {
	const struct op *op;
	const struct face *face; /* face that was called; NULL: the operation itself was
				    called */
	json_t *args; /* owned until the call takes the arguments */
	json_t *said; /* arguments as the client sent them to the face; owned */
	struct fault *why; /* fault to send after web_judge(); in x->arena */
	struct conn *call; /* the call under way, or NULL */
};

/* Whether a fault means that the request has no token or a wrong token. */
static bool web_call_is_unknown(const struct fault *f)
{
	return f->code == FAULT_DENIED && strcmp(f->where, "/token") == 0;
}

void web_refuse_call(struct http *x, const struct fault *f)
{
	web_refuse(x, web_call_is_unknown(f) ? 401 : 0, f);
}

static void drop_args(struct asked *asked)
{
	json_decref(asked->args);
	asked->args = NULL;
	json_decref(asked->said);
	asked->said = NULL;
}

/* Answers with a fault. If a face was called, the answer has the face's form. */
static void web_call_refuse(struct http *x, const struct fault *why)
{
	struct asked *asked = x->owner;
	char *body = NULL;

	if (asked->face && !web_call_is_unknown(why))
		body = face_refusal(asked->face, asked->said, why, HINT_ROUTE);
	drop_args(asked);
	if (body)
		web_refuse_as(x, why, body);
	else
		web_refuse_call(x, why);
	free(body);
}

/* Turns an operation's answer into the form of the face that was called. */
static void reform(struct asked *asked, struct text *body)
{
	char *text = face_answer(asked->face, asked->said, body->data);

	body->len = 0;
	text_add(body, text, strlen(text));
	free(text);
	drop_args(asked);
}

/* An answer with messages or a claim, until it is known whether the answer arrived. */
struct web_handout {
	struct host *host;
	struct given given;
	bool undone; /* a lost answer is taken back */
};

static void web_call_settle(void *arg, bool arrived)
{
	struct web_handout *h = arg;

	if (arrived || h->undone)
		handout_settle(h->host, &h->given, arrived, true);
	free(h);
}

static void web_call_hand_out(struct http *x, struct conn *c, struct job *job)
{
	struct web_handout *h;

	if (!job->call.given.agent)
		return;
	h = xmalloc(sizeof(*h));
	*h = (struct web_handout){ c->host, job->call.given, handout_is_undone(job) };
	job->arrived = true; /* web_call_settle() ends the hand-out */
	http_tell(x, web_call_settle, h);
}

static void web_call_tell(struct conn *c, struct job *job)
{
	struct call *call = &job->call;
	struct http *x = c->owner;
	struct asked *asked = x->owner;
	struct text body = { 0 };

	asked->call = NULL;
	web_note_use(c->host, call);
	if (call->fault.code) {
		if (asked->face)
			face_move(asked->face, &call->fault);
		web_call_refuse(x, &call->fault);
		return;
	}
	call_encode(call, &body);
	if (asked->face)
		reform(asked, &body);
	text_add(&body, "\n", 1);
	web_call_hand_out(x, c, job);
	http_answer(x, 200, "application/json", body.data, body.len);
	text_release(&body);
}

static void web_call_on_gone(struct http *x)
{
	struct asked *asked = x->owner;

	drop_args(asked);
	if (asked->call)
		conn_close(asked->call);
}

/* --- calls ------------------------------------------------------------------------------ */

/* Sets how the rate limits count a call. */
struct counting {
	bool paid; /* the call takes nothing from a rate bucket */
	bool stands; /* the call counts as a refused call of an operation with the rate
			`rate` */
	enum rate rate;
};

/* Starts a call. Returns NULL and sets `*why` if the call could not be started. */
static struct conn *start_call(struct http *x, const struct op *op, json_t *args,
			       void (*told)(struct conn *c, struct job *job),
			       struct counting how, struct fault *why)
{
	const struct web_door *door = x->service;
	struct job *job = job_new(&door->host->jobs);
	struct identity *who = &job->call.identity;
	struct fault *f = &job->call.fault;
	struct conn *c = NULL;

	job->packet.json = args; /* job->call borrows the texts of `args` until
				    job_own() */
	if (web_identity(x, door, who, f) == 0 &&
	    call_decode(&job->call, op, args) == 0) {
		who->bearer = arena_strdup(&job->call.arena, who->bearer);
		job_own(job);
		c = conn_single(door->host, told, x);
		if (!c)
			fault_set(f, FAULT_UNAVAILABLE, "",
				  "there is no memory for the call");
	}
	if (!c) {
		*why = *f;
		metrics_refused(door->host->metrics, op, why);
		job_free(job);
		return NULL;
	}
	x->unhurried = true;
	if (job_patience(job) > 0)
		http_watch(x);
	job->call.settles = true;
	job->call.rate.paid = how.paid;
	job->call.rate.stands = how.stands;
	job->call.rate.stands_for = how.rate;
	conn_call(c, job);
	return c;
}

/* Starts a call, or refuses the request if the call cannot be started. */
static struct conn *call_or_refuse(struct http *x, const struct op *op, json_t *args,
				   void (*told)(struct conn *c, struct job *job),
				   struct counting how)
{
	struct fault why;
	struct conn *c = start_call(x, op, args, told, how, &why);

	if (!c)
		web_refuse_call(x, &why);
	return c;
}

struct conn *web_start(struct http *x, const struct op *op, json_t *args,
		       void (*told)(struct conn *c, struct job *job))
{
	return call_or_refuse(x, op, args, told, (struct counting){ 0 });
}

struct conn *web_go_on(struct http *x, const struct op *op, json_t *args,
		       void (*told)(struct conn *c, struct job *job))
{
	return call_or_refuse(x, op, args, told, (struct counting){ .paid = true });
}

struct conn *web_judge(struct http *x, enum rate rate,
		       void (*told)(struct conn *c, struct job *job))
{
	return call_or_refuse(x, op_token_who, json_object(), told,
			      (struct counting){ .stands = true, .rate = rate });
}

/* Turns the arguments of a face into arguments of the operation. Without a face, returns
 * `args`. Owns `args` from now on. Returns NULL and sets `f` if the arguments are not valid for
 * the face. */
static json_t *web_call_unface(struct asked *asked, json_t *args, struct fault *f)
{
	if (!asked->face)
		return args;
	asked->said = args;
	return face_args(asked->face, args, f);
}

static void web_call_on_judged(struct conn *c, struct job *job)
{
	struct http *x = c->owner;
	struct asked *asked = x->owner;

	asked->call = NULL;
	web_call_refuse(x, job->call.fault.code ? &job->call.fault : asked->why);
}

/* Refuses a request for its content, and counts the request as a call. Only a caller with a
 * valid token gets the reason. */
static void refuse_known(struct http *x, const struct fault *why)
{
	struct asked *asked = x->owner;

	asked->why = arena_alloc(&x->arena, sizeof(*why));
	*asked->why = *why;
	if (web_call_is_unknown(why))
		web_call_refuse(x, why);
	else
		asked->call = web_judge(x, asked->op->rate, web_call_on_judged);
}

/* Starts the call of a request. `body`: the parsed body; NULL: the request has no body, or
 * `why` says why the body is not valid JSON. */
static void web_call_start(struct http *x, json_t *body, const char *why)
{
	struct asked *asked = x->owner;
	json_t *args = asked->args;
	struct fault f = { 0 };
	int rc;

	asked->args = NULL;
	rc = take_query(x, asked->face ? asked->face->in : asked->op->in, args, &f);
	if (rc == 0)
		rc = web_call_take_body(body, why, args, &f);
	json_decref(body);
	if (rc == 0 && web_call_take_key(x, asked->op, args, &f) == 0 &&
	    (args = web_call_unface(asked, args, &f))) {
		asked->call = start_call(x, asked->op, args, web_call_tell,
					 (struct counting){ 0 }, &f);
		if (!asked->call && asked->face)
			face_move(asked->face, &f);
	} else {
		json_decref(args);
	}
	if (!asked->call)
		refuse_known(x, &f);
}

static void web_call_on_body(struct http *x)
{
	if (x->body.len)
		web_parse(x, JSON_REJECT_DUPLICATES, web_call_start);
	else
		web_call_start(x, NULL, NULL);
}

/* Called when the token was checked. If the token is valid, reads the large body. */
static void web_call_on_known(struct conn *c, struct job *job)
{
	struct http *x = c->owner;
	struct asked *asked = x->owner;

	asked->call = NULL;
	if (job->call.fault.code) {
		drop_args(asked);
		web_refuse_call(x, &job->call.fault);
	} else {
		http_collect(x, BODY_MOST, web_call_on_body);
	}
}

static bool is_small(const struct http *x)
{
	return x->has_length ? x->length <= BODY_SMALL
			     : !http_header(x, "transfer-encoding");
}

/* Reads the body of a request whose caller is proved by a token or by the Unix socket. Before a
 * large body is read, the token is checked. */
static void web_call_collect(struct http *x, struct asked *asked)
{
	struct identity who = { 0 };
	struct fault f = { 0 };

	if (web_identity(x, x->service, &who, &f) < 0) {
		drop_args(asked);
		web_refuse_call(x, &f);
	} else if (is_small(x)) {
		http_collect(x, BODY_SMALL, web_call_on_body);
	} else if (!(asked->call = web_start(x, op_token_who, json_object(),
					     web_call_on_known))) {
		drop_args(asked);
	}
}

/* Whether the path has routes with other HTTP methods. Adds these methods to the answer, in the
 * header Allow. */
static bool has_other_method(struct http *x)
{
	struct text allow = { 0 }, tried = { 0 };
	const struct face *face;
	bool any;

	for (size_t i = 0; i < op_count; i++) {
		const char *method = op_table[i].http_method;
		json_t *args;
		const struct op *op;

		if (!method || (tried.len && strstr(tried.data, method)))
			continue;
		text_addf(&tried, "%s ", method);
		args = json_object();
		op = op_route(method, x->path, &face, args);
		if (op && op->who != WHO_HOST)
			text_addf(&allow, "%s%s", allow.len ? ", " : "", method);
		json_decref(args);
	}
	text_release(&tried);
	any = allow.len > 0;
	if (any)
		http_add_header(x, "Allow", allow.data);
	text_release(&allow);
	return any;
}

static void web_call_no_route(struct http *x)
{
	struct fault f = { 0 };

	if (has_other_method(x)) {
		fault_set(&f, FAULT_INVALID, "", "%.10s is not a method of this path",
			  x->method);
		fault_hint(&f, "See the header Allow.");
		web_refuse(x, 405, &f);
		return;
	}
	fault_set(&f, FAULT_NOT_FOUND, "", "there is nothing at %.120s", x->path);
	fault_hint(&f, "docs/reference.md lists the routes.");
	web_refuse(x, 0, &f);
}

static bool web_call_has_body(const struct http *x)
{
	return x->has_length ? x->length > 0
			     : http_header(x, "transfer-encoding") != NULL;
}

bool web_is_json(const struct http *x)
{
	const char *type = http_header(x, "content-type");

	return type && strncasecmp(type, "application/json", 16) == 0 &&
	       (type[16] == '\0' || type[16] == ';' || type[16] == ' ');
}

void web_call(struct http *x)
{
	const char *method = strcmp(x->method, "HEAD") == 0 ? "GET" : x->method;
	struct asked *asked = arena_alloc(&x->arena, sizeof(*asked));
	struct fault f = { 0 };

	if (!web_call_is_utf8(http_unescape(&x->arena, x->path, strlen(x->path)))) {
		fault_set(&f, FAULT_INVALID, "", "the path holds %%XX that is not UTF-8");
		web_refuse(x, 0, &f);
		return;
	}
	*asked = (struct asked){ .args = json_object() };
	asked->op = op_route(method, x->path, &asked->face, asked->args);
	if (!asked->op || asked->op->who == WHO_HOST) {
		json_decref(asked->args);
		web_call_no_route(x);
		return;
	}
	x->owner = asked;
	x->gone = web_call_on_gone;
	if (!web_call_has_body(x)) {
		web_call_start(x, NULL, NULL);
	} else if (web_is_json(x)) {
		web_call_collect(x, asked);
	} else {
		fault_set(&f, FAULT_INVALID, "", "Content-Type must be application/json");
		json_decref(asked->args);
		asked->args = NULL;
		web_refuse(x, 415, &f);
	}
}
