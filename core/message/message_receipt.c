/*
 * message_receipt - shows the delivery of a message to each recipient.
 */
#include <stdlib.h>
#include <string.h>

#include "core/call/id.h"
#include "core/message/message.h"
#include "core/call/space.h"

enum { BEGINNING = 400 }; /* maximum number of bytes of a message that a list shows */

/* Adds to `d` the public ids of the messages that the inbox of `agent` dropped. */
static int tell_drops(struct call *call, const struct drops *drops, int64_t agent,
		      struct delivery *d)
{
	struct message_head_row m;
	const char **place;
	int rc;

	for (size_t i = 0; i < drops->n; i++) {
		if (drops->rows[i].agent != agent)
			continue;
		if ((rc = sql_row(call, message_head, &m,
				  .id = drops->rows[i].message)) <= 0)
			return rc;
		place = arena_push(&call->arena, &d->dropped, &d->n_dropped,
				   sizeof(*place));
		*place = id_public(call, ID_MESSAGE, m.id, m.at);
	}
	return 0;
}

/* Adds delayed copies to a page until the page is full. Adds only copies whose recipient's name
 * is `name` or sorts before `name`. If `name` is NULL, adds all remaining delayed copies. */
static void add_delayed(struct call *call, const struct delivery_page *page,
			const struct deliveries_delayed_row **next, size_t *n_next,
			const char *name, struct delivery **out, size_t *n)
{
	for (; *n_next && (int64_t)*n < page->limit; (*next)++, (*n_next)--) {
		const struct deliveries_delayed_row *r = *next;

		if (name && strcmp(r->name, name) > 0)
			return;
		arena_add(&call->arena, *out, *n,
			  (struct delivery){ .to = r->address,
					     .state = DELIVERY_STATE_QUEUED,
					     .due_at = r->due_at,
					     .has_due_at = true });
	}
}

int message_deliveries(struct call *call, const struct delivery_page *page,
		       struct delivery **out, size_t *n)
{
	const struct deliveries_delayed_row *next;
	struct deliveries_delayed_row *delayed = NULL;
	struct message_head_row m = { 0 };
	struct deliveries_row r;
	struct query q = { 0 };
	size_t n_next = 0;
	int rc = sql_row(call, message_head, &m, .id = page->message);

	if (rc < 0 || (rc = sql_all(call, deliveries_delayed, &delayed, &n_next,
				    .message = page->message, .abroad = m.abroad,
				    .after = page->after, .limit = page->limit)) < 0)
		return rc;
	next = delayed;
	while ((rc = sql_each(call, &q, deliveries, &r, .message = page->message,
			      .abroad = m.abroad, .after = page->after,
			      .limit = page->limit, .now = call->now)) > 0) {
		struct delivery *d;

		add_delayed(call, page, &next, &n_next, r.name, out, n);
		if ((int64_t)*n == page->limit)
			break;
		d = arena_push(&call->arena, out, n, sizeof(*d));
		*d = (struct delivery){
			.to = r.address,
			.state = r.state,
			.attempt = r.attempt,
			.notified_at = r.notified_at,
			.has_notified_at = r.notified_at != 0,
			.fetched_at = r.fetched_at,
			.has_fetched_at = r.fetched_at != 0,
			.shown_at = r.shown_at,
			.has_shown_at = r.shown_at != 0,
			.done_at = r.done_at,
			.has_done_at = r.done_at != 0,
			.ack_due_at = r.ack_due_at,
			.has_ack_due_at = r.ack_due_at != 0,
		};
		if (page->drops && (rc = tell_drops(call, page->drops, r.agent, d)) < 0)
			break;
	}
	query_end(&q);
	add_delayed(call, page, &next, &n_next, NULL, out, n);
	return rc < 0 ? rc : 0;
}

/* Adds a recipient to those to remind, unless the list is full or has the recipient. */
static void receipt_remind(struct call *call, const char **names, const char *name)
{
	enum { REMIND_MOST = 20 };
	const size_t n = strlen(name);
	size_t named = 0;

	for (const char *s = *names; s && *s; s += strcspn(s, ","), s += *s == ',')
		if (++named == REMIND_MOST ||
		    (strcspn(s, ",") == n && !strncmp(s, name, n)))
			return;
	*names = arena_printf(&call->arena, "%s%s%s", *names ? *names : "",
			      *names ? "," : "", name);
}

int message_receipt(struct call *call, const struct message_receipt_in *in,
		    struct message_receipt_out *out)
{
	struct event_message_text_row text = { 0 };
	struct agent_name_row sender;
	struct message_head_row m;
	int64_t size;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = message_find(call, in->message_id, "/message_id", &m)) < 0)
		return rc;
	if (m.sender != call->caller.agent &&
	    who_leads(call, "/message_id", "the message's sender", "see its receipt") < 0)
		return fault_hint(
			&call->fault,
			"{message.list} shows the state of the messages that you "
			"got.");
	out->message_id = id_public(call, ID_MESSAGE, m.id, m.at);
	out->seq = m.id;
	out->sent_at = m.at;
	if ((rc = sql_row(call, agent_name, &sender, .id = m.sender)) < 0)
		return rc;
	out->from = rc > 0 ? sender.name : NULL;
	if ((rc = sql_row(call, event_message_text, &text, .id = m.id)) < 0)
		return rc;
	out->text = space_text(call, text.text, space_all(call) / 4, &size);
	rc = message_deliveries(call,
				&(struct delivery_page){ .message = m.id,
							 .after = in->after_name,
							 .limit = in->limit + 1 },
				&out->deliveries, &out->n_deliveries);
	for (size_t i = 0; i < out->n_deliveries; i++) {
		const struct delivery *d = &out->deliveries[i];

		if ((int64_t)i == in->limit || !space_take(call, &record_delivery, d)) {
			out->more = true;
			out->n_deliveries = i;
		} else if (d->has_ack_due_at && d->ack_due_at <= call->now) {
			receipt_remind(call, &out->remind, d->to);
		}
	}
	return rc;
}

int message_overdue(struct call *call, const struct message_overdue_in *in,
		    struct message_overdue_out *out)
{
	struct acks_overdue_row r;
	struct query q = { 0 };
	int rc = who_team(call, in->team);

	if (rc < 0)
		return rc;
	while ((rc = sql_each(
			call, &q, acks_overdue, &r, .team = call->caller.team,
			.now = call->now,
			.agent = call->caller.level >= WHO_LEAD ? 0 : call->caller.agent,
			.offset = in->offset, .limit = in->limit + 1)) > 0) {
		struct overdue o = {
			.message_id = id_public(call, ID_MESSAGE, r.message, r.at),
			.seq = r.message,
			.from = r.sender_name,
			.to = r.to_name,
			.state = r.state_now,
			.attempt = r.attempt,
			.timestamp = r.at,
			.due_at = r.ack_due_at,
		};

		o.content = space_cut(call, r.content, BEGINNING, &o.content_size);
		o.has_content_size = o.content_size > 0;
		if (!space_put(call, out, overdue, &record_overdue, &o, in->limit))
			break;
		receipt_remind(call, &out->remind, o.to);
	}
	query_end(&q);
	out->next = in->offset + (int64_t)out->n_overdue;
	return rc < 0 ? rc : 0;
}
