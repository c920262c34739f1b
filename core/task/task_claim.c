/*
 * task_claim - claims a task. Exactly one caller wins the task, and each other caller is told
 * why the task cannot be claimed.
 */
#include <inttypes.h>
#include <string.h>

#include "core/assignment/assignment.h"
#include "core/call/space.h"
#include "core/task/task.h"
#include "core/team/budget.h"
#include "core/team/estop.h"
#include "core/turn/chain.h"

enum {
	BLOCKERS_NAMED = 10, /* maximum number of dependencies in a fault */
	CLAIM_NAMES = 10, /* maximum number of other tasks in the answer of a claim */
};

/* --- why a claim fails ----------------------------------------------------------------- */

/* Lists the first dependencies for which the task waits, and the number of the other
 * dependencies. */
static const char *open_deps(struct call *call, const struct task_row *t)
{
	struct task_blockers_row d;
	const char *list = "";
	struct query q = { 0 };

	while (sql_each(call, &q, task_blockers, &d, .task = t->id, .now = call->now,
			.limit = BLOCKERS_NAMED) > 0)
		list = arena_printf(&call->arena, "%s%s%03" PRId64 " (%s)", list,
				    *list ? ", " : "", d.number,
				    task_word(d.state_now, d.open_deps));
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
			  a.name, task_word(t->state_now, t->open_deps));
		return fault_hint(
			f, "Take another ready task, or wait until %s's lease ends.",
			a.name);
	}
	if (t->state != TASK_STATE_PENDING) {
		fault_set(f, FAULT_CONFLICT, "/task", "task %s is %s", id,
			  task_word(t->state, t->open_deps));
		return task_hint(call, t->number, (enum task_state)t->state);
	}
	if (t->open_deps) {
		fault_set(f, FAULT_CONFLICT, "/task", "task %s waits for %s", id,
			  open_deps(call, t));
		return fault_hint(f,
				  "Finish those tasks first; `ready` lists the tasks to "
				  "claim now.");
	}
	fault_set(f, FAULT_CONFLICT, "/task", "task %s is assigned to %s", id,
		  a.name ? a.name : "another agent");
	return fault_hint(
		f, "Take another task, or ask the lead to assign this task to you.");
}

/* --- claiming ---------------------------------------------------------------------------- */

static int claimed(struct call *call, int64_t task, int64_t owner, int64_t epoch)
{
	int rc = event_emit(call, EVENT_TASK_CLAIMED, task, owner,
			    arena_printf(&call->arena, "%" PRId64, epoch));

	if (rc >= 0)
		rc = sql_run(call, board_claim, .team = call->caller.team);
	/* A claim does not change the state of a team that is `working`, so the state need not
	 * be computed. */
	if (rc < 0 || call->caller.team_state == TEAM_STATE_WORKING)
		return rc;
	return team_announce(call, call->caller.team);
}

static int64_t lease_ms(const struct call *call, const struct task_claim_in *in)
{
	return 1000 * (in->has_lease_seconds ? in->lease_seconds
					     : call->settings->config.task_lease_seconds);
}

/* Claims a task for an agent. Returns 1 if this caller has won the task, 0 if the task cannot
 * be claimed, or a negative fault code. */
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

/* Finds the best ready task that an agent may claim. The task is meant for this agent, or for
 * no particular agent. Only two rows are read, even if many tasks are meant for other agents. */
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

/* Tells a caller who got no task how many tasks are ready and how many are pending. */
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

/* Tells the other tasks that the agent holds. */
static int claim_tell_held(struct call *call, const struct agent_row *a,
			   struct task_claim_out *out)
{
	struct task_also_held_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, task_also_held, &r, .agent = a->id,
			      .team = a->team, .but = call->made, .now = call->now,
			      .limit = CLAIM_NAMES)) > 0)
		arena_add(&call->arena, out->also_holding, out->n_also_holding,
			  task_name(call, r.number));
	return query_over(&q, rc);
}

/* Tells what came out of the tasks on which the claimed task depends. */
static int claim_tell_outcomes(struct call *call, struct task_claim_out *out)
{
	struct task_outcomes_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, task_outcomes, &r, .task = call->made,
			      .limit = CLAIM_NAMES)) > 0) {
		struct prior o = { .id = task_name(call, r.number),
				   .title = r.title,
				   .branch = r.branch,
				   .commit = r.commit_id,
				   .text = r.result };

		if (!space_take(call, &record_prior, &o))
			break;
		arena_add(&call->arena, out->results, out->n_results, o);
	}
	return query_over(&q, rc);
}

/*~ The handler.  Station 9 of 12.
 *
 * A handler reads like the specification, since core/call/call.c has done all work that is not
 * about tasks. If the call names no task, claim_best() claims the best ready task. If the call
 * names a task, claim_named() claims this task. Look at the result of claim_take(), which is 1
 * if the statement has changed a row, else 0. The result of claim_take() is the whole decision.
 * The handler must not read the state `pending` first and write afterwards. Between a read and
 * a write, another caller could claim the task. The other caller may be in this process or in
 * another process, and a later version may run batches side by side.
 *
 * If claim_take() returns 0, not_claimable() only writes the fault's text. The text says who
 * holds the task, for which tasks the task waits, or for whom the task is meant, and what the
 * caller can do next.
 *
 * claimed() writes the event in the same transaction. The event wakes the calls that follow the
 * log. call->given tells the doors that this answer hands out a claim. If the answer cannot be
 * delivered, the door takes the claim back.
 *
 * Next: storage/stmt.c
 */
int task_claim(struct call *call, const struct task_claim_in *in,
	       struct task_claim_out *out)
{
	struct task_best_row won = { 0 };
	struct agent_row a;
	int rc;

	if ((rc = who_team_of(call, in->team, in->agent, "/agent")) < 0 ||
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
	/* When a claim is repeated, another agent may already own the task. If another agent
	 * owns the task, the answer has no epoch. */
	if (!out->task.owner || strcmp(out->task.owner, a.name) != 0)
		return 0;
	out->has_epoch = true;
	out->epoch = out->task.epoch;
	out->has_lease_until = out->task.has_lease_until;
	out->lease_until = out->task.lease_until;
	if ((rc = claim_tell_held(call, &a, out)) < 0 || !out->task.n_depends_on)
		return rc;
	return claim_tell_outcomes(call, out);
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

/*
 * Changes of a task by its owner, under the epoch of the claim.
 */

enum { DETAIL_MOST = 200 };

/* The epoch that the caller gives; -1: the epoch of the caller's live claim. */
#define EPOCH(in) ((in)->has_epoch ? (in)->epoch : -1)

/* Parameters of all statements that change a task for its owner. */
#define HELD(call, t, in)                             \
	.id = (t)->id, .agent = (call)->caller.agent, \
	.generation = (call)->caller.generation, .epoch = EPOCH(in), .now = (call)->now

static int not_owner(struct call *call, const struct task_row *t, int64_t epoch)
{
	struct fault *f = &call->fault;
	struct agent_name_row a = { 0 };
	const char *id = task_name(call, t->number);
	/* If the caller gives an old epoch, the fault names the epoch, no matter who holds the
	 * task now. */
	const char *where = epoch >= 0 && epoch != t->epoch ? "/epoch" : "/task";

	if (!t->owner) {
		fault_set(f, FAULT_CONFLICT, where, "task %s is %s; nobody holds it", id,
			  task_word(t->state_now, t->open_deps));
		return task_hint(call, t->number, (enum task_state)t->state_now);
	}
	if (sql_row(call, agent_name, &a, .id = t->owner) < 0)
		return f->code;
	if (t->owner != call->caller.agent) {
		fault_set(f, FAULT_CONFLICT, where, "task %s is held by %s", id, a.name);
		return who_roams(call)
			       ? fault_hint(
					 f,
					 "Only the owner may do this; the operator can act as "
					 "the owner{|: cadre --as %s …}.",
					 a.name)
			       : fault_hint(f, "Only the owner may do this: ask %s.",
					    a.name);
	}
	if (epoch >= 0 && epoch != t->epoch) {
		fault_set(f, FAULT_CONFLICT, "/epoch",
			  "epoch %" PRId64 " of task %s is over; the task's epoch is "
			  "%" PRId64,
			  epoch, id, t->epoch);
		return fault_hint(f, "Your claim has ended: stop the work on the task.");
	}
	return fault_set(f, FAULT_CONFLICT, "/task", "task %s is %s", id,
			 task_word(t->state_now, t->open_deps));
}

/* A change of a task by its owner. */
struct change {
	int64_t epoch, to; /* epoch of the claim, and new state of the task */
	int event;
	const char *detail;
};

/* Completes a change by the owner after its statement has run. `rc` is the result of the
 * statement. If `rc` is 0, the caller was not the owner. */
static int end_change(struct call *call, const struct task_row *t, int rc,
		      const struct change *c)
{
	if (rc < 0)
		return rc;
	if (rc == 0)
		return not_owner(call, t, c->epoch);
	if ((rc = task_moved(call, t->team, t->state, c->to, t->open_deps)) < 0 ||
	    (rc = event_emit(call, c->event, t->id, t->owner, c->detail)) < 0)
		return rc;
	return team_announce(call, call->caller.team);
}

#define CHANGED(call, t, rc, ...) \
	end_change((call), (t), (rc), &(const struct change){ __VA_ARGS__ })

/* --- working ------------------------------------------------------------------------- */

static int task_hold_start(struct call *call, const void *arg, const struct task_row *t)
{
	const struct task_start_in *in = arg;
	int rc = sql_run(call, task_start, HELD(call, t, in));

	return CHANGED(call, t, rc, .epoch = EPOCH(in), .to = TASK_STATE_IN_PROGRESS,
		       .event = EVENT_TASK_STARTED);
}

int task_start(struct call *call, const struct task_start_in *in,
	       struct task_start_out *out)
{
	return task_once(call, in->team, in->task, task_hold_start, in, &out->task);
}

int task_heartbeat(struct call *call, const struct task_heartbeat_in *in,
		   struct task_heartbeat_out *out)
{
	struct task_renew_row r;
	struct task_row t;
	int rc;

	if ((rc = who_team(call, in->team)) < 0)
		return rc;
	rc = call->made
		     ? sql_row(call, task_by_id, &t, .id = call->made, .now = call->now)
		     : task_mine(call, in->task, &t);
	if (rc < 0)
		return rc;
	r = (struct task_renew_row){ t.epoch, t.lease_until };
	if (!call->made) {
		rc = sql_row(call, task_renew, &r, HELD(call, &t, in),
			     .lease_ms = in->has_lease_seconds ? in->lease_seconds * 1000
							       : 0);
		if (rc <= 0)
			return rc < 0 ? rc : not_owner(call, &t, EPOCH(in));
		call->made = t.id;
	}
	out->epoch = r.epoch;
	out->has_lease_until = r.lease_until != 0;
	out->lease_until = r.lease_until;
	return 0;
}

static int block(struct call *call, const void *arg, const struct task_row *t)
{
	const struct task_block_in *in = arg;
	int rc = sql_run(call, task_block, HELD(call, t, in));

	rc = CHANGED(call, t, rc, .epoch = EPOCH(in), .to = TASK_STATE_BLOCKED,
		     .event = EVENT_TASK_BLOCKED, .detail = in->text);
	return rc < 0 ? rc : task_add_note(call, call->caller.agent, t->id, in->text);
}

int task_block(struct call *call, const struct task_block_in *in,
	       struct task_block_out *out)
{
	return task_once(call, in->team, in->task, block, in, &out->task);
}

static int unblock(struct call *call, const void *arg, const struct task_row *t)
{
	const struct task_unblock_in *in = arg;
	int rc = sql_run(call, task_unblock, HELD(call, t, in));

	return CHANGED(call, t, rc, .epoch = EPOCH(in), .to = TASK_STATE_IN_PROGRESS,
		       .event = EVENT_TASK_UNBLOCKED);
}

int task_unblock(struct call *call, const struct task_unblock_in *in,
		 struct task_unblock_out *out)
{
	return task_once(call, in->team, in->task, unblock, in, &out->task);
}

/* --- ends ---------------------------------------------------------------------------- */

static int task_hold_release(struct call *call, const void *arg, const struct task_row *t)
{
	const struct task_release_in *in = arg;
	int rc = sql_run(call, task_release, HELD(call, t, in));

	rc = CHANGED(call, t, rc, .epoch = EPOCH(in), .to = TASK_STATE_PENDING,
		     .event = EVENT_TASK_RELEASED);
	return rc < 0 ? rc : assignment_call_off(call, t->id, true, event_actor(call));
}

int task_release(struct call *call, const struct task_release_in *in,
		 struct task_release_out *out)
{
	return task_once(call, in->team, in->task, task_hold_release, in, &out->task);
}

enum {
	READY_SHOWN = 1000,
	UNTICKED_NAMED = 10, /* maximum number of criteria that a hint names */
	UNTICKED_BYTES = 160, /* bytes of the criteria in a fault */
	UNTICKED_NOTED = 1000, /* bytes of the criteria in a note */
};

/* Finds the tasks that waited only for the completed task and are ready now. Writes an event
 * for each ready task, and lists the first READY_SHOWN tasks. */
static int make_ready(struct call *call, int64_t done, int64_t team, const char ***ids,
		      size_t *n)
{
	struct task_unblocks_row *all = NULL;
	struct task_in_the_way_row w;
	int64_t ready = 0;
	size_t count;
	int rc;

	/* Most tasks are not a dependency of any task. This query takes a tenth of the time of
	 * an UPDATE that returns rows. */
	if ((rc = sql_row(call, task_in_the_way, &w, .dep = done)) <= 0 || !w.any)
		return rc < 0 ? rc : 0;
	rc = sql_all(call, task_unblocks, &all, &count, .dep = done);
	for (size_t i = 0; i < count && rc >= 0; i++) {
		if (all[i].open_deps || all[i].state != TASK_STATE_PENDING)
			continue;
		ready++;
		if (*n < READY_SHOWN)
			arena_add(&call->arena, *ids, *n, task_name(call, all[i].number));
		rc = event_by(call, .kind = EVENT_TASK_READY, .team = team,
			      .actor = event_actor(call), .subject = all[i].id);
	}
	if (rc >= 0 && ready)
		rc = sql_run(call, board_change, .team = team, .waiting = -ready);
	return rc;
}

/* Returns the reason why a task failed, for the task's event, or NULL if no reason was given. A
 * longer reason is cut, so that it takes at most DETAIL_MOST bytes of JSON. */
static const char *why_failed(struct call *call, const char *text)
{
	size_t room = DETAIL_MOST, n = text ? strlen(text) : 0;

	return n ? arena_strndup(&call->arena, text, text_json_fit(text, n, &room))
		 : NULL;
}

/* Completes or fails a task. The caller may be the command that still runs for the task, so
 * that command is not called off. */
static int finished(struct call *call, const struct task_row *t, int64_t epoch, int rc,
		    int64_t state, const char *result)
{
	bool completed = state == TASK_STATE_COMPLETED;

	rc = CHANGED(call, t, rc, .epoch = epoch, .to = state,
		     .event = completed ? EVENT_TASK_COMPLETED : EVENT_TASK_FAILED,
		     .detail = completed ? NULL : why_failed(call, result));
	if (rc < 0 ||
	    (rc = assignment_call_off(call, t->id, false, event_actor(call))) < 0)
		return rc;
	return completed ? rc : task_tell_stuck(call, t->team, t->id, t->number, true);
}

struct completing {
	const struct task_complete_in *in;
	struct task_complete_out *out;
};

/* Begins the agent's chain anew after the agent completed a task that comes from a person or
 * from a plan. With this task the agent has done the work that a person asked for. */
static int begin_chain(struct call *call, const struct task_row *t)
{
	struct task_bidden_row bidden;
	int rc = sql_row(call, task_bidden, &bidden, .id = t->id);

	return rc < 0 || !bidden.so ? rc : chain_put(call, call->caller.self, 0);
}

/* Refuses to complete a task with criteria that are not ticked. */
static int refuse_unticked(struct call *call, const struct task_row *t)
{
	const char *id = task_name(call, t->number), *numbers = "";
	struct task_ticks all = { 0 };
	int rc = task_ticks(call, t->id, &all);
	const size_t n = all.n_left;

	if (rc < 0 || n == 0)
		return rc;
	for (size_t i = 0; i < n && i < UNTICKED_NAMED; i++)
		numbers = arena_printf(&call->arena, "%s %.*s", numbers,
				       (int)strcspn(all.left[i], " "), all.left[i]);
	fault_set(&call->fault, FAULT_CONFLICT, "/task",
		  "%zu of %zu criteria of task %s %s not ticked: %s", n, n + all.n_ticked,
		  id, n == 1 ? "is" : "are",
		  task_join(call, all.left, n, UNTICKED_BYTES));
	return fault_hint(&call->fault,
			  "Tick the criteria that are met: {task.tick} %s%s. To complete "
			  "the task anyway, add {anyway=true|--anyway}.",
			  id, numbers);
}

static int task_hold_complete(struct call *call, const void *arg,
			      const struct task_row *t)
{
	const struct completing *c = arg;
	int rc = sql_run(call, task_finish, HELD(call, t, c->in),
			 .state = TASK_STATE_COMPLETED, .result = c->in->text,
			 .branch = c->in->branch, .commit_id = c->in->commit);

	if (rc > 0 && t->parts & TASK_HAS_CRITERIA && !c->in->anyway &&
	    refuse_unticked(call, t) < 0)
		return call->fault.code;
	rc = finished(call, t, EPOCH(c->in), rc, TASK_STATE_COMPLETED, NULL);
	if (rc >= 0 && call->caller.chain)
		rc = begin_chain(call, t);
	return rc < 0 ? rc
		      : make_ready(call, t->id, t->team, &c->out->ready,
				   &c->out->n_ready);
}

int task_complete(struct call *call, const struct task_complete_in *in,
		  struct task_complete_out *out)
{
	struct completing c = { in, out };

	return task_once(call, in->team, in->task, task_hold_complete, &c, &out->task);
}

static int task_hold_fail(struct call *call, const void *arg, const struct task_row *t)
{
	const struct task_fail_in *in = arg;
	int rc = sql_run(call, task_finish, HELD(call, t, in), .state = TASK_STATE_FAILED,
			 .result = in->text);

	return finished(call, t, EPOCH(in), rc, TASK_STATE_FAILED, in->text);
}

int task_fail(struct call *call, const struct task_fail_in *in, struct task_fail_out *out)
{
	return task_once(call, in->team, in->task, task_hold_fail, in, &out->task);
}

/* --- by a daemon --------------------------------------------------------------------- */

/* Notes which criteria were not ticked when a command's result completed a task. */
static int note_unticked(struct call *call, int64_t agent, const struct task_row *t)
{
	struct task_ticks all = { 0 };
	int rc = t->parts & TASK_HAS_CRITERIA ? task_ticks(call, t->id, &all) : 0;
	const size_t n = all.n_left;

	if (rc < 0 || n == 0)
		return rc;
	return task_add_note(
		call, agent, t->id,
		arena_printf(&call->arena,
			     "The command's result completed the task; %zu of %zu "
			     "criteria %s not ticked: %s",
			     n, n + all.n_ticked, n == 1 ? "was" : "were",
			     task_join(call, all.left, n, UNTICKED_NOTED)));
}

int task_finish_assigned(struct call *call, const struct assignment_row *x, bool success,
			 const char *result)
{
	const int64_t state = success ? TASK_STATE_COMPLETED : TASK_STATE_FAILED;
	struct agent_row a;
	struct task_row t;
	const char **ids = NULL;
	size_t n = 0;
	int rc;

	if ((rc = sql_row(call, agent_by_id, &a, .id = x->agent)) <= 0 ||
	    (rc = sql_row(call, task_by_id, &t, .id = x->task, .now = call->now)) <= 0)
		return rc;
	rc = sql_run(call, task_finish, .id = x->task, .agent = a.id,
		     .generation = a.generation, .epoch = x->epoch, .state = state,
		     .result = result, .now = call->now);
	if (rc <= 0 || (rc = task_moved(call, t.team, t.state, state, t.open_deps)) < 0)
		return rc;
	rc = event_by(call, .kind = success ? EVENT_TASK_COMPLETED : EVENT_TASK_FAILED,
		      .team = x->team, .actor = a.id, .subject = x->task, .target = a.id,
		      .detail = success ? NULL : why_failed(call, result));
	if (rc >= 0 && !success)
		return task_tell_stuck(call, t.team, t.id, t.number, true);
	if (rc >= 0)
		rc = note_unticked(call, a.id, &t);
	return rc < 0 ? rc : make_ready(call, x->task, x->team, &ids, &n);
}

int task_renew_assigned(struct call *call, const struct assignment_row *x,
			int64_t *renewed)
{
	struct agent_row a;
	int rc = sql_row(call, agent_by_id, &a, .id = x->agent);

	if (rc <= 0)
		return rc;
	rc = sql_run(call, task_start, .id = x->task, .agent = a.id,
		     .generation = a.generation, .epoch = x->epoch, .now = call->now);
	if (rc < 0 ||
	    (rc > 0 &&
	     ((rc = task_moved(call, x->team, TASK_STATE_CLAIMED, TASK_STATE_IN_PROGRESS,
			       0)) < 0 ||
	      (rc = event_by(call, .kind = EVENT_TASK_STARTED, .team = x->team,
			     .actor = a.id, .subject = x->task, .target = a.id)) < 0)))
		return rc;
	rc = sql_run(call, lease_renew, .agent = a.id, .now = call->now);
	if (rc > 0)
		*renewed += rc;
	if (rc >= 0)
		rc = sql_run(call, reservation_extend, .agent = a.id,
			     .generation = a.generation, .now = call->now);
	return rc < 0 ? rc : 0;
}
