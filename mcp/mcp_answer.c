/*
 * mcp_answer - handles requests, from the received message to the sent answer.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "mcp/mcp_peer.h"
#include "ops.gen.h"

/* --- answers that arrive ----------------------------------------------------- */

/*
 * arrive - keeps answers with messages or a claim until it is known that the client has read
 * the answers.
 *
 * An answer counts as arrived when the answer is written and the client has sent a request
 * after the answer. A request that the client sent before the answer does not prove that the
 * answer arrived. The next receive from the same inbox names the earlier answers that have
 * arrived and were not cancelled. Only the messages of named answers are acknowledged. Messages
 * of a receive with `lease_seconds` 0 are acknowledged as soon as the client sends a request
 * after the answer. A ping does not count as a request after the answer.
 *
 * An answer that could not be written is treated as lost, and so is an answer whose connection
 * the client has reset (mcp_told()). A client that cancels a request may
 * not have read the answer, even if the answer is written. After such a cancel, the answer's
 * messages are handed out again. The answer's claim is given back unless the work on the
 * claimed task began or a later request named this task. But a cancel has no effect if the
 * transport has reported that the client had read the answer before the cancel. Many clients
 * use a library that cancels every request of a turn at the end of the turn, long after the
 * answers were shown to a model.
 */

enum { ARRIVALS_MAX = 64 };

struct arrival {
	struct arrival *next;
	char *id; /* id of the request, as JSON text */
	int64_t number; /* number of the call */
	char *name; /* name of the hand-out; NULL: the answer contains a claim */
	json_t *lost; /* arguments to take the answer back; NULL: the answer has no
			 claim */
	const struct answers *with; /* the batch of the answer, until the batch is sent;
				       NULL: no batch */
	const struct request *named_by; /* a running receive that names this answer */
	bool written;
	uint64_t sent; /* bytes that the client had sent before the answer was written */
	bool seen_read; /* the transport saw that the client had read the answer; at that
			   time the client had sent `read_by` bytes */
	uint64_t read_by;
	bool takes; /* the call was a receive with `lease_seconds` 0 */
};

static void arrival_free(struct arrival *a)
{
	free(a->id);
	free(a->name);
	json_decref(a->lost);
	free(a);
}

/* Whether the client sent the present message after the answer was written. Requests of the
 * modern era may come from several clients, and prove nothing about earlier answers. */
static bool arrive_is_read(const struct mcp *m, const struct arrival *a)
{
	return a->written && m->at >= a->sent && m->options.eras != ERA_MODERN;
}

static struct arrival *arrive_take(struct arrival **at)
{
	struct arrival *a = *at;

	*at = a->next;
	a->next = NULL;
	return a;
}

/* --- before the call ------------------------------------------------------------ */

/* Returns the value of an operation's field from `args`. A caller may write the field's name or
 * an alias of the field. */
static json_t *argument(const struct op *op, json_t *args, const char *name)
{
	const struct field *field = field_find(op->in, name);

	return field ? json_object_get(args, field_spelling(field, args)) : NULL;
}

/* Returns the arguments `agent` and `team` for a call of message.seen that takes an answer
 * back. */
static json_t *lost_of(const struct op *op, json_t *args)
{
	return json_pack("{s:O*, s:O*}", "agent", argument(op, args, "agent"), "team",
			 argument(op, args, "team"));
}

/* Whether both ids name the same task. A caller may write `#` and zeros before the number of a
 * task. */
static bool names_task(json_t *one, json_t *other)
{
	const char *a = json_string_value(one), *b = json_string_value(other);

	return a && b && strcmp(a + strspn(a, "#0"), b + strspn(b, "#0")) == 0;
}

/* A client that names a task has read the answer with this task's claim. So if a call names a
 * task, forgets this answer, and the claim is not given back later. If the claim or the call
 * names no team, only the tasks are compared. */
static void drop_claims_of(struct mcp *m, const struct op *op, json_t *args)
{
	json_t *task = argument(op, args, "task"), *team = argument(op, args, "team");
	struct arrival **at = &m->arrivals;

	while (task && *at) {
		struct arrival *a = *at;
		json_t *its = json_object_get(a->lost, "team");

		if (a->written && !a->name &&
		    names_task(task, json_object_get(a->lost, "task")) &&
		    (!team || !its || json_equal(team, its)))
			arrival_free(arrive_take(at));
		else
			at = &a->next;
	}
}

static bool arrive_same(json_t *a, json_t *b, const char *key)
{
	json_t *one = json_object_get(a, key), *other = json_object_get(b, key);

	return one == other || json_equal(one, other);
}

/* Adds to the arguments of a call the names of earlier answers that have arrived. */
static void name_seen(struct request *r, json_t *args)
{
	json_t *given = json_object_get(args, "seen");
	json_t *names = json_is_array(given) ? json_incref(given) : json_array();

	if (json_is_string(given))
		json_array_append(names, given);
	for (struct arrival *a = r->mcp->arrivals; a; a = a->next) {
		if (!arrive_is_read(r->mcp, a) || !a->name ||
		    !arrive_same(a->lost, r->lost, "agent") ||
		    !arrive_same(a->lost, r->lost, "team"))
			continue;
		json_array_append_new(names, json_string(a->name));
		if (!a->named_by && r->handout)
			a->named_by = r;
	}
	if (json_array_size(names) > 0)
		json_object_set(args, "seen", names);
	json_decref(names);
}

static bool is_zero(const json_t *value)
{
	return json_is_integer(value) && !json_integer_value(value);
}

/* Adds a key, which names the call's hand-out, to the arguments of a call. If the call receives
 * messages or waits for them, also adds the names of earlier answers that have arrived. */
static void arrive_prepare(struct request *r, const struct op *op, json_t *args)
{
	const char *key = op_key(op);
	char made[37];

	drop_claims_of(r->mcp, op, args);
	if (!op->gives && !field_find(op->in, "seen"))
		return;
	r->lost = lost_of(op, args);
	if (!op->gives) {
		name_seen(r, args);
		return;
	}
	if (!json_object_get(args, key)) {
		client_key(made);
		json_object_set_new(args, key, json_string(made));
	}
	if (op->gives == GIVES_CLAIM || !json_find_text(args, key))
		return;
	r->handout = xstrdup(json_find_text(args, key));
	json_object_set_new(r->lost, "lost", json_pack("[s]", r->handout));
	if (op->flags & OP_REQUEST) {
		r->takes = is_zero(argument(op, args, "lease_seconds"));
		name_seen(r, args);
	}
}

/* --- after the call --------------------------------------------------------------- */

/* Returns the task, epoch, agent and team of the claim in a result, or NULL if the result
 * contains no claim. */
static json_t *read_claim(json_t *whose, const char *result)
{
	json_t *answer = json_loads(result, 0, NULL), *claim = NULL;
	json_t *epoch = json_object_get(answer, "epoch");
	json_t *task = json_object_get(json_object_get(answer, "task"), "id");

	if (epoch && task) {
		claim = json_incref(whose);
		json_object_set(claim, "task", task);
		json_object_set(claim, "epoch", epoch);
	}
	json_decref(answer);
	return claim;
}

static void drop_named(struct request *r)
{
	struct arrival **at = &r->mcp->arrivals;

	while (*at)
		if ((*at)->named_by == r)
			arrival_free(arrive_take(at));
		else
			at = &(*at)->next;
}

/* If too many answers are kept, forgets the oldest written answer with a claim. If no written
 * answer has a claim, forgets the oldest written hand-out. Answers with claims are forgotten
 * first, because a hand-out that was read and then forgotten would be handed out again. */
static void arrive_drop_oldest(struct mcp *m)
{
	struct arrival **oldest = NULL, **claim = NULL;
	size_t n = 0;

	for (struct arrival **at = &m->arrivals; *at; at = &(*at)->next, n++) {
		if (!(*at)->written)
			continue;
		oldest = at;
		if (!(*at)->name)
			claim = at;
	}
	if (n > ARRIVALS_MAX && oldest)
		arrival_free(arrive_take(claim ? claim : oldest));
}

/* Called when the call of `r` has ended. If the result gives messages or a claim, keeps the
 * answer until it has arrived. `result` is NULL if the call failed. */
static void arrive_answered(struct request *r, const char *result)
{
	struct mcp *m = r->mcp;
	struct arrival *a;

	if (!r->op->gives || !result)
		return;
	drop_named(r);
	a = xcalloc(1, sizeof(*a));
	a->id = xstrdup(r->id);
	a->number = client_telling(m->client);
	a->with = r->with;
	a->takes = r->takes;
	if (r->handout) {
		a->name = xstrdup(r->handout);
		a->lost = json_incref(r->lost);
	} else {
		a->lost = read_claim(r->lost, result);
	}
	a->next = m->arrivals;
	m->arrivals = a;
	arrive_drop_oldest(m);
}

/* Called when the request `r` is freed. */
static void arrive_forget(struct request *r)
{
	for (struct arrival *a = r->mcp->arrivals; a; a = a->next)
		if (a->named_by == r)
			a->named_by = NULL;
	free(r->handout);
	json_decref(r->lost);
}

/* Called when the answers of a batch have been sent. */
static void arrive_sent(struct mcp *m, const struct answers *with)
{
	for (struct arrival *a = m->arrivals; a; a = a->next)
		if (a->with == with)
			a->with = NULL;
}

void mcp_arrive_read(struct mcp *m)
{
	struct arrival **at = &m->arrivals;

	while (*at) {
		struct arrival *a = *at;

		if (!arrive_is_read(m, a) || !a->takes) {
			at = &a->next;
			continue;
		}
		client_settle(m->client, a->number, true);
		arrival_free(arrive_take(at));
	}
}

void mcp_wrote(struct mcp *m, bool arrived, uint64_t sent)
{
	struct arrival **at = &m->arrivals;

	while (*at) {
		struct arrival *a = *at;

		if (a->written || a->with) {
			at = &a->next;
			continue;
		}
		a->written = true;
		a->sent = sent;
		if (!arrived || !a->takes)
			client_settle(m->client, a->number, arrived);
		if (arrived && a->lost)
			at = &a->next;
		else
			arrival_free(arrive_take(at));
	}
}

bool mcp_has_answers(const struct mcp *m)
{
	return m->arrivals != NULL;
}

void mcp_settle(struct mcp *m)
{
	while (m->arrivals) {
		struct arrival *a = arrive_take(&m->arrivals);

		if (a->written && a->takes)
			client_settle(m->client, a->number, true);
		arrival_free(a);
	}
}

bool mcp_has_unread(const struct mcp *m)
{
	for (const struct arrival *a = m->arrivals; a; a = a->next)
		if (a->written && !a->seen_read)
			return true;
	return false;
}

void mcp_was_read(struct mcp *m, uint64_t sent)
{
	for (struct arrival *a = m->arrivals; a; a = a->next) {
		if (!a->written || a->seen_read)
			continue;
		a->seen_read = true;
		a->read_by = sent;
	}
}

static void back_done(void *arg, const char *result, const struct fault *f)
{
	(void)arg, (void)result, (void)f; /* the result of this call is not used */
}

/* Takes an answer back that did not arrive. */
static void arrive_undo(struct mcp *m, struct arrival *a)
{
	if (!a->written || a->takes)
		client_settle(m->client, a->number, false);
	else
		client_start(m->client, op_message_seen, a->lost, back_done, NULL);
	arrival_free(a);
}

void mcp_told(struct mcp *m, uint64_t sent, bool arrived)
{
	struct arrival **at = &m->arrivals;

	while (*at) {
		struct arrival *a = *at;

		if (!a->written || a->sent != sent ||
		    (arrived && m->options.eras != ERA_MODERN)) {
			at = &a->next;
			continue;
		}
		arrive_take(at);
		if (!arrived) {
			arrive_undo(m, a);
			continue;
		}
		if (a->takes)
			client_settle(m->client, a->number, true);
		arrival_free(a);
	}
}

void mcp_arrive_cancel(struct mcp *m, const char *id)
{
	struct arrival **at = &m->arrivals;

	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	if (!*at || ((*at)->seen_read && m->at >= (*at)->read_by))
		return;
	arrive_undo(m, arrive_take(at));
}

void mcp_arrivals_release(struct mcp *m)
{
	while (m->arrivals)
		arrival_free(arrive_take(&m->arrivals));
}

enum { PROGRESS_MS = 5000 };

/* --- answers that are sent together --------------------------------------- */

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

/* If `b` is NULL, sends the message in m->out. Otherwise adds the message to the batch `b`. */
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
	const char *level = json_find_text(meta, META "logLevel");

	r->tokens = result_tokens(
		r->mcp,
		r->era == &era_modern
			? json_find_text(json_object_get(meta, META "clientInfo"), "name")
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

	mcp_keep_soon(r->mcp, r->op);
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
	/* If client_start() returns 0, the call has already ended and `r` is already freed. */
	number = client_start(c, op, args, call_done, r);
	client_form(c, (struct form){ 0 });
	client_act_as(c, NULL);
	if (number)
		r->number = number;
	json_decref(args);
}

void request_next(struct request *r, const struct op *op, json_t *args)
{
	if (is_linked(r))
		request_unlink(r);
	json_decref(r->lost);
	r->lost = NULL;
	if (op != r->op)
		r->wait_s = 0; /* the list of requests counted the wait until here */
	request_call(r, op, args, r->end);
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

/* Closes a JSON object in m->out. If a comma follows the last member, removes this comma. */
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
 * mcp_wait - limits how long a tool call may wait.
 *
 * Most clients give up a call after about a minute. So the peer ends a wait earlier, after
 * mcp.max_wait_seconds, and the answer explains how to go on waiting. A client that asks for
 * reports of progress sees that the call is still running. So the wait of such a client may
 * last as long as the client asks for.
 */

/* If a call ends at most this time before its wait limit, the call counts as ended by the
 * limit. */
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
		return; /* the checks of arguments refuse this value */
	r->wait_s = value ? json_integer_value(value) : op->wait->def_int;
	/* The checks of arguments also refuse a value that is out of range. */
	if (r->wait_s > most && r->wait_s <= op->wait->type->max) {
		r->wait_s = most;
		r->wait_cut = true;
		request_log(r, LEVEL_INFO, "%s is cut to %lld", name, (long long)most);
		json_object_set_new(args, name, json_integer(most));
	}
	r->wait_ends = clock_steady_ms() + r->wait_s * 1000;
}

void wait_hint(const struct request *r, const char *json, struct text *hint)
{
	bool ended = r->wait_s > 0 && clock_steady_ms() >= r->wait_ends - NEAR_MS;
	const char *why = r->wait_cut ? ", the longest wait over MCP without progress "
					"(mcp.max_wait_seconds)"
				      : "";

	/* For a call that sends a message, the hint must not advise to repeat the call, since
	 * the message would be sent twice. */
	if (ended && r->op->flags & OP_WRITE && !(r->op->flags & OP_REQUEST) &&
	    r->op->gives == GIVES_MESSAGES)
		text_addf(
			hint,
			"No answer came in %lld s%s. If it comes later, it will be in your inbox.",
			(long long)r->wait_s, why);
	else if (ended)
		text_addf(hint, "Nothing came in %lld s%s. Call again to go on waiting.",
			  (long long)r->wait_s, why);
	else if (!r->wait_s && r->op->gives == GIVES_CLAIM && !strstr(json, "\"epoch\":"))
		text_addf(hint,
			  "Nothing to take now. To wait for something, call "
			  "again with %s.",
			  r->op->wait->name);
}
