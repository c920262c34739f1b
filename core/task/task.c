#include "core/task/task.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/assignment/assignment.h"
#include "core/team/team.h"
#include "core/turn/chain.h"

/* --- finding ----------------------------------------------------------------------- */

const char *task_name(struct call *call, int64_t number)
{
	/* A page names hundreds of tasks, and printf() costs three times as much. */
	char digits[20], *s = digits + sizeof(digits);

	for (*--s = '\0'; number > 0 || s > digits + sizeof(digits) - 4; number /= 10)
		*--s = (char)('0' + number % 10);
	return arena_strdup(&call->arena, s);
}

const char *task_command(struct call *call, const char *op, int64_t number)
{
	const char *id = task_name(call, number);

	return arena_printf(&call->arena, "{%s}{ task=%s| %s}", op, id, id);
}

enum board_state task_board_state(int64_t state, int64_t open_deps)
{
	static const enum board_state states[] = {
		[TASK_STATE_CLAIMED] = BOARD_STATE_CLAIMED,
		[TASK_STATE_IN_PROGRESS] = BOARD_STATE_IN_PROGRESS,
		[TASK_STATE_BLOCKED] = BOARD_STATE_BLOCKED,
		[TASK_STATE_COMPLETED] = BOARD_STATE_COMPLETED,
		[TASK_STATE_FAILED] = BOARD_STATE_FAILED,
		[TASK_STATE_CANCELLED] = BOARD_STATE_CANCELLED,
	};

	if (state == TASK_STATE_PENDING)
		return open_deps ? BOARD_STATE_WAITING : BOARD_STATE_READY;
	return states[state];
}

const char *task_word(int64_t state, int64_t open_deps)
{
	if (state != TASK_STATE_PENDING)
		return field_choice(&record_task, "status", state);
	return open_deps ? "waiting" : "ready";
}

static int task_row_of(struct call *call, const char *id, struct task_row *t)
{
	id += *id == '#';
	if (strlen(id) > 10 || strspn(id, "0123456789") != strlen(id))
		return 0;
	return sql_row(call, task_by_number, t, .team = call->caller.team,
		       .number = strtoll(id, NULL, 10), .now = call->now);
}

int task_find_maybe(struct call *call, const char *id, struct task_row *t)
{
	int rc = task_row_of(call, id, t);

	if (rc <= 0 || !(call->op->flags & OP_WRITE))
		return rc;
	if (t->lease_until == 0 || t->lease_until > call->now)
		return 1;
	if ((rc = task_settle(call, t->id, 1, NULL)) < 0)
		return rc;
	return task_row_of(call, id, t);
}

int task_find(struct call *call, const char *id, struct task_row *t)
{
	int rc = task_find_maybe(call, id, t);

	if (rc < 0)
		return rc;
	if (rc > 0)
		return 0;
	fault_set(&call->fault, FAULT_NOT_FOUND, "/task",
		  "there is no task %s in team %s", id, call->caller.team_name);
	return fault_hint(&call->fault, "See the board with: {task.list}.");
}

int task_mine(struct call *call, const char *id, struct task_row *t)
{
	struct task_row *held = NULL;
	size_t n;
	int rc;

	if (id)
		return task_find(call, id, t);
	rc = sql_all(call, task_held, &held, &n, .agent = call->caller.agent,
		     .team = call->caller.team, .now = call->now, .limit = 2);
	if (rc < 0)
		return rc;
	if (n == 1) {
		*t = held[0];
		return 0;
	}
	fault_set(&call->fault, FAULT_INVALID, "/task",
		  n ? "you hold several tasks: name one" : "you hold no task: name one");
	return n ? fault_hint(&call->fault, "You hold, for example, %s and %s.",
			      task_name(call, held[0].number),
			      task_name(call, held[1].number))
		 : fault_hint(&call->fault, "Claim a task first, or name one.");
}

int task_hint(struct call *call, int64_t number, enum task_state state)
{
	const char *back = state == TASK_STATE_FAILED      ? "task.retry"
			   : state == TASK_STATE_COMPLETED ? "task.reopen"
							   : NULL;
	struct fault *f = &call->fault;

	if (state == TASK_STATE_PENDING)
		return fault_hint(f, "Claim the task first: %s%s.",
				  task_command(call, "task.claim", number),
				  who_roams(call) ? "{, agent=NAME| --agent NAME}" : "");
	if (back)
		return fault_hint(f, "Put the task back on the board first: %s.",
				  task_command(call, back, number));
	return fault_hint(f, "The task has ended: take another one.");
}

int task_once(struct call *call, const char *team, const char *task, task_change *change,
	      const void *in, struct task *out)
{
	struct task_row t;
	int rc;

	if ((rc = who_team(call, team)) < 0)
		return rc;
	/* A repeated call answers with the task of the first call, even if the caller no longer
	 * holds that task. */
	if (call->made)
		return task_tell(call, call->made, out);
	if ((rc = task_mine(call, task, &t)) < 0 || (rc = change(call, in, &t)) < 0)
		return rc;
	call->made = t.id;
	return task_tell(call, t.id, out);
}

/* --- the board's counts --------------------------------------------------------------- */

#define MOVED(from, to, state) (((to) == (state)) - ((from) == (state)))

int task_moved(struct call *call, int64_t team, int64_t from, int64_t to,
	       int64_t open_deps)
{
	int rc = sql_run(call, board_change, .team = team,
			 .waiting = open_deps ? MOVED(from, to, TASK_STATE_PENDING) : 0,
			 .claimed = MOVED(from, to, TASK_STATE_CLAIMED),
			 .in_progress = MOVED(from, to, TASK_STATE_IN_PROGRESS),
			 .blocked = MOVED(from, to, TASK_STATE_BLOCKED),
			 .completed = MOVED(from, to, TASK_STATE_COMPLETED),
			 .failed = MOVED(from, to, TASK_STATE_FAILED),
			 .cancelled = MOVED(from, to, TASK_STATE_CANCELLED));

	return rc < 0 ? rc : 0;
}

/* --- leases that ran out -------------------------------------------------------------- */

static int lapse(struct call *call, const struct task_lapsed_row *t)
{
	struct task_lapse_row after;
	int rc = sql_row(call, task_lapse, &after, .id = t->id, .now = call->now);

	if (rc <= 0)
		return rc;
	if ((rc = task_moved(call, t->team, t->state, after.state, t->open_deps)) < 0 ||
	    (rc = assignment_call_off(call, t->id, true, ACTOR_HOST)) < 0 ||
	    (rc = event_by(call, .kind = EVENT_TASK_LAPSED, .team = t->team,
			   .actor = ACTOR_HOST, .subject = t->id, .target = t->owner)) <
		    0)
		return rc;
	if (after.state == TASK_STATE_FAILED &&
	    (rc = event_by(call, .kind = EVENT_TASK_FAILED, .team = t->team,
			   .actor = ACTOR_HOST, .subject = t->id, .target = t->owner,
			   .detail = "its lease ran out too often")) < 0)
		return rc;
	if (after.state == TASK_STATE_FAILED &&
	    (rc = task_tell_stuck(call, t->team, t->id, t->number, true)) < 0)
		return rc;
	return team_announce(call, t->team);
}

int task_settle(struct call *call, int64_t id, int64_t limit, int64_t *ended)
{
	struct task_lapsed_row *all = NULL;
	size_t n;
	int rc;

	rc = sql_all(call, task_lapsed, &all, &n, .id = id, .now = call->now,
		     .limit = limit);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = lapse(call, &all[i]);
	if (ended)
		*ended = (int64_t)n;
	return rc;
}

int task_give_back(struct call *call, int64_t agent, const char *why)
{
	struct agent_claims_row *all = NULL;
	size_t n;
	int rc;

	rc = sql_all(call, agent_claims, &all, &n, .agent = agent);
	for (size_t i = 0; i < n && rc >= 0; i++)
		if ((rc = task_settle(call, all[i].id, 1, NULL)) >= 0 &&
		    (rc = sql_run(call, task_give_back, .id = all[i].id,
				  .now = call->now)) > 0 &&
		    (rc = task_moved(call, all[i].team, all[i].state, TASK_STATE_PENDING,
				     all[i].open_deps)) >= 0 &&
		    (rc = assignment_call_off(call, all[i].id, true,
					      event_actor(call))) >= 0)
			rc = event_emit(call, EVENT_TASK_RELEASED, all[i].id, agent, why);
	return rc < 0 ? rc : 0;
}

/*
 * Finds the tasks that cannot begin because they wait for a failed or cancelled task, and sends
 * messages about these tasks.
 */

enum {
	STUCK_NAMED = 8, /* maximum number of tasks that a list of ids names */
	STUCK_COUNTED = 20, /* maximum number of tasks that are counted */
};

/* Lists the ids of the first STUCK_NAMED tasks, and the number of the other tasks. */
static const char *stuck_ids(struct call *call, const struct tasks_behind_row *rows,
			     size_t n)
{
	const char *list = "";

	for (size_t i = 0; i < n && i < STUCK_NAMED; i++)
		list = arena_printf(&call->arena, "%s%s%s", list, *list ? ", " : "",
				    task_name(call, rows[i].number));
	if (n > STUCK_COUNTED)
		return arena_printf(&call->arena, "%s and more", list);
	return n > STUCK_NAMED ? arena_printf(&call->arena, "%s and %zu more", list,
					      n - STUCK_NAMED)
			       : list;
}

int task_stuck(struct call *call, const char **says)
{
	struct tasks_behind_row *rows = NULL;
	size_t n = 0;
	int rc = sql_all(call, tasks_stuck, &rows, &n, .team = call->caller.team,
			 .limit = STUCK_COUNTED + 1);

	*says = NULL;
	if (rc >= 0 && n)
		*says = arena_printf(&call->arena,
				     "%s%zu %s for failed or called-off tasks: %s",
				     n > STUCK_COUNTED ? "over " : "",
				     n > STUCK_COUNTED ? STUCK_COUNTED : n,
				     n == 1 ? "task waits" : "tasks wait",
				     stuck_ids(call, rows, n));
	return rc < 0 ? rc : 0;
}

const char *task_behind(struct call *call, int64_t task)
{
	struct tasks_behind_row *rows = NULL;
	size_t n = 0;
	int rc = sql_all(call, tasks_behind, &rows, &n, .task = task,
			 .limit = STUCK_COUNTED + 1);

	return rc < 0 || !n ? NULL
			    : arena_printf(&call->arena, "%s %s for it",
					   stuck_ids(call, rows, n),
					   n == 1 ? "waits" : "wait");
}

int task_tell_stuck(struct call *call, int64_t team, int64_t task, int64_t number,
		    bool failed)
{
	const char *behind, *id = task_name(call, number);
	struct task_in_the_way_row w;
	int rc = sql_row(call, task_in_the_way, &w, .dep = task);

	if (rc <= 0 || !w.any)
		return rc < 0 ? rc : 0;
	if ((rc = sql_run(call, task_restick, .task = task)) < 0 ||
	    !(behind = task_behind(call, task)))
		return call->fault.code;
	/* The lead is not told of a task that the lead itself has cancelled. */
	if (!failed && call->caller.level == WHO_LEAD)
		return 0;
	return team_tell(
		call, team, "task_update",
		arena_printf(&call->arena,
			     "Task %s %s, and %s. %s other dependencies to the tasks "
			     "that wait (`task update`).",
			     id, failed ? "failed" : "was called off", behind,
			     failed ? arena_printf(&call->arena,
						   "Retry it (`task retry %s`), or give",
						   id)
				    : "Give"),
		CHAIN_NOTICE);
}
