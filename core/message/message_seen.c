/*
 * message_seen - records which answers arrived, and takes back the messages and claims of
 * answers that did not arrive.
 *
 * A door (of a host, or of a process that opened the state itself) knows from call.given which
 * messages and which claim an answer contained. Messages and results are taken back only if
 * they still belong to the answer's request. A claim is taken back only if it still has the
 * answer's epoch.
 */
#include "core/access/who.h"
#include "core/event/event.h"
#include "core/message/inbox.h"
#include "core/task/task.h"
#include "core/team/team.h"

static int waits_again(struct call *call, const struct agent_row *a, int64_t message)
{
	return event_by(call, .kind = EVENT_MESSAGE_REQUEUED, .team = a->team,
			.actor = ACTOR_HOST, .subject = message, .target = a->id);
}

static int undo_messages(struct call *call, const struct agent_row *a, int64_t request,
			 bool sent, int64_t *undone)
{
	struct delivery_unhand_row *all = NULL;
	size_t n;
	int rc;

	rc = sql_all(call, delivery_unhand, &all, &n, .agent = a->id, .request = request,
		     .sent = sent);
	if (rc < 0 || n == 0)
		return rc;
	*undone += (int64_t)n;
	rc = sql_late(call, inbox_fetched, .agent = a->id, .n = -(int64_t)n,
		      .leased = -(int64_t)n);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = waits_again(call, a, all[i].message);
	return rc;
}

static int undo_results(struct call *call, const struct agent_row *a, int64_t request,
			int64_t *undone)
{
	struct result_unhand_row *all = NULL;
	size_t n;
	int rc = sql_all(call, result_unhand, &all, &n, .request = request);

	*undone += (int64_t)n;
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = waits_again(call, a, all[i].message);
	return rc < 0 || n == 0 ? rc : team_announce(call, a->team);
}

int inbox_unhand(struct call *call, const struct agent_row *a, int64_t request, bool sent,
		 int64_t *undone)
{
	int rc = inbox_settle(call, a->id);

	if (rc >= 0)
		rc = undo_messages(call, a, request, sent, undone);
	return rc < 0 ? rc : undo_results(call, a, request, undone);
}

static int undo_claim(struct call *call, const struct agent_row *a, int64_t task,
		      int64_t epoch, int64_t *undone)
{
	struct task_unclaim_row t;
	int rc = task_settle(call, task, 1, NULL);

	if (rc < 0 || (rc = sql_row(call, task_unclaim, &t, .id = task, .agent = a->id,
				    .epoch = epoch, .now = call->now)) <= 0)
		return rc;
	*undone += 1;
	rc = task_moved(call, a->team, TASK_STATE_CLAIMED, TASK_STATE_PENDING,
			t.open_deps);
	if (rc >= 0)
		rc = event_by(call, .kind = EVENT_TASK_RELEASED, .team = a->team,
			      .actor = ACTOR_HOST, .subject = task, .target = a->id);
	return rc < 0 ? rc : team_announce(call, a->team);
}

int answer_undo(struct call *call, const struct answer_undo_in *in,
		struct answer_undo_out *out)
{
	struct agent_row a;
	int rc = sql_row(call, agent_by_id, &a, .id = in->agent);

	if (rc <= 0)
		return rc;
	if (in->request &&
	    (rc = inbox_unhand(call, &a, in->request, in->sent, &out->undone)) < 0)
		return rc;
	if (in->task)
		rc = undo_claim(call, &a, in->task, in->epoch, &out->undone);
	return rc < 0 ? rc : 0;
}

int inbox_keep(struct call *call, const struct agent_row *a, int64_t request,
	       int64_t *kept)
{
	struct delivery_take_row *all = NULL;
	int64_t late = 0;
	size_t n;
	int rc = inbox_settle(call, a->id);

	if (rc < 0 ||
	    (rc = sql_all(call, delivery_take, &all, &n, .agent = a->id,
			  .request = request, .now = call->now)) < 0 ||
	    n == 0)
		return rc;
	*kept += (int64_t)n;
	for (size_t i = 0; i < n; i++)
		late += all[i].late;
	rc = sql_late(call, inbox_less, .agent = a->id, .queued = late,
		      .leased = (int64_t)n - late);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = event_by(call, .kind = EVENT_MESSAGE_ACKED, .team = a->team,
			      .actor = ACTOR_HOST, .subject = all[i].message,
			      .target = a->id);
	return rc;
}

int answer_take(struct call *call, const struct answer_take_in *in,
		struct answer_take_out *out)
{
	struct agent_row a;
	int rc = sql_row(call, agent_by_id, &a, .id = in->agent);

	if (rc <= 0 || (rc = inbox_keep(call, &a, in->request, &out->taken)) < 0 ||
	    (rc = sql_run(call, result_seen, .request = in->request)) < 0)
		return rc;
	out->taken += rc;
	return 0;
}

/* Takes back the claim of a caller who cancelled its call or did not read the answer. */
static int message_seen_give_back(struct call *call, const struct agent_row *a,
				  const struct message_seen_in *in, int64_t *undone)
{
	struct task_row t;
	int rc;

	if (!in->has_epoch)
		return fault_set(&call->fault, FAULT_INVALID, "/epoch",
				 "name a claim with both `task` and `epoch`");
	if ((rc = task_find(call, in->task, &t)) < 0)
		return rc;
	return undo_claim(call, a, t.id, in->epoch, undone);
}

int message_seen(struct call *call, const struct message_seen_in *in,
		 struct message_seen_out *out)
{
	struct agent_row a;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = who_is(call, in->agent, "/agent", &a)) < 0)
		return rc;
	if (in->n_requests == 0 && in->n_lost == 0 && !in->task)
		return fault_set(&call->fault, FAULT_INVALID, "/requests",
				 "names no answer");
	for (size_t i = 0; i < in->n_requests; i++) {
		int64_t request = inbox_name(call, a.id, in->requests[i]);

		if ((rc = sql_run(call, delivery_seen, .agent = a.id,
				  .request = request)) < 0)
			return rc;
		out->noted += rc;
		if ((rc = sql_run(call, result_seen, .request = request)) < 0)
			return rc;
	}
	for (size_t i = 0; i < in->n_lost; i++)
		if ((rc = inbox_unhand(call, &a, inbox_name(call, a.id, in->lost[i]),
				       false, &out->returned)) < 0)
			return rc;
	return in->task ? message_seen_give_back(call, &a, in, &out->returned) : 0;
}
