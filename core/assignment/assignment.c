#include "core/assignment/assignment.h"
#include "core/turn/chain.h"

#include <inttypes.h>
#include <string.h>

#include "core/call/id.h"
#include "core/message/inbox.h"
#include "core/call/space.h"
#include "core/task/task.h"
#include "core/team/budget.h"
#include "core/team/estop.h"

/* --- payloads ---------------------------------------------------------------------- */

/* The decoded texts are borrowed from the JSON value, which is freed: they are copied. */
static void assignment_keep_texts(struct arena *arena, struct task_payload *p)
{
	struct pair *env = arena_alloc(arena, (p->n_env + 1) * sizeof(*env));

	for (size_t i = 0; i < p->n_env; i++) {
		env[i].key = arena_strdup(arena, p->env[i].key);
		env[i].value = arena_strdup(arena, p->env[i].value);
	}
	p->env = env;
	p->task_id = arena_strdup(arena, p->task_id);
	p->command = arena_strdup(arena, p->command);
	p->workdir = arena_strdup(arena, p->workdir);
}

int assignment_parse(struct call *call, const char *content, const char *where,
		     struct task_payload *out)
{
	struct fault inner = { 0 };
	json_error_t error;
	json_t *json =
		json_take(content, strlen(content), JSON_REJECT_DUPLICATES, &error);
	int rc = 0;

	if (!json)
		return fault_set(&call->fault, FAULT_INVALID, where,
				 "an assignment's content is JSON: %s", error.text);
	*out = (struct task_payload){ 0 };
	if (op_decode(&record_task_payload, json, out, DECODE_LENIENT, &call->arena,
		      &inner) < 0)
		rc = fault_set(&call->fault, FAULT_INVALID, where, "%s %s", inner.where,
			       inner.text);
	else
		assignment_keep_texts(&call->arena, out);
	json_decref(json);
	return rc;
}

/* Reads the environment as its column keeps it (JSON) back into pairs. */
static int assignment_env(struct call *call, const char *text, struct task_payload *p)
{
	json_t *json, *value;
	const char *key;

	if (!text)
		return 0;
	json = json_loads(text, 0, NULL);
	if (!json)
		return fault_set(&call->fault, FAULT_UNAVAILABLE, "",
				 "no memory for JSON");
	json_object_foreach(json, key, value)
		*(struct pair *)arena_push(&call->arena, &p->env, &p->n_env,
					   sizeof(struct pair)) = (struct pair){
			arena_strdup(&call->arena, key),
			arena_strdup(&call->arena, json_string_value(value))
		};
	json_decref(json);
	return 0;
}

enum { ENV_MOST = 262144 }; /* bytes of JSON: a push of so many fits a frame */

static const char *env_text(struct call *call, const struct task_payload *p)
{
	struct text t = { 0 };
	char *copy;

	if (p->n_env == 0)
		return NULL;
	for (size_t i = 0; i < p->n_env; i++) {
		text_add(&t, i ? "," : "{", 1);
		text_add_json(&t, p->env[i].key);
		text_add(&t, ":", 1);
		text_add_json(&t, p->env[i].value);
	}
	text_add(&t, "}", 1);
	copy = arena_strndup(&call->arena, t.data, t.len);
	text_release(&t);
	return copy;
}

/* The history shows a payload without its environment, which the guest alone may see. */
static const char *shown_text(struct call *call, const struct task_payload *p)
{
	struct task_payload bare = *p;
	struct text t = { 0 };
	char *copy;

	bare.env = NULL;
	bare.n_env = 0;
	op_encode(&record_task_payload, &bare, &t);
	copy = arena_strndup(&call->arena, t.data, t.len);
	text_release(&t);
	return copy;
}

int assignment_count(struct call *call, int64_t agent, int64_t team, int n)
{
	int rc = sql_run(call, assignment_count, .agent = agent, .n = n);

	return rc < 0 ? rc : sql_run(call, board_add_assignments, .team = team, .n = n);
}

/* --- sending -------------------------------------------------------------------------- */

static int claim_for(struct call *call, const struct agent_row *to,
		     const struct task_payload *p, struct task_row *task)
{
	int rc = task_find_maybe(call, p->task_id, task);

	if (rc <= 0) {
		*task = (struct task_row){ 0 };
		return rc;
	}
	return task_dispatch(call, task, to,
			     p->timeout_secs * 1000 +
				     call->settings->config.task_lease_seconds * 1000);
}

int64_t assignment_send(struct call *call, const struct draft *d,
			const struct agent_row *to, const struct task_payload *p)
{
	const char *env = env_text(call, p);
	struct inbox_state_row open;
	struct draft own = *d;
	struct task_row task;
	int64_t message;
	int rc;

	if (env && strlen(env) > ENV_MOST)
		return fault_set(&call->fault, FAULT_INVALID, "/env",
				 "an environment takes at most %d bytes of JSON",
				 ENV_MOST);
	if (to->kind == AGENT_KIND_OPERATOR)
		return fault_set(&call->fault, FAULT_INVALID, "/to",
				 "the operator runs no commands");
	if ((rc = estop_check(call, "/to")) < 0 ||
	    (rc = budget_check(call, call->caller.team, "/to")) < 0 ||
	    (rc = assignment_count(call, to->id, call->caller.team, 1)) < 0 ||
	    (rc = sql_row(call, inbox_state, &open, .agent = to->id)) < 0)
		return rc;
	if (open.assignments > call->settings->config.limits_max_assignments)
		return fault_set(&call->fault, FAULT_EXHAUSTED, "/to",
				 "%s has %" PRId64 " open assignments", to->name,
				 open.assignments - 1);
	if ((rc = claim_for(call, to, p, &task)) < 0 ||
	    (rc = chain_give(call, to->id)) < 0)
		return rc;
	own.content = shown_text(call, p);
	own.expires_at = 0; /* a command waits for its daemon */
	own.type = "task_assignment";
	if ((message = message_store(call, &own)) < 0)
		return message;
	rc = sql_run(call, assignment_add, .message = message, .team = call->caller.team,
		     .agent = to->id, .sender = own.sender, .task = task.id,
		     .epoch = task.epoch, .label = p->task_id, .command = p->command,
		     .workdir = p->workdir, .env = env, .timeout_s = p->timeout_secs);
	if (rc < 0 || (rc = message_deliver(call, message, &own, to)) < 0 ||
	    (rc = event_by(call, .kind = EVENT_MESSAGE_SENT, .team = call->caller.team,
			   .actor = own.sender, .subject = message, .target = to->id)) <
		    0)
		return rc;
	return message;
}

/* --- calling off ---------------------------------------------------------------------- */

static int assignment_call_off_one(struct call *call,
				   const struct assignments_of_task_row *x, int64_t actor)
{
	int rc = sql_run(call, assignment_cancel, .message = x->message);

	if (rc <= 0 || (rc = assignment_count(call, x->agent, x->team, -1)) < 0 ||
	    (rc = sql_run(call, delivery_end, .message = x->message, .agent = x->agent,
			  .state = DELIVERY_STATE_DEAD, .now = call->now)) < 0)
		return rc;
	rc = event_by(call, .kind = EVENT_ASSIGNMENT_CANCELLED, .team = x->team,
		      .actor = actor, .subject = x->message, .target = x->agent);
	if (rc < 0 || x->state != ASSIGNMENT_STATE_RUNNING)
		return rc;
	return team_announce(call, x->team);
}

int assignment_call_off(struct call *call, int64_t task, bool running, int64_t actor)
{
	struct assignments_of_task_row *all = NULL;
	size_t n;
	int rc;

	rc = sql_all(call, assignments_of_task, &all, &n, .task = task,
		     .running = running);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = assignment_call_off_one(call, &all[i], actor);
	return rc < 0 ? rc : 0;
}

/* --- once more ------------------------------------------------------------------------ */

static int may_retry(struct call *call, const struct assignment_row *x)
{
	struct result_ended_row r;
	int rc;

	if (x->sender != call->caller.agent && (rc = who_leads(call, "/message_id")) < 0)
		return rc;
	if (x->state == ASSIGNMENT_STATE_QUEUED || x->state == ASSIGNMENT_STATE_RUNNING)
		return fault_set(&call->fault, FAULT_CONFLICT, "/message_id",
				 "it has not ended yet");
	rc = sql_row(call, result_ended, &r, .message = x->message);
	if (rc <= 0 || !r.success)
		return rc < 0 ? rc : 0;
	fault_set(&call->fault, FAULT_CONFLICT, "/message_id", "it succeeded");
	return fault_hint(&call->fault, "Send a new assignment to run it again.");
}

/* Puts the task that failed with the command back on the board, for the new command to
 * claim. */
static int assignment_put_back(struct call *call, const struct assignment_row *x)
{
	int rc;

	if (!x->task || (rc = task_settle(call, x->task, 1, NULL)) < 0)
		return x->task ? rc : 0;
	rc = task_put_back(call, x->task);
	return rc < 0 ? rc : 0;
}

static int send_again(struct call *call, const struct assignment_row *x)
{
	struct draft d = { .sender = call->caller.agent,
			   .type = "task_assignment",
			   .content = "" };
	struct task_payload p = { .task_id = x->label,
				  .command = x->command,
				  .workdir = x->workdir,
				  .timeout_secs = x->timeout_s };
	struct agent_row to;
	int rc;

	if ((rc = may_retry(call, x)) < 0 || (rc = assignment_put_back(call, x)) < 0 ||
	    (rc = sql_row(call, agent_by_id, &to, .id = x->agent)) < 0 ||
	    (rc = assignment_env(call, x->env, &p)) < 0)
		return rc;
	if ((call->made = assignment_send(call, &d, &to, &p)) < 0)
		return fault_move(&call->fault, "/task", "/message_id");
	return 0;
}

int assignment_retry(struct call *call, const struct assignment_retry_in *in,
		     struct assignment_retry_out *out)
{
	struct assignment_row x;
	struct message_head_row m;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = message_find(call, in->message_id, "/message_id", &m)) < 0)
		return rc;
	if (!call->made) {
		if (m.redacted_at)
			return fault_set(&call->fault, FAULT_CONFLICT, "/message_id",
					 "it is redacted: no command is left to run");
		rc = sql_row(call, assignment_by_message, &x, .message = m.id);
		if (rc == 0)
			return fault_set(&call->fault, FAULT_NOT_FOUND, "/message_id",
					 "it is no assignment");
		if (rc < 0 || (rc = send_again(call, &x)) < 0)
			return rc;
	}
	if ((rc = sql_row(call, message_head, &m, .id = call->made)) < 0)
		return rc;
	out->message_id = id_public(call, ID_MESSAGE, m.id, m.at);
	out->seq = m.id;
	return 0;
}

/* --- telling ---------------------------------------------------------------------------- */

/* Finds the newest assignment of a board task, or of a task name that only its sender
 * gave: 1, 0 or negative. */
static int of_task(struct call *call, const char *name, bool ended, int64_t *message)
{
	struct assignment_of_task_row of_task;
	struct assignment_of_label_row of_label;
	struct task_row task;
	int rc = task_find_maybe(call, name, &task);

	if (rc > 0 && (rc = sql_row(call, assignment_of_task, &of_task, .task = task.id,
				    .ended = ended)) > 0)
		*message = of_task.message;
	if (rc == 0 &&
	    (rc = sql_row(call, assignment_of_label, &of_label, .team = call->caller.team,
			  .label = name, .ended = ended,
			  .caller = call->caller.level >= WHO_LEAD
					    ? 0
					    : call->caller.agent)) > 0)
		*message = of_label.message;
	return rc;
}

int assignment_named(struct call *call, const char *id, bool ended, int64_t *message)
{
	struct message_head_row m;
	int rc = message_is_number(id) ? 0 : of_task(call, id, ended, message);

	if (rc == 0 && (rc = message_named(call, id, "/id", &m)) > 0)
		*message = m.id;
	return rc;
}

int assignment_before(struct call *call, const char *id, int64_t *row)
{
	struct message_head_row m;
	int rc;

	*row = INT64_MAX;
	if (!id)
		return 0;
	if ((rc = message_find(call, id, "/before", &m)) < 0)
		return rc;
	*row = m.id;
	return 0;
}

int assignment_list(struct call *call, const struct assignment_list_in *in,
		    struct assignment_list_out *out)
{
	const int64_t caller = call->caller.level >= WHO_LEAD ? 0 : call->caller.agent;
	struct agent_row agent = { 0 };
	struct assignment_line_row r;
	struct query q;
	int64_t before;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = assignment_before(call, in->before, &before)) < 0 ||
	    (in->agent && (rc = who_agent(call, in->agent, "/agent", &agent)) < 0))
		return rc;
	if (in->open)
		sql_query(call, &q, assignment_lines_open, .before = before,
			  .team = call->caller.team, .agent = agent.id, .caller = caller,
			  .limit = in->limit + 1);
	else
		sql_query(call, &q, assignment_lines, .before = before,
			  .team = call->caller.team, .agent = agent.id, .caller = caller,
			  .limit = in->limit + 1);
	while ((rc = sql_next(call, &q, &r)) > 0) {
		struct assignment_line l = {
			.message_id = id_public(call, ID_MESSAGE, r.message, r.at),
			.seq = r.message,
			.task = r.label,
			.agent = r.agent_name,
			.from = r.sender_name,
			.state = r.state,
			.command = r.command,
			.sent_at = r.at,
			.has_success = r.stored_at != 0,
			.success = r.success,
		};

		l.command =
			space_cut(call, l.command, space_all(call) / 8, &l.command_size);
		l.has_command_size = l.command_size > 0;
		if ((int64_t)out->n_assignments == in->limit ||
		    !space_take(call, &record_assignment_line, &l)) {
			out->more = true;
			break;
		}
		*(struct assignment_line *)arena_push(&call->arena, &out->assignments,
						      &out->n_assignments, sizeof(l)) = l;
	}
	query_end(&q);
	return rc < 0 ? rc : 0;
}
