#include "core/task.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/assignment.h"

/* --- finding ----------------------------------------------------------------------- */

const char *task_name(struct call *call, int64_t number)
{
	return arena_printf(&call->arena, "%03" PRId64, number);
}

static int by_number(struct call *call, const char *id, struct task_row *t)
{
	if (strlen(id) > 10 || strspn(id, "0123456789") != strlen(id))
		return 0;
	return sql_row(call, task_by_number, t, .team = call->caller.team,
		       .number = strtoll(id, NULL, 10), .now = call->now);
}

int task_find_maybe(struct call *call, const char *id, struct task_row *t)
{
	int rc = by_number(call, id, t);

	if (rc <= 0 || !(call->op->flags & OP_WRITE))
		return rc;
	if (t->lease_until == 0 || t->lease_until > call->now)
		return 1;
	if ((rc = task_settle(call, t->id, 1, NULL)) < 0)
		return rc;
	return by_number(call, id, t);
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
	return fault_hint(&call->fault, "See the board with: cadre task list.");
}

/* --- leases that ran out -------------------------------------------------------------- */

static int lapse(struct call *call, const struct task_lapsed_row *t)
{
	struct task_lapse_row after;
	int rc = sql_row(call, task_lapse, &after, .id = t->id, .now = call->now);

	if (rc <= 0)
		return rc;
	if ((rc = assignment_call_off(call, t->id, true, ACTOR_HOST)) < 0 ||
	    (rc = event_by(call, .kind = EVENT_TASK_LAPSED, .team = t->team,
			   .actor = ACTOR_HOST, .subject = t->id, .target = t->owner)) <
		    0)
		return rc;
	if (after.state == TASK_STATE_FAILED &&
	    (rc = event_by(call, .kind = EVENT_TASK_FAILED, .team = t->team,
			   .actor = ACTOR_HOST, .subject = t->id, .target = t->owner,
			   .detail = "its lease ran out too often")) < 0)
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

int task_give_back(struct call *call, int64_t agent)
{
	struct agent_claims_row *all = NULL;
	size_t n;
	int rc;

	rc = sql_all(call, agent_claims, &all, &n, .agent = agent);
	for (size_t i = 0; i < n && rc >= 0; i++)
		if ((rc = sql_run(call, task_give_back, .id = all[i].id,
				  .now = call->now)) > 0 &&
		    (rc = assignment_call_off(call, all[i].id, true,
					      event_actor(call))) >= 0)
			rc = event_emit(call, EVENT_TASK_RELEASED, all[i].id, agent,
					"a new generation");
	return rc < 0 ? rc : 0;
}

/* --- why not --------------------------------------------------------------------------- */

static const char *open_deps(struct call *call, int64_t task)
{
	struct task_deps_row d;
	const char *list = "";
	struct query q;

	sql_query(call, &q, task_deps, .task = task, .now = call->now);
	while (sql_next(call, &q, &d) > 0)
		if (d.state_now != TASK_STATE_COMPLETED)
			list = arena_printf(&call->arena, "%s%s%03" PRId64 " (%s)", list,
					    *list ? ", " : "", d.number,
					    word_of(&record_task_line, "status",
						    d.state_now));
	return list;
}

/* What to do about a task that nobody holds. */
static int hint_state(struct fault *f, enum task_state state)
{
	if (state == TASK_STATE_PENDING)
		return fault_hint(f, "Claim it first.");
	if (state == TASK_STATE_FAILED)
		return fault_hint(f, "Put it back on the board first: task retry.");
	return fault_hint(f, "It is over: take another one.");
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
			  a.name, word_of(&record_task_line, "status", t->state_now));
		return fault_hint(f, "Take another ready task, or wait for its lease "
				     "to end.");
	}
	if (t->state != TASK_STATE_PENDING) {
		fault_set(f, FAULT_CONFLICT, "/task", "task %s is %s", id,
			  word_of(&record_task_line, "status", t->state));
		return hint_state(f, (enum task_state)t->state);
	}
	if (t->open_deps) {
		fault_set(f, FAULT_CONFLICT, "/task", "task %s waits for %s", id,
			  open_deps(call, t->id));
		return fault_hint(f, "Finish those first; ready lists what can be "
				     "claimed now.");
	}
	fault_set(f, FAULT_CONFLICT, "/task", "task %s is meant for %s", id,
		  a.name ? a.name : "another agent");
	return fault_hint(f, "Take another one; the lead can assign it anew.");
}

static int not_owner(struct call *call, const struct task_row *t, int64_t epoch)
{
	struct fault *f = &call->fault;
	struct agent_name_row a = { 0 };
	const char *id = task_name(call, t->number);

	if (!t->owner) {
		fault_set(f, FAULT_CONFLICT, "/task", "task %s is %s; nobody holds it",
			  id, word_of(&record_task_line, "status", t->state_now));
		return hint_state(f, (enum task_state)t->state_now);
	}
	if (sql_row(call, agent_name, &a, .id = t->owner) < 0)
		return f->code;
	if (t->owner != call->caller.agent) {
		fault_set(f, FAULT_CONFLICT, "/task", "task %s is held by %s", id,
			  a.name);
		return fault_hint(f, "Only its owner may do this.");
	}
	if (epoch >= 0 && epoch != t->epoch) {
		fault_set(f, FAULT_CONFLICT, "/epoch",
			  "epoch %" PRId64 " of task %s is over; it is at %" PRId64,
			  epoch, id, t->epoch);
		return fault_hint(f, "That claim ended: stop the work it stood for.");
	}
	return fault_set(f, FAULT_CONFLICT, "/task", "task %s is %s", id,
			 word_of(&record_task_line, "status", t->state_now));
}

/* --- claiming ---------------------------------------------------------------------------- */

static int claimed(struct call *call, int64_t task, int64_t owner, int64_t epoch)
{
	int rc = event_emit(call, EVENT_TASK_CLAIMED, task, owner,
			    arena_printf(&call->arena, "%" PRId64, epoch));

	/* A team that works already works on. */
	if (rc < 0 || call->caller.team_state == TEAM_STATE_WORKING)
		return rc;
	return team_announce(call, call->caller.team);
}

static int64_t lease_ms(const struct call *call, const struct task_claim_in *in)
{
	return 1000 * (in->has_lease_seconds ? in->lease_seconds
					     : call->settings->config.task_lease_seconds);
}

static int claim_named(struct call *call, const struct task_claim_in *in,
		       const struct agent_row *a, struct claim_row *won)
{
	struct task_row t;
	int rc;

	if ((rc = task_find(call, in->task, &t)) < 0)
		return rc;
	rc = sql_row(call, task_claim, won, .id = t.id, .agent = a->id,
		     .generation = a->generation, .lease_ms = lease_ms(call, in),
		     .max_attempts = call->settings->config.task_max_attempts,
		     .now = call->now);
	return rc == 0 ? not_claimable(call, &t) : rc;
}

static int claim_best(struct call *call, const struct task_claim_in *in,
		      const struct agent_row *a, struct claim_row *won)
{
	int rc = task_settle(call, 0, 100, NULL);

	if (rc < 0)
		return rc;
	return sql_row(call, task_claim_best, won, .team = call->caller.team,
		       .agent = a->id, .generation = a->generation,
		       .lease_ms = lease_ms(call, in),
		       .max_attempts = call->settings->config.task_max_attempts,
		       .now = call->now);
}

int task_claim(struct call *call, const struct task_claim_in *in,
	       struct task_claim_out *out)
{
	struct claim_row won = { 0 };
	struct agent_row a;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = who_is(call, in->agent, "/agent", &a)) < 0)
		return rc;
	if (!call->made) {
		rc = in->task ? claim_named(call, in, &a, &won)
			      : claim_best(call, in, &a, &won);
		if (rc < 0)
			return rc;
		if (rc == 0) {
			call->wait_on = in->wait_seconds ? WAKE_READY : WAKE_NONE;
			call->wait_key = call->caller.team;
			return 0;
		}
		call->made = won.id;
		if ((rc = claimed(call, won.id, a.id, won.epoch)) < 0)
			return rc;
	}
	if ((rc = task_tell(call, call->made, &out->task)) < 0)
		return rc;
	out->has_task = true;
	/* A repeat may come when it is somebody else's: that epoch is not his. */
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
	struct claim_row won;
	int rc = sql_row(call, task_claim, &won, .id = t->id, .agent = to->id,
			 .generation = to->generation, .lease_ms = lease_ms,
			 .max_attempts = call->settings->config.task_max_attempts,
			 .now = call->now);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return not_claimable(call, t);
	t->epoch = won.epoch;
	return claimed(call, t->id, to->id, won.epoch);
}

/* --- what an owner does -------------------------------------------------------------------- */

/* A task that its owner acts on, and the epoch that he claims to have (-1: the
 * one of his live claim). */
struct holding {
	struct task_row t;
	int64_t epoch;
};

/* What the statements of owners take. */
#define HELD(call, h)                                  \
	.id = (h).t.id, .agent = (call)->caller.agent, \
	.generation = (call)->caller.generation, .epoch = (h).epoch, .now = (call)->now

static int hold(struct call *call, const char *team, const char *task, bool has_epoch,
		int64_t epoch, struct holding *h)
{
	int rc = who_team(call, team);

	h->epoch = has_epoch ? epoch : -1;
	return rc < 0 ? rc : task_find(call, task, &h->t);
}

/* One change by a task's owner: the statement said whether he was it. */
static int changed(struct call *call, const struct holding *h, int rc, int event,
		   const char *detail)
{
	if (rc < 0)
		return rc;
	if (rc == 0)
		return not_owner(call, &h->t, h->epoch);
	call->made = h->t.id;
	if ((rc = event_emit(call, event, h->t.id, h->t.owner, detail)) < 0)
		return rc;
	return team_announce(call, call->caller.team);
}

int task_start(struct call *call, const struct task_start_in *in,
	       struct task_start_out *out)
{
	struct holding h;
	int rc = hold(call, in->team, in->task, in->has_epoch, in->epoch, &h);

	if (rc < 0)
		return rc;
	if (!call->made) {
		rc = sql_run(call, task_start, HELD(call, h));
		if ((rc = changed(call, &h, rc, EVENT_TASK_STARTED, NULL)) < 0)
			return rc;
	}
	return task_tell(call, h.t.id, &out->task);
}

int task_heartbeat(struct call *call, const struct task_heartbeat_in *in,
		   struct task_heartbeat_out *out)
{
	struct task_renew_row r;
	struct holding h;
	int rc = hold(call, in->team, in->task, in->has_epoch, in->epoch, &h);

	if (rc < 0)
		return rc;
	r = (struct task_renew_row){ h.t.epoch, h.t.lease_until };
	if (!call->made) {
		rc = sql_row(call, task_renew, &r, HELD(call, h),
			     .lease_ms = in->has_lease_seconds ? in->lease_seconds * 1000
							       : 0);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return not_owner(call, &h.t, h.epoch);
		call->made = h.t.id;
	}
	out->epoch = r.epoch;
	out->has_lease_until = r.lease_until != 0;
	out->lease_until = r.lease_until;
	return 0;
}

int task_block(struct call *call, const struct task_block_in *in,
	       struct task_block_out *out)
{
	struct holding h;
	int rc = hold(call, in->team, in->task, in->has_epoch, in->epoch, &h);

	if (rc < 0)
		return rc;
	if (!call->made) {
		rc = sql_run(call, task_block, HELD(call, h));
		rc = changed(call, &h, rc, EVENT_TASK_BLOCKED, in->reason);
		if (rc < 0 || (rc = task_add_note(call, h.t.id, in->reason)) < 0)
			return rc;
	}
	return task_tell(call, h.t.id, &out->task);
}

int task_unblock(struct call *call, const struct task_unblock_in *in,
		 struct task_unblock_out *out)
{
	struct holding h;
	int rc = hold(call, in->team, in->task, in->has_epoch, in->epoch, &h);

	if (rc < 0)
		return rc;
	if (!call->made) {
		rc = sql_run(call, task_unblock, HELD(call, h));
		if ((rc = changed(call, &h, rc, EVENT_TASK_UNBLOCKED, NULL)) < 0)
			return rc;
	}
	return task_tell(call, h.t.id, &out->task);
}

int task_release(struct call *call, const struct task_release_in *in,
		 struct task_release_out *out)
{
	struct holding h;
	int rc = hold(call, in->team, in->task, in->has_epoch, in->epoch, &h);

	if (rc < 0)
		return rc;
	if (!call->made) {
		rc = sql_run(call, task_release, HELD(call, h));
		if ((rc = changed(call, &h, rc, EVENT_TASK_RELEASED, NULL)) < 0 ||
		    (rc = assignment_call_off(call, h.t.id, true, event_actor(call))) < 0)
			return rc;
	}
	return task_tell(call, h.t.id, &out->task);
}

/* --- ends ------------------------------------------------------------------------------------ */

/* What waited for a completed task only is ready now, and is told so. */
static int make_ready(struct call *call, int64_t done, int64_t team, const char ***ids,
		      size_t *n)
{
	struct task_unblocks_row *all = NULL;
	struct task_in_the_way_row w;
	size_t count;
	int rc;

	/* Most are in nobody's way, and an UPDATE that returns rows costs ten times
	 * the question. */
	if ((rc = sql_row(call, task_in_the_way, &w, .dep = done)) <= 0 || !w.any)
		return rc < 0 ? rc : 0;
	rc = sql_all(call, task_unblocks, &all, &count, .dep = done);
	for (size_t i = 0; i < count && rc >= 0; i++) {
		if (all[i].open_deps || all[i].state != TASK_STATE_PENDING)
			continue;
		*(const char **)arena_push(&call->arena, ids, n, sizeof(**ids)) =
			task_name(call, all[i].number);
		rc = event_by(call, .kind = EVENT_TASK_READY, .team = team,
			      .actor = event_actor(call), .subject = all[i].id);
	}
	return rc;
}

int task_complete(struct call *call, const struct task_complete_in *in,
		  struct task_complete_out *out)
{
	struct holding h;
	int rc = hold(call, in->team, in->task, in->has_epoch, in->epoch, &h);

	if (rc < 0)
		return rc;
	if (!call->made) {
		rc = sql_run(call, task_finish, HELD(call, h),
			     .state = TASK_STATE_COMPLETED, .result = in->result);
		rc = changed(call, &h, rc, EVENT_TASK_COMPLETED, NULL);
		if (rc < 0 ||
		    (rc = assignment_call_off(call, h.t.id, false, event_actor(call))) <
			    0 ||
		    (rc = make_ready(call, h.t.id, h.t.team, &out->ready,
				     &out->n_ready)) < 0)
			return rc;
	}
	return task_tell(call, h.t.id, &out->task);
}

int task_fail(struct call *call, const struct task_fail_in *in, struct task_fail_out *out)
{
	struct holding h;
	int rc = hold(call, in->team, in->task, in->has_epoch, in->epoch, &h);

	if (rc < 0)
		return rc;
	if (!call->made) {
		rc = sql_run(call, task_finish, HELD(call, h), .state = TASK_STATE_FAILED,
			     .result = in->result);
		if ((rc = changed(call, &h, rc, EVENT_TASK_FAILED, NULL)) < 0 ||
		    (rc = assignment_call_off(call, h.t.id, false, event_actor(call))) <
			    0)
			return rc;
	}
	return task_tell(call, h.t.id, &out->task);
}

int task_finish_assigned(struct call *call, const struct assignment_row *x, bool success,
			 const char *result)
{
	struct agent_row a;
	const char **ids = NULL;
	size_t n = 0;
	int rc;

	if ((rc = sql_row(call, agent_by_id, &a, .id = x->agent)) <= 0)
		return rc;
	rc = sql_run(call, task_finish, .id = x->task, .agent = a.id,
		     .generation = a.generation, .epoch = x->epoch,
		     .state = success ? TASK_STATE_COMPLETED : TASK_STATE_FAILED,
		     .result = result, .now = call->now);
	if (rc <= 0)
		return rc;
	rc = event_by(call, .kind = success ? EVENT_TASK_COMPLETED : EVENT_TASK_FAILED,
		      .team = x->team, .actor = a.id, .subject = x->task, .target = a.id);
	return rc < 0 || !success ? rc : make_ready(call, x->task, x->team, &ids, &n);
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
	if (rc > 0)
		rc = event_by(call, .kind = EVENT_TASK_STARTED, .team = x->team,
			      .actor = a.id, .subject = x->task, .target = a.id);
	if (rc < 0)
		return rc;
	rc = sql_run(call, lease_renew, .agent = a.id, .now = call->now);
	if (rc > 0)
		*renewed += rc;
	return rc < 0 ? rc : 0;
}
