/*
 * message_redact - deletes the text of a message for good.
 */
#include "core/call/id.h"
#include "core/message/message.h"

/* Refuses to redact a command that may still run. The daemon needs the command's text, and a
 * reader who wants to see which commands run needs the text, too. */
static int message_redact_check_command(struct call *call, int64_t message)
{
	struct assignment_row x;
	int rc = sql_row(call, assignment_by_message, &x, .message = message);

	if (rc <= 0 ||
	    (x.state != ASSIGNMENT_STATE_QUEUED && x.state != ASSIGNMENT_STATE_RUNNING))
		return rc < 0 ? rc : 0;
	fault_set(&call->fault, FAULT_CONFLICT, "/message_id",
		  "the message's command has not ended");
	return fault_hint(&call->fault,
			  "Wait for the result, or cancel the command's task: "
			  "this calls the command off.");
}

static int message_redact_take_text(struct call *call, int64_t message)
{
	const char *text =
		arena_printf(&call->arena, "[redacted by %s]", call->caller.name);
	int rc, end;

	if ((rc = store_erases(call->store, true, &call->fault)) < 0)
		return rc;
	if ((rc = sql_run(call, message_redact, .id = message, .now = call->now,
			  .content = text)) > 0)
		rc = sql_run(call, assignment_redact, .message = message,
			     .command = text);
	end = store_erases(call->store, false, &call->fault);
	return rc < 0 ? rc : end;
}

static int redact(struct call *call, const struct message_head_row *m)
{
	int rc;

	if (m->sender != call->caller.agent &&
	    (rc = who_leads(call, "/message_id", "the message's sender",
			    "redact the message")) < 0)
		return rc;
	if (call->identity.agent && m->team != call->caller.team) {
		fault_set(&call->fault, FAULT_DENIED, "/message_id",
			  "the message came from another team");
		return fault_hint(&call->fault, "Ask its sender, or the operator.");
	}
	call->made = m->id;
	if (m->redacted_at)
		return 0;
	if ((rc = message_redact_check_command(call, m->id)) < 0 ||
	    (rc = message_redact_take_text(call, m->id)) < 0)
		return rc;
	return event_emit(call, EVENT_MESSAGE_REDACTED, m->id, 0, NULL);
}

int message_redact(struct call *call, const struct message_redact_in *in,
		   struct message_redact_out *out)
{
	struct deliveries_read_row read;
	struct message_head_row m;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = message_find(call, in->message_id, "/message_id", &m)) < 0 ||
	    (!call->made && (rc = redact(call, &m)) < 0) ||
	    (rc = sql_row(call, deliveries_read, &read, .message = m.id)) < 0)
		return rc;
	out->message_id = id_public(call, ID_MESSAGE, m.id, m.at);
	out->seq = m.id;
	out->read = read.n;
	return 0;
}
