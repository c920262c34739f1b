/*
 * turn - begins and ends turns, and shows them.
 */
#include "core/turn/turn.h"

#include <inttypes.h>
#include <string.h>

#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/call/space.h"
#include "core/message/inbox.h"
#include "core/team/budget.h"
#include "core/team/team.h"
#include "core/turn/chain.h"

static int turn_finish(struct call *call, const struct turn_end_in *in);

enum {
	/* Room for the messages with which a turn begins, in bytes of JSON. The longest message
	 * fits into this room, and a prompt of this size fits into a frame. */
	PROMPT_ROOM = 3 << 20,
	LEASE_MORE_MS = 120000, /* time from the turn's timeout to the end of the
				   messages' lease */
	STOPPED_MOST = 3, /* maximum number of turns in a row that agents' urgent mail
			     stops */
	/* After mail has stopped a turn, the next turn begins only after this time. So messages
	 * that arrive meanwhile are part of the next turn, and do not stop it. */
	GATHER_MS = 100,
};

/* --- the caller -------------------------------------------------------------------- */

/* Sets the caller to the host, in the team of the turn. */
static void turn_enter(struct call *call, int64_t team)
{
	call->caller =
		(struct caller){ .level = WHO_HOST, .team = team, .agent = ACTOR_HOST };
}

static const char heading[] = "[From ";

/* --- beginning ----------------------------------------------------------------------- */

static bool turn_is_operators(const struct envelope *e)
{
	return strcmp(e->from, "operator") == 0;
}

/* Writes the prompt, with the name of the sender before each message. If all messages are the
 * operator's, the prompt has no names. In a prompt without names, no text of an agent can
 * imitate the operator. */
static const char *turn_write_prompt(struct call *call, const struct envelope *all,
				     size_t n)
{
	struct text t = { 0 };
	const char *prompt;
	bool mixed = false;

	for (size_t i = 0; i < n; i++)
		mixed |= !turn_is_operators(&all[i]);
	for (size_t i = 0; i < n; i++) {
		if (i)
			text_addf(&t, "\n\n");
		if (!turn_is_operators(&all[i]))
			text_addf(&t, "%sagent \"%s\"]:\n", heading, all[i].from);
		else if (mixed)
			text_addf(&t, "%sthe operator]:\n", heading);
		text_add_said(&t, all[i].content);
	}
	text_addf(&t, "\n");
	prompt = arena_strndup(&call->arena, t.data, t.len);
	text_release(&t);
	return prompt;
}

/* A number that identifies the hand-out of a turn's messages. Other hand-outs have other
 * numbers. */
static int64_t request_of(const struct call *call, int64_t turn)
{
	uint64_t h = (call->seed ^ (uint64_t)turn) * 0x9e3779b97f4a7c15u;

	return (int64_t)(h >> 1 | 1);
}

static int tell_hour(struct call *call, const struct agent_row *a)
{
	return team_notice(
		call, "runner",
		arena_printf(&call->arena,
			     "%s has begun %" PRId64 " turns within an hour "
			     "(limits.turns_per_hour) without a word from a person. "
			     "The next turn begins when the hour is over, or when a "
			     "person writes to the agent: `cadre send %s TEXT`.",
			     a->name, chain_per_hour(call), a->name));
}

/* Stores the chain number of a turn that begins. Sends a notice if this turn is the last turn
 * that the agent may begin in this hour. */
static int follow_chain(struct call *call, const struct agent_row *a, int64_t turn)
{
	struct turn_chain_row chain;
	struct runner_began_row hour;
	int rc =
		sql_row(call, turn_chain, &chain, .turn = turn, .most = chain_most(call));

	if (rc < 0 || (rc = chain_put(call, a->id, chain.n)) < 0 ||
	    (rc = sql_row(call, runner_began, &hour, .agent = a->id, .chain = chain.n,
			  .now = call->now)) <= 0)
		return rc;
	return hour.n == chain_per_hour(call) ? tell_hour(call, a) : 0;
}

/* Begins the turn `u`, and fills `s`, with which the host starts the turn. Returns 1 if the
 * turn has begun, 0 if no mail waits any more, or a negative fault code. */
static int turn_begin_picked(struct call *call, const struct turn_pick_row *u,
			     struct turn_start *s)
{
	int64_t held = call->settings->config.runner_timeout_seconds * 1000;
	int64_t request = request_of(call, u->id);
	struct envelope *mail = NULL;
	struct agent_row a;
	size_t n = 0;
	int rc;

	turn_enter(call, u->team);
	call->space = PROMPT_ROOM;
	if ((rc = sql_row(call, agent_by_id, &a, .id = u->agent)) < 0 ||
	    (rc = inbox_hand(call, &a, request, call->now + held + LEASE_MORE_MS, &mail,
			     &n)) < 0)
		return rc;
	if (n == 0)
		return sql_run(call, turn_drop, .id = u->id) < 0 ? call->fault.code : 0;
	rc = sql_run(call, turn_begin, .id = u->id, .now = call->now, .request = request,
		     .host = store_host(call->store), .command = u->command);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = sql_run(call, turn_message_add, .turn = u->id,
			     .message = mail[i].seq);
	if (rc < 0 || (rc = follow_chain(call, &a, u->id)) < 0 ||
	    (rc = agent_say_status(call, &a, AGENT_STATUS_STREAMING)) < 0 ||
	    (rc = event_emit(call, EVENT_TURN_STARTED, u->id, u->agent, NULL)) < 0)
		return rc;
	*s = (struct turn_start){ .turn = u->id,
				  .workspace = u->workspace,
				  .agent = u->agent,
				  .runner = u->command,
				  .session = u->client_session,
				  .prompt = turn_write_prompt(call, mail, n) };
	return 1;
}

static int begin_some(struct call *call, const struct turn_next_in *in,
		      struct turn_next_out *out)
{
	int64_t most = call->settings->config.limits_max_turns;
	struct turn_pick_row u;
	int rc;

	for (int64_t i = 0; i < in->most; i++) {
		struct turn_start s;

		rc = sql_row(call, turn_pick, &u, .now = call->now, .most = most,
			     .host = store_host(call->store));
		if (rc <= 0)
			return rc;
		if ((rc = turn_begin_picked(call, &u, &s)) < 0)
			return rc;
		if (rc > 0)
			arena_add(&call->arena, out->starts, out->n_starts, s);
	}
	out->more = true;
	return 0;
}

/* Ends the turns that an earlier host has begun and not ended. */
static int end_earlier(struct call *call)
{
	struct turn_running_row *all = NULL;
	size_t n;
	int rc = sql_all(call, turn_running, &all, &n, .host = store_host(call->store));

	for (size_t i = 0; i < n && rc >= 0; i++) {
		const struct turn_end_in in = { .turn = all[i].id,
						.state = TURN_STATE_INTERRUPTED,
						.reason = "its host ended" };

		rc = turn_finish(call, &in);
	}
	return rc < 0 ? rc : 0;
}

static int list_stops(struct call *call, struct turn_next_out *out)
{
	struct turn_stops_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, turn_stops, &r,
			      .interject = call->settings->config.runner_interject,
			      .now = call->now, .chain = chain_most(call),
			      .per_hour = chain_per_hour(call), .patience = STOPPED_MOST,
			      .host = store_host(call->store))) > 0)
		arena_add(&call->arena, out->stops, out->n_stops, r.id);
	return rc;
}

static int list_agents(struct call *call, struct turn_next_out *out)
{
	struct runner_agents_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, runner_agents, &r,
			      .host = store_host(call->store))) > 0)
		arena_add(&call->arena, out->agents, out->n_agents, r.agent);
	return rc;
}

int turn_next(struct call *call, const struct turn_next_in *in, struct turn_next_out *out)
{
	const struct config *c = &call->settings->config;
	struct runner_again_row again;
	int rc;

	if ((in->start && (rc = end_earlier(call)) < 0) ||
	    (rc = list_agents(call, out)) < 0 || (rc = sql_run(call, turn_unqueue)) < 0 ||
	    (rc = sql_run(call, turn_queue, .now = call->now,
			  .host = store_host(call->store), .chain = chain_most(call),
			  .per_hour = chain_per_hour(call),
			  .most = c->runner_max_failures)) < 0 ||
	    (rc = begin_some(call, in, out)) < 0 || (rc = list_stops(call, out)) < 0 ||
	    (rc = sql_row(call, runner_again, &again, .now = call->now,
			  .per_hour = chain_per_hour(call))) < 0)
		return rc;
	out->has_again_at = again.at != 0;
	out->again_at = again.at;
	return 0;
}

/* --- running ------------------------------------------------------------------------- */

int turn_output(struct call *call, const struct turn_output_in *in,
		struct turn_output_out *out)
{
	int64_t most = call->settings->config.runner_output_kb * 1024;
	int64_t n = (int64_t)strlen(in->text), more, again, room;
	const char *text = in->text;
	struct turn_row u;
	int rc = sql_row(call, turn_by_id, &u, .id = in->turn);

	if (rc <= 0)
		return rc;
	/* A host that got no answer sends the same part of the output again. The bytes of this
	 * part that an earlier call brought are skipped. */
	again = in->has_start && in->start < u.size ? u.size - in->start : 0;
	again = again < n ? again : n;
	text += again;
	n -= again;
	/* After a part that was not kept, no further part is kept. */
	room = u.size > u.kept || u.kept > most ? 0 : most - u.kept;
	more = n < room ? n : room;
	more = text_start(text, more);
	out->kept = u.kept + more == u.size + n;
	rc = sql_run(call, turn_print, .id = u.id, .n = n, .more = more,
		     .client_session = in->session);
	if (rc <= 0 || more == 0)
		return rc < 0 ? rc : 0;
	rc = sql_run(call, turn_output_add, .turn = u.id, .start = u.kept,
		     .now = call->now,
		     .text = arena_strndup(&call->arena, text, (size_t)more));
	return rc < 0 ? rc : 0;
}

/* --- ending -------------------------------------------------------------------------- */

/* Sets the agent's status for the time between two turns. */
static int say_rest(struct call *call, int64_t agent)
{
	struct turn_held_back_row held;
	struct agent_row a;
	int rc = sql_row(call, agent_by_id, &a, .id = agent);

	/* The status may have changed since the turn began. */
	if (rc <= 0 || a.gone || a.status != AGENT_STATUS_STREAMING ||
	    (rc = sql_row(call, turn_held_back, &held, .agent = agent,
			  .now = call->now)) < 0)
		return rc < 0 ? rc : 0;
	return agent_say_status(call, &a,
				held.so ? AGENT_STATUS_RATE_LIMITED : AGENT_STATUS_IDLE);
}

static int tell_failed(struct call *call, const struct turn_row *u, const char *reason)
{
	struct agent_row a;
	int rc = sql_row(call, agent_by_id, &a, .id = u->agent);

	if (rc <= 0 || a.gone || a.status == AGENT_STATUS_FAILED ||
	    (rc = agent_say_status(call, &a, AGENT_STATUS_FAILED)) < 0)
		return rc < 0 ? rc : 0;
	return team_notice(
		call, "runner",
		arena_printf(&call->arena,
			     "%s takes no more turns: its runner has failed %" PRId64 " "
			     "times, the last time because %s. Its mail waits. To "
			     "let it go on, set its runner again.",
			     a.name, call->settings->config.runner_max_failures,
			     reason ? reason : "it ended badly"));
}

static int count_failure(struct call *call, const struct turn_row *u, const char *reason)
{
	const struct config *c = &call->settings->config;
	struct runner_of_row r;
	struct runner_failed_row failed;
	int64_t wait = c->runner_retry_ms;
	int rc = sql_row(call, runner_of, &r, .agent = u->agent);

	if (rc <= 0)
		return rc;
	for (int64_t i = 0; i < r.failures && wait < TURN_RETRY_MOST_MS; i++)
		wait *= 2;
	if (wait > TURN_RETRY_MOST_MS)
		wait = TURN_RETRY_MOST_MS;
	rc = sql_row(call, runner_failed, &failed, .agent = u->agent,
		     .retry_at = call->now + wait, .command = u->command,
		     .client_session = u->client_session);
	if (rc < 0)
		return rc;
	return rc && failed.failures >= c->runner_max_failures
		       ? tell_failed(call, u, reason)
		       : say_rest(call, u->agent);
}

static int count_limit(struct call *call, const struct turn_row *u,
		       const struct turn_end_in *in)
{
	int rc = runner_limit(call, u, in->has_limited_until ? in->limited_until : 0);

	return rc < 0 ? rc : say_rest(call, u->agent);
}

static int count_well(struct call *call, const struct turn_row *u)
{
	int rc = runner_limit_over(call, u);

	if (rc >= 0)
		rc = sql_run(call, runner_went, .agent = u->agent, .now = call->now,
			     .client_session = u->client_session, .command = u->command);
	return rc < 0 ? rc : say_rest(call, u->agent);
}

static int turn_tell_stopped(struct call *call, const struct turn_row *u)
{
	struct agent_row a;
	int rc = sql_row(call, agent_by_id, &a, .id = u->agent);

	if (rc <= 0)
		return rc;
	return team_notice(
		call, "runner",
		arena_printf(&call->arena,
			     "Urgent mail has stopped %d turns of %s in a row. The "
			     "next turn runs to its end: only the lead and the "
			     "operator can stop it.",
			     STOPPED_MOST, a.name));
}

static int count_stopped(struct call *call, const struct turn_row *u)
{
	struct runner_kept_row stopped;
	int rc = sql_row(call, runner_kept, &stopped, .agent = u->agent, .turn = u->id,
			 .client_session = u->client_session, .command = u->command,
			 .retry_at = call->now + GATHER_MS);

	if (rc > 0 && stopped.n == STOPPED_MOST)
		rc = turn_tell_stopped(call, u);
	return rc < 0 ? rc : say_rest(call, u->agent);
}

static int count_turn(struct call *call, const struct turn_row *u,
		      const struct turn_end_in *in)
{
	if (in->limited)
		return count_limit(call, u, in);
	if (in->state == TURN_STATE_FAILED || in->lost)
		return count_failure(call, u, in->reason);
	return in->state == TURN_STATE_DONE ? count_well(call, u)
					    : count_stopped(call, u);
}

/* Acknowledges the messages of a turn that ended well. The messages of any other turn wait
 * again. So no message is lost, whatever the turn's command did. */
static int settle_mail(struct call *call, const struct turn_row *u,
		       const struct turn_end_in *in)
{
	struct agent_row a;
	int64_t n = 0;
	int rc = sql_row(call, agent_by_id, &a, .id = u->agent);

	if (rc <= 0)
		return rc;
	if (in->state == TURN_STATE_DONE)
		return inbox_keep(call, &a, u->request, &n);
	return inbox_unhand(call, &a, u->request, !in->limited, &n);
}

/* Returns the turn's own part of an amount that a client reported. `whole` is true if the
 * reported amount is the sum of the client's whole session. `*before` is the last sum of the
 * client's session, and is updated. If the new sum is smaller than the last sum, the client has
 * counted from 0 again. */
static int64_t turn_own_part(bool whole, int64_t told, int64_t *before)
{
	int64_t own = whole && told >= *before ? told - *before : told;

	if (!whole)
		*before += own;
	else if (told)
		*before = told;
	return whole && !told ? 0 : own;
}

/* Finds the amounts that the turn itself used, and stores the sums of the turn's session. */
static int find_usage(struct call *call, const struct turn_row *u,
		      const struct turn_end_in *in, struct team_usage_in *usage)
{
	struct runner_of_row r = { 0 };
	int rc = sql_row(call, runner_of, &r, .agent = u->agent);

	if (rc < 0)
		return rc;
	/* A turn that reported no session ran in the session with which the turn began. */
	if (!r.client_session ||
	    (u->client_session && strcmp(u->client_session, r.client_session)))
		r.told_in = r.told_out = r.told_cost = 0;
	usage->tokens_in = turn_own_part(in->whole_tokens, in->tokens_in, &r.told_in);
	usage->tokens_out = turn_own_part(in->whole_tokens, in->tokens_out, &r.told_out);
	usage->cost = turn_own_part(in->whole_cost, in->cost, &r.told_cost);
	rc = sql_run(call, runner_told, .agent = u->agent, .command = u->command,
		     .told_in = r.told_in, .told_out = r.told_out,
		     .told_cost = r.told_cost);
	return rc < 0 ? rc : 0;
}

static int count_usage(struct call *call, const struct turn_row *u,
		       const struct team_usage_in *usage)
{
	struct team_usage_out above = { 0 };

	if (!usage->tokens_in && !usage->tokens_out && !usage->cost)
		return 0;
	return budget_count(call, usage, u->agent, &above);
}

static int tell_stood(struct call *call, const struct turn_row *u, const char *reason)
{
	struct agent_row a;
	int rc = sql_row(call, agent_by_id, &a, .id = u->agent);

	if (rc <= 0 || a.gone)
		return rc < 0 ? rc : 0;
	return team_notice(call, "runner",
			   arena_printf(&call->arena,
					"turn %" PRId64
					" of %s and the guest of its workspace "
					"were ended: %s. The agent's mail comes "
					"again.",
					u->id, a.name, reason));
}

/* Ends a turn that still runs (see turn.end). Returns 1 if this call has ended the turn, 0 if
 * the turn had ended before, or a negative fault code. */
static int turn_finish(struct call *call, const struct turn_end_in *in)
{
	const struct caller was = call->caller;
	struct team_usage_in usage = { 0 };
	struct turn_row u;
	int rc = sql_row(call, turn_by_id, &u, .id = in->turn);

	if (rc <= 0 || (rc = find_usage(call, &u, in, &usage)) < 0 ||
	    (rc = sql_run(call, turn_end, .id = u.id, .state = in->state,
			  .now = call->now, .reason = in->reason,
			  .exited = in->has_exit_code, .exit_code = in->exit_code,
			  .dropped = in->dropped, .tokens_in = usage.tokens_in,
			  .tokens_out = usage.tokens_out, .cost = usage.cost)) <= 0)
		return rc;
	turn_enter(call, u.team);
	if ((rc = settle_mail(call, &u, in)) >= 0 &&
	    (rc = count_turn(call, &u, in)) >= 0 &&
	    (rc = count_usage(call, &u, &usage)) >= 0 &&
	    (rc = in->stood ? tell_stood(call, &u, in->reason) : 0) >= 0)
		rc = event_emit(call, EVENT_TURN_ENDED, u.id, u.agent,
				field_choice(&record_turn_line, "state", in->state));
	call->caller = was;
	return rc < 0 ? rc : 1;
}

int turn_end(struct call *call, const struct turn_end_in *in, struct turn_end_out *out)
{
	int rc = turn_finish(call, in);

	out->ended = rc > 0;
	return rc < 0 ? rc : 0;
}

/*
 * Shows lists of turns, the output of a turn, and the history of an agent.
 */

static void turn_show_line_of(struct turn_line *l, const struct turn_line_row *r)
{
	*l = (struct turn_line){ .turn = r->id,
				 .agent = r->name,
				 .state = r->state,
				 .messages = r->messages,
				 .queued_at = r->queued_at,
				 .has_started_at = r->started_at != 0,
				 .started_at = r->started_at,
				 .has_ended_at = r->ended_at != 0,
				 .ended_at = r->ended_at,
				 .has_exit_code = r->exited,
				 .exit_code = r->exit_code,
				 .reason = r->reason,
				 .size = r->size,
				 .has_tokens_in = r->tokens_in != 0,
				 .tokens_in = r->tokens_in,
				 .has_tokens_out = r->tokens_out != 0,
				 .tokens_out = r->tokens_out,
				 .has_cost = r->cost != 0,
				 .cost = r->cost };
}

int turn_list(struct call *call, const struct turn_list_in *in, struct turn_list_out *out)
{
	struct agent_row a = { 0 };
	struct turn_line_row r;
	struct query q = { 0 };
	int rc;

	if ((rc = who_team_of(call, in->team, in->agent, "/agent")) < 0 ||
	    (in->agent && (rc = who_agent(call, in->agent, "/agent", &a)) < 0))
		return rc;
	while ((rc = sql_each(call, &q, turn_lines, &r, .team = call->caller.team,
			      .agent = a.id,
			      .before = in->has_before ? in->before : INT64_MAX,
			      .limit = in->limit + 1)) > 0) {
		struct turn_line l;

		turn_show_line_of(&l, &r);
		if (!space_put(call, out, turns, &record_turn_line, &l, in->limit))
			break;
	}
	return query_over(&q, rc);
}

/* Finds the turn that the call names. The call gives the number of a turn of the call's team,
 * or an agent's name. For a name, finds the agent's last turn. */
static int find_turn(struct call *call, const struct turn_read_in *in, struct turn_row *u)
{
	struct turn_last_row last;
	struct agent_row a;
	int64_t id = in->turn;
	int rc;

	if (!id && !in->agent)
		return fault_set(
			&call->fault, FAULT_INVALID, "/turn",
			"turn 0 means the last turn of an agent: name the `agent`");
	if (!id) {
		if ((rc = who_agent(call, in->agent, "/agent", &a)) < 0 ||
		    (rc = sql_row(call, turn_last, &last, .agent = a.id)) < 0)
			return rc;
		id = last.id;
	}
	rc = sql_row(call, turn_by_id, u, .id = id);
	if (rc < 0 || (rc > 0 && u->team == call->caller.team))
		return rc < 0 ? rc : 0;
	if (!in->turn)
		return fault_set(&call->fault, FAULT_CONFLICT, "/agent",
				 "%s has taken no turn yet", a.name);
	return fault_set(&call->fault, FAULT_NOT_FOUND, "/turn",
			 "there is no turn %lld in team %s", (long long)in->turn,
			 call->caller.team_name);
}

/* Puts the turn's output into the answer, from the offset on, up to the wanted length or the
 * room of the answer. */
static int tell_output(struct call *call, const struct turn_read_in *in,
		       const struct turn_row *u, struct turn_read_out *out)
{
	int64_t most = in->has_length ? in->length : (int64_t)space_all(call), base = -1;
	struct space_range range;
	struct turn_output_from_row r;
	struct text t = { 0 };
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, turn_output_from, &r, .turn = u->id,
			      .from = in->offset)) > 0) {
		if (base < 0)
			base = r.start;
		text_add(&t, r.text, strlen(r.text));
		if (base + (int64_t)t.len > in->offset + most)
			break;
	}
	query_end(&q);
	base = base < 0 ? in->offset : base;
	range = (struct space_range){ .offset = in->offset - base, .length = most };
	space_range(call, t.data ? t.data : "", &range);
	out->text = range.text;
	out->size = u->kept;
	out->next = base + range.next;
	out->more = out->next < u->kept;
	text_release(&t);
	return rc < 0 ? rc : 0;
}

int turn_read(struct call *call, const struct turn_read_in *in, struct turn_read_out *out)
{
	struct turn_row u;
	struct agent_row a;
	struct turn_line_row l;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 || (rc = find_turn(call, in, &u)) < 0 ||
	    (rc = sql_row(call, agent_by_id, &a, .id = u.agent)) < 0)
		return rc;
	l = (struct turn_line_row){ .id = u.id,
				    .name = a.name,
				    .state = u.state,
				    .messages = u.messages,
				    .queued_at = u.queued_at,
				    .started_at = u.started_at,
				    .ended_at = u.ended_at,
				    .exit_code = u.exit_code,
				    .exited = u.exited,
				    .reason = u.reason,
				    .size = u.size,
				    .tokens_in = u.tokens_in,
				    .tokens_out = u.tokens_out,
				    .cost = u.cost };
	turn_show_line_of(&out->turn, &l);
	return tell_output(call, in, &u, out);
}

/*
 * The history of an agent, with messages and turns in the order of their times.
 *
 * Messages and turns are read from the newest on and merged by their times, until the page is
 * full. The answer shows the page's oldest entry first.
 */

enum { TEXT_MOST = 4096 }; /* maximum number of bytes of an entry's text in JSON */

struct page {
	struct call *call;
	const struct agent_history_in *in;
	int64_t agent, sender; /* sender 0: any sender */
	struct history_entry *entries; /* newest first */
	size_t n;
	bool full;
	int failed; /* fault code of an entry that could not be read, or 0 */
};

static bool is_within(const struct page *p, int64_t at, const char *text)
{
	const struct agent_history_in *in = p->in;

	return (!in->has_since || at >= in->since) &&
	       (!in->has_until || at < in->until) &&
	       (!in->query || strstr(text, in->query));
}

/* Adds an entry with as much of its text as fits. Returns false if the page is full. */
static bool turn_history_add(struct page *p, struct history_entry *e, const char *text)
{
	int64_t size;

	e->text = space_cut(p->call, text, TEXT_MOST, &size);
	if (size > e->text_size)
		e->text_size = size;
	e->has_text_size = e->text_size != 0;
	return space_add(p->call, &record_history_entry, e, &p->entries, &p->n,
			 p->in->limit, &p->full);
}

static bool add_turn(struct page *p, const struct history_turns_row *r)
{
	struct history_entry e = { .kind = "turn",
				   .at = r->started_at,
				   .has_turn = true,
				   .turn = r->id,
				   .has_state = true,
				   .state = r->state,
				   .text_size = r->size };
	const char *text = r->text ? r->text : "";

	if (strlen(text) >= (size_t)r->size)
		e.text_size = 0;
	return !is_within(p, r->started_at, text) || turn_history_add(p, &e, text);
}

static bool turn_history_add_message(struct page *p, const struct history_messages_row *r)
{
	int rc;
	struct copies c = { 0 };
	struct history_entry e = { .kind = "message",
				   .at = r->at,
				   .has_turn = r->turn != 0,
				   .turn = r->turn,
				   .has_seq = true,
				   .seq = r->id,
				   .from = r->name,
				   .message_type = r->type };

	if (strcmp(r->name, "operator"))
		e.metadata = arena_printf(&p->call->arena,
					  "{\"type\":\"inter-agent\",\"sender\":\"%s\"}",
					  r->name);
	rc = message_copies(p->call, r->id, r->to_all, &c);
	e.to = c.to;
	e.read = c.read;
	e.has_read = rc > 0;
	if (rc < 0) {
		p->failed = rc;
		return false;
	}
	return !is_within(p, r->at, r->content) || turn_history_add(p, &e, r->content);
}

/* Whether the caller wants turns. The argument `kind` is `turn`, `message`, or a message's
 * type. */
static bool wants_turns(const struct agent_history_in *in)
{
	return !in->sender && (!in->kind || strcmp(in->kind, "turn") == 0);
}

static const char *type_wanted(const struct agent_history_in *in)
{
	return in->kind && strcmp(in->kind, "message") ? in->kind : NULL;
}

/* Merges the turns and messages into the page, newest first, until the page is full or both
 * lists end. */
static int turn_history_merge(struct page *p, struct query *turns, struct query *messages)
{
	struct history_messages_row m;
	struct history_turns_row t;
	int has_t = sql_next(p->call, turns, &t), has_m = sql_next(p->call, messages, &m);

	while ((has_t > 0 || has_m > 0) && has_t >= 0 && has_m >= 0) {
		bool turn = has_t > 0 && (has_m <= 0 || t.started_at >= m.at);
		int64_t newest = turn ? t.started_at : m.at;

		if (p->in->has_since && newest < p->in->since)
			return 0;

		if (!(turn ? add_turn(p, &t) : turn_history_add_message(p, &m)))
			return p->failed;
		if (turn)
			has_t = sql_next(p->call, turns, &t);
		else
			has_m = sql_next(p->call, messages, &m);
	}
	return has_t < 0 ? has_t : has_m < 0 ? has_m : 0;
}

/* Fills the answer with the page's entries, oldest first. Also sets `before` and `before_turn`,
 * with which a caller gets the page of older entries. */
static void turn_history_tell(struct page *p, struct agent_history_out *out)
{
	out->history = arena_alloc(&p->call->arena, (p->n + 1) * sizeof(*p->entries));
	out->n_history = p->n;
	out->more = p->full;
	/* A page without entries does not change `before` and `before_turn`. */
	out->has_before = p->in->has_before;
	out->before = p->in->before;
	out->has_before_turn = p->in->has_before_turn;
	out->before_turn = p->in->before_turn;
	for (size_t i = 0; i < p->n; i++) {
		const struct history_entry *e = &p->entries[p->n - 1 - i];

		out->history[i] = *e;
		if (e->has_seq && (!out->has_before || e->seq < out->before)) {
			out->has_before = true;
			out->before = e->seq;
		}
		if (!e->has_seq &&
		    (!out->has_before_turn || e->turn < out->before_turn)) {
			out->has_before_turn = true;
			out->before_turn = e->turn;
		}
	}
}

/* Returns 0 if the caller may see all messages. Otherwise returns the caller's own agent, and
 * the caller may see only messages that this agent has sent or got. */
static int64_t turn_history_sees(const struct call *call)
{
	return call->caller.level >= WHO_LEAD ? 0 : call->caller.agent;
}

int agent_history(struct call *call, const struct agent_history_in *in,
		  struct agent_history_out *out)
{
	struct page p = { .call = call, .in = in };
	struct query turns, messages;
	struct agent_row a, s = { 0 };
	int rc;

	if ((rc = who_team_of(call, in->team, in->name, "/name")) < 0 ||
	    (rc = who_agent(call, in->name, "/name", &a)) < 0 ||
	    (in->sender && (rc = who_agent(call, in->sender, "/sender", &s)) < 0))
		return rc;
	sql_query(call, &turns, history_turns, .agent = wants_turns(in) ? a.id : 0,
		  .most = in->query ? INT64_MAX : TEXT_MOST,
		  .before = in->has_before_turn ? in->before_turn : INT64_MAX);
	sql_query(call, &messages, history_messages,
		  .agent = in->kind && strcmp(in->kind, "turn") == 0 ? 0 : a.id,
		  .team = call->caller.team, .own = turn_history_sees(call),
		  .sender = s.id, .type = type_wanted(in),
		  .before = in->has_before ? in->before : INT64_MAX);
	rc = turn_history_merge(&p, &turns, &messages);
	query_end(&turns);
	query_end(&messages);
	if (rc < 0)
		return rc;
	turn_history_tell(&p, out);
	return 0;
}
