/*
 * runner - the commands that run the turns of agents.
 */
#include <inttypes.h>
#include <string.h>

#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/team/member.h"
#include "core/team/team.h"
#include "core/turn/chain.h"
#include "core/turn/runner_client.h"
#include "core/turn/turn.h"
#include "core/workspace/workspace.h"

/* A runner is a command that may run on the operator's own machine. So only callers that may
 * make members with workspaces may give a runner. */
static int check_giver(struct call *call, const char *where, const char *does)
{
	struct agent_nests_row nests = { 0 };
	int rc = 0;

	if (call->caller.level >= WHO_LEAD)
		return 0;
	if (call->caller.agent)
		rc = sql_row(call, agent_nests, &nests, .agent = call->caller.agent);
	if (rc < 0 || nests.nests)
		return rc < 0 ? rc : 0;
	fault_set(&call->fault, FAULT_DENIED, where,
		  "only the lead, the operator and members with `nests` true can %s",
		  does);
	return fault_hint(&call->fault, "Ask the lead.");
}

/* Makes a workspace for the turns of an agent without a workspace. */
static int make_place(struct call *call, const struct agent_row *a, const char *where)
{
	struct new_workspace w = { .member = a->name,
				   .agent = a->id,
				   .backend = BACKEND_KIND_PROCESS };
	int rc;

	if (a->project && *a->project) {
		w.backend = BACKEND_KIND_FOLDER;
		w.folder = a->project;
		if (call->settings->check_folder &&
		    (rc = call->settings->check_folder(a->project, where, &call->fault)))
			return rc;
	}
	if ((rc = member_check_host(call, where)) < 0 ||
	    (rc = workspace_check_room(call, 1, where)) < 0 ||
	    (rc = workspace_add(call, &w, NULL)) < 0)
		return rc;
	return team_announce(call, call->caller.team);
}

const char *runner_say_command(const char *command)
{
	return runner_client_of(command) ? runner_client_name(command) : "a command";
}

/* Stores in the agent's row whether the agent has a runner. The flag is in this row because the
 * row is read for each message anyway. Also writes an event. */
static int runner_note(struct call *call, int64_t agent, const char *command)
{
	int rc = sql_run(call, runner_say, .agent = agent, .runs = *command != 0);

	if (rc < 0)
		return rc;
	/* The event does not show a command, because a command may hold a key and all members
	 * read events. */
	return event_emit(call, EVENT_TURN_RUNNER, 0, agent,
			  *command ? runner_say_command(command) : "none");
}

int runner_rest(struct call *call, int64_t agent, int64_t *status)
{
	struct runner_of_row r;
	int rc;

	if (*status != AGENT_STATUS_READY && *status != AGENT_STATUS_IDLE)
		return 0;
	rc = sql_row(call, runner_of, &r, .agent = agent);
	if (rc > 0 && r.failures >= call->settings->config.runner_max_failures)
		*status = AGENT_STATUS_FAILED;
	else if (rc > 0 && r.limited && r.retry_at > call->now)
		*status = AGENT_STATUS_RATE_LIMITED;
	return rc < 0 ? rc : 0;
}

int runner_give(struct call *call, int64_t agent, const char *command, const char *where)
{
	int64_t failed =
		AGENT_STATUS_READY; /* `failed` if the last runner failed for good */
	struct agent_row a;
	int rc;

	if ((rc = check_giver(call, where, "give runners")) < 0 ||
	    (rc = sql_row(call, agent_by_id, &a, .id = agent)) < 0)
		return rc;
	if (a.kind == AGENT_KIND_OPERATOR)
		return fault_set(&call->fault, FAULT_INVALID, where,
				 "the operator takes no turns");
	if (!*command) {
		if ((rc = runner_rest(call, agent, &failed)) < 0 ||
		    (rc = sql_run(call, runner_remove, .agent = agent)) <= 0 ||
		    (rc = runner_note(call, agent, command)) < 0)
			return rc;
		return a.status == AGENT_STATUS_RATE_LIMITED || a.status == failed
			       ? agent_say_status(call, &a, AGENT_STATUS_READY)
			       : 0;
	}
	if (who_observes(&a))
		return fault_set(&call->fault, FAULT_INVALID, where,
				 "%s is an observer; observers get no mail and no turns",
				 a.name);
	if (!a.workspace && (rc = make_place(call, &a, where)) < 0)
		return rc;
	if ((rc = sql_run(call, runner_set, .agent = agent, .command = command)) < 0 ||
	    (rc = runner_note(call, agent, command)) < 0)
		return rc;
	/* A failed agent takes turns again, with the new runner. */
	return a.status == AGENT_STATUS_FAILED
		       ? agent_say_status(call, &a, AGENT_STATUS_READY)
		       : 0;
}

int runner_follow(struct call *call, int64_t agent, const char *where)
{
	struct workspace_row w;
	struct agent_row a;
	int rc = sql_row(call, agent_by_id, &a, .id = agent);

	if (rc <= 0 || !a.workspace ||
	    (rc = sql_row(call, workspace_by_id, &w, .id = a.workspace)) <= 0 ||
	    w.backend != BACKEND_KIND_FOLDER ||
	    strcmp(w.path, a.project ? a.project : "") == 0)
		return rc < 0 ? rc : 0;
	/* Without this check, an agent could choose the folder in which the agent's runner
	 * runs. */
	if ((rc = check_giver(call, where, "move runners")) < 0 ||
	    (rc = workspace_end(call, &w)) < 0)
		return rc;
	a.workspace = 0;
	return a.runs ? make_place(call, &a, where) : 0;
}

/*
 * Limits of plans. A client at the limit of its plan has not failed. All agents of this host
 * with that client wait until the limit ends.
 */

enum {
	LIMIT_MS = 60000, /* the first wait if the client gave no end of the limit */
	LIMIT_DOUBLINGS = 6, /* the most times that this wait is doubled */
};

static int limit_tell(struct call *call, const struct runner_all_row *r, int64_t until)
{
	char at[25];
	struct agent_row a;
	int rc = sql_row(call, agent_by_id, &a, .id = r->agent);

	if (rc <= 0)
		return rc;
	time_format(until, at);
	return team_tell(
		call, r->team, "runner",
		arena_printf(&call->arena,
			     "The client of %s is at the limit of its plan. Agents "
			     "with this client take their next turns at %.16sZ; "
			     "their mail waits. To go on earlier, give an agent "
			     "another runner.",
			     a.name, at),
		CHAIN_NOTICE);
}

/* Stores the end of the limit for all agents of this host that have the same client as the turn
 * `u`. If `until` is 0, the limit has ended. If the limit is new, tells each of the agents'
 * teams once. */
static int limit_spread(struct call *call, const struct turn_row *u, int64_t until)
{
	const struct runner_client *client = runner_client_of(u->command);
	struct runner_all_row *all = NULL;
	int64_t team = 0;
	size_t n;
	int rc = sql_all(call, runner_all, &all, &n, .host = store_host(call->store));

	for (size_t i = 0; i < n && rc >= 0; i++) {
		if (runner_client_of(all[i].command) != client)
			continue;
		rc = until ? sql_run(call, runner_limited, .agent = all[i].agent,
				     .command = all[i].command, .now = call->now,
				     .client_session = all[i].agent == u->agent
							       ? u->client_session
							       : NULL,
				     .retry_at = until)
			   : sql_run(call, runner_freed, .agent = all[i].agent);
		if (rc >= 0 && until && all[i].team != team && !all[i].limited)
			rc = limit_tell(call, &all[i], until);
		team = all[i].team;
	}
	return rc < 0 ? rc : 0;
}

/* Guesses when a limit ends. If the agent already waits for the end of a limit, the guess is
 * the end of this wait. Otherwise the guess is one minute from now for the first limit. Each
 * later limit in a row doubles this minute, up to LIMIT_DOUBLINGS times. */
static int64_t limit_guess(const struct call *call, const struct runner_of_row *r)
{
	int64_t doubled = r->limited < LIMIT_DOUBLINGS ? r->limited : LIMIT_DOUBLINGS;

	return r->limited && r->retry_at > call->now
		       ? r->retry_at
		       : call->now + ((int64_t)LIMIT_MS << doubled);
}

int runner_limit(struct call *call, const struct turn_row *u, int64_t until)
{
	struct runner_of_row r;
	int rc = sql_row(call, runner_of, &r, .agent = u->agent);

	if (rc <= 0)
		return rc;
	if (until <= call->now)
		until = limit_guess(call, &r);
	if (until > call->now + TURN_LIMIT_MOST_MS)
		until = call->now + TURN_LIMIT_MOST_MS;
	return limit_spread(call, u, until);
}

int runner_limit_over(struct call *call, const struct turn_row *u)
{
	struct runner_of_row r;
	int rc = sql_row(call, runner_of, &r, .agent = u->agent);

	return rc > 0 && r.limited && u->started_at >= r.retry_at
		       ? limit_spread(call, u, 0)
		       : rc;
}
