/*
 * mcp_answer - a request from its message to its one answer.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "mcp/mcp_peer.h"

enum { PROGRESS_MS = 5000 };

/* --- answers that go back together ---------------------------------------- */

struct answers {
	struct mcp *mcp;
	void *stream;
	struct text out;
	size_t held;
};

struct answers *answers_new(struct mcp *m, void *stream)
{
	struct answers *b = xcalloc(1, sizeof(*b));

	*b = (struct answers){ .mcp = m, .stream = stream, .held = 1 };
	return b;
}

static void mcp_answer_send_message(struct mcp *m, const struct mcp_message *message)
{
	m->options.send(m->options.arg, message);
}

static void tell_dropped(struct mcp *m, void *stream)
{
	if (m->options.drop)
		m->options.drop(m->options.arg, stream);
}

void answers_drop(struct answers *b)
{
	if (--b->held)
		return;
	if (b->out.len) {
		text_adds(&b->out, "]\n");
		arrive_sent(b->mcp, b);
		mcp_answer_send_message(b->mcp,
					&(struct mcp_message){ .text = b->out.data,
							       .len = b->out.len,
							       .stream = b->stream,
							       .last = true,
							       .status = 200 });
	} else {
		tell_dropped(b->mcp, b->stream);
	}
	text_release(&b->out);
	free(b);
}

void answers_add(struct answers *b, struct request *r)
{
	r->with = b;
	b->held++;
}

/* Sends what stands in m->out, or keeps it for the batch it belongs to. */
static void send_out(struct mcp *m, struct answers *b, struct mcp_message message)
{
	if (b) {
		text_adds(&b->out, b->out.len ? "," : "[");
		text_add(&b->out, m->out.data, m->out.len);
	} else {
		text_add(&m->out, "\n", 1);
		message.text = m->out.data;
		message.len = m->out.len;
		mcp_answer_send_message(m, &message);
	}
	m->out.len = 0;
}

static void send_answer(struct request *r)
{
	r->answered = true;
	send_out(r->mcp, r->with,
		 (struct mcp_message){ .stream = r->stream,
				       .last = true,
				       .status = r->status ? r->status : 200 });
}

/* --- requests --------------------------------------------------------------- */

static char *id_text(const json_t *id)
{
	struct text t = { 0 };

	rpc_add_id(&t, id);
	return t.data;
}

static void read_meta(struct request *r, json_t *meta)
{
	json_t *token = json_object_get(meta, "progressToken");
	const char *level = param_text(meta, META "logLevel");

	r->tokens = result_tokens(
		r->mcp,
		r->era == &era_modern
			? param_text(json_object_get(meta, META "clientInfo"), "name")
			: r->mcp->client_name);
	if (rpc_is_id(token))
		r->token = id_text(token);
	if (level && r->era == &era_modern)
		r->level = level_named(level);
}

struct request *request_new(struct mcp *m, const struct rpc *rpc, const struct era *era,
			    void *stream)
{
	struct request *r = xcalloc(1, sizeof(*r));

	r->mcp = m;
	r->era = era;
	r->stream = stream;
	r->id = id_text(rpc->id);
	r->level = LEVEL_NONE;
	read_meta(r, json_object_get(rpc->params, "_meta"));
	return r;
}

static void request_link(struct request *r)
{
	struct mcp *m = r->mcp;

	r->next = m->requests;
	if (r->next)
		r->next->prev = r;
	m->requests = r;
	m->n_requests++;
	m->n_running += r->op && !r->wait_s;
}

static void request_unlink(struct request *r)
{
	struct mcp *m = r->mcp;

	if (r->next)
		r->next->prev = r->prev;
	if (r->prev)
		r->prev->next = r->next;
	else
		m->requests = r->next;
	m->n_requests--;
	m->n_running -= r->op && !r->wait_s;
	r->next = r->prev = NULL;
}

static bool is_linked(const struct request *r)
{
	return r->prev || r->mcp->requests == r;
}

/* Frees a request without an answer. */
static void request_free(struct request *r)
{
	if (is_linked(r))
		request_unlink(r);
	if (r->subscribing)
		subscription_forget(r->mcp, r);
	if (r->with)
		answers_drop(r->with);
	else if (!r->answered)
		tell_dropped(r->mcp, r->stream);
	arrive_forget(r);
	free(r->id);
	free(r->token);
	free(r->word);
	free(r->scope);
	json_decref(r->joins);
	json_decref(r->args);
	json_decref(r->said);
	free(r);
}

static void call_done(void *arg, const char *result, const struct fault *f)
{
	struct request *r = arg;

	keep_soon(r->mcp, r->op);
	arrive_answered(r, result);
	r->number = 0;
	r->end(r, result, f);
}

void request_call(struct request *r, const struct op *op, json_t *args, call_end *end)
{
	struct fault f = { 0 };
	struct client *c = mcp_client(r->mcp, &f);
	int64_t number;

	json_decref(r->args);
	r->args = json_incref(args);
	r->op = op;
	r->end = end;
	if (!c) {
		end(r, NULL, &f);
		json_decref(args);
		return;
	}
	arrive_prepare(r, op, args);
	request_link(r);
	if (r->token) {
		r->began = clock_steady_ms();
		r->progress_at = r->began + PROGRESS_MS;
	}
	client_form(c, r->form);
	client_act_as(c, r->as);
	/* If client_start() returns 0, the call is over and r is gone. */
	number = client_start(c, op, args, call_done, r);
	client_form(c, (struct form){ 0 });
	client_act_as(c, NULL);
	if (number)
		r->number = number;
	json_decref(args);
}

void request_again(struct request *r, json_t *args)
{
	if (is_linked(r))
		request_unlink(r);
	request_call(r, r->op, args, r->end);
}

void request_hold(struct request *r)
{
	if (!is_linked(r))
		request_link(r);
}

void request_cancel(struct request *r)
{
	if (r->number)
		client_cancel(r->mcp->client, r->number);
	request_free(r);
}

void request_progress(struct request *r, int64_t now)
{
	int64_t spent = now - r->began;
	struct text *out = note_begin(r->mcp, "notifications/progress");

	text_addf(out, "\"progressToken\":%s,\"progress\":%.1f", r->token,
		  (double)spent / 1000);
	if (r->wait_s)
		text_addf(out, ",\"total\":%lld", (long long)r->wait_s);
	text_addf(out, ",\"message\":\"%s %s\"", r->op->name,
		  r->wait_s ? "waits" : "runs");
	note_end(r->mcp, r->stream);
	r->progress_at = now + PROGRESS_MS;
}

/* --- answers ---------------------------------------------------------------- */

struct text *answer_begin(struct request *r, enum cache cache)
{
	struct text *out = &r->mcp->out;

	assert(out->len == 0);
	text_addf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{", r->id);
	r->era->begin(r, out, cache);
	return out;
}

/* Closes the object of members, with or without a comma behind the last. */
static void end_members(struct mcp *m)
{
	if (m->out.data[m->out.len - 1] == ',')
		m->out.len--;
	text_adds(&m->out, "}}");
}

void answer_end(struct request *r)
{
	end_members(r->mcp);
	send_answer(r);
	request_free(r);
}

void mcp_refuse(struct mcp *m, void *stream, struct answers *with, const char *id,
		int code, const char *why)
{
	rpc_add_error(&m->out, id, code, why, NULL);
	send_out(m, with,
		 (struct mcp_message){ .stream = stream, .last = true, .status = 400 });
}

void answer_error(struct request *r, int code, const char *data, const char *fmt, ...)
{
	char why[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	rpc_add_error(&r->mcp->out, r->id, code, why, data);
	send_answer(r);
	request_free(r);
}

void answer_fault(struct request *r, const struct fault *f)
{
	struct text data = { 0 };
	bool ours = f->code == FAULT_INTERNAL || f->code == FAULT_IO ||
		    f->code == FAULT_UNAVAILABLE;

	fault_write(f, HINT_TOOL, &data);
	answer_error(r, ours ? RPC_INTERNAL : RPC_INVALID_PARAMS, data.data, "%s",
		     f->text);
	text_release(&data);
}

/* --- notifications ------------------------------------------------------------ */

struct text *note_begin(struct mcp *m, const char *method)
{
	assert(m->out.len == 0);
	text_addf(&m->out, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{", method);
	return &m->out;
}

void note_end(struct mcp *m, void *stream)
{
	end_members(m);
	send_out(m, NULL, (struct mcp_message){ .stream = stream });
}

void note_end_last(struct mcp *m)
{
	end_members(m);
	send_out(m, NULL, (struct mcp_message){ .places = true });
}

static const char *const level_names[] = {
	[LEVEL_EMERGENCY] = "emergency", [LEVEL_ALERT] = "alert",
	[LEVEL_CRITICAL] = "critical",   [LEVEL_ERROR] = "error",
	[LEVEL_WARNING] = "warning",     [LEVEL_NOTICE] = "notice",
	[LEVEL_INFO] = "info",           [LEVEL_DEBUG] = "debug",
};

int level_named(const char *name)
{
	for (int i = LEVEL_EMERGENCY; i <= LEVEL_DEBUG; i++)
		if (strcmp(level_names[i], name) == 0)
			return i;
	return LEVEL_NONE;
}

void request_log(struct request *r, enum level level, const char *fmt, ...)
{
	int wanted = r->era == &era_modern ? (int)r->level : (int)r->mcp->level;
	struct text *out;
	char why[512];
	va_list ap;

	if ((int)level > wanted)
		return;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	out = note_begin(r->mcp, "notifications/message");
	text_addf(out,
		  "\"level\":\"%s\",\"logger\":\"cadre\",\"data\":", level_names[level]);
	text_add_json(out, why);
	note_end(r->mcp, r->stream);
}

/*
 * mcp_wait - how long a tool call may wait.
 *
 * Clients give a call about a minute, so a wait ends by itself before that
 * (mcp.max_wait_seconds), and its answer says how to go on.  A client that asks for progress
 * sees that the call goes on, and is given as long as it asks for.
 */

/* A wait that ends so close to its time has ended with it. */
enum { NEAR_MS = 250 };

void wait_cut(struct request *r, const struct op *op, json_t *args)
{
	int64_t most = r->mcp->options.home->settings.config.mcp_max_wait_seconds;
	const char *name;
	json_t *value;

	if (r->token)
		most = INT64_MAX;
	if (!op_waits(op, args))
		return;
	name = field_spelling(op->wait, args);
	value = json_object_get(args, name);
	if (value && !json_is_integer(value))
		return; /* the checks will say so */
	r->wait_s = value ? json_integer_value(value) : op->wait->def_int;
	/* A value out of range is left for the checks, too. */
	if (r->wait_s > most && r->wait_s <= op->wait->type->max) {
		r->wait_s = most;
		request_log(r, LEVEL_INFO, "%s is cut to %lld", name, (long long)most);
		json_object_set_new(args, name, json_integer(most));
	}
	r->wait_ends = clock_steady_ms() + r->wait_s * 1000;
}

void wait_hint(const struct request *r, const char *json, struct text *hint)
{
	bool ended = r->wait_s > 0 && clock_steady_ms() >= r->wait_ends - NEAR_MS;

	/* A call that sends would send once more. */
	if (ended && r->op->flags & OP_WRITE && !(r->op->flags & OP_REQUEST) &&
	    r->op->gives == GIVES_MESSAGES)
		text_addf(hint, "No answer came in %lld s. It will be in your inbox.",
			  (long long)r->wait_s);
	else if (ended)
		text_addf(hint, "Nothing came in %lld s. Call again to go on waiting.",
			  (long long)r->wait_s);
	else if (!r->wait_s && r->op->gives == GIVES_CLAIM && !strstr(json, "\"epoch\":"))
		text_addf(hint, "Nothing to take now. With %s the call waits for it.",
			  r->op->wait->name);
}
