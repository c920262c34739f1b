/*
 * undo - what an answer gave that reached nobody is taken back.
 *
 * Whoever gives the answer to its caller, a host or a process that opened the file
 * itself, knows from call.given what that is; each of these statements looks by
 * itself whether it is still so.
 */
#include "core/event.h"
#include "core/inbox.h"
#include "core/team.h"

static int waits_again(struct call *call, const struct agent_row *a, int64_t message)
{
	return event_by(call, .kind = EVENT_MESSAGE_REQUEUED, .team = a->team,
			.actor = ACTOR_HOST, .subject = message, .target = a->id);
}

static int undo_messages(struct call *call, const struct agent_row *a, int64_t request,
			 int64_t *undone)
{
	struct delivery_unhand_row *all = NULL;
	size_t n;
	int rc;

	rc = sql_all(call, delivery_unhand, &all, &n, .agent = a->id, .request = request);
	if (rc < 0 || n == 0)
		return rc;
	*undone += (int64_t)n;
	rc = sql_run(call, inbox_fetched, .agent = a->id, .n = -(int64_t)n,
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

int inbox_unhand(struct call *call, const struct agent_row *a, int64_t request,
		 int64_t *undone)
{
	int rc = undo_messages(call, a, request, undone);

	return rc < 0 ? rc : undo_results(call, a, request, undone);
}

static int undo_claim(struct call *call, const struct agent_row *a, int64_t task,
		      int64_t epoch, int64_t *undone)
{
	int rc = sql_run(call, task_unclaim, .id = task, .agent = a->id, .epoch = epoch,
			 .now = call->now);

	if (rc <= 0)
		return rc;
	*undone += 1;
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
	if (in->request && (rc = inbox_unhand(call, &a, in->request, &out->undone)) < 0)
		return rc;
	if (in->task)
		rc = undo_claim(call, &a, in->task, in->epoch, &out->undone);
	return rc < 0 ? rc : 0;
}
