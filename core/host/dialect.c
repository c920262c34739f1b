#include "core/host/dialect.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/host/running.h"
#include "core/version.h"
#include "ops.gen.h"

static const char *text_of(const json_t *json, const char *key)
{
	const char *s = json_string_value(json_object_get(json, key));

	return s && *s ? s : NULL;
}

/* --- Hello ------------------------------------------------------------------- */

/* Where a text will stand in c->texts; NULL stays NULL. */
static const char *keep(char **at, const char *s)
{
	size_t size = s ? strlen(s) + 1 : 0;
	char *kept = *at;

	if (!s)
		return NULL;
	memcpy(kept, s, size);
	*at += size;
	return kept;
}

/* Whoever names an agent is that agent and proves it with its token; an
 * operator acts as one by saying `as`. */
static void take_identity(struct conn *c, const json_t *hello)
{
	bool as = json_is_true(json_object_get(hello, "as"));
	const char *agent = text_of(hello, "agent");
	const char *team = text_of(hello, "team");
	const char *token = text_of(hello, "token");
	const char *session = text_of(hello, "session");
	const char *all[] = { agent, team, token, session };
	size_t room = 1;
	char *at;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		room += all[i] ? strlen(all[i]) + 1 : 0;
	at = c->texts = malloc(room);
	if (!at)
		abort();
	if (team)
		c->identity.team = keep(&at, team);
	c->identity.session = keep(&at, session);
	c->identity.agent = keep(&at, agent);
	c->identity.token = keep(&at, token);
	if (agent && as)
		c->identity.proven = c->identity.as = true;
	else if (agent)
		c->identity.level = WHO_OBSERVER;
}

static enum heard hear_hello(struct conn *c, struct job *job, struct fault *f)
{
	struct wire_hello hello = {
		.version = CADRE_VERSION,
		.role = "host",
		.boot_id = c->host->boot_id,
	};

	if (c->started) {
		fault_set(f, FAULT_INVALID, "/type", "Hello comes first");
		return HEARD_NONSENSE;
	}
	take_identity(c, job->packet.json);
	c->greeted = true;
	if (wire_write(&c->flow.out, "Hello", &hello, job->packet.id, f))
		return HEARD_NONSENSE;
	return HEARD_ANSWERED;
}

/* --- calls ------------------------------------------------------------------- */

static enum heard decode(struct conn *c, struct job *job, const struct op *op,
			 json_t *args, struct fault *f)
{
	job->call.identity = c->identity;
	if (call_decode(&job->call, op, args)) {
		*f = job->call.fault;
		return HEARD_NONSENSE;
	}
	job_own(job);
	return HEARD_CALL;
}

static enum heard hear_call(struct conn *c, struct job *job, struct fault *f)
{
	const char *name = text_of(job->packet.json, "op");
	json_t *args = json_object_get(job->packet.json, "args");
	const struct op *op = name ? op_find(name) : NULL;

	if (!op || op->who == WHO_HOST) {
		fault_set(f, FAULT_NOT_FOUND, "/op", "there is no operation '%s'",
			  name ? name : "");
		return HEARD_NONSENSE;
	}
	if (!args || json_is_null(args)) {
		args = json_object();
		json_object_set_new(job->packet.json, "args", args);
	}
	return decode(c, job, op, args, f);
}

/* The arguments of an older message live in its own object. */
static json_t *new_args(struct job *job)
{
	json_t *args = json_object();

	json_object_set_new(job->packet.json, "args", args);
	return args;
}

static void copy(json_t *args, const char *to, const json_t *from, const char *key)
{
	json_t *v = json_object_get(from, key);

	if (v && !json_is_null(v) && !(json_is_string(v) && json_string_length(v) == 0))
		json_object_set(args, to, v);
}

static enum heard hear_message(struct conn *c, struct job *job, struct fault *f)
{
	static const char *const same[] = { "content",        "message_type", "priority",
					    "thread",         "reply_to",     "metadata",
					    "idempotency_key" };
	const json_t *m = job->packet.json;
	const char *from = text_of(m, "from");
	json_t *args = new_args(job), *to = json_array();

	json_array_append(to, json_object_get(m, "to"));
	json_object_set_new(args, "to", to);
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		copy(args, same[i], m, same[i]);
	if (!json_object_get(args, "content"))
		json_object_set_new(args, "content", json_string(""));
	if (from && c->identity.agent && strcmp(from, c->identity.agent))
		copy(args, "from", m, "from");
	return decode(c, job, op_message_send, args, f);
}

/* Without a request_id nothing could be asked for again: it is taken. */
static enum heard hear_receive(struct conn *c, struct job *job, struct fault *f)
{
	const json_t *m = job->packet.json;
	json_t *args = new_args(job);

	copy(args, "limit", m, "limit");
	copy(args, "wait_seconds", m, "wait_seconds");
	copy(args, "request_id", m, "request_id");
	if (!json_object_get(args, "request_id"))
		json_object_set_new(args, "lease_seconds", json_integer(0));
	return decode(c, job, op_message_receive, args, f);
}

static enum heard hear_claim(struct conn *c, struct job *job, struct fault *f)
{
	const json_t *m = job->packet.json;
	const char *agent = text_of(m, "agent_name");
	json_t *args = new_args(job);

	copy(args, "task", m, "task_id");
	copy(args, "team", m, "team");
	if (agent && c->identity.agent && strcmp(agent, c->identity.agent))
		copy(args, "agent", m, "agent_name");
	return decode(c, job, op_task_claim, args, f);
}

/* --- answers ------------------------------------------------------------------ */

/* printf would be a tenth of what an answer costs. */
static void add_int(struct text *out, int64_t n)
{
	char digits[24], *at = digits + sizeof(digits);
	uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;

	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (n < 0)
		*--at = '-';
	text_add(out, at, (size_t)(digits + sizeof(digits) - at));
}

static void add_id(struct text *out, const json_t *id)
{
	char *s;

	if (json_is_integer(id)) {
		text_add(out, ",\"id\":", 6);
		add_int(out, json_integer_value(id));
		return;
	}
	s = id ? json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	if (s)
		text_addf(out, ",\"id\":%s", s);
	free(s);
}

void dialect_result(struct text *out, struct call *call, bool old, const json_t *id)
{
	static const char head[] = "{\"type\":\"CallResult\"";
	static const char result[] = ",\"result\":";
	struct fault f = { 0 };
	size_t start;

	if (call->fault.code) {
		wire_write_fault(out, &call->fault, old, id);
		return;
	}
	start = frame_open(out);
	text_add(out, head, sizeof(head) - 1);
	add_id(out, id);
	text_add(out, result, sizeof(result) - 1);
	call_encode(call, out);
	text_add(out, "}", 1);
	if (frame_close(out, start, &f))
		wire_write_fault(out, &f, old, id);
}

static void answer_message(struct conn *c, struct job *job, struct fault *f)
{
	const struct message_send_out *out = job->call.out;
	struct wire_team_message_delivered m = { .message_id = out->message_id };

	wire_write(&c->flow.out, "TeamMessageDelivered", &m, job->id, f);
}

static void fill_envelope(struct team_envelope *to, const struct envelope *e,
			  struct arena *a)
{
	char *at = arena_alloc(a, 25);

	time_format(e->timestamp, at);
	*to = (struct team_envelope){
		.message_id = e->message_id,
		.from = e->from,
		.to = e->to,
		.content = e->content,
		.message_type = e->message_type,
		.timestamp = at,
		.seq = e->seq,
		.has_seq = true,
		.priority = e->priority,
		.has_priority = true,
		.thread = e->thread,
		.reply_to = e->reply_to,
		.metadata = e->metadata,
	};
}

static void answer_receive(struct conn *c, struct job *job, struct fault *f)
{
	const struct message_receive_out *out = job->call.out;
	struct arena *a = &job->call.arena;
	struct wire_team_messages m = {
		.n_messages = out->n_messages,
		.more = out->more,
		.has_more = out->more,
	};

	m.messages = arena_alloc(a, (m.n_messages + 1) * sizeof(*m.messages));
	for (size_t i = 0; i < m.n_messages; i++)
		fill_envelope(&m.messages[i], &out->messages[i], a);
	wire_write(&c->flow.out, "TeamMessages", &m, job->id, f);
}

/* Who was beaten to a task is told so in the answer, as the older host did. */
static void answer_claim(struct conn *c, struct job *job, struct fault *f)
{
	const struct task_claim_out *out = job->call.out;
	const struct fault *why = &job->call.fault;
	const struct task_claim_in *in = job->call.in;
	struct wire_task_claimed m = {
		.success = !why->code && out->has_task,
		.task_id = in->task ? in->task : "",
		.message = why->code       ? why->text
			   : out->has_task ? "claimed"
					   : "no task is ready",
		.epoch = out->epoch,
		.has_epoch = out->has_epoch,
		.lease_until = out->lease_until,
		.has_lease_until = out->has_lease_until,
	};

	if (m.success)
		m.task_id = out->task.id;
	wire_write(&c->flow.out, "TaskClaimed", &m, job->id, f);
}

static void answer_call(struct conn *c, struct job *job, struct fault *f)
{
	(void)f;
	dialect_result(&c->flow.out, &job->call, !c->greeted, job->id);
}

/* --- what is understood ------------------------------------------------------------ */

enum { SPEECHES = 5 };

static const struct {
	const char *type;
	enum heard (*hear)(struct conn *c, struct job *job, struct fault *f);
	void (*answer)(struct conn *c, struct job *job, struct fault *f);
	bool tells_conflicts; /* its answer has a place for them */
} speeches[SPEECHES] = {
	{ "Call", hear_call, answer_call, true },
	{ "Hello", hear_hello, NULL, false },
	{ "TaskClaim", hear_claim, answer_claim, true },
	{ "TeamMessage", hear_message, answer_message, false },
	{ "TeamReceive", hear_receive, answer_receive, false },
};

enum heard dialect_read(struct conn *c, struct job *job, struct fault *f)
{
	const struct packet *p = &job->packet;

	for (int i = 0; i < SPEECHES; i++)
		if (!strcmp(p->type, speeches[i].type)) {
			job->kind = i;
			return speeches[i].hear(c, job, f);
		}
	if (packet_belongs(p, SIDE_GUEST, WIRE_CONTROL, f) == 0)
		fault_set(f, FAULT_INVALID, "/type", "%s is not served here", p->type);
	return HEARD_NONSENSE;
}

void dialect_answer(struct conn *c, struct job *job)
{
	enum fault_code code = job->call.fault.code;
	struct fault f = job->call.fault;

	if (!code || (code == FAULT_CONFLICT && speeches[job->kind].tells_conflicts)) {
		f = (struct fault){ 0 };
		speeches[job->kind].answer(c, job, &f);
	}
	if (f.code)
		wire_write_fault(&c->flow.out, &f, !c->greeted, job->id);
}
