/*
 * task_claim - claiming a task: exactly one caller wins, and the others hear why they
 * did not.
 */
#include <inttypes.h>
#include <string.h>

#include "core/task/task.h"
#include "core/team/budget.h"
#include "core/team/estop.h"

enum { BLOCKERS_NAMED = 10 }; /* as many as a person reads */

/* --- why not --------------------------------------------------------------------------- */

/* The first of the dependencies that the task waits for, and how many more there are. */
static const char *open_deps(struct call *call, const struct task_row *t)
{
	struct task_blockers_row d;
	const char *list = "";
	struct query q;

	sql_query(call, &q, task_blockers, .task = t->id, .now = call->now,
		  .limit = BLOCKERS_NAMED);
	while (sql_next(call, &q, &d) > 0)
		list = arena_printf(
			&call->arena, "%s%s%03" PRId64 " (%s)", list, *list ? ", " : "",
			d.number, field_choice(&record_task_line, "status", d.state_now));
	if (t->open_deps <= BLOCKERS_NAMED)
		return list;
	return arena_printf(&call->arena, "%s and %" PRId64 " more", list,
			    t->open_deps - BLOCKERS_NAMED);
}

static int not_claimable(struct call *call, const struct task_row *t)
{
	struct fault *f = &call->fault;
	struct agent_name_row a = { 0 };
	const char *id = task_name(call, t->number);
	int64_t who = t->owner ? t->owner : t->assignee;

	if (who && sql_row(call, agent_name, &a, .id = who) < 0)
		return f->code;
	if (t->owner) {
		fault_set(f, FAULT_CONFLICT, "/task", "task %s is held by %s (%s)", id,
			  a.name,
			  field_choice(&record_task_line, "status", t->state_now));
		return fault_hint(f, "Take another ready task, or wait for its lease "
				     "to end.");
	}
	if (t->state != TASK_STATE_PENDING) {
		fault_set(f, FAULT_CONFLICT, "/task", "task %s is %s", id,
			  field_choice(&record_task_line, "status", t->state));
		return task_hint(f, (enum task_state)t->state);
	}
	if (t->open_deps) {
		fault_set(f, FAULT_CONFLICT, "/task", "task %s waits for %s", id,
			  open_deps(call, t));
		return fault_hint(f, "Finish those first; ready lists what can be "
				     "claimed now.");
	}
	fault_set(f, FAULT_CONFLICT, "/task", "task %s is meant for %s", id,
		  a.name ? a.name : "another agent");
	return fault_hint(f, "Take another one; the lead can assign it anew.");
}

/* --- claiming ---------------------------------------------------------------------------- */

static int claimed(struct call *call, int64_t task, int64_t owner, int64_t epoch)
{
	int rc = event_emit(call, EVENT_TASK_CLAIMED, task, owner,
			    arena_printf(&call->arena, "%" PRId64, epoch));

	if (rc >= 0)
		rc = sql_run(call, board_claim, .team = call->caller.team);
	/* A team that is `working` already stays so: its state need not be computed. */
	if (rc < 0 || call->caller.team_state == TEAM_STATE_WORKING)
		return rc;
	return team_announce(call, call->caller.team);
}

static int64_t lease_ms(const struct call *call, const struct task_claim_in *in)
{
	return 1000 * (in->has_lease_seconds ? in->lease_seconds
					     : call->settings->config.task_lease_seconds);
}

/* Claims a task for an agent: 1, or 0 when the statement has let another win. */
static int claim_take(struct call *call, int64_t task, const struct agent_row *a,
		      int64_t lease_ms)
{
	return sql_run(call, task_claim, .id = task, .agent = a->id,
		       .generation = a->generation, .lease_ms = lease_ms,
		       .max_attempts = call->settings->config.task_max_attempts,
		       .now = call->now);
}

static int claim_named(struct call *call, const struct task_claim_in *in,
		       const struct agent_row *a, struct task_best_row *won)
{
	struct task_row t;
	int rc;

	if ((rc = task_find(call, in->task, &t)) < 0)
		return rc;
	*won = (struct task_best_row){ .id = t.id, .epoch = t.epoch };
	rc = claim_take(call, t.id, a, lease_ms(call, in));
	return rc == 0 ? not_claimable(call, &t) : rc;
}

static bool is_better(const struct task_best_row *a, const struct task_best_row *b)
{
	return a->priority < b->priority ||
	       (a->priority == b->priority && a->number < b->number);
}

/* Finds the task that an agent claims now, of those that are meant for it and for nobody: however
 * many are meant for others, two rows are read. */
static int find_best(struct call *call, int64_t agent, struct task_best_row *best)
{
	const int64_t team = call->caller.team;
	struct task_best_row own;
	int any = sql_row(call, task_best, best, .team = team), mine;

	if (any < 0 ||
	    (mine = sql_row(call, task_best_own, &own, .team = team, .agent = agent)) < 0)
		return call->fault.code;
	if (mine && (!any || is_better(&own, best)))
		*best = own;
	return any || mine;
}

static int claim_best(struct call *call, const struct task_claim_in *in,
		      const struct agent_row *a, struct task_best_row *won)
{
	int rc = task_settle(call, 0, 100, NULL);

	if (rc < 0 || (rc = find_best(call, a->id, won)) <= 0)
		return rc;
	return claim_take(call, won->id, a, lease_ms(call, in));
}

/* Tells a caller for whom there was nothing to claim how much there is to wait for. */
static int nothing_ready(struct call *call, const struct task_claim_in *in,
			 struct task_claim_out *out)
{
	struct board_counts counts = { 0 };
	int rc = sql_row(call, team_board, &counts, .team = call->caller.team,
			 .now = call->now);

	call->wait_on = in->wait_seconds ? WAKE_READY : WAKE_NONE;
	call->wait_key = call->caller.team;
	out->has_ready = out->has_pending = true;
	out->ready = counts.ready;
	out->pending = counts.pending;
	return rc < 0 ? rc : task_stuck(call, &out->stuck);
}

/*~ The handler.  Station 9 of 12.
 *
 * Handlers read like the specification, since all that is not about tasks was done before.
 * Without a task's id claim_best() asks for the best one that is ready; with one,
 * claim_named() takes that.  Look at what claim_take() returns: 1 if the statement has changed a
 * row, 0 if it has not.  That number is the whole decision.  There is no "read the state,
 * see that it is pending, then write": between the two somebody could come, in this process
 * or another, now or when a later version runs batches side by side.
 *
 * Where it is 0, not_claimable() finds out why, for the fault's text only: held by whom,
 * waiting for which tasks, meant for whom, and what to do next.
 *
 * claimed() writes the event in the same transaction, which wakes those who follow the log.
 * `given` tells the doors that this answer hands something out, so that they take it back
 * if it cannot be delivered.
 *
 * Next: storage/stmt.c
 */
int task_claim(struct call *call, const struct task_claim_in *in,
	       struct task_claim_out *out)
{
	struct task_best_row won = { 0 };
	struct agent_row a;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = who_is(call, in->agent, "/agent", &a)) < 0)
		return rc;
	if (!call->made) {
		if ((rc = estop_check(call, "")) < 0 ||
		    (rc = budget_check(call, call->caller.team, "")) < 0)
			return rc;
		rc = in->task ? claim_named(call, in, &a, &won)
			      : claim_best(call, in, &a, &won);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return nothing_ready(call, in, out);
		call->made = won.id;
		if ((rc = claimed(call, won.id, a.id, won.epoch + 1)) < 0)
			return rc;
		call->given = (struct given){ .agent = a.id,
					      .task = won.id,
					      .epoch = won.epoch + 1 };
	}
	if ((rc = task_tell(call, call->made, &out->task)) < 0)
		return rc;
	out->has_task = true;
	/* A repeated claim may find the task with another owner: the epoch is then not
	 * the caller's. */
	if (!out->task.owner || strcmp(out->task.owner, a.name) != 0)
		return 0;
	out->has_epoch = true;
	out->epoch = out->task.epoch;
	out->has_lease_until = out->task.has_lease_until;
	out->lease_until = out->task.lease_until;
	return 0;
}

int task_dispatch(struct call *call, struct task_row *t, const struct agent_row *to,
		  int64_t lease_ms)
{
	int rc = claim_take(call, t->id, to, lease_ms);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return not_claimable(call, t);
	t->epoch++;
	return claimed(call, t->id, to->id, t->epoch);
}
