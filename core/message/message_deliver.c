/*
 * message_deliver - puts copies of messages into inboxes of limited capacity.
 */
#include <string.h>

#include "core/access/pair.h"
#include "core/agent/agent.h"
#include "core/message/message.h"
#include "core/turn/chain.h"

/* --- full inboxes ------------------------------------------------------------- */

static void note_drop(struct call *call, struct drops *drops, int64_t message,
		      int64_t agent)
{
	struct drop *d;

	if (!drops)
		return;
	d = arena_push(&call->arena, &drops->rows, &drops->n, sizeof(*d));
	*d = (struct drop){ .message = message, .agent = agent };
}

static int message_deliver_drop_oldest(struct call *call, int64_t agent,
				       struct drops *drops)
{
	struct inbox_oldest_row old;
	int rc = sql_row(call, inbox_oldest, &old, .agent = agent);

	if (rc <= 0)
		return rc;
	rc = sql_run(call, delivery_drop, .message = old.message, .agent = agent,
		     .now = call->now);
	if (rc <= 0)
		return rc;
	rc = sql_late(call, inbox_less, .agent = agent, .queued = 1, .leased = 0);
	if (rc < 0)
		return rc;
	note_drop(call, drops, old.message, agent);
	return event_emit(call, EVENT_MESSAGE_DROPPED, old.message, agent, NULL);
}

/* Drops queued messages until an inbox is within its capacity. Before any drop, stores the ends
 * of leases and of messages whose time has run out. A message whose lease ended counts toward
 * the capacity again. An expired message does not count toward the capacity. */
static int keep_capacity(struct call *call, int64_t agent, int64_t capacity,
			 struct drops *drops)
{
	struct inbox_state_row in;
	int rc;

	if (capacity == 0)
		return 0;
	if ((rc = sql_row(call, inbox_state, &in, .agent = agent)) <= 0 ||
	    in.queued + in.leased <= capacity)
		return rc < 0 ? rc : 0;
	if ((rc = inbox_settle(call, agent)) < 0 ||
	    (rc > 0 && (rc = sql_row(call, inbox_state, &in, .agent = agent)) < 0))
		return rc;
	for (; in.queued > capacity; in.queued--)
		if ((rc = message_deliver_drop_oldest(call, agent, drops)) < 0)
			return rc;
	return 1;
}

/* --- delivering ----------------------------------------------------------------- */

static int64_t lane_of(const struct draft *d)
{
	if (strcmp(d->type, "task_assignment") == 0)
		return DELIVERY_LANE_ASSIGNMENT;
	return d->priority == PRIORITY_URGENT ? DELIVERY_LANE_URGENT
					      : DELIVERY_LANE_NORMAL;
}

/* SQL parameters about the acknowledgement of a copy that arrives at the time `from`. If an
 * acknowledgement is `required`, the parameters are the time at which the acknowledgement is
 * overdue, the sender's team and the sender. If no acknowledgement is `required`, the
 * parameters are zeros. */
#define OWED(call, required, from, team, sender)                                        \
	.ack_due_at =                                                                   \
		(required) ? (from) + (call)->settings->config.inbox_ack_seconds * 1000 \
			   : 0,                                                         \
	.owed_team = (required) ? (team) : 0, .owed_to = (required) ? (sender) : 0

/* Stores a copy that is delayed until the time `due`. */
static int delay(struct call *call, int64_t message, const struct draft *d,
		 const struct agent_row *to, int64_t due)
{
	int rc;

	if (d->expires_at && d->expires_at <= due)
		return fault_set(&call->fault, FAULT_INVALID, "/ttl_seconds",
				 "the message would arrive after the end of its life");
	rc = sql_late(call, delayed_add, .message = message, .agent = to->id,
		      .due_at = due);
	if (rc >= 0)
		rc = event_by(call, .kind = EVENT_MESSAGE_DELAYED, .team = to->team,
			      .actor = d->sender, .subject = message, .target = to->id);
	if (rc >= 0 && to->runs &&
	    (to->status == AGENT_STATUS_READY || to->status == AGENT_STATUS_IDLE))
		rc = agent_say_status(call, to, AGENT_STATUS_RATE_LIMITED);
	return rc < 0 ? rc : 1;
}

/* Puts a delayed copy into its recipient's inbox. */
static int deliver_copy(struct call *call, const struct delayed_due_row *r)
{
	const struct caller was = call->caller;
	int rc = sql_run(call, delayed_drop, .message = r->message, .agent = r->agent);

	if (rc <= 0)
		return rc;
	rc = sql_run(call, delayed_deliver, .message = r->message, .agent = r->agent,
		     .lane = r->urgent ? DELIVERY_LANE_URGENT : DELIVERY_LANE_NORMAL,
		     .expires_at = r->expires_at,
		     OWED(call, r->ack_required, r->due_at, r->from_team, r->sender));
	if (rc <= 0)
		return rc;
	call->caller = (struct caller){ .team = r->team, .agent = ACTOR_HOST };
	rc = sql_late(call, inbox_count, .agent = r->agent);
	if (rc >= 0)
		rc = event_emit(call, EVENT_MESSAGE_REQUEUED, r->message, r->agent, NULL);
	if (rc >= 0)
		rc = keep_capacity(call, r->agent, r->inbox_capacity, NULL);
	call->caller = was;
	return rc;
}

int message_delayed_come(struct call *call, int64_t agent, int64_t most)
{
	struct delayed_due_row *all = NULL;
	size_t n;
	int rc = sql_all(call, delayed_due, &all, &n, .agent = agent, .now = call->now,
			 .limit = most);

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = deliver_copy(call, &all[i]);
	return rc < 0 ? rc : (int)n;
}

int message_delayed_give_up(struct call *call, int64_t agent, int64_t team)
{
	int rc = sql_run(call, delayed_give_up, .agent = agent, .team = team);

	return rc <= 0 ? rc
		       : sql_run(call, delayed_given_up, .agent = agent, .team = team);
}

static void note_name(struct call *call, const char ***names, size_t *n,
		      const struct agent_row *to)
{
	const char **name = arena_push(&call->arena, names, n, sizeof(*name));

	*name = arena_strdup(&call->arena, to->name);
}

/* Skips a recipient if the sender's last message to this recipient is too recent. Returns 1 if
 * the recipient was skipped, or a negative fault. */
static int message_deliver_skip(struct call *call, const struct draft *d,
				const struct agent_row *to)
{
	if (!d->skips || call->fault.code != FAULT_RATE_LIMITED)
		return call->fault.code;
	call->fault = (struct fault){ 0 };
	note_name(call, &d->skips->names, &d->skips->n, to);
	return 1;
}

/* Whether the pace of pairs of agents (core/access/pair.h) applies to a copy for the agent
 * `to`. If `to` is NULL, the copy is for any agent. The pace applies to an agent's message to
 * itself only if the message starts a turn. */
static bool pair_applies(const struct call *call, const struct draft *d,
			 const struct agent_row *to)
{
	if (!d->said || (to && to->kind != AGENT_KIND_MEMBER) ||
	    (to && to->id == d->sender && !to->runs))
		return false;
	return pair_holds(call, d->paced || (to && to->runs));
}

/* Whether the copies for a whole team have to be delivered one by one. The copies are delivered
 * one by one if the draft has `skips`, if the pace of pairs of agents applies to some copies,
 * or if some copies start no turn. Returns 1 if the copies are delivered one by one, 0 if one
 * statement delivers them, or a negative fault. */
static int goes_singly(struct call *call, const struct draft *d, int64_t except)
{
	bool ends = chain_of(call, d) >= chain_most(call);
	struct runner_any_row any = { 0 };
	int rc;

	if (d->skips || pair_applies(call, d, NULL))
		return 1;
	if (!ends && !(d->said && pair_holds(call, true)))
		return 0;
	rc = sql_row(call, runner_any, &any, .team = call->caller.team, .except = except);
	return rc < 0 ? rc : any.any != 0;
}

int message_deliver(struct call *call, int64_t message, const struct draft *d,
		    const struct agent_row *to)
{
	int64_t lane = lane_of(d), capacity = call->caller.inbox_capacity;
	int64_t due = call->now;
	struct team_row t;
	int rc;

	if (pair_applies(call, d, to) &&
	    pair_ask(call, d->sender, to, d->delays, "/to", &due) < 0)
		return message_deliver_skip(call, d, to);
	if (chain_of(call, d) >= chain_most(call) && to->runs &&
	    (rc = chain_tell(call, to)) < 0)
		return rc;
	if (d->skips)
		note_name(call, &d->skips->reached, &d->skips->n_reached, to);
	if (due > call->now)
		return delay(call, message, d, to, due);
	rc = sql_late(call, delivery_add, .message = message, .agent = to->id,
		      .lane = lane, .expires_at = d->expires_at,
		      OWED(call, d->ack_required, call->now, call->caller.team,
			   d->sender));
	if (rc < 0 || lane == DELIVERY_LANE_ASSIGNMENT)
		return rc < 0 ? rc : 0;
	rc = sql_late(call, inbox_count, .agent = to->id);
	if (rc >= 0 && to->team != call->caller.team) {
		if ((rc = sql_row(call, team_by_id, &t, .id = to->team)) >= 0)
			capacity = t.inbox_capacity;
	}
	return rc < 0 ? rc : keep_capacity(call, to->id, capacity, d->drops);
}

/* Finds ended leases and expired messages in full inboxes, and stores their ends. This step
 * runs before any message is dropped. */
static int settle_full(struct call *call, int64_t except)
{
	struct inbox_full_due_row *all = NULL;
	size_t n;
	int rc;

	rc = sql_all(call, inbox_full_due, &all, &n, .team = call->caller.team,
		     .sender = except, .inbox_capacity = call->caller.inbox_capacity,
		     .now = call->now);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = inbox_settle(call, all[i].id);
	return rc;
}

/* Drops a copy from each full inbox, to make room for the new copy. The counters of a full
 * inbox do not change, since one copy leaves and one copy enters. */
static int drop_one_each(struct call *call, int64_t except, struct drops *drops)
{
	struct inbox_drop_all_row *all = NULL;
	int64_t first = INT64_MAX, last = 0;
	size_t n;
	int rc = sql_all(call, inbox_drop_all, &all, &n, .now = call->now,
			 .kind = EVENT_MESSAGE_DROPPED, .team = call->caller.team,
			 .actor = call->caller.agent, .via = call->identity.as,
			 .sender = except, .inbox_capacity = call->caller.inbox_capacity);

	store_renumber(call->store, sql_event_new_id);
	for (size_t i = 0; i < n && rc >= 0; i++) {
		first = all[i].seq < first ? all[i].seq : first;
		last = all[i].seq > last ? all[i].seq : last;
		note_drop(call, drops, all[i].message, all[i].agent);
	}
	return rc < 0 || !n
		       ? rc
		       : sql_run(call, delivery_drop_all, .now = call->now,
				 .first = first, .last = last, .team = call->caller.team,
				 .kind = EVENT_MESSAGE_DROPPED);
}

/* Drops copies from inboxes that exceed their capacity because leases have ended. */
static int drop_surplus(struct call *call, struct drops *drops)
{
	struct inbox_over_row full;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, inbox_over, &full, .team = call->caller.team,
			      .inbox_capacity = call->caller.inbox_capacity)) > 0)
		if ((rc = keep_capacity(call, full.id, call->caller.inbox_capacity,
					drops)) < 0)
			break;
	query_end(&q);
	return rc;
}

/* Delivers a message to the members of a team one by one. If the pace of pairs of agents
 * applies to a broadcast, the broadcast counts once for each pair of the sender and a member. */
static int deliver_each(struct call *call, int64_t message, const struct draft *d,
			int64_t except)
{
	struct agent_row *all = NULL;
	size_t n = 0;
	int rc = sql_all(call, agents_reading, &all, &n, .team = call->caller.team,
			 .except = except);

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = message_deliver(call, message, d, &all[i]);
	return rc < 0 ? rc : 0;
}

int message_deliver_all(struct call *call, int64_t message, const struct draft *d,
			int64_t except)
{
	int64_t capacity = call->caller.inbox_capacity;
	int rc = goes_singly(call, d, except);

	if (rc != 0)
		return rc < 0 ? rc : deliver_each(call, message, d, except);
	if (capacity && (rc = settle_full(call, except)) < 0)
		return rc;
	if ((rc = sql_run(call, delivery_add_all, .message = message,
			  .team = call->caller.team, .sender = except, .lane = lane_of(d),
			  .expires_at = d->expires_at,
			  OWED(call, d->ack_required, call->now, call->caller.team,
			       d->sender))) < 0)
		return rc;
	if (capacity && (rc = drop_one_each(call, except, d->drops)) < 0)
		return rc;
	if ((rc = sql_run(call, inbox_count_all, .team = call->caller.team,
			  .sender = except, .inbox_capacity = capacity)) < 0)
		return rc;
	return capacity ? drop_surplus(call, d->drops) : 0;
}
