/*
 * agent_spawn - agents make others, and tell them what to do.
 */
#include <string.h>

#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/call/id.h"
#include "core/message/message.h"
#include "core/team/budget.h"
#include "core/team/estop.h"
#include "core/turn/turn.h"

static int agent_spawn_greet(struct call *call, const struct agent_spawn_in *in,
			     const struct agent_row *to)
{
	const struct draft d = { .sender = call->caller.agent,
				 .content = in->message,
				 .type = "text",
				 .priority = PRIORITY_URGENT };
	int64_t message;
	int rc;

	if (!in->message[strspn(in->message, " \t\r\n")])
		return fault_set(&call->fault, FAULT_INVALID, "/message",
				 "must say something");
	if (call->identity.agent && (rc = budget_take_message(call)) < 0)
		return fault_move(&call->fault, "/to", "/message");
	if ((message = message_store(call, &d)) < 0)
		return (int)message;
	rc = message_deliver(call, message, &d, to);
	return rc < 0 ? rc : event_emit(call, EVENT_MESSAGE_SENT, message, to->id, NULL);
}

static int agent_spawn_one(struct call *call, const struct agent_spawn_in *in)
{
	struct newcomer n = { .name = in->name,
			      .role = in->role && *in->role ? in->role : NULL,
			      .description = "",
			      .project = in->project };
	struct agent_row a;
	int rc;

	if ((rc = agent_may_lead(call, in->name, n.role, "/name")) < 0 ||
	    (rc = estop_check(call, "/team")) < 0 ||
	    (rc = budget_check(call, call->caller.team, "/team")) < 0 ||
	    (rc = agent_add(call, &n, "/name")) < 0)
		return rc;
	call->made = n.id;
	if (in->runner && (rc = runner_give(call, n.id, in->runner, "/runner")) < 0)
		return rc;
	if (!in->message)
		return 0;
	rc = sql_row(call, agent_by_id, &a, .id = n.id);
	return rc < 0 ? rc : agent_spawn_greet(call, in, &a);
}

int agent_spawn(struct call *call, const struct agent_spawn_in *in,
		struct agent_spawn_out *out)
{
	struct agent_greeting_row greeting;
	struct agent_row a;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (!call->made && (rc = agent_spawn_one(call, in)) < 0) ||
	    (rc = sql_row(call, agent_by_id, &a, .id = call->made)) < 0)
		return rc;
	out->name = a.name;
	out->status = a.status;
	out->project = a.project;
	if (!in->message)
		return 0;
	rc = sql_row(call, agent_greeting, &greeting, .agent = a.id);
	if (rc > 0) {
		out->message_id =
			id_public(call, ID_MESSAGE, greeting.message, greeting.at);
		out->has_seq = true;
		out->seq = greeting.message;
	}
	return rc < 0 ? rc : 0;
}
