/* event_replay - shows a team's board and inboxes as they were after a given event of the log. */
#include <inttypes.h>

#include "core/access/who.h"
#include "core/event/event.h"
#include "core/call/space.h"
#include "core/task/task.h"

static int tell_tasks(struct call *call, const struct event_replay_in *in,
		      struct event_replay_out *out)
{
	struct replay_tasks_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, replay_tasks, &r, .team = call->caller.team,
			      .until = in->until, .skip = in->offset,
			      .limit = in->limit + 1)) > 0) {
		struct past_task t = { .id = task_name(call, r.number),
				       .title = r.title,
				       .has_status = r.known,
				       .status = r.state_then,
				       .owner = r.owner_name };

		if (!space_put(call, out, tasks, &record_past_task, &t, in->limit))
			break;
	}
	return query_over(&q, rc);
}

/* Adds copies of messages, without the first `skip` copies, as far as the answer has room. */
static int tell_copies(struct call *call, const struct event_replay_in *in, int64_t skip,
		       struct event_replay_out *out)
{
	const int64_t limit = in->limit - (int64_t)out->n_tasks;
	struct replay_copies_row r;
	struct replay_mail_row mail;
	struct query q = { 0 };
	int rc = sql_row(call, replay_mail, &mail, .until = in->until);

	if (rc < 0)
		return rc;
	while ((rc = sql_each(call, &q, replay_copies, &r, .team = call->caller.team,
			      .until = in->until, .earliest = mail.earliest,
			      .first = mail.first ? mail.first : INT64_MAX,
			      .next = mail.next, .skip = skip, .limit = limit + 1)) > 0) {
		struct past_copy c = { .seq = r.message,
				       .to = r.to_name,
				       .from = r.from_name,
				       .has_state = r.known,
				       .state = r.state_then };

		if (!space_put(call, out, messages, &record_past_copy, &c, limit))
			break;
	}
	return query_over(&q, rc);
}

/* Fills the answer's page with tasks. Mail fills the page only after the last task. */
static int event_replay_tell(struct call *call, const struct event_replay_in *in,
			     struct event_replay_out *out)
{
	struct replay_task_count_row tasks;
	int rc;

	if ((rc = tell_tasks(call, in, out)) < 0 || out->more)
		return rc;
	if ((rc = sql_row(call, replay_task_count, &tasks, .team = call->caller.team,
			  .until = in->until)) < 0)
		return rc;
	return tell_copies(call, in, in->offset > tasks.n ? in->offset - tasks.n : 0,
			   out);
}

int event_replay(struct call *call, const struct event_replay_in *in,
		 struct event_replay_out *out)
{
	struct event_first_row first;
	struct event_last_row last;
	struct replay_at_row at = { 0 };
	int rc;

	if ((rc = who_team_then(call, in->team)) < 0 ||
	    (rc = sql_row(call, event_first, &first)) < 0 ||
	    (rc = sql_row(call, event_last, &last)) < 0)
		return rc;
	if (in->until < first.seq)
		return event_gone(call, "/until", first.seq);
	if (in->until > last.seq)
		return fault_set(&call->fault, FAULT_NOT_FOUND, "/until",
				 "there is no event %" PRId64
				 " yet; the newest is %" PRId64,
				 in->until, last.seq);
	if ((rc = sql_row(call, replay_at, &at, .seq = in->until)) < 0)
		return rc;
	out->at = at.at;
	rc = event_replay_tell(call, in, out);
	out->next = in->offset + (int64_t)out->n_tasks + (int64_t)out->n_messages;
	return rc;
}
