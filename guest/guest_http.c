#include "guest/guest_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/access/token.h"
#include "core/base/alloc.h"
#include "guest/guest_http_inside.h"
#include "guest/guest_target.h"

enum {
	CONNECTIONS = 100,
	/* The maximum numbers of requests and of file transfers that one token may have under
	 * way at one time. */
	REQUESTS_OF_ONE = 10,
	FILES_OF_ONE = 4,
	RETRY_MS = 1000,
};

struct route {
	const char *method, *path; /* a `path` that ends with '/' is a prefix */
	visit_step *serve;
	bool open; /* requests of this route need no token */
};

static void file_get(struct http_visit *v);
static void file_post(struct http_visit *v);
static void file_gone(struct http_visit *v);

/* --- the end of a visit ------------------------------------------------------------ */

static void guest_http_let_go(struct http_visit *v)
{
	if (v->asking)
		ask_drop(v->front->guest, v->asking);
	v->asking = NULL;
	if (v->collecting)
		v->front->collecting--;
	v->collecting = false;
}

static void visit_gone(struct http *x)
{
	struct http_visit *v = x->owner;

	guest_http_let_go(v);
	file_gone(v);
}

/* Answers the request with a fault. If `status` is 0, the answer gets the fault's own status. */
static void visit_fail(struct http_visit *v, int status, const struct fault *why)
{
	guest_http_let_go(v);
	if (status == 401)
		http_add_header(v->x, "WWW-Authenticate", "Bearer");
	if (why->retry_after_ms > 0) {
		char seconds[24];

		snprintf(seconds, sizeof(seconds), "%lld",
			 (long long)((why->retry_after_ms + 999) / 1000));
		http_add_header(v->x, "Retry-After", seconds);
	}
	http_fault(v->x, status, why);
}

/* Answers the request with the JSON document `json`. visit_answer_json() frees `json`. */
static void visit_answer_json(struct http_visit *v, int status, json_t *json)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	struct fault f = { 0 };

	json_decref(json);
	if (!text) {
		fault_set(&f, FAULT_INTERNAL, "", "the host's answer is malformed");
		visit_fail(v, 0, &f);
		return;
	}
	guest_http_let_go(v);
	http_answer(v->x, status, "application/json", text, strlen(text));
	free(text);
}

/* --- the host ------------------------------------------------------------------------ */

static void fail_as_told(struct http_visit *v, struct fault *f)
{
	bool token = v->token && strcmp(f->where, "/door") == 0;

	if (strcmp(f->where, "/door") == 0)
		f->where[0] = '\0';
	visit_fail(v, token && f->code == FAULT_DENIED ? 401 : 0, f);
}

static void guest_http_on_told(void *arg, json_t *answer, const struct fault *why)
{
	struct http_visit *v = arg;
	const char *type = json_find_text(answer, "type");
	json_t *result = json_object_get(answer, "result");
	struct fault f = *why;

	v->asking = NULL;
	if (answer && !result) {
		if (!type || strcmp(type, "Error") != 0)
			fault_set(&f, FAULT_INTERNAL, "",
				  "the host's answer is malformed");
		else
			wire_read_fault(answer, &f);
	}
	if (f.code)
		fail_as_told(v, &f);
	else
		v->heard(v, result);
}

/* Lets the host run the operation `op` with the rights of the member to whom the token belongs.
 * visit_call() frees `args`. If `token` is NULL, the operation runs as the workspace's own
 * agent. */
static void visit_call(struct http_visit *v, const char *op, json_t *args,
		       const char *token,
		       void (*heard)(struct http_visit *v, json_t *result))
{
	struct fault f = { 0 };
	char session[TOKEN_MOST + 8];
	json_t *call;

	/* Each token's agent has a session of its own at this door, so that a receive of one
	 * agent does not acknowledge messages of another agent. */
	snprintf(session, sizeof(session), "http:%.*s",
		 token ? (int)strcspn(token, ".") : 0, token ? token : "");
	call = json_pack("{s:s, s:s, s:o, s:s, s:s*}", "type", "Call", "op", op, "args",
			 args, "session", session, "door", token);

	if (!call)
		out_of_memory();
	v->heard = heard;
	v->asking = ask_host(v->front->guest, call, guest_http_on_told, v, &f);
	json_decref(call);
	if (!v->asking)
		visit_fail(v, 0, &f);
}

/* --- the caller ------------------------------------------------------------------------ */

static struct http_pass *find_pass(struct guest_http *front, const char *token)
{
	uint64_t now = uv_now(&front->guest->loop);
	size_t n = strlen(token) + 1;

	for (int i = 0; i < PASSES; i++) {
		struct http_pass *p = &front->passes[i];

		if (p->until > now && strlen(p->token) + 1 == n &&
		    token_equal(p->token, token, n))
			return p;
	}
	return NULL;
}

static void on_proven(struct http_visit *v, json_t *result)
{
	struct guest_http *front = v->front;
	struct http_pass *p = &front->passes[front->next_pass++ % PASSES];

	(void)result;
	snprintf(p->token, sizeof(p->token), "%s", v->token);
	p->until = uv_now(&front->guest->loop) + PASS_MS;
	v->then(v);
}

/* Calls `then` as soon as the host has accepted the token. If no host is connected, the request
 * fails. */
static void visit_prove(struct http_visit *v, visit_step *then)
{
	v->then = then;
	if (v->front->guest->host && find_pass(v->front, v->token))
		then(v);
	else
		visit_call(v, "agent.whois", json_object(), v->token, on_proven);
}

/* Returns the request's token; NULL: the request has no token of the right form. Only the host
 * can find the member to whom a token belongs. */
static const char *guest_http_read_token(struct http_visit *v)
{
	const char *said = http_header(v->x, "authorization");
	size_t n;

	if (!said || strncasecmp(said, "Bearer ", 7) != 0)
		return NULL;
	said += 7 + strspn(said + 7, " ");
	n = strspn(said, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			 "-._~+/=");
	return n > 0 && n < TOKEN_MOST && said[n] == '\0' ? said : NULL;
}

static void guest_http_no_token(struct http_visit *v)
{
	struct fault f = { 0 };

	fault_set(&f, FAULT_DENIED, "", "the request has no bearer token of a teammate");
	fault_hint(&f, "Ask for a token with: cadre agent door NAME.");
	visit_fail(v, 401, &f);
}

/* --- the limits of one token ------------------------------------------------------------- */

static bool same_token(const struct http *one, const struct http *other)
{
	const struct http_visit *v = one->mark, *w = other->mark;
	size_t n = strlen(v->token) + 1;

	return w && w->token && strlen(w->token) + 1 == n &&
	       token_equal(v->token, w->token, n);
}

static bool same_token_file(const struct http *one, const struct http *other)
{
	const struct http_visit *w = other->mark;

	return w && w->moves_file && same_token(one, other);
}

/* Refuses a request of a token that has too many requests under way. The connection is closed
 * after the answer, so that a caller who repeats the request does not occupy the connection. */
static void guest_http_too_many(struct http_visit *v, int most, const char *what)
{
	struct fault f = { 0 };

	fault_set(&f, FAULT_EXHAUSTED, "", "%d %s of this token are under way already",
		  most, what);
	fault_hint(&f, "Wait until one ends.");
	f.retry_after_ms = RETRY_MS;
	v->x->last = true;
	visit_fail(v, 0, &f);
}

static void move_file(struct http_visit *v, visit_step *then)
{
	v->moves_file = true;
	if (http_count(v->x, same_token_file) > FILES_OF_ONE)
		guest_http_too_many(v, FILES_OF_ONE, "files");
	else
		visit_prove(v, then);
}

static void get_file(struct http_visit *v)
{
	move_file(v, file_get);
}

static void post_file(struct http_visit *v)
{
	move_file(v, file_post);
}

/* --- mail -------------------------------------------------------------------- */

/*
 * guest_http_mail - serves requests of teammates to the member of this workspace.
 */

enum {
	BODY_MOST = 2 << 20, /* maximum number of bytes of a JSON body, enough for 256 KiB
				of escaped text */
	COLLECTING_MOST = 16, /* maximum number of JSON bodies in memory at one time */
	LIMIT_MOST = 1000,
};

/* --- /health and /card -------------------------------------------------------------------- */

static void tell_health(struct http_visit *v)
{
	const struct guest *g = v->front->guest;
	int64_t up = (int64_t)(uv_now(&g->loop) - g->started) / 1000;

	visit_answer_json(v, 200,
			  json_pack("{s:s, s:s, s:I}", "status", "ready", "version",
				    g->options->version, "uptime_secs", (json_int_t)up));
}

static void guest_http_mail_tell_open(struct http_visit *v)
{
	struct fault f = { 0 };

	if (!v->front->shut) {
		tell_health(v);
		return;
	}
	fault_set(&f, FAULT_DENIED, "",
		  "the team's policy does not let VMs reach each other "
		  "(allow_inter_vm)");
	visit_fail(v, 0, &f);
}

static void on_policy(void *arg, json_t *answer, const struct fault *why)
{
	struct http_visit *v = arg;
	struct guest_http *front = v->front;
	struct fault f = *why;

	v->asking = NULL;
	if (answer && !json_object_get(answer, "result"))
		wire_read_fault(answer, &f);
	if (!f.code || f.code == FAULT_DENIED) {
		front->known = true;
		front->shut = f.code == FAULT_DENIED;
		front->known_until = uv_now(&front->guest->loop) + PASS_MS;
	}
	if (front->known)
		guest_http_mail_tell_open(v);
	else
		visit_fail(v, 0, &f);
}

/* Answers whether the door is open. If no host is connected, or the host's last answer is
 * recent, the guest repeats this answer. Otherwise the guest asks the host. */
static void guest_http_get_health(struct http_visit *v)
{
	struct guest_http *front = v->front;
	struct fault f = { 0 };
	json_t *call;

	if (front->known &&
	    (!front->guest->host || front->known_until > uv_now(&front->guest->loop))) {
		guest_http_mail_tell_open(v);
		return;
	}
	call = json_pack("{s:s, s:s, s:{s:s}}", "type", "Call", "op", "agent.door",
			 "args", "name", front->guest->agent);
	v->asking = ask_host(front->guest, call, on_policy, v, &f);
	json_decref(call);
	if (!v->asking)
		visit_fail(v, 0, &f);
}

static void on_card(struct http_visit *v, json_t *result)
{
	json_t *card = json_object_get(result, "card");

	visit_answer_json(v, 200, card ? json_incref(card) : json_object());
}

static void guest_http_get_card(struct http_visit *v)
{
	visit_call(v, "agent.whois", json_object(), v->token, on_card);
}

/* --- messages ---------------------------------------------------------------------------- */

static void on_messages(struct http_visit *v, json_t *result)
{
	visit_answer_json(v, 200, json_incref(result));
}

/* Splits a list of ids at its commas. Each id names an answer that has arrived at the caller. */
static json_t *split_names(const char *said)
{
	json_t *names = json_array();

	while (*said) {
		size_t n = strcspn(said, ",");

		if (n > 0)
			json_array_append_new(names, json_stringn(said, n));
		said += n + (said[n] == ',');
	}
	return names;
}

static void guest_http_get_messages(struct http_visit *v)
{
	const char *seen = http_query(v->x, "seen");
	const char *limit = http_query(v->x, "limit");
	const char *request = http_query(v->x, "request_id");
	json_t *args = json_object();
	struct fault f = { 0 };
	char *end;
	long n = limit ? strtol(limit, &end, 10) : 0;

	if (limit && (!*limit || *end || n < 1 || n > LIMIT_MOST)) {
		json_decref(args);
		fault_set(&f, FAULT_INVALID, "/limit", "not a number from 1 to %d",
			  LIMIT_MOST);
		visit_fail(v, 0, &f);
		return;
	}
	if (limit)
		json_object_set_new(args, "limit", json_integer(n));
	if (request)
		json_object_set_new(args, "request_id", json_string(request));
	if (seen)
		json_object_set_new(args, "seen", split_names(seen));
	visit_call(v, "message.receive", args, v->token, on_messages);
}

static void guest_http_mail_on_stored(struct http_visit *v, json_t *result)
{
	json_t *id = json_object_get(result, "message_id");

	visit_answer_json(
		v, 202, json_pack("{s:s, s:O}", "status", "accepted", "message_id", id));
}

/* Returns the arguments in the request's body. NULL: the body is invalid, and the request was
 * answered with a fault. */
static json_t *guest_http_mail_read_body(struct http_visit *v)
{
	json_error_t error;
	struct fault f = { 0 };
	const char *key = http_header(v->x, "idempotency-key");
	json_t *args = json_take(v->x->body.data, v->x->body.len, JSON_REJECT_DUPLICATES,
				 &error);

	if (!json_is_object(args)) {
		json_decref(args);
		fault_set(&f, FAULT_INVALID, "", "the body is not a JSON object: %.150s",
			  args ? "the value has another type" : error.text);
		visit_fail(v, 0, &f);
		return NULL;
	}
	if (key && !json_object_get(args, "idempotency_key"))
		json_object_set_new(args, "idempotency_key", json_string(key));
	return args;
}

/* Refuses a request with arguments that are not allowed at this door, even if other doors allow
 * these arguments. Returns true if the request was refused. */
static bool has_strange_key(struct http_visit *v, json_t *args)
{
	static const char *const known[] = {
		"content",  "agent",    "message_type", "priority",
		"thread",   "reply_to", "ack_required", "ttl_seconds",
		"metadata", "from",     "to",           "idempotency_key"
	};
	struct fault f = { 0 };
	const char *key;
	json_t *value;

	json_object_foreach(args, key, value) {
		size_t i = 0;

		while (i < sizeof(known) / sizeof(*known) && strcmp(known[i], key) != 0)
			i++;
		if (i < sizeof(known) / sizeof(*known))
			continue;
		fault_set(&f, FAULT_INVALID, "", "'%.60s' is not known here", key);
		visit_fail(v, 0, &f);
		json_decref(args);
		return true;
	}
	return false;
}

static void guest_http_mail_send_message(struct http_visit *v, json_t *args)
{
	if (has_strange_key(v, args))
		return;
	json_object_del(args, "to"); /* the recipient is the owner of this door, whom the
					host knows */
	visit_call(v, "message.send", args, v->token, guest_http_mail_on_stored);
}

static void take_message(struct http *x)
{
	struct http_visit *v = x->owner;
	json_t *args = guest_http_mail_read_body(v);

	if (args)
		guest_http_mail_send_message(v, args);
}

/* Sends an assignment. The request's body contains both fields of the message and fields of the
 * payload. Moves the fields of the message from the payload into `args`. */
static void take_task(struct http *x)
{
	static const char *const beside[] = { "from", "priority", "thread",
					      "idempotency_key" };
	struct http_visit *v = x->owner;
	json_t *payload = guest_http_mail_read_body(v), *args = json_object();
	char *content;

	for (size_t i = 0; payload && i < sizeof(beside) / sizeof(*beside); i++) {
		json_t *value = json_object_get(payload, beside[i]);

		if (value)
			json_object_set(args, beside[i], value);
		json_object_del(payload, beside[i]);
	}
	content = payload ? json_dumps(payload, JSON_COMPACT) : NULL;
	json_decref(payload);
	if (!content) {
		json_decref(args);
		return;
	}
	json_object_set_new(args, "content", json_string(content));
	json_object_set_new(args, "message_type", json_string("task_assignment"));
	free(content);
	guest_http_mail_send_message(v, args);
}

static void guest_http_mail_collect(struct http_visit *v, http_whole *end)
{
	struct fault f = { 0 };

	if (v->front->collecting >= COLLECTING_MOST) {
		fault_set(&f, FAULT_UNAVAILABLE, "", "too many messages at once");
		f.retry_after_ms = 1000;
		visit_fail(v, 0, &f);
		return;
	}
	v->collecting = true;
	v->front->collecting++;
	http_collect(v->x, BODY_MOST, end);
}

static void read_message(struct http_visit *v)
{
	guest_http_mail_collect(v, take_message);
}

static void guest_http_post_message(struct http_visit *v)
{
	visit_prove(v, read_message);
}

static void read_task(struct http_visit *v)
{
	guest_http_mail_collect(v, take_task);
}

static void guest_http_post_task(struct http_visit *v)
{
	visit_prove(v, read_task);
}

/* --- routes -------------------------------------------------------------------------------- */

static const struct route routes[] = {
	{ "GET", "/health", guest_http_get_health, true },
	{ "GET", "/card", guest_http_get_card, false },
	{ "GET", "/messages", guest_http_get_messages, false },
	{ "POST", "/messages", guest_http_post_message, false },
	{ "POST", "/message", guest_http_post_message, false },
	{ "POST", "/task", guest_http_post_task, false },
	{ "GET", "/files/", get_file, false },
	{ "POST", "/files/", post_file, false },
};

enum { ROUTES = sizeof(routes) / sizeof(*routes) };

static bool leads(const struct route *r, const char *path)
{
	size_t n = strlen(r->path);

	return r->path[n - 1] == '/' ? strncmp(r->path, path, n) == 0
				     : strcmp(r->path, path) == 0;
}

/* Whether a route accepts a method. A route with GET also accepts HEAD, except /messages, which
 * hands out messages. */
static bool takes(const struct route *r, const char *method)
{
	return strcmp(r->method, method) == 0 ||
	       (strcmp(method, "HEAD") == 0 && strcmp(r->method, "GET") == 0 &&
		strcmp(r->path, "/messages") != 0);
}

static void guest_http_no_route(struct http_visit *v)
{
	struct fault f = { 0 };
	char allowed[64] = "";

	for (int i = 0; i < ROUTES; i++)
		if (leads(&routes[i], v->x->path)) {
			size_t n = strlen(allowed);

			snprintf(allowed + n, sizeof(allowed) - n, "%s%s", n ? ", " : "",
				 routes[i].method);
		}
	if (!*allowed) {
		fault_set(&f, FAULT_NOT_FOUND, "", "there is no %.100s", v->x->path);
		fault_hint(&f, "There are /health, /card, /messages, /message, /task and "
			       "/files/.");
		visit_fail(v, 404, &f);
		return;
	}
	http_add_header(v->x, "Allow", allowed);
	fault_set(&f, FAULT_INVALID, "", "%.100s is for %s", v->x->path, allowed);
	visit_fail(v, 405, &f);
}

static bool is_address(const char *host, size_t n)
{
	unsigned char ip[16];
	char text[64];

	if (n >= sizeof(text))
		return false;
	memcpy(text, host, n);
	text[n] = '\0';
	if (*text == '[' && n > 2 && text[n - 1] == ']') {
		text[n - 1] = '\0';
		return inet_pton(AF_INET6, text + 1, ip) == 1;
	}
	return inet_pton(AF_INET, text, ip) == 1;
}

static bool guest_http_is_ours(const struct guest *g, const char *host)
{
	size_t n = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	const char *names[] = { "localhost", g->agent, g->options->name };

	if (n > strlen(host))
		return false;
	if (is_address(host, n))
		return true;
	for (int i = 0; i < 3; i++)
		if (names[i] && strlen(names[i]) == n && n &&
		    strncasecmp(names[i], host, n) == 0)
			return true;
	return false;
}

static void guest_http_begin(struct http *x)
{
	struct guest_http *front = x->service;
	const char *host = http_header(x, "host");
	struct http_visit *v = arena_alloc(&x->arena, sizeof(*v));
	struct fault f = { 0 };

	*v = (struct http_visit){ .front = front, .x = x, .fd = -1 };
	x->owner = v;
	x->gone = visit_gone;
	for (int i = 0; i < ROUTES && !v->route; i++)
		if (leads(&routes[i], x->path) && takes(&routes[i], x->method))
			v->route = &routes[i];
	v->token = guest_http_read_token(v);
	x->mark = v;
	if (host && !guest_http_is_ours(front->guest, host)) {
		fault_set(&f, FAULT_DENIED, "", "%.100s is not served here", host);
		fault_hint(&f, "Use the address of the agent's card.");
		visit_fail(v, 421, &f);
	} else if (!v->route) {
		guest_http_no_route(v);
	} else if (!v->route->open && !v->token) {
		guest_http_no_token(v);
	} else if (v->token && http_count(x, same_token) > REQUESTS_OF_ONE) {
		guest_http_too_many(v, REQUESTS_OF_ONE, "requests");
	} else {
		v->route->serve(v);
	}
}

/* --- the listener ------------------------------------------------------------------------------ */

static int guest_http_listen_at(struct guest_http *front, const char *address,
				struct fault *f)
{
	const struct http_service service = {
		.arg = front,
		.begin = guest_http_begin,
		.limits = { .connections = CONNECTIONS },
	};
	const char *colon = strrchr(address, ':');
	bool six = *address == '[';
	char ip[64], *end;
	long port;

	if (!colon || (size_t)(colon - address) >= sizeof(ip) ||
	    (six && (colon - address < 3 || colon[-1] != ']')))
		return fault_set(f, FAULT_INVALID, "", "%.100s is not ADDRESS:PORT",
				 address);
	snprintf(ip, sizeof(ip), "%.*s", (int)(colon - address - 2 * six), address + six);
	port = strtol(colon + 1, &end, 10);
	if (end == colon + 1 || *end || port < 0 || port > 65535)
		return fault_set(f, FAULT_INVALID, "", "%.100s has no port", address);
	if (http_listen(&front->server, &front->guest->loop, ip, (int)port, &service, f))
		return f->code;
	snprintf(front->address, sizeof(front->address), six ? "[%s]:%d" : "%s:%d", ip,
		 http_port(front->server));
	return 0;
}

int guest_http_open(struct guest *g, const char *address, struct fault *f)
{
	struct guest_http *front = xcalloc(1, sizeof(*front));

	front->guest = g;
	if (guest_http_listen_at(front, address, f)) {
		free(front);
		return f->code;
	}
	g->front = front;
	return 0;
}

void guest_http_close(struct guest *g)
{
	if (!g->front)
		return;
	http_close(g->front->server);
	free(g->front);
	g->front = NULL;
}

const char *guest_http_address(const struct guest *g)
{
	return g->front ? g->front->address : NULL;
}

/*
 * Serves teammates that download or upload files of the workspace.
 */

enum { FLUSH_STEP = 8 << 20 };

/* A file that a teammate uploads. If the teammate leaves during fsync(), this struct is freed
 * after fsync() has ended. */
struct arrival {
	struct http_visit *visit; /* NULL: the sender has left */
	struct guest *guest;
	struct file_target target;
	struct arena arena;
	uv_fs_t sync;
	int64_t size, flushed;
};

/* --- paths --------------------------------------------------------------------------- */

static bool guest_http_file_is_utf8(const char *s)
{
	while (*s) {
		size_t n = (unsigned char)*s < 0x80 ? 1 : text_wide(s);

		if (n == 0)
			return false;
		s += n;
	}
	return true;
}

/* Resolves the part of the URL after /files/ to a relative path without `.` and `..`. */
static int guest_http_file_take_path(struct http_visit *v, const char **out,
				     struct fault *f)
{
	struct guest *g = v->front->guest;
	const char *raw = strchr(v->x->path + 1, '/') + 1;
	const char *path = http_unescape(&v->x->arena, raw, strlen(raw));

	if (!path || !guest_http_file_is_utf8(path))
		return fault_set(f, FAULT_INVALID, "/path",
				 "a broken escape, NUL, or not UTF-8");
	if (!*path || *path == '/')
		return fault_set(f, FAULT_INVALID, "/path",
				 "not a path below the workspace");
	for (const char *at = path; *at; at += strspn(at, "/")) {
		size_t n = strcspn(at, "/");

		if (n == 2 && memcmp(at, "..", 2) == 0)
			return fault_set(f, FAULT_INVALID, "/path",
					 "a path may not have `..`");
		at += n;
	}
	return guest_path(g, path, "/path", &v->x->arena, out, f);
}

/* --- GET -------------------------------------------------------------------------------- */

static size_t more(struct http *x, char *buf, size_t len)
{
	struct http_visit *v = x->owner;
	ssize_t n = file_read_range(v->fd, buf, len, v->at);

	if (n <= 0)
		return 0;
	v->at += n;
	return (size_t)n;
}

/* Sends the file whose path follows /files/ in the URL. */
static void file_get(struct http_visit *v)
{
	const char *path;
	struct fault f = { 0 };
	struct stat st;

	if (guest_http_file_take_path(v, &path, &f) == 0)
		v->fd = guest_file_open(v->front->guest->root, path, &st, "/path", &f);
	if (f.code)
		visit_fail(v, 0, &f);
	else
		http_stream(v->x, 200, "application/octet-stream", st.st_size, more);
}

/* --- POST ---------------------------------------------------------------------------------- */

static void guest_http_file_drop(struct arrival *a)
{
	target_drop(&a->target);
	target_close(&a->target);
	arena_release(&a->arena);
	free(a);
}

static void guest_http_file_fail(struct arrival *a, int status, const struct fault *f)
{
	struct http_visit *v = a->visit;

	v->arrival = NULL;
	guest_http_file_drop(a);
	visit_fail(v, status, f);
}

static void guest_http_file_too_large(struct arrival *a)
{
	struct fault f = { 0 };

	fault_set(&f, FAULT_INVALID, "", "file too large: at most 1 GiB");
	guest_http_file_fail(a, 413, &f);
}

static void take_piece(struct http *x, const char *data, size_t len)
{
	struct http_visit *v = x->owner;
	struct arrival *a = v->arrival;
	struct fault f = { 0 };

	if (a->size + (int64_t)len > UPLOAD_MAX) {
		guest_http_file_too_large(a);
		return;
	}
	while (len > 0) {
		ssize_t n = write(a->target.fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			guest_path_fault(errno, "/path", a->target.path, &f);
			guest_http_file_fail(a, 0, &f);
			return;
		}
		data += n;
		len -= (size_t)n;
		a->size += n;
	}
	if (a->size - a->flushed < FLUSH_STEP)
		return;
	/* The kernel begins to write these bytes to the disk now, so that fsync() at the end
	 * has little to write. */
	sync_file_range(a->target.fd, a->flushed, a->size - a->flushed,
			SYNC_FILE_RANGE_WRITE);
	a->flushed = a->size;
}

static void guest_http_file_put_in_place(struct arrival *a)
{
	struct http_visit *v = a->visit;
	bool new = a->target.old.st_mode == 0;
	struct fault f = { 0 };

	if (a->sync.result < 0)
		guest_path_fault((int)-a->sync.result, "/path", a->target.path, &f);
	else
		target_end(&a->target, false, 0, &f);
	if (f.code) {
		guest_http_file_fail(a, 0, &f);
		return;
	}
	v->arrival = NULL;
	visit_answer_json(v, new ? 201 : 200,
			  json_pack("{s:s, s:I}", "path", a->target.path, "size",
				    (json_int_t)a->size));
	guest_http_file_drop(a);
}

static void guest_http_file_on_synced(uv_fs_t *sync)
{
	struct arrival *a = sync->data;

	uv_fs_req_cleanup(sync);
	if (a->visit)
		guest_http_file_put_in_place(a);
	else
		guest_http_file_drop(a);
}

static void end_file(struct http *x)
{
	struct http_visit *v = x->owner;
	struct arrival *a = v->arrival;

	x->unhurried = true; /* no time limit, since the disk may be slow */
	a->sync.data = a;
	if (uv_fs_fsync(&a->guest->loop, &a->sync, a->target.fd,
			guest_http_file_on_synced))
		guest_http_file_put_in_place(a);
}

static int check_post(struct http_visit *v, int *status, struct fault *f)
{
	if (v->x->has_length && v->x->length > UPLOAD_MAX) {
		*status = 413;
		return fault_set(f, FAULT_INVALID, "", "file too large: at most 1 GiB");
	}
	if (http_header(v->x, "content-range"))
		return fault_set(f, FAULT_INVALID, "",
				 "content-range is not supported: send the whole file");
	if (http_header(v->x, "content-encoding"))
		return fault_set(
			f, FAULT_INVALID, "",
			"content-encoding is not supported: send the file as it is");
	return 0;
}

static void file_post(struct http_visit *v)
{
	struct arrival *a;
	struct fault f = { 0 };
	const char *path;
	int status = 0;

	if (check_post(v, &status, &f) || guest_http_file_take_path(v, &path, &f)) {
		visit_fail(v, status, &f);
		return;
	}
	a = xcalloc(1, sizeof(*a));
	a->visit = v;
	a->guest = v->front->guest;
	a->target.where = "/path";
	v->arrival = a;
	if (target_open(a->guest, &a->arena, &a->target, path, &f) ||
	    target_begin(&a->target, &f))
		guest_http_file_fail(a, 0, &f);
	else
		http_read(v->x, take_piece, end_file);
}

/* --- the end ------------------------------------------------------------------------------- */

/* Called when the caller has left. Closes the file that is sent, and drops the file that is
 * received. */
static void file_gone(struct http_visit *v)
{
	struct arrival *a = v->arrival;

	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
	v->arrival = NULL;
	if (!a)
		return;
	a->visit = NULL;
	if (!a->sync.data) /* else fsync() runs, and guest_http_file_on_synced() frees
			      `a` */
		guest_http_file_drop(a);
}
