/*
 * agent_change - agents change their cards and say what they are doing.
 */
#include <string.h>

#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/message/message.h"
#include "core/team/budget.h"
#include "core/team/team.h"
#include "core/turn/turn.h"

static int rename_agent(struct call *call, const struct agent_row *a, const char *name)
{
	int rc;

	if (a->kind == AGENT_KIND_OPERATOR) {
		fault_set(&call->fault, FAULT_INVALID, "/name",
			  "the operator's place in a team keeps its name");
		return fault_hint(&call->fault,
				  "To give an agent a name, call as that agent.");
	}
	if (agent_reserved(name))
		return fault_set(&call->fault, FAULT_INVALID, "/new_name",
				 "%s is a reserved name", name);
	if (strcmp(a->name, name) == 0)
		return 0;
	if ((rc = agent_may_lead(call, name, NULL, "/new_name")) < 0)
		return rc;
	rc = sql_run(call, agent_set_name, .agent = a->id, .name = name);
	if (rc == 0)
		return fault_set(&call->fault, FAULT_CONFLICT, "/new_name",
				 "there is an agent %s in team %s already", name,
				 call->caller.team_name);
	if (rc >= 0 && strcmp(a->name, "lead") == 0)
		rc = team_keep_lead(call, a, "/new_name", NULL);
	if (rc < 0)
		return rc;
	return sql_run(call, name_give_up, .team = a->team, .name = a->name,
		       .generation = a->generation);
}

/* Sends the others of the team what has changed on an agent's card: a message of the agent's,
 * which counts as any other. */
static int agent_change_tell_teammates(struct call *call, const struct agent_row *a,
				       const char *changed)
{
	struct draft d = { .sender = a->id, .to_all = true, .type = "card_update" };
	int64_t message;
	int rc;

	if (call->identity.agent && budget_take_message(call) < 0)
		return fault_move(&call->fault, "/to", "/notify");
	d.content = arena_printf(&call->arena, "%s has changed its card: %s", a->name,
				 changed);
	if ((message = message_store(call, &d)) < 0)
		return (int)message;
	rc = message_deliver_all(call, message, &d, a->id);
	return rc < 0 ? rc
		      : event_by(call, .kind = EVENT_MESSAGE_SENT, .team = a->team,
				 .actor = a->id, .subject = message);
}

static int write_card(struct call *call, const struct agent_update_in *in,
		      const struct agent_row *a)
{
	int rc;

	if ((in->new_name && (rc = rename_agent(call, a, in->new_name)) < 0) ||
	    (rc = sql_run(call, agent_set_card, .agent = a->id, .project = in->project,
			  .description = in->description,
			  .input_schema = in->input_schema,
			  .output_schema = in->output_schema)) < 0 ||
	    (in->skills &&
	     (rc = agent_set_skills(call, a->id, in->skills, in->n_skills)) < 0) ||
	    (in->protocols && (rc = agent_set_protocols(call, a->id, in->protocols,
							in->n_protocols)) < 0) ||
	    (in->project && (rc = runner_follow(call, a->id, "/project")) < 0) ||
	    (in->runner && (rc = runner_give(call, a->id, in->runner, "/runner")) < 0))
		return rc;
	return 0;
}

int agent_change(struct call *call, const struct agent_update_in *in, const char **was)
{
	struct agent_row a, after;
	struct card before, is;
	const char *changed;
	int rc;

	if ((rc = who_acts(call, in->name, "/name", &a)) < 0)
		return rc;
	call->made = a.id;
	if (was)
		*was = a.name;
	if ((rc = card_tell_whole(call, &a, &before)) < 0 ||
	    (rc = write_card(call, in, &a)) < 0 ||
	    (rc = sql_row(call, agent_by_id, &after, .id = a.id)) < 0 ||
	    (rc = card_tell_whole(call, &after, &is)) < 0)
		return rc;
	changed = card_differences(call, &before, &is);
	if (!*changed)
		return 0;
	rc = event_emit(call, EVENT_AGENT_UPDATED, a.id, 0,
			strcmp(a.name, after.name) ? a.name : NULL);
	return rc < 0 || !in->notify ? rc
				     : agent_change_tell_teammates(call, &after, changed);
}

int agent_update(struct call *call, const struct agent_update_in *in,
		 struct agent_update_out *out)
{
	struct agent_row a;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (!call->made && (rc = agent_change(call, in, &out->was)) < 0) ||
	    (rc = sql_row(call, agent_by_id, &a, .id = call->made)) < 0)
		return rc;
	if (!out->was) /* a call that is repeated */
		out->was = a.name;
	return card_tell(call, &a, &out->card);
}

int agent_say_status(struct call *call, const struct agent_row *a, int64_t status)
{
	int rc = runner_rest(call, a->id, &status);

	if (rc == 0)
		rc = sql_run(call, agent_set_status, .agent = a->id, .status = status,
			     .now = call->now);
	return rc <= 0 ? rc
		       : event_by(call, .kind = EVENT_AGENT_STATUS, .team = a->team,
				  .actor = event_actor(call), .subject = a->id,
				  .detail = field_choice(&record_agent_line, "status",
							 status));
}

int agent_status(struct call *call, const struct agent_status_in *in,
		 struct agent_status_out *out)
{
	struct agent_row a;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = who_acts(call, in->name, "/name", &a)) < 0)
		return rc;
	if (!call->made) {
		call->made = a.id;
		if ((rc = agent_say_status(call, &a, in->status)) < 0 ||
		    (rc = sql_row(call, agent_by_id, &a, .id = a.id)) < 0)
			return rc;
	}
	out->name = a.name;
	out->status = a.status;
	return 0;
}

/* Claims are renewed by every write of an agent: see op_perform(). */
int agent_heartbeat(struct call *call, const struct agent_heartbeat_in *in,
		    struct agent_heartbeat_out *out)
{
	struct agent_held_row held;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = sql_row(call, agent_held, &held, .agent = call->caller.agent,
			  .now = call->now)) < 0 ||
	    (rc = sql_run(call, reservation_extend, .agent = call->caller.agent,
			  .generation = call->caller.generation, .now = call->now)) < 0)
		return rc;
	call->made = call->caller.agent;
	out->name = call->caller.name;
	out->claims = held.n;
	return 0;
}
