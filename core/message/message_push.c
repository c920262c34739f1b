/*
 * message_push - lists the deliveries that a guest does not know yet, in the wire format.
 */
#include <string.h>

#include "core/event/event.h"
#include "core/call/id.h"

/* Writes a command and its environment variables as JSON, for the payload of a push. Only the
 * guest gets the environment variables of a command. */
static const char *payload(struct call *call, const struct delivery_pushes_row *r)
{
	struct text t = { 0 };
	char *copy;

	text_add(&t, "{\"task_id\":", 11);
	text_add_json(&t, r->label);
	text_add(&t, ",\"command\":", 11);
	text_add_json(&t, r->command);
	if (r->workdir) {
		text_add(&t, ",\"workdir\":", 11);
		text_add_json(&t, r->workdir);
	}
	if (r->env)
		text_addf(&t, ",\"env\":%s", r->env);
	text_addf(&t, ",\"timeout_secs\":%lld}", (long long)r->timeout_s);
	copy = arena_strndup(&call->arena, t.data, t.len);
	text_release(&t);
	return copy;
}

/* Lists cancelled commands before new commands. A cancelled command may be running, and should
 * end soon. */
static int recalls(struct call *call, const struct delivery_waiting_in *in,
		   struct delivery_waiting_out *out)
{
	struct assignment_recalls_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, assignment_recalls, &r, .agent = in->agent,
			      .limit = in->limit)) > 0)
		arena_add(&call->arena, out->pushes, out->n_pushes,
			  (struct push){
				  .message = r.message,
				  .message_id =
					  id_public(call, ID_MESSAGE, r.message, r.at),
				  .seq = r.message,
				  .from = r.sender_name,
				  .to = r.agent_name,
				  .content = "",
				  .message_type = r.type,
				  .timestamp = r.at,
				  .has_cancelled = true,
				  .cancelled = true,
			  });
	return rc;
}

enum { METADATA_MOST = 1 << 20 };

/* Returns the metadata of a push, or NULL if the metadata is too large. Old metadata may be too
 * large for a frame, because metadata was once stored without a limit. The guest's copy of a
 * message is only a cache, so its metadata may be missing. message.receive gives the receiver
 * the size of the metadata. */
static const char *metadata_of(const char *metadata)
{
	return metadata && strlen(metadata) > METADATA_MOST ? NULL : metadata;
}

int delivery_waiting(struct call *call, const struct delivery_waiting_in *in,
		     struct delivery_waiting_out *out)
{
	struct delivery_pushes_row r;
	struct query q = { 0 };
	struct delivery_told_row told = { .n = -1 };
	int rc;

	if ((rc = recalls(call, in, out)) < 0)
		return rc;
	while ((rc = sql_each(call, &q, delivery_pushes, &r, .agent = in->agent,
			      .after = in->after, .again = in->again,
			      .assignments = in->assignments, .texts = in->texts,
			      .limit = in->limit - (int64_t)out->n_pushes,
			      .now = call->now)) > 0) {
		struct push *p = arena_push(&call->arena, &out->pushes, &out->n_pushes,
					    sizeof(*p));

		if (!r.label && told.n < 0 &&
		    (rc = sql_row(call, delivery_told, &told, .agent = in->agent,
				  .before = r.message)) < 0)
			break;
		*p = (struct push){
			.message = r.message,
			.message_id = id_public(call, ID_MESSAGE, r.message, r.at),
			.seq = r.message,
			.has_unread = !r.label,
			.unread = r.label ? 0 : told.n++,
			.from = r.sender_name,
			.to = r.to_name,
			.content = r.label ? payload(call, &r) : r.content,
			.message_type = r.type,
			.timestamp = r.at,
			.priority = r.urgent ? PRIORITY_URGENT : PRIORITY_NORMAL,
			.thread = r.thread,
			.metadata = metadata_of(r.metadata),
		};
		p->has_unoffered = p->unoffered = r.label && !r.offered;
		/* reply_at is 0 if cleaning has deleted the message that this message answers */
		if (r.reply_to && r.reply_at)
			p->reply_to = id_public(call, ID_MESSAGE, r.reply_to, r.reply_at);
	}
	return query_over(&q, rc);
}

int delivery_offered(struct call *call, const struct delivery_offered_in *in,
		     struct delivery_offered_out *out)
{
	int rc = sql_run(call, assignment_offer, .agent = in->agent,
			 .messages = id_list(&call->arena, in->messages, in->n_messages));

	out->changed = rc;
	return rc < 0 ? rc : 0;
}

/* Stores that a guest has taken the messages, and adds an event for each message. */
static int message_push_notify(struct call *call, const struct delivery_notified_in *in,
			       const struct agent_row *a,
			       struct delivery_notified_out *out)
{
	struct delivery_notify_row *taken = NULL;
	size_t n;
	int rc = sql_all(call, delivery_notify, &taken, &n, .agent = in->agent,
			 .messages = id_list(&call->arena, in->messages, in->n_messages),
			 .now = call->now);

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = event_by(call, .kind = EVENT_MESSAGE_NOTIFIED, .team = a->team,
			      .actor = a->id, .subject = taken[i].message,
			      .target = a->id);
	out->changed = (int64_t)n;
	return rc;
}

int delivery_notified(struct call *call, const struct delivery_notified_in *in,
		      struct delivery_notified_out *out)
{
	struct agent_row a;
	int rc = sql_row(call, agent_by_id, &a, .id = in->agent);

	if (rc <= 0 || (rc = message_push_notify(call, in, &a, out)) < 0)
		return rc;
	for (size_t i = 0; i < in->n_recalled && rc >= 0; i++)
		rc = sql_run(call, assignment_recalled, .message = in->recalled[i],
			     .agent = in->agent);
	if (rc >= 0)
		rc = sql_run(call, assignment_withdraw, .agent = in->agent,
			     .messages =
				     id_list(&call->arena, in->refused, in->n_refused));
	return rc < 0 ? rc : 0;
}
