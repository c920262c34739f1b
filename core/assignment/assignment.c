#include "core/assignment/assignment.h"

#include <inttypes.h>
#include <string.h>

#include "core/agent/agent.h"
#include "core/call/id.h"
#include "core/call/space.h"
#include "core/task/task.h"
#include "core/team/budget.h"
#include "core/team/estop.h"
#include "core/turn/chain.h"
#include "core/turn/turn.h"

/* --- payloads ---------------------------------------------------------------------- */

/* Copies the decoded texts into the arena. The JSON value that holds the decoded texts is freed
 * later. */
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
				 "an assignment's content must be JSON: %s", error.text);
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

/* Reads the variables of the environment from JSON text, which a payload's row stores. */
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
		arena_add(&call->arena, p->env, p->n_env,
			  (struct pair){
				  arena_strdup(&call->arena, key),
				  arena_strdup(&call->arena, json_string_value(value)) });
	json_decref(json);
	return 0;
}

/* Bytes of JSON; a push with an environment of this size fits into one frame. */
enum { ENV_MOST = 262144 };

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

/* The payload without the environment, for the history. Only the guest may see the environment. */
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

/* Adds `n` to the agent's number of open commands and to the team's number of open commands.
 * Returns 0 or negative. */
static int assignment_count(struct call *call, int64_t agent, int64_t team, int n)
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
				 "the environment may take at most %d bytes as JSON",
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
	own.expires_at = 0; /* a command waits for its daemon without a time limit */
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

	if (x->sender != call->caller.agent &&
	    (rc = who_leads(call, "/message_id", "the command's sender",
			    "repeat the command")) < 0)
		return rc;
	if (x->state == ASSIGNMENT_STATE_QUEUED || x->state == ASSIGNMENT_STATE_RUNNING)
		return fault_set(&call->fault, FAULT_CONFLICT, "/message_id",
				 "the command has not ended yet");
	rc = sql_row(call, result_ended, &r, .message = x->message);
	if (rc <= 0 || !r.success)
		return rc < 0 ? rc : 0;
	fault_set(&call->fault, FAULT_CONFLICT, "/message_id", "it succeeded");
	return fault_hint(&call->fault, "Send a new assignment to run it again.");
}

/* Makes the task of the failed command ready again, so that the repeated command can claim the
 * task. */
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
					 "the message is redacted: its command is gone");
		rc = sql_row(call, assignment_by_message, &x, .message = m.id);
		if (rc == 0)
			return fault_set(&call->fault, FAULT_NOT_FOUND, "/message_id",
					 "the message is not an assignment");
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

/* Finds the newest assignment of a task. The task is on the board, or is only a name that the
 * sender gave. Returns 1 if the assignment was found, 0 if it was not found, or a negative
 * fault code. */
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

/* Finds the row of the message `id`. The page of assignments or results lists only earlier
 * rows. Returns 0 or a fault at /before. If `id` is NULL, no message limits the page. */
static int assignment_before(struct call *call, const char *id, int64_t *row)
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

	if ((rc = who_team_of(call, in->team, in->agent, "/agent")) < 0 ||
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
		if (!space_put(call, out, assignments, &record_assignment_line, &l,
			       in->limit))
			break;
	}
	return query_over(&q, rc);
}

/*
 * Collects the results that agents' daemons have reported for assignments.
 */

enum { ANSWER_RESULTS = 20, STDOUT_SHOWN = 4096, STDERR_SHOWN = 2048 };

/* Cuts the text to at most `most` bytes, and cuts no character in two. */
static const char *assignment_result_cut(struct arena *arena, const char *s, size_t most)
{
	size_t n = s ? strlen(s) : 0;

	if (n <= most)
		return s ? s : "";
	return arena_strndup(arena, s, text_start(s, most));
}

static void assignment_result_fill(struct call *call, const struct result_line_row *r,
				   struct result_line *l)
{
	*l = (struct result_line){
		.message_id = id_public(call, ID_MESSAGE, r->message, r->at),
		.seq = r->message,
		.task_id = r->label,
		.agent = r->agent_name,
		.success = r->success,
		.exit_code = r->exit_code,
		.stdout = assignment_result_cut(&call->arena, r->stdout, STDOUT_SHOWN),
		.stderr = assignment_result_cut(&call->arena, r->stderr, STDERR_SHOWN),
		.stdout_size = r->stdout_size,
		.stderr_size = r->stderr_size,
		.truncated = r->stdout_size > STDOUT_SHOWN ||
			     r->stderr_size > STDERR_SHOWN,
		.elapsed_secs = r->elapsed_s,
		.finished_at = r->stored_at,
	};
}

struct gathering {
	struct result_line *lines;
	int64_t *rows;
	size_t n, n_rows;
	int64_t limit; /* maximum number of results */
	bool more; /* a result had no room in the answer */
};

static bool assignment_result_add_line(struct call *call, struct gathering *g,
				       const struct result_line_row *r)
{
	struct result_line line;
	int64_t label, out, err;

	assignment_result_fill(call, r, &line);
	line.task_id = space_cut(call, line.task_id, space_all(call) / 8, &label);
	line.stdout = space_cut(call, line.stdout, space_all(call) / 2, &out);
	line.stderr = space_cut(call, line.stderr, space_all(call) / 4, &err);
	line.truncated |= out || err;
	return space_add(call, &record_result_line, &line, &g->lines, &g->n, g->limit,
			 &g->more);
}

static int assignment_result_gather(struct call *call, struct query *q,
				    struct gathering *g)
{
	struct result_line_row r;
	int rc;

	while ((rc = sql_next(call, q, &r)) > 0) {
		bool known = false;

		for (size_t i = 0; i < g->n_rows; i++)
			known |= g->rows[i] == r.message;
		if (known || (int64_t)g->n == g->limit || g->more)
			continue;
		if (assignment_result_add_line(call, g, &r))
			arena_add(&call->arena, g->rows, g->n_rows, r.message);
	}
	return rc;
}

int result_again(struct call *call, const struct agent_row *a, int64_t request,
		 struct result_line **out, size_t *n, bool *more)
{
	struct gathering g = { .limit = ANSWER_RESULTS };
	struct query q;
	int rc;

	sql_query(call, &q, results_of_request, .request = request, .agent = a->id,
		  .since = call->now - RESULT_REPEAT_MS);
	rc = assignment_result_gather(call, &q, &g);
	*out = g.lines;
	*n = g.n;
	*more |= g.more;
	return rc;
}

/* Stores which results are collected. The first `n_again` results are collected again. */
static int collected(struct call *call, const struct collecting *c,
		     const struct gathering *g, size_t n_again)
{
	/* If results are to be taken for good, no session is stored with them before the answer
	 * has arrived. */
	int64_t session = c->takes ? 0 : c->session;
	int rc = 0;

	for (size_t i = 0; i < n_again && rc >= 0; i++)
		rc = sql_run(call, result_recollect, .message = g->rows[i],
			     .request = c->request, .session = session);
	for (size_t i = n_again; i < g->n && rc >= 0; i++) {
		rc = sql_run(call, result_collect, .message = g->rows[i],
			     .request = c->request, .session = session,
			     .seen = !c->session && !c->takes, .now = call->now);
		if (rc >= 0)
			rc = event_emit(call, EVENT_RESULT_COLLECTED, g->rows[i],
					c->agent->id, NULL);
	}
	if (rc < 0)
		return rc;
	rc = sql_run(call, agent_collected, .agent = c->agent->id, .now = call->now);
	return rc < 0 ? rc : team_announce(call, call->caller.team);
}

static int gather_unseen(struct call *call, const struct collecting *c,
			 struct gathering *g)
{
	struct query q;

	if (!c->unseen || !c->session)
		return 0;
	sql_query(call, &q, results_unseen, .agent = c->agent->id,
		  .since = call->now - RESULT_REPEAT_MS, .session = c->session,
		  .now = call->now,
		  .lapsed = call->now - call->settings->config.inbox_lease_seconds * 1000,
		  .limit = ANSWER_RESULTS);
	return assignment_result_gather(call, &q, g);
}

int result_collect(struct call *call, const struct collecting *c,
		   struct result_line **out, size_t *n, bool *more)
{
	struct gathering g = { .limit = ANSWER_RESULTS };
	size_t n_again;
	struct query q;
	int rc;

	if ((rc = gather_unseen(call, c, &g)) < 0)
		return rc;
	n_again = g.n;
	sql_query(call, &q, results_of_sender, .agent = c->agent->id,
		  .limit = ANSWER_RESULTS);
	if ((rc = assignment_result_gather(call, &q, &g)) < 0)
		return rc;
	if (c->agent->id != call->caller.agent) {
		sql_query(call, &q, results_by_agent, .agent = c->agent->id,
			  .limit = ANSWER_RESULTS);
		if ((rc = assignment_result_gather(call, &q, &g)) < 0)
			return rc;
	}
	*out = g.lines;
	*n = g.n;
	*more |= g.more;
	return g.n ? collected(call, c, &g, n_again) : 0;
}

int result_list(struct call *call, const struct result_list_in *in,
		struct result_list_out *out)
{
	struct gathering g = { .limit = in->limit };
	struct agent_row agent = { 0 };
	struct result_line_row r;
	struct query q = { 0 };
	int64_t before;
	int rc;

	if ((rc = who_team_of(call, in->team, in->agent, "/agent")) < 0 ||
	    (rc = assignment_before(call, in->before, &before)) < 0 ||
	    (in->agent && (rc = who_agent(call, in->agent, "/agent", &agent)) < 0))
		return rc;
	while ((rc = sql_each(
			call, &q, results_all, &r, .team = call->caller.team,
			.agent = agent.id,
			.caller = call->caller.level >= WHO_LEAD ? 0 : call->caller.agent,
			.before = before, .limit = in->limit + 1)) > 0 &&
	       assignment_result_add_line(call, &g, &r))
		;
	query_end(&q);
	out->results = g.lines;
	out->n_results = g.n;
	out->more = g.more;
	return rc < 0 ? rc : 0;
}

/* --- one result -------------------------------------------------------------------------- */

/* The text that an answer shows for a range of stdout or stderr. The range that the caller asks
 * for may begin or end in the middle of a character. The piece holds whole characters only. */
struct piece {
	const char *text;
	int64_t next; /* offset of the first byte after the piece */
};

/* BESIDE is the number of bytes that are read in addition to a range. If the range begins
 * inside a character, the piece begins behind this character. The last character of the piece
 * is whole. */
enum { CHARACTER = 4, BESIDE = 2 * CHARACTER };

static struct piece piece_of(struct call *call, const char *s,
			     const struct result_show_in *in, size_t room)
{
	size_t skipped = 0, n;

	s = s ? s : "";
	while (in->offset && text_is_inside(s[skipped]))
		skipped++;
	s += skipped;
	n = strlen(s);
	if (n > (size_t)in->length)
		n = (size_t)in->length;
	n = text_start(s, n);
	if (n == 0 && *s) /* the caller asked for less than a character */
		n = text_wide(s) ? text_wide(s) : 1;
	n = space_fit(s, n, room);
	return (struct piece){ arena_strndup(&call->arena, s, n),
			       in->offset + (int64_t)(skipped + n) };
}

static int no_result(struct call *call, int64_t message)
{
	struct assignment_row x = { 0 };
	int rc = sql_row(call, assignment_by_message, &x, .message = message);

	if (rc < 0)
		return rc;
	if (rc > 0 && x.state != ASSIGNMENT_STATE_CANCELLED) {
		fault_set(&call->fault, FAULT_NOT_FOUND, "/id",
			  "the command has no result yet");
		return fault_hint(&call->fault, "Wait for it with: {result.wait} #%lld.",
				  (long long)message);
	}
	if (rc > 0)
		fault_set(&call->fault, FAULT_NOT_FOUND, "/id",
			  "the assignment was called off, so it has no result");
	else
		fault_set(&call->fault, FAULT_NOT_FOUND, "/id",
			  "message #%lld carries no command, so it has no result",
			  (long long)message);
	return fault_hint(&call->fault, "See the results with: {result.list}.");
}

/* Says why `id` names no result. */
static int assignment_none(struct call *call, const char *id)
{
	int64_t message = 0;
	int rc = assignment_named(call, id, false, &message);

	if (rc < 0)
		return rc;
	if (rc > 0)
		return no_result(call, message);
	fault_set(&call->fault, FAULT_NOT_FOUND, "/id", "there is no result of %s", id);
	return fault_hint(&call->fault, "See the results with: {result.list}.");
}

int result_show(struct call *call, const struct result_show_in *in,
		struct result_show_out *out)
{
	bool out_too = !in->has_stream || in->stream == STREAM_STDOUT;
	bool err_too = !in->has_stream || in->stream == STREAM_STDERR;
	size_t room = space_all(call) / (out_too && err_too ? 2 : 1);
	int64_t message = 0, length = in->length + BESIDE, cut_label;
	struct piece first, second;
	struct result_row r;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = assignment_named(call, in->id, true, &message)) < 0)
		return rc;
	if (rc == 0)
		return assignment_none(call, in->id);
	rc = sql_row(call, result_by_message, &r, .message = message,
		     .first = in->offset + 1, .stdout_length = out_too ? length : 0,
		     .stderr_length = err_too ? length : 0);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return no_result(call, message);
	if (r.sender != call->caller.agent && r.agent != call->caller.agent &&
	    (rc = who_leads(call, "/id", "the command's sender, its agent",
			    "see the result")) < 0)
		return rc;
	r.label = space_cut(call, r.label, space_all(call) / 8, &cut_label);
	room -= text_json_size(r.label) / 2;
	first = piece_of(call, r.stdout, in, room);
	second = piece_of(call, r.stderr, in, room);
	*out = (struct result_show_out){
		.message_id = id_public(call, ID_MESSAGE, r.message, r.at),
		.seq = r.message,
		.task_id = r.label,
		.agent = r.agent_name,
		.success = r.success,
		.exit_code = r.exit_code,
		.stdout = first.text,
		.stderr = second.text,
		.stdout_size = r.stdout_size,
		.stderr_size = r.stderr_size,
		.more = (out_too && r.stdout_size > first.next) ||
			(err_too && r.stderr_size > second.next),
		.elapsed_secs = r.elapsed_s,
		.finished_at = r.stored_at,
	};
	return 0;
}

/* --- what a guest reports ------------------------------------------------------------------ */

static int ack_assignment(struct call *call, const struct assignment_row *x)
{
	int rc;

	if ((rc = sql_run(call, delivery_end, .message = x->message, .agent = x->agent,
			  .state = DELIVERY_STATE_ACKED, .now = call->now)) < 0)
		return rc;
	if (rc > 0 && (rc = event_by(call, .kind = EVENT_MESSAGE_ACKED, .team = x->team,
				     .actor = x->agent, .subject = x->message,
				     .target = x->agent)) < 0)
		return rc;
	return 0;
}

/* Ends an assignment. The daemon's number of commands falls by one, and the assignment's
 * message is acknowledged. */
static int end_assignment(struct call *call, const struct assignment_row *x)
{
	int rc;

	if ((rc = sql_run(call, assignment_finish, .message = x->message,
			  .agent = x->agent)) < 0 ||
	    (rc > 0 && (rc = assignment_count(call, x->agent, x->team, -1)) < 0) ||
	    (rc = sql_run(call, assignment_recalled, .message = x->message,
			  .agent = x->agent)) < 0 ||
	    (rc = agent_daemon_moves(call, x)) < 0)
		return rc;
	return ack_assignment(call, x);
}

static const char *outcome(const struct assignment_row *x, bool success)
{
	if (x->state == ASSIGNMENT_STATE_CANCELLED)
		return "cancelled";
	return success ? "ok" : "failed";
}

/* The one text of a result that the command's task gets. For a failed command, the text is the
 * reason. */
static const char *shown(struct call *call, const struct result_store_in *r)
{
	if (r->success)
		return assignment_result_cut(&call->arena, r->stdout, STDOUT_SHOWN);
	if (r->stderr && *r->stderr)
		return assignment_result_cut(&call->arena, r->stderr, STDOUT_SHOWN);
	if (r->stdout && *r->stdout)
		return assignment_result_cut(&call->arena, r->stdout, STDOUT_SHOWN);
	return arena_printf(&call->arena,
			    "the command ended with exit code %d and said nothing",
			    (int)r->exit_code);
}

/* Stores a result. Returns 1, or 0 if the assignment has a result already. */
static int assignment_result_keep(struct call *call, const struct assignment_row *x,
				  const struct result_store_in *r)
{
	int rc = sql_run(call, result_add, .message = x->message, .team = x->team,
			 .agent = x->agent, .sender = x->sender, .success = r->success,
			 .exit_code = r->exit_code, .stdout = r->stdout,
			 .stderr = r->stderr, .elapsed_s = r->elapsed_secs,
			 .now = call->now);

	if (rc <= 0 || (rc = end_assignment(call, x)) < 0)
		return rc;
	rc = event_by(call, .kind = EVENT_ASSIGNMENT_DONE, .team = x->team,
		      .actor = x->agent, .subject = x->message, .target = x->sender,
		      .detail = outcome(x, r->success));
	if (rc < 0 || (x->task && (rc = task_finish_assigned(call, x, r->success,
							     shown(call, r))) < 0))
		return rc;
	rc = team_announce(call, x->team);
	return rc < 0 ? rc : 1;
}

int result_store(struct call *call, const struct result_store_in *in,
		 struct result_store_out *out)
{
	struct result_store_in r = *in;
	struct assignment_row x;
	int64_t row, at;
	int rc = id_parse(call, ID_MESSAGE, in->message_id, &row, &at);

	if (rc > 0)
		rc = sql_row(call, assignment_by_message, &x, .message = row);
	if (rc < 0)
		return rc;
	if (rc == 0 || x.at != at || x.agent != in->agent)
		return 0;
	r.success = r.success && r.exit_code == 0; /* a report may contradict itself */
	if (r.elapsed_secs < 0 || r.elapsed_secs > INT32_MAX)
		r.elapsed_secs = 0;
	rc = assignment_result_keep(call, &x, &r);
	out->stored = rc > 0;
	return rc < 0 ? rc : 0;
}

/* Ends the assignments `all`. The result of each assignment gives the reason `why`. Returns the
 * number of assignments, or a negative fault code. */
static int end_each(struct call *call, const struct assignments_running_row *all,
		    size_t n, const char *why)
{
	const struct result_store_in r = { .exit_code = -1, .stdout = "", .stderr = why };
	struct assignment_row x;
	int rc = 0;

	for (size_t i = 0; i < n && rc >= 0; i++) {
		rc = sql_row(call, assignment_by_message, &x, .message = all[i].message);
		if (rc > 0)
			rc = assignment_result_keep(call, &x, &r);
	}
	return rc < 0 ? rc : (int)n;
}

int assignment_interrupt(struct call *call, int64_t agent, const char *why)
{
	struct assignments_running_row *all = NULL;
	size_t n;
	int rc = sql_all(call, assignments_accepted, &all, &n, .agent = agent);

	return rc < 0 ? rc : end_each(call, all, n, why);
}

int assignment_end_all(struct call *call, int64_t agent, const char *why)
{
	struct assignments_running_row *all = NULL;
	size_t n;
	int rc = sql_all(call, assignments_of_agent, &all, &n, .agent = agent);

	return rc < 0 ? rc : end_each(call, all, n, why);
}

int assignments_end(struct call *call, const char *why)
{
	struct assignments_running_row *all = NULL;
	size_t n;
	int rc = sql_all(call, assignments_open, &all, &n);

	return rc < 0 ? rc : end_each(call, all, n, why);
}

/* Stores that a daemon runs a command, and renews the lease of the command's task. */
static int note_running(struct call *call, int64_t agent, const char *id,
			int64_t *renewed)
{
	struct assignment_row x = { 0 };
	int64_t row, at;
	int rc = id_parse(call, ID_MESSAGE, id, &row, &at);

	if (rc > 0)
		rc = sql_row(call, assignment_by_message, &x, .message = row);
	if (rc <= 0 || x.at != at || x.agent != agent)
		return rc < 0 ? rc : 0;
	rc = sql_run(call, assignment_start, .message = x.message, .agent = agent,
		     .now = call->now);
	if (rc < 0)
		return rc;
	if (rc > 0 &&
	    ((rc = agent_daemon_moves(call, &x)) < 0 ||
	     (rc = event_by(call, .kind = EVENT_ASSIGNMENT_STARTED, .team = x.team,
			    .actor = agent, .subject = x.message, .target = agent)) < 0 ||
	     (rc = team_announce(call, x.team)) < 0))
		return rc;
	return x.task ? task_renew_assigned(call, &x, renewed) : 0;
}

int guest_heartbeat(struct call *call, const struct guest_heartbeat_in *in,
		    struct guest_heartbeat_out *out)
{
	struct agent_row a;
	int64_t status;
	int rc = sql_row(call, agent_by_id, &a, .id = in->agent);

	if (rc <= 0)
		return rc;
	for (size_t i = 0; i < in->n_running; i++)
		if ((rc = note_running(call, in->agent, in->running[i], &out->renewed)) <
		    0)
			return rc;
	if (in->spool && in->has_spool_seq &&
	    (rc = sql_run(call, workspace_set_spool_seq, .id = in->workspace,
			  .spool = in->spool, .seq = in->spool_seq)) < 0)
		return rc;
	if (!in->has_status)
		return 0;
	status = in->status;
	if ((rc = runner_rest(call, in->agent, &status)) < 0 ||
	    (rc = sql_run(call, agent_set_status, .agent = in->agent, .status = status,
			  .now = call->now)) <= 0)
		return rc;
	return event_by(call, .kind = EVENT_AGENT_STATUS, .team = a.team, .actor = a.id,
			.subject = a.id,
			.detail = field_choice(&record_agent_line, "status", status));
}
