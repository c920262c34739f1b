/*
 * state_status - shows the status of the whole state, and cleans the state.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/access/pair.h"
#include "core/access/who.h"
#include "core/assignment/assignment.h"
#include "core/base/version.h"
#include "core/overview/needs.h"
#include "core/call/space.h"
#include "core/task/task.h"

/* --- status -------------------------------------------------------------------------------- */

enum {
	STOPPED_SIZE = 160,
	WORKS_MOST = 50,
	IDLE_MOST = 20,
	TEAMS_MOST = 20,
	INBOXES_MOST = 100,
	READY_MOST = 100
};

/* Lists the held tasks of a team, or of all teams if `team` is 0, in the order of their
 * holders. */
static int tell_works(struct call *call, int64_t team, struct state_status_out *out)
{
	struct works_row r;
	struct query q = { 0 };
	int rc;

	if (team)
		sql_query(call, &q, works_of, .team = team, .now = call->now,
			  .limit = WORKS_MOST);
	else
		sql_query(call, &q, works, .now = call->now, .limit = WORKS_MOST);
	while ((rc = sql_next(call, &q, &r)) > 0) {
		const struct work_line w = { .agent = r.agent_name,
					     .team = out->n_teams > 1 ? r.team_name
								      : NULL,
					     .task = task_name(call, r.number),
					     .title = r.title,
					     .state = r.state,
					     .since = r.since,
					     .last_seen_at = r.active_at };

		if (!space_take(call, &record_work_line, &w))
			break;
		arena_add(&call->arena, out->works, out->n_works, w);
	}
	return query_over(&q, rc);
}

/* Lists the first members of a team, or of all teams if `team` is 0, that hold no task and wait
 * for work. */
static int tell_idle(struct call *call, int64_t team, struct state_status_out *out)
{
	struct idle_row r;
	struct query q = { 0 };
	int rc;

	if (team)
		sql_query(call, &q, idle_of, .team = team, .limit = IDLE_MOST);
	else
		sql_query(call, &q, idle, .limit = IDLE_MOST);
	while ((rc = sql_next(call, &q, &r)) > 0) {
		const char *name = out->n_teams > 1
					   ? arena_printf(&call->arena, "%s/%s",
							  r.team_name, r.agent_name)
					   : r.agent_name;

		if (!space_take_text(call, name))
			break;
		arena_add(&call->arena, out->idle, out->n_idle, name);
	}
	return query_over(&q, rc);
}

int state_status(struct call *call, const struct state_status_in *in,
		 struct state_status_out *out)
{
	struct team_list_in all = { 0 };
	struct team_list_out teams = { 0 };
	int64_t guests;
	struct waiting_all_row waiting;
	struct state_keys_row state;
	struct event_last_row last;
	int64_t team, version;
	char *who = arena_alloc(&call->arena, STOPPED_SIZE);
	int rc;

	if ((in->team || call->identity.agent) && (rc = who_team(call, in->team)) < 0)
		return rc;
	team = call->caller.team;
	if ((rc = team_lines(call, &all, team, &teams, &guests)) < 0 ||
	    (rc = sql_row(call, waiting_all, &waiting, .team = team, .now = call->now,
			  .most = INBOXES_MOST)) < 0 ||
	    (rc = sql_row(call, state_keys, &state)) < 0 ||
	    (rc = sql_row(call, event_last, &last)) < 0)
		return rc;
	version = store_schema_version(call->store, &call->fault);
	if (version < 0)
		return -1;
	*out = (struct state_status_out){ .home = who_home(call),
					  .version = CADRE_VERSION,
					  .host = call->host != 0,
					  .has_pid = call->host != 0,
					  .pid = call->host,
					  .incarnation = state.incarnation,
					  .event_seq = last.seq,
					  .schema_version = version,
					  .teams = teams.teams,
					  .n_teams = teams.n_teams,
					  .more = teams.more,
					  .messages_waiting = waiting.n,
					  .guests = guests };
	for (size_t i = 0; i < teams.n_teams; i++)
		out->tasks_open += teams.teams[i].open_tasks;
	if ((rc = needs_tell(call, team, &out->needs, &out->n_needs)) < 0 ||
	    (rc = tell_works(call, team, out)) < 0 ||
	    (rc = tell_idle(call, team, out)) < 0)
		return rc;
	out->trouble = call_host_trouble(call, &out->silent);
	out->has_silent = out->silent != 0;
	if (store_is_held(call->store, 0, who, STOPPED_SIZE))
		out->stopped = who;
	return 0;
}

/* Finds the team for state.line. For an agent, this is the agent's own team. For the operator,
 * it is the team that the call or the configuration names. `*team` is 0 if the answer is about
 * all teams. */
static int line_team(struct call *call, int64_t *team)
{
	int rc = 0;

	if (!call->identity.agent && (call->identity.team || call->identity.by_default))
		rc = who_team(call, NULL);
	*team = call->caller.team;
	return rc;
}

/* For an agent, fills the answer of state.line with the agent's name, its task and the number
 * of tasks that the agent could claim. */
static int tell_own(struct call *call, struct state_line_out *out)
{
	struct tasks_for_row ready;
	struct agent_task_row held;
	int rc;

	out->name = call->caller.name;
	if ((rc = sql_row(call, tasks_for, &ready, .team = call->caller.team,
			  .agent = call->caller.agent, .now = call->now,
			  .most = READY_MOST)) < 0 ||
	    (rc = sql_row(call, agent_task, &held, .agent = call->caller.agent,
			  .now = call->now)) < 0)
		return rc;
	out->task = rc > 0 ? task_name(call, held.number) : NULL;
	out->ready = ready.n < READY_MOST ? ready.n : READY_MOST;
	return 0;
}

/* For an operator, fills the answer of state.line with the name of the team, or with the number
 * of teams. */
static int tell_teams(struct call *call, int64_t team, struct state_line_out *out)
{
	struct team_names_row *all = NULL;
	size_t n = 0;
	int rc = team ? 0 : sql_all(call, team_names, &all, &n, .limit = TEAMS_MOST);

	out->name = team             ? call->caller.team_name
		    : n == 1         ? all[0].name
		    : n < TEAMS_MOST ? arena_printf(&call->arena, "%zu teams", n)
				     : "many teams";
	return rc;
}

int state_line(struct call *call, const struct state_line_in *in,
	       struct state_line_out *out)
{
	struct needs needs;
	int64_t team;
	int rc;

	(void)in;
	if ((rc = line_team(call, &team)) < 0 ||
	    (rc = needs_count(call, team, &needs)) < 0)
		return rc;
	out->mail = needs.mail;
	if (call->identity.agent)
		return tell_own(call, out);
	out->stuck = needs.stuck;
	return tell_teams(call, team, out);
}

int state_renew(struct call *call, const struct state_renew_in *in,
		struct state_renew_out *out)
{
	int ended = assignments_end(call, in->why), rc;

	if (ended < 0)
		return ended;
	out->assignments = ended;
	out->incarnation =
		arena_printf(&call->arena, "%016" PRIx64, (uint64_t)call->seed);
	rc = sql_run(call, state_renew, .incarnation = out->incarnation,
		     .former = in->former, .now = call->now);
	if (rc < 0 || (rc = sql_run(call, workspaces_renew)) < 0)
		return rc;
	return sql_run(call, task_renew_epochs);
}

/* --- cleaning -------------------------------------------------------------------------------- */

/* A call removes at most SLICE rows of each table, so that other writers wait only for a short
 * time. */
enum { SLICE = 500, DAY_MS = 86400000 };

static int clean_messages(struct call *call, int64_t before, struct state_gc_out *out)
{
	struct message_last_row last;
	struct gc_messages_row *all = NULL;
	size_t n;
	int rc;

	if ((rc = sql_row(call, message_last, &last)) < 0)
		return rc;
	rc = sql_all(call, gc_messages, &all, &n, .after = 0, .keep = last.id,
		     .before = before, .limit = SLICE);
	for (size_t i = 0; i < n && rc >= 0; i++) {
		if ((rc = sql_run(call, gc_result, .message = all[i].id)) < 0 ||
		    (rc = sql_run(call, gc_assignment, .message = all[i].id)) < 0 ||
		    (rc = sql_run(call, gc_deliveries, .message = all[i].id)) < 0)
			return rc;
		out->deliveries += rc;
		rc = sql_run(call, gc_message, .message = all[i].id);
		out->messages += rc > 0;
	}
	return rc < 0 ? rc : 0;
}

static int clean_turns(struct call *call, int64_t before, struct state_gc_out *out)
{
	int rc = sql_run(call, gc_turn_outputs, .before = before, .limit = SLICE);

	if (rc < 0 ||
	    (rc = sql_run(call, gc_turn_messages, .before = before, .limit = SLICE)) < 0)
		return rc;
	rc = sql_run(call, gc_turns, .before = before, .limit = SLICE);
	out->turns = rc > 0 ? rc : 0;
	return rc < 0 ? rc : 0;
}

/* Refuses a call that removes rows which the configuration keeps, unless the call has
 * `confirm`. */
static int ask_gc(struct call *call, const struct state_gc_in *in, int64_t keep,
		  int64_t before)
{
	const int64_t days = call->settings->config.gc_keep_days;
	struct message_last_row last;
	struct gc_count_row n;
	int rc;

	if (in->confirm || !in->has_keep_days || in->keep_days >= days)
		return 0;
	if ((rc = sql_row(call, message_last, &last)) < 0 ||
	    (rc = sql_row(call, gc_count, &n, .keep_events = keep,
			  .keep_messages = last.id, .from = call->now - days * DAY_MS,
			  .before = before)) < 0 ||
	    (!n.events && !n.messages))
		return rc < 0 ? rc : 0;
	fault_set(&call->fault, FAULT_CONFLICT, "/confirm",
		  "%" PRId64 " events and %" PRId64
		  " messages would be removed, although gc.keep_days = %" PRId64
		  " keeps them",
		  n.events, n.messages, days);
	return fault_hint(&call->fault,
			  "Add {confirm=true|--yes} to do it. This cannot be undone.");
}

int state_gc(struct call *call, const struct state_gc_in *in, struct state_gc_out *out)
{
	int64_t days = in->has_keep_days ? in->keep_days
					 : call->settings->config.gc_keep_days;
	int64_t before = call->now - days * DAY_MS;
	struct event_last_row last;
	int64_t keep;
	int rc;

	if (call->made)
		return 0;
	call->made = 1;
	if ((rc = sql_row(call, event_last, &last)) < 0)
		return rc;
	keep = last.seq;
	if (call->keep_events && call->keep_events < keep)
		keep = call->keep_events;
	if ((rc = ask_gc(call, in, keep, before)) < 0)
		return rc;
	rc = sql_run(call, gc_events, .keep = keep, .before = before, .limit = SLICE);
	if (rc < 0)
		return rc;
	out->events = rc;
	if ((rc = sql_run(call, gc_replay, .before = call->now - DAY_MS,
			  .limit = SLICE)) < 0)
		return rc;
	out->keys = rc;
	if ((rc = clean_messages(call, before, out)) < 0 ||
	    (rc = clean_turns(call, before, out)) < 0 ||
	    (rc = sql_run(call, rate_clean, .now_us = call->now * 1000)) < 0 ||
	    (rc = sql_run(call, pair_clean, .before = call->now - PAIR_MINUTE_MS)) < 0)
		return rc;
	out->more = out->events == SLICE || out->keys == SLICE ||
		    out->messages == SLICE || out->turns == SLICE;
	return 0;
}
