/*
 * message_receipt - the delivery of a message to each recipient.
 */
#include <stdlib.h>
#include <string.h>

#include "core/id.h"
#include "core/message.h"
#include "core/room.h"

int message_deliveries(struct call *call, int64_t message, const char *after,
		       int64_t limit, struct delivery **out, size_t *n)
{
	struct deliveries_row r;
	struct query q;
	int rc;

	sql_query(call, &q, deliveries, .message = message, .after = after,
		  .limit = limit, .now = call->now);
	while ((rc = sql_next(call, &q, &r)) > 0) {
		struct delivery *d = arena_push(&call->arena, out, n, sizeof(*d));

		*d = (struct delivery){
			.to = r.name,
			.state = r.state,
			.attempt = r.attempt,
			.notified_at = r.notified_at,
			.has_notified_at = r.notified_at != 0,
			.fetched_at = r.fetched_at,
			.has_fetched_at = r.fetched_at != 0,
			.done_at = r.done_at,
			.has_done_at = r.done_at != 0,
		};
	}
	return rc;
}

static int by_name(const void *name, const void *delivery)
{
	return strcmp(name, ((const struct delivery *)delivery)->to);
}

int message_dropped(struct call *call, int64_t seq, struct delivery *d, size_t n)
{
	struct dropped_since_row r;
	struct query q;
	int rc;

	if (n == 0)
		return 0;
	sql_query(call, &q, dropped_since, .seq = seq, .last = d[n - 1].to);
	while ((rc = sql_next(call, &q, &r)) > 0) {
		struct delivery *to = bsearch(r.name, d, n, sizeof(*d), by_name);
		const char **place;

		if (!to)
			continue;
		place = arena_push(&call->arena, &to->dropped, &to->n_dropped,
				   sizeof(*place));
		*place = id_public(call, ID_MESSAGE, r.message, r.at);
	}
	return rc;
}

int message_receipt(struct call *call, const struct message_receipt_in *in,
		    struct message_receipt_out *out)
{
	struct message_head_row m;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = message_find(call, in->message_id, "/message_id", &m)) < 0)
		return rc;
	if (m.sender != call->caller.agent && (rc = who_leads(call, "/message_id")) < 0)
		return rc;
	out->message_id = in->message_id;
	rc = message_deliveries(call, m.id, in->after_name, in->limit + 1,
				&out->deliveries, &out->n_deliveries);
	for (size_t i = 0; i < out->n_deliveries; i++)
		if (!room_take(call, &record_delivery, &out->deliveries[i])) {
			out->more = true;
			out->n_deliveries = i;
		}
	if ((int64_t)out->n_deliveries > in->limit) {
		out->more = true;
		out->n_deliveries = (size_t)in->limit;
	}
	return rc;
}
