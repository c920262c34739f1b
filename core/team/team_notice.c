/*
 * team_notice - messages of cadre itself to the lead of a team, and to the operator.
 */
#include "core/message/message.h"
#include "core/team/team.h"
#include "core/turn/chain.h"

int team_notice(struct call *call, const char *type, const char *text)
{
	return team_tell(call, call->caller.team, type, text, CHAIN_NOTICE);
}

/* Sends the draft in the call's team. */
static int notice_send(struct call *call, struct draft *d)
{
	struct agent_row operator, to;
	struct team_lead_row lead;
	int64_t message;
	int rc = sql_row(call, agent_by_name, &operator, .team = call->caller.team,
			 .name = "operator");

	if (rc <= 0)
		return rc;
	d->sender = operator.id;
	if ((message = message_store(call, d)) < 0)
		return (int)message;
	if ((rc = message_deliver(call, message, d, &operator)) < 0 ||
	    (rc = sql_row(call, team_lead, &lead, .team = call->caller.team)) < 0 ||
	    (rc > 0 && ((rc = sql_row(call, agent_by_id, &to, .id = lead.id)) < 0 ||
			(rc = message_deliver(call, message, d, &to)) < 0)))
		return rc;
	return event_by(call, .kind = EVENT_MESSAGE_SENT, .team = call->caller.team,
			.actor = operator.id, .subject = message);
}

int team_tell(struct call *call, int64_t team, const char *type, const char *text,
	      int64_t chain)
{
	const struct caller was = call->caller;
	/* A notice goes on with the chain of the agent whose call caused the notice. */
	const int64_t own = chain_of(call, &(struct draft){ 0 });
	struct draft d = { .type = type,
			   .content = text,
			   .chain = own > chain ? own : chain };
	struct team_row t;
	int rc = sql_row(call, team_by_id, &t, .id = team);

	if (rc <= 0)
		return rc;
	call->caller.team = team;
	call->caller.inbox_capacity = t.inbox_capacity;
	rc = notice_send(call, &d);
	call->caller = was;
	return rc;
}
