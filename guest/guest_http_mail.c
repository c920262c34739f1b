/*
 * guest_http_mail - the requests of teammates to the member who works here.
 */
#include <stdlib.h>
#include <string.h>

#include "guest/guest_http_inside.h"

enum {
	BODY_MOST = 2 << 20, /* of JSON; a message of 256 KiB escaped is in it */
	COLLECTING_MOST = 16, /* of those at once */
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
	fault_set(&f, FAULT_DENIED, "", "this team's policy has allow_inter_vm off");
	visit_fail(v, 0, &f);
}

static void on_policy(void *arg, json_t *answer, const struct fault *why)
{
	struct http_visit *v = arg;
	struct guest_http *front = v->front;
	struct fault f = *why;

	v->asking = NULL;
	if (answer && !json_object_get(answer, "result"))
		visit_read_error(answer, &f);
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

/* Only the host decides whether the door is open.  While the host is away, its last answer
 * holds. */
void guest_http_get_health(struct http_visit *v)
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

void guest_http_get_card(struct http_visit *v)
{
	visit_call(v, "agent.whois", json_object(), v->token, on_card);
}

/* --- messages ---------------------------------------------------------------------------- */

static void on_messages(struct http_visit *v, json_t *result)
{
	visit_answer_json(v, 200, json_incref(result));
}

/* Answers that the caller says have arrived, between commas. */
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

void guest_http_get_messages(struct http_visit *v)
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

/* The body as arguments; NULL: it is answered. */
static json_t *guest_http_mail_read_body(struct http_visit *v)
{
	json_error_t error;
	struct fault f = { 0 };
	const char *key = http_header(v->x, "idempotency-key");
	json_t *args = json_take(v->x->body.data, v->x->body.len, JSON_REJECT_DUPLICATES,
				 &error);

	if (!json_is_object(args)) {
		json_decref(args);
		fault_set(&f, FAULT_INVALID, "", "the body is no JSON object: %.150s",
			  args ? "it is something else" : error.text);
		visit_fail(v, 0, &f);
		return NULL;
	}
	if (key && !json_object_get(args, "idempotency_key"))
		json_object_set_new(args, "idempotency_key", json_string(key));
	return args;
}

/* Refuses what an operation would take elsewhere, and here is not meant. */
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
	json_object_del(args, "to"); /* the host knows to whom this door belongs */
	visit_call(v, "message.send", args, v->token, guest_http_mail_on_stored);
}

static void take_message(struct http *x)
{
	struct http_visit *v = x->owner;
	json_t *args = guest_http_mail_read_body(v);

	if (args)
		guest_http_mail_send_message(v, args);
}

/* Sends a task: fields about the message stand beside those of the payload and are
 * taken out of it. */
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

void guest_http_post_message(struct http_visit *v)
{
	visit_prove(v, read_message);
}

static void read_task(struct http_visit *v)
{
	guest_http_mail_collect(v, take_task);
}

void guest_http_post_task(struct http_visit *v)
{
	visit_prove(v, read_task);
}
