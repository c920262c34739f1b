#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/version.h"
#include "core/home/paths.h"
#include "core/wire/base64.h"
#include "mcp/extra.h"
#include "mcp/mcp_peer.h"

/* --- without sessions -------------------------------------------------------- */

/*
 * modern - revision 2026-07-28, in which the _meta of each request replaces a session.
 */

#define VERSION "2026-07-28"

static const struct {
	const char *scope;
	int ttl_ms;
} caches[] = {
	[CACHE_NONE] = { NULL, 0 },
	[CACHE_NEVER] = { "private", 0 },
	[CACHE_SHORT] = { "private", 1000 },
	[CACHE_MINE] = { "private", 3600000 },
	[CACHE_ALWAYS] = { "public", 3600000 },
};

static void modern_begin(struct request *r, struct text *out, enum cache cache)
{
	text_addf(out, "\"resultType\":\"%s\",\"_meta\":{\"" META "serverInfo\":",
		  r->asks ? "input_required" : "complete");
	mcp_write_server(out);
	if (r->listening)
		text_addf(out, ",\"" META "subscriptionId\":%s", r->id);
	text_adds(out, "},");
	if (caches[cache].scope)
		text_addf(out, "\"ttlMs\":%d,\"cacheScope\":\"%s\",",
			  caches[cache].ttl_ms, caches[cache].scope);
}

const struct era era_modern = {
	.bit = ERA_MODERN,
	.no_resource = RPC_INVALID_PARAMS,
	.begin = modern_begin,
};

/* Whether params._meta names a protocol version. */
static bool modern_named(json_t *params)
{
	return json_object_get(json_object_get(params, "_meta"), META "protocolVersion");
}

static void answer_no_version(struct request *r, const char *asked)
{
	struct text data = { 0 };

	text_adds(&data, "{\"supported\":[\"" VERSION "\"],\"requested\":");
	text_add_json(&data, asked);
	text_add(&data, "}", 1);
	answer_error(r, RPC_NO_VERSION, data.data,
		     "protocol version %.40s is not supported in _meta", asked);
	text_release(&data);
}

/* Whether a modern request has the required _meta. A request without this _meta is answered
 * with an error. */
static bool modern_check(struct request *r, json_t *params)
{
	const struct mcp_headers *headers = r->mcp->headers;
	json_t *meta = json_object_get(params, "_meta");
	const char *version = json_find_text(meta, META "protocolVersion");
	const char *level = json_find_text(meta, META "logLevel");

	r->status = 400;
	if (!version)
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "_meta has no " META "protocolVersion: say " VERSION
			     " there, or begin with initialize");
	else if (!json_is_object(json_object_get(meta, META "clientCapabilities")))
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "_meta has no " META "clientCapabilities");
	else if (headers && (!headers->version || strcmp(headers->version, version) != 0))
		answer_error(r, RPC_HEADER, NULL,
			     "MCP-Protocol-Version is not the version of _meta, %.40s",
			     version);
	else if (strcmp(version, VERSION) != 0)
		answer_no_version(r, version);
	else if (level && r->level == LEVEL_NONE)
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "_meta " META "logLevel is not a level: %.40s", level);
	else {
		r->status = 0;
		return true;
	}
	return false;
}

/* --- headers of HTTP ------------------------------------------------------------------ */

/* Methods for which the HTTP header Mcp-Name repeats a parameter of the message, and the names
 * of these parameters. */
static const struct {
	const char *method, *param;
} named[] = {
	{ "tools/call", "name" },
	{ "prompts/get", "name" },
	{ "resources/read", "uri" },
};

/* Whether the value of a header is `value`, plain or encoded as =?base64?...?=. */
static bool header_is(const char *header, const char *value)
{
	static const char begin[] = "=?base64?", end[] = "?=";
	const size_t n = strlen(header), around = strlen(begin) + strlen(end);
	char *text;
	ssize_t len;
	bool same;

	if (n < around || strncmp(header, begin, strlen(begin)) != 0 ||
	    strcmp(header + n - strlen(end), end) != 0)
		return strcmp(header, value) == 0;
	text = xmalloc(n);
	len = base64_decode(text, header + strlen(begin), n - around);
	same = len >= 0 && (size_t)len == strlen(value) &&
	       memcmp(text, value, (size_t)len) == 0;
	free(text);
	return same;
}

/* Whether the HTTP headers contain the same method and name as the message. A request whose
 * headers differ is answered with an error. */
static bool modern_match(struct request *r, const char *method, json_t *params)
{
	const struct mcp_headers *headers = r->mcp->headers;
	const char *name = NULL;

	if (!headers)
		return true;
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (strcmp(named[i].method, method) == 0)
			name = json_find_text(params, named[i].param);
	if (headers->method && header_is(headers->method, method) &&
	    (!name || (headers->name && header_is(headers->name, name))))
		return true;
	r->status = 400;
	answer_error(r, RPC_HEADER, NULL, "header %s differs from the message",
		     headers->method && header_is(headers->method, method)
			     ? "Mcp-Name"
			     : "Mcp-Method");
	return false;
}

static void modern_discover(struct request *r, json_t *params)
{
	struct text *out = answer_begin(r, CACHE_MINE); /* the answer contains the
							   caller's name */

	(void)params;
	text_adds(out, "\"supportedVersions\":[\"" VERSION "\"],");
	mcp_write_offer(r->mcp, out);
	answer_end(r);
}

static void modern_listen(struct request *r, json_t *params)
{
	json_t *filter = json_object_get(params, "notifications"), *uri;
	json_t *uris = json_object_get(filter, "resourceSubscriptions");
	size_t i;

	if (!json_is_object(filter) || (uris && !json_is_array(uris))) {
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "notifications is missing or malformed");
		return;
	}
	/* Tools and prompts never change, so a request to watch them is ignored. A URI that
	 * names no existing resource is ignored, too. */
	r->listening = true;
	if (json_is_true(json_object_get(filter, "resourcesListChanged")))
		subscription_add_list(r);
	json_array_foreach(uris, i, uri)
		if (json_is_string(uri))
			subscription_add(r, json_string_value(uri));
	subscription_open(r);
}

/* --- sessions ---------------------------------------------------------------- */

/*
 * legacy - revisions 2024-11-05 to 2025-11-25, in which a handshake begins a session.
 */

/* Protocol versions, newest first. The first version is offered to a client that asks for an
 * unknown version. */
static const char *const versions[] = { "2025-11-25", "2025-06-18", "2025-03-26",
					"2024-11-05" };

static void legacy_begin(struct request *r, struct text *out, enum cache cache)
{
	(void)r, (void)out, (void)cache;
}

const struct era era_legacy = {
	.bit = ERA_LEGACY,
	.no_resource = RPC_NO_RESOURCE,
	.begin = legacy_begin,
};

/* Returns the legacy version with the name `name`; NULL: there is no such version. */
static const char *legacy_version(const char *name)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		if (strcmp(versions[i], name) == 0)
			return versions[i];
	return NULL;
}

static void legacy_initialize(struct request *r, json_t *params)
{
	const char *asked = json_find_text(params, "protocolVersion");
	const char *client =
		json_find_text(json_object_get(params, "clientInfo"), "name");
	struct mcp *m = r->mcp;
	struct text *out;

	if (!asked) {
		answer_error(
			r, RPC_INVALID_PARAMS, NULL,
			"protocolVersion is missing; known: 2024-11-05 to 2025-11-25");
		return;
	}
	m->version = legacy_version(asked);
	if (!m->version)
		m->version = versions[0];
	if (client)
		snprintf(m->client_name, sizeof(m->client_name), "%s", client);
	out = answer_begin(r, CACHE_NONE);
	text_addf(out, "\"protocolVersion\":\"%s\",\"serverInfo\":", m->version);
	mcp_write_server(out);
	text_add(out, ",", 1);
	mcp_write_offer(m, out);
	answer_end(r);
}

static void legacy_ping(struct request *r, json_t *params)
{
	(void)params;
	answer_begin(r, CACHE_NONE);
	answer_end(r);
}

static void legacy_set_level(struct request *r, json_t *params)
{
	const char *name = json_find_text(params, "level");
	int level = name ? level_named(name) : LEVEL_NONE;

	if (level == LEVEL_NONE) {
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "level must be one of debug, info, notice, warning, "
			     "error, critical, alert, emergency");
		return;
	}
	r->mcp->level = level;
	r->mcp->changes++;
	legacy_ping(r, params);
}

static void legacy_subscribe(struct request *r, json_t *params)
{
	const char *uri = json_find_text(params, "uri");

	if (!uri) {
		answer_error(r, RPC_INVALID_PARAMS, NULL, "uri is missing");
	} else if (extra_resource(uri)) {
		legacy_ping(r, params); /* resources of extras never change */
	} else if (!subscription_add(r, uri)) {
		answer_no_resource(r, uri, "no such resource");
	} else {
		subscription_open(r);
	}
}

static void legacy_unsubscribe(struct request *r, json_t *params)
{
	const char *uri = json_find_text(params, "uri");

	if (!uri) {
		answer_error(r, RPC_INVALID_PARAMS, NULL, "uri is missing");
		return;
	}
	subscription_drop(r->mcp, uri);
	legacy_ping(r, params);
}

/* --- sessions in rows ------------------------------------------------------------ */

bool mcp_session(struct mcp *m, struct mcp_session *session)
{
	if (!m->version)
		return false;
	m->watched.len = 0;
	subscriptions_write(m, &m->watched);
	*session = (struct mcp_session){ .version = m->version,
					 .client = m->client_name,
					 .level = (int)m->level,
					 .watches = m->watched.data };
	return true;
}

unsigned mcp_changes(const struct mcp *m)
{
	return m->changes;
}

bool mcp_restore(struct mcp *m, const struct mcp_session *session)
{
	m->version = legacy_version(session->version);
	if (!m->version)
		return false;
	m->level = (enum level)session->level;
	snprintf(m->client_name, sizeof(m->client_name), "%s", session->client);
	subscriptions_restore(m, session->watches);
	return true;
}

bool mcp_is_revision(const struct mcp *m, const char *version)
{
	return m->version && strcmp(m->version, version) == 0;
}

bool mcp_is_legacy(const char *version)
{
	return legacy_version(version) != NULL;
}

bool mcp_begins(const json_t *message)
{
	const char *method = json_find_text(message, "method");

	return method && strcmp(method, "initialize") == 0;
}

enum {
	FULL_AT = 64, /* number of running calls at which the transport stops reading */
	REQUESTS_MAX = 1000, /* maximum number of requests, waits and subscriptions
				included */
	GRACE_MS = 1000, /* time for calls that write, after the end of the input */
};

bool cursor_none(struct request *r, json_t *params)
{
	if (!json_object_get(params, "cursor"))
		return true;
	answer_error(r, RPC_INVALID_PARAMS, NULL, "cursor did not come from this server");
	return false;
}

/* --- the server's description ---------------------------------------------- */

void mcp_write_server(struct text *out)
{
	text_adds(out,
		  "{\"name\":\"cadre\",\"title\":\"cadre\",\"version\":\"" CADRE_VERSION
		  "\"}");
}

static const char *standing(const struct identity *who)
{
	return who->nobody ? "are nobody yet" : "act as the operator";
}

/* The state keeps one agent for this session's folder. If another session already acts as this
 * agent, writes a hint. */
static void write_beside(const struct mcp *m, struct text *t)
{
	if (!m->options.identity && m->options.home->beside)
		text_addf(t,
			  "Another session here (process %d) is that agent already and "
			  "gets its mail: `agents` action `register` with another `name` "
			  "makes you another agent. ",
			  (int)m->options.home->beside);
}

static void write_who(const struct mcp *m, struct text *out)
{
	const struct identity *who = &m->identity;
	struct text t = { 0 };

	if (who->agent && who->team)
		text_addf(&t, "You are agent `%s` of team `%s`. ", who->agent, who->team);
	else if (who->team)
		text_addf(&t, "You %s; your team is `%s`. ", standing(who), who->team);
	else
		text_addf(&t, "You %s. ", standing(who));
	if (who->nobody && !who->agent)
		text_adds(
			&t,
			"Register first: `agents` action `register`, with `name` if you "
			"have a name, and `team` if there are several teams. Until "
			"then you can only read, in all teams. ");
	write_beside(m, &t);
	text_adds(
		&t,
		"cadre keeps a team's messages and task board in one durable file. "
		"Begin with `agents` action `start`, then `inbox` action `receive`: "
		"answer your mail. `task` action `claim` takes the best ready "
		"task: your calls renew its lease; end with "
		"`complete` or `fail`; the task that you hold need not be named. "
		"Write to others with `team_message`; `operator` is the person for "
		"whom all agents work. To wait, call `inbox` action `wait` once: it ends on "
		"mail, a ready task, or a change of what you follow. `waiting` in an answer is your unread mail. Long answers "
		"are cut: follow the answer's `hint`, or set "
		"`max_result_tokens` in any call. An error has a `code`, the argument in "
		"`where`, and a `hint`.");
	text_add_json(out, t.data);
	text_release(&t);
}

void mcp_write_offer(const struct mcp *m, struct text *out)
{
	text_adds(out,
		  "\"capabilities\":{\"completions\":{},\"logging\":{},\"prompts\":{},"
		  "\"resources\":{\"listChanged\":true,\"subscribe\":true},\"tools\":{}},"
		  "\"instructions\":");
	write_who(m, out);
}

/* --- requests and notifications --------------------------------------------- */

static const struct method {
	const char *name;
	unsigned eras;
	method_run *run;
} methods[] = {
	{ "tools/call", ERA_LEGACY | ERA_MODERN, tools_call },
	{ "tools/list", ERA_LEGACY | ERA_MODERN, tools_list },
	{ "resources/read", ERA_LEGACY | ERA_MODERN, resources_read },
	{ "resources/list", ERA_LEGACY | ERA_MODERN, resources_list },
	{ "resources/templates/list", ERA_LEGACY | ERA_MODERN, resources_templates },
	{ "prompts/list", ERA_LEGACY | ERA_MODERN, prompts_list },
	{ "prompts/get", ERA_LEGACY | ERA_MODERN, prompts_get },
	{ "completion/complete", ERA_LEGACY | ERA_MODERN, complete_argument },
	{ "initialize", ERA_LEGACY, legacy_initialize },
	{ "ping", ERA_LEGACY, legacy_ping },
	{ "logging/setLevel", ERA_LEGACY, legacy_set_level },
	{ "resources/subscribe", ERA_LEGACY, legacy_subscribe },
	{ "resources/unsubscribe", ERA_LEGACY, legacy_unsubscribe },
	{ "server/discover", ERA_MODERN, modern_discover },
	{ "subscriptions/listen", ERA_MODERN, modern_listen },
};

static const struct method *method_find(const char *name, unsigned era)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (methods[i].eras & era && strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return NULL;
}

/* Returns the era of a request. A request `initialize` or `ping`, and every request after
 * `initialize`, is legacy, unless its _meta names a version or the options fix the era. Any
 * other request before `initialize` counts as modern, even if the request's _meta contains no
 * version. */
static const struct era *era_of(const struct mcp *m, const struct rpc *rpc)
{
	if (m->options.eras)
		return m->options.eras & ERA_MODERN ? &era_modern : &era_legacy;
	if (modern_named(rpc->params))
		return &era_modern;
	if (m->version || strcmp(rpc->method, "initialize") == 0 ||
	    strcmp(rpc->method, "ping") == 0)
		return &era_legacy;
	return &era_modern;
}

static void take_request(struct mcp *m, const struct rpc *rpc, void *stream,
			 struct answers *with)
{
	const struct era *era = era_of(m, rpc);
	struct request *r = request_new(m, rpc, era, stream);
	const struct method *method = method_find(rpc->method, era->bit);

	if (strcmp(rpc->method, "ping") != 0)
		mcp_arrive_read(m);
	if (with)
		answers_add(with, r);
	if (era == &era_modern && !modern_check(r, rpc->params))
		return;
	if (!method && era == &era_modern)
		r->status = 404;
	if (!method)
		answer_error(r, RPC_NO_METHOD, NULL, "no method %.100s", rpc->method);
	else if (era == &era_modern && !modern_match(r, rpc->method, rpc->params))
		return;
	else if (m->n_requests >= REQUESTS_MAX)
		answer_error(r, RPC_INTERNAL, NULL, "too many requests are under way");
	else if (with && method->run == legacy_initialize)
		answer_error(r, RPC_INVALID_REQUEST, NULL, "initialize stands alone");
	else
		method->run(r, rpc->params);
}

static void take_cancel(struct mcp *m, json_t *params)
{
	json_t *id = json_object_get(params, "requestId");
	struct text want = { 0 };
	struct request *r;

	/* Over modern HTTP, a cancel message is ignored, since two clients may use equal ids. A
	 * modern client closes its stream to cancel a request. */
	if (!rpc_is_id(id) || m->options.eras == ERA_MODERN)
		return;
	rpc_add_id(&want, id);
	for (r = m->requests; r && strcmp(r->id, want.data) != 0; r = r->next)
		;
	if (r)
		request_cancel(r);
	else
		mcp_arrive_cancel(m, want.data);
	text_release(&want);
}

/* Handles one message of the client. Returns whether the message gets an answer. */
static bool mcp_take_message(struct mcp *m, json_t *message, void *stream,
			     struct answers *with)
{
	struct text id = { 0 };
	struct rpc rpc;

	rpc_read(&rpc, message);
	if (rpc.kind == RPC_REQUEST)
		take_request(m, &rpc, stream, with);
	else if (rpc.kind == RPC_NOTIFICATION &&
		 strcmp(rpc.method, "notifications/cancelled") == 0)
		take_cancel(m, rpc.params);
	else if (rpc.kind == RPC_ANSWER && extras.answered)
		extras.answered(m, message);
	else if (rpc.kind == RPC_BROKEN) {
		if (rpc.id)
			rpc_add_id(&id, rpc.id);
		mcp_refuse(m, stream, with, id.data, rpc.code, rpc.why);
		text_release(&id);
	}
	return rpc.kind == RPC_REQUEST || rpc.kind == RPC_BROKEN;
}

/* Handles a batch. Only the revision 2025-03-26 of the protocol has batches. */
static bool take_batch(struct mcp *m, json_t *messages, void *stream)
{
	struct answers *with;
	json_t *message;
	bool any = false;
	size_t i;

	if (!mcp_is_revision(m, "2025-03-26")) {
		mcp_refuse(m, stream, NULL, NULL, RPC_INVALID_REQUEST,
			   "this protocol version has no batches");
		return true;
	}
	if (!json_array_size(messages)) {
		mcp_refuse(m, stream, NULL, NULL, RPC_INVALID_REQUEST,
			   "the batch is empty");
		return true;
	}
	with = answers_new(m, stream);
	json_array_foreach(messages, i, message)
		any |= mcp_take_message(m, message, stream, with);
	answers_drop(with);
	return any;
}

/* Refuses a line that is not JSON. If the line contains the id of a request, the answer has
 * this id, so that the client does not wait for ever. */
static void refuse_line(struct mcp *m, const char *line, size_t len, void *stream,
			const char *why)
{
	struct text id = { 0 };

	rpc_find_id(&id, line, len);
	mcp_refuse(m, stream, NULL, id.data, RPC_PARSE, why);
	text_release(&id);
}

bool mcp_take(struct mcp *m, json_t *message, const struct mcp_headers *headers,
	      void *stream)
{
	bool answered;

	m->headers = headers;
	answered = json_is_array(message) ? take_batch(m, message, stream)
					  : mcp_take_message(m, message, stream, NULL);
	m->headers = NULL;
	subscriptions_run(m, clock_steady_ms());
	return answered;
}

void mcp_handle(struct mcp *m, const char *text, size_t len, void *stream)
{
	json_error_t error;
	/* The parser accepts U+0000. The checks of a call's arguments refuse U+0000 later, and
	 * name the argument. */
	json_t *message = json_take(
		text, len, JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES,
		&error);

	if (message)
		mcp_take(m, message, NULL, stream);
	else
		refuse_line(m, text, len, stream, error.text);
	json_decref(message);
}

void mcp_at(struct mcp *m, uint64_t at)
{
	m->at = at;
}

void mcp_handle_at(struct mcp *m, const char *text, size_t len, uint64_t at)
{
	m->at = at;
	mcp_handle(m, text, len, NULL);
}

void mcp_refuse_long(struct mcp *m, void *stream)
{
	mcp_refuse(m, stream, NULL, NULL, RPC_INVALID_REQUEST, "the message is too long");
}

/* --- opening and closing ----------------------------------------------------- */

struct client *mcp_client(struct mcp *m, struct fault *f)
{
	struct client_options o = {
		.home = m->options.home,
		.direct = m->options.direct,
		.local_reads = true,
		.rests = true,
		.confirms = true,
		.way = m->options.way,
		.way_arg = m->options.arg,
		.identity = m->identity,
	};

	if (o.home->refused.code) {
		*f = o.home->refused;
		return NULL;
	}
	if (!m->client && client_open(&m->client, &o, f))
		m->client = NULL;
	return m->client;
}

int mcp_open(struct mcp **out, const struct mcp_options *o, struct fault *f)
{
	struct mcp *m = xcalloc(1, sizeof(*m));
	const char *label = paths_env("CADRE_SESSION");
	int rc;

	m->options = *o;
	m->level = LEVEL_WARNING;
	m->renews = true;
	m->identity = o->identity ? *o->identity : o->home->identity;
	/* In a workspace, where home->dir is empty, the workspace's door decides who the caller
	 * is. So `nobody` stays false in a workspace. */
	m->identity.nobody = !o->identity && !o->acts_as_operator && !m->identity.agent &&
			     (o->home->dir[0] || o->home->refused.code);
	/* No command shares the session, because a command does not know which answers of
	 * `cadre mcp` have arrived. Another `cadre mcp` with the same CADRE_SESSION shares the
	 * session. */
	snprintf(m->session, sizeof(m->session), "mcp:%016llx",
		 (unsigned long long)(label ? hash_text(label) : home_random()));
	m->identity.session = m->session;
	if (!o->identity && !o->acts_as_operator)
		home_begin_session(o->home);
	rc = tools_open(m, f);
	if (rc)
		mcp_close(m);
	else
		*out = m;
	return rc;
}

void mcp_close(struct mcp *m)
{
	if (!m)
		return;
	while (m->requests)
		request_cancel(m->requests);
	subscriptions_release(m);
	mcp_arrivals_release(m);
	client_close(m->client);
	text_release(&m->out);
	text_release(&m->tools);
	text_release(&m->watched);
	free(m);
}

/* Whether a waiting request may be dropped when the input has ended. A waiting request that
 * only reads, or that takes messages or a claim, is dropped, since the client could not use the
 * answer. A waiting request that may still write gets GRACE_MS for the write. */
static bool may_drop(const struct request *r)
{
	return r->wait_s && (!(r->op->flags & OP_WRITE) || r->op->flags & OP_REQUEST ||
			     r->op->gives == GIVES_CLAIM);
}

void mcp_cut(struct mcp *m, void *stream)
{
	struct request *next;

	for (struct request *r = m->requests; r; r = next) {
		next = r->next;
		if (r->stream == stream)
			request_cancel(r);
	}
}

static void end_listening(struct request *r)
{
	answer_begin(r, CACHE_NONE); /* the answer contains only a _meta */
	answer_end(r);
}

void mcp_end(struct mcp *m)
{
	struct request *next;

	m->end_by = clock_steady_ms() + GRACE_MS;
	for (struct request *r = m->requests; r; r = next) {
		next = r->next;
		if (r->opening || may_drop(r))
			request_cancel(r);
		else if (r->listening)
			end_listening(r);
	}
	subscriptions_release(m);
}

bool mcp_idle(const struct mcp *m)
{
	return !m->requests;
}

bool mcp_full(const struct mcp *m)
{
	return m->n_running >= FULL_AT;
}

int mcp_fd(const struct mcp *m)
{
	return m->client ? client_fd(m->client) : -1;
}

bool mcp_watches(const struct mcp *m)
{
	return m->n_watches > 0;
}

static int64_t sooner(int64_t a, int64_t b) /* the time 0 means never */
{
	return !a || (b && b < a) ? b : a;
}

int mcp_timeout(const struct mcp *m)
{
	int64_t due = sooner(feeds_due(m), m->renews ? m->keep_at : 0), now;
	int step = m->client ? client_timeout(m->client) : -1;

	for (struct request *r = m->requests; r; r = r->next)
		due = sooner(due, r->progress_at);
	if (m->requests)
		due = sooner(due, m->end_by);
	if (!due)
		return step;
	now = clock_steady_ms();
	due = due > now ? due - now : 0;
	return step < 0 || due < step ? (int)due : step;
}

static void run_progress(struct mcp *m, int64_t now)
{
	for (struct request *r = m->requests; r; r = r->next)
		if (r->progress_at && r->progress_at <= now)
			request_progress(r, now);
}

static void run_end(struct mcp *m)
{
	struct request *next;

	for (struct request *r = m->requests; r; r = next) {
		next = r->next;
		if (r->wait_s)
			request_cancel(r);
	}
	m->end_by = clock_steady_ms() + GRACE_MS;
}

void mcp_step(struct mcp *m)
{
	int64_t now;

	if (m->client)
		client_step(m->client);
	now = clock_steady_ms();
	if (m->end_by && now >= m->end_by)
		run_end(m);
	run_progress(m, now);
	mcp_keep_run(m, now);
	subscriptions_run(m, now);
}
