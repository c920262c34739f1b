#include "core/agent/agent_daemon.h"

#include "core/message/message.h"
#include "core/event/event.h"
#include "core/turn/chain.h"

static int set_status(struct call *call, int64_t team, int64_t agent, int64_t status)
{
	return event_by(call, .kind = EVENT_AGENT_STATUS, .team = team,
			.actor = ACTOR_HOST, .subject = agent,
			.detail = field_choice(&record_agent_line, "status", status));
}

int daemon_moves(struct call *call, const struct assignment_row *x)
{
	int rc = sql_run(call, daemon_moved, .agent = x->agent, .now = call->now);

	if (rc < 0 || (rc = sql_run(call, daemon_freed, .agent = x->agent)) <= 0)
		return rc;
	return set_status(call, x->team, x->agent, AGENT_STATUS_WORKING);
}

/* The agent itself is the sender: the host speaks for it. */
static int tell_lead(struct call *call, const struct daemons_stuck_row *d)
{
	struct team_lead_row lead;
	struct agent_row to;
	struct draft draft = {
		.sender = d->id,
		.type = "task_update",
		.chain = CHAIN_NOTICE,
		.content =
			d->overdue
				? "My daemon is stuck: a command runs past its timeout."
				: "My daemon is stuck: commands wait, and none moves.",
	};
	int64_t message;
	int rc = sql_row(call, team_lead, &lead, .team = d->team);

	if (rc <= 0 || lead.id == d->id)
		return rc;
	call->caller.team = d->team;
	call->caller.inbox_capacity = d->inbox_capacity;
	if ((rc = sql_row(call, agent_by_id, &to, .id = lead.id)) <= 0)
		return rc;
	if ((message = message_store(call, &draft)) < 0)
		return (int)message;
	if ((rc = message_deliver(call, message, &draft, &to)) < 0)
		return rc;
	return event_by(call, .kind = EVENT_MESSAGE_SENT, .team = d->team, .actor = d->id,
			.subject = message, .target = to.id);
}

int daemons_settle(struct call *call)
{
	struct daemons_stuck_row *all = NULL;
	size_t n;
	int rc;

	rc = sql_all(call, daemons_stuck, &all, &n, .now = call->now);
	for (size_t i = 0; i < n && rc >= 0; i++) {
		rc = sql_run(call, agent_set_status, .agent = all[i].id,
			     .status = AGENT_STATUS_STUCK, .now = call->now);
		if (rc > 0 && (rc = set_status(call, all[i].team, all[i].id,
					       AGENT_STATUS_STUCK)) >= 0)
			rc = tell_lead(call, &all[i]);
	}
	return rc < 0 ? rc : 0;
}
