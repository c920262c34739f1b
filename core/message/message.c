#include "core/message/message.h"

#include <inttypes.h>
#include <string.h>

#include "core/agent/agent.h"
#include "core/assignment/assignment.h"
#include "core/call/id.h"
#include "core/message/inbox.h"
#include "core/team/budget.h"
#include "core/turn/chain.h"

/* Finds the message that this call has made. If this call repeats an earlier call, finds the
 * message of the earlier call. Cleaning may have deleted the message. */
static int find_made(struct call *call, struct message_head_row *m)
{
	int rc = sql_row(call, message_head, m, .id = call->made);

	return rc ? rc
		  : fault_set(&call->fault, FAULT_NOT_FOUND, "/idempotency_key",
			      "the message of the first call with this key was removed");
}

/* Finds a message that the agent `from` may answer. The agent `from` must have sent or received
 * the message, unless the caller leads the team. */
static int find_answerable(struct call *call, const char *id, const char *where,
			   const struct agent_row *from, struct message_head_row *m)
{
	struct delivery_of_row d;
	int rc = message_find(call, id, where, m);

	if (rc < 0 || m->sender == from->id || call->caller.level >= WHO_LEAD)
		return rc;
	rc = sql_row(call, delivery_of, &d, .message = m->id, .agent = from->id);
	return rc ? (rc < 0 ? rc : 0) : message_none(call, id, where);
}

int64_t message_store(struct call *call, const struct draft *d)
{
	int64_t id = sql_new_id(call, message);
	int rc;

	if (id < 0)
		return id;
	rc = sql_late(call, message_add, .id = id, .team = call->caller.team,
		      .sender = d->sender, .now = call->now,
		      .urgent = d->priority == PRIORITY_URGENT, .to_all = d->to_all,
		      .ack_required = d->ack_required, .type = d->type,
		      .content = d->content, .thread = d->thread, .reply_to = d->reply_to,
		      .expires_at = d->expires_at, .metadata = d->metadata,
		      .abroad = d->abroad, .chain = chain_of(call, d));

	return rc < 0 ? rc : id;
}

/* --- recipients ------------------------------------------------------------------ */

struct recipients {
	struct agent_row *agents;
	size_t n;
	bool all, subtree;
	bool abroad; /* some recipients are in another team */
	bool full; /* the only recipient's inbox was full, or its copy is delayed */
};

static bool message_has(const struct recipients *r, int64_t agent)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->agents[i].id == agent)
			return true;
	return false;
}

/* Refuses a message to an observer. An observer reads no inbox, so a message to an observer
 * would wait for ever. Assignments to an observer are not refused, since the observer's daemon
 * runs assignments. */
static int check_readers(struct call *call, const struct recipients *r)
{
	for (size_t i = 0; i < r->n; i++) {
		if (!who_observes(&r->agents[i]))
			continue;
		fault_set(&call->fault, FAULT_INVALID, "/to",
			  "%s is an observer; observers receive no messages",
			  r->agents[i].name);
		return fault_hint(&call->fault,
				  "Send to the lead or to a member with another role; "
				  "all can read notes on tasks and in the vault.");
	}
	return 0;
}

static void add_recipient(struct call *call, struct recipients *r,
			  const struct agent_row *a)
{
	struct agent_row *place;

	if (message_has(r, a->id))
		return;
	place = arena_push(&call->arena, &r->agents, &r->n, sizeof(*a));
	*place = *a;
	r->abroad |= a->team != call->caller.team;
}

/* Finds an agent of another team to whom the agent `from` may write. Returns 1 if the agent was
 * found, 0 if the address names no such agent, or a negative fault. */
static int find_across(struct call *call, const char *to, const struct agent_row *from,
		       struct agent_row *a)
{
	const char *slash = strchr(to, '/');

	if (!slash || !call->identity.agent)
		return 0;
	return sql_row(call, agent_across, a, .own = call->caller.team,
		       .leads = from->id == call->caller.agent &&
				call->caller.level >= WHO_LEAD,
		       .team_name = arena_strndup(&call->arena, to, (size_t)(slash - to)),
		       .name = slash + 1);
}

/* Adds the receivers of an address: one agent, or all agents with a role. */
static int add_address(struct call *call, const char *to, const struct agent_row *from,
		       int64_t except, struct recipients *r)
{
	struct agent_row a, *rows = &a;
	const char *role;
	size_t n = 1;
	int rc = find_across(call, to, from, &a);

	if (rc == 0 && (rc = who_role(call, to, "/to", &role)) > 0)
		rc = who_with_role(call, role, except, "/to", &rows, &n);
	else if (rc == 0)
		rc = who_agent(call, to, "/to", &a);
	for (size_t i = 0; rc >= 0 && i < n; i++)
		add_recipient(call, r, &rows[i]);
	return rc;
}

/* Whether the address in->to[i] is a role that in->to already contains before `i`. A role may
 * mean many agents, so each role is looked up only once. */
static bool message_is_said(const struct message_send_in *in, size_t i)
{
	for (size_t k = 0; k < i && strchr(in->to[i], ':'); k++)
		if (strcmp(in->to[k], in->to[i]) == 0)
			return true;
	return false;
}

/* Checks that the caller may write to all teams below the caller's team. Only the lead may do
 * this. */
static int check_subtree(struct call *call, struct recipients *r)
{
	if (!r->all)
		return fault_set(&call->fault, FAULT_INVALID, "/subtree",
				 "`subtree` needs the recipient `*`");
	if (call->caller.level < WHO_LEAD)
		return fault_set(&call->fault, FAULT_DENIED, "/subtree",
				 "only the lead can write to all teams below");
	r->subtree = r->abroad = true;
	return 0;
}

/* Finds the agents who receive a message. If an address is a role, the agent `except` is left
 * out of the agents with this role. */
static int find_recipients(struct call *call, const struct message_send_in *in,
			   const struct agent_row *from, int64_t except,
			   struct recipients *r)
{
	int rc;

	if (in->n_to == 0)
		return fault_set(&call->fault, FAULT_INVALID, "/to",
				 "names no recipient");
	for (size_t i = 0; i < in->n_to; i++) {
		if (strcmp(in->to[i], "*") == 0) {
			r->all = true;
			continue;
		}
		if (!message_is_said(in, i) &&
		    (rc = add_address(call, in->to[i], from, except, r)) < 0)
			return rc;
	}
	if (r->all && r->n > 0)
		return fault_set(
			&call->fault, FAULT_INVALID, "/to",
			"`*` already reaches every member: name no other recipient");
	return in->subtree ? check_subtree(call, r) : 0;
}

/* --- sending ------------------------------------------------------------------------ */

static int make_draft(struct call *call, const struct message_send_in *in,
		      const struct agent_row *from, struct draft *d)
{
	struct message_head_row parent;
	int rc;

	*d = (struct draft){
		.sender = from->id,
		.content = in->text,
		.type = in->message_type,
		.thread = in->thread,
		.metadata = in->metadata,
		.priority = in->priority,
		.ack_required = in->ack_required,
		.said = strcmp(in->message_type, "task_assignment") != 0,
		.paced = in->paced,
		.delays = in->on_limit == ON_LIMIT_DELAY,
	};
	if (in->has_ttl_seconds)
		d->expires_at = call->now + in->ttl_seconds * 1000;
	if (in->reply_to) {
		rc = find_answerable(call, in->reply_to, "/reply_to", from, &parent);
		if (rc < 0)
			return rc;
		d->reply_to = parent.id;
		if (!d->thread)
			d->thread = parent.thread ? parent.thread
						  : id_public(call, ID_MESSAGE, parent.id,
							      parent.at);
	}
	return 0;
}

/* If the lead or the operator sends in the name of another member, returns the caller's name,
 * which the event shows. Returns NULL if the caller is the sender. */
static const char *sent_by(const struct call *call, const struct draft *d)
{
	return d->sender == call->caller.agent ? NULL : call->caller.name;
}

static int send_one(struct call *call, const struct draft *d, struct recipients *r,
		    int64_t *message)
{
	const struct agent_row *to = r->agents;
	int rc;

	if ((*message = message_store(call, d)) < 0)
		return (int)*message;
	if ((rc = message_deliver(call, *message, d, to)) < 0)
		return rc;
	r->full = rc;
	return event_by(call, .kind = EVENT_MESSAGE_SENT, .team = call->caller.team,
			.actor = d->sender, .subject = *message, .target = to->id,
			.detail = sent_by(call, d));
}

/* Writes an event that wakes the recipient `to`, who may be in another team. If `to` is 0, the
 * event wakes all agents of the caller's team. */
static int tell_abroad(struct call *call, int64_t message, const struct draft *d,
		       int64_t to)
{
	return event_by(call, .kind = EVENT_MESSAGE_SENT, .team = call->caller.team,
			.actor = d->sender, .subject = message, .target = to);
}

/* Gives a copy to every member of the team except the agent `except`. If the message is also
 * for all teams below the team, the members of these teams get copies, too. */
static int deliver_all(struct call *call, int64_t message, struct draft *d,
		       const struct recipients *r, int64_t except)
{
	const struct caller was = call->caller;
	struct team_subtree_row *teams = NULL;
	size_t n = 0;
	int rc;

	if (!r->subtree)
		return message_deliver_all(call, message, d, except);
	rc = sql_all(call, team_subtree, &teams, &n, .team = was.team);
	for (size_t i = 0; i < n && rc >= 0; i++) {
		call->caller.team = teams[i].id;
		call->caller.inbox_capacity = teams[i].inbox_capacity;
		rc = message_deliver_all(call, message, d, except);
		if (rc >= 0 && teams[i].id != was.team)
			rc = tell_abroad(call, message, d, 0);
	}
	call->caller = was;
	return rc;
}

static int send_many(struct call *call, struct draft *d, const struct recipients *r,
		     int64_t except, int64_t *message)
{
	int rc = 0;

	d->to_all = r->all;
	if ((*message = message_store(call, d)) < 0)
		return (int)*message;
	if (r->all)
		rc = deliver_all(call, *message, d, r, except);
	for (size_t i = 0; i < r->n && rc >= 0; i++)
		if ((rc = message_deliver(call, *message, d, &r->agents[i])) >= 0 &&
		    r->agents[i].team != call->caller.team)
			rc = tell_abroad(call, *message, d, r->agents[i].id);
	if (rc < 0)
		return rc;
	return event_by(call, .kind = EVENT_MESSAGE_SENT, .team = call->caller.team,
			.actor = d->sender, .subject = *message,
			.detail = sent_by(call, d));
}

static int send_assignment(struct call *call, const struct draft *d,
			   const struct recipients *r, int64_t *message)
{
	struct task_payload p;

	if (r->all || r->n != 1)
		return fault_set(&call->fault, FAULT_INVALID, "/to",
				 "an assignment has one recipient");
	if (r->abroad)
		return fault_set(&call->fault, FAULT_DENIED, "/to",
				 "work can be assigned only within a team; ask the "
				 "other team's lead");
	if (assignment_parse(call, d->content, "/text", &p) < 0)
		return call->fault.code;
	*message = assignment_send(call, d, &r->agents[0], &p);
	return *message < 0 ? fault_move(&call->fault, "/task", "/text/task_id") : 0;
}

/* Counts a message against the team's budget. Messages from the operator, and messages to the
 * operator alone, do not count. */
static int message_spend(struct call *call, const struct recipients *r)
{
	if (!call->identity.agent ||
	    (r->n == 1 && r->agents->kind == AGENT_KIND_OPERATOR))
		return 0;
	return budget_take_message(call);
}

static int send_new(struct call *call, const struct message_send_in *in,
		    const struct agent_row *from, struct recipients *r,
		    struct drops *drops, struct skips *skips)
{
	int64_t except = in->exclude_self ? from->id : 0;
	struct draft d;
	int rc;

	if ((rc = find_recipients(call, in, from, except, r)) < 0 ||
	    (rc = make_draft(call, in, from, &d)) < 0)
		return rc;
	d.abroad = r->abroad;
	d.skips = in->on_limit == ON_LIMIT_SKIP ? skips : NULL;
	if (strcmp(d.type, "task_assignment") == 0)
		return send_assignment(call, &d, r, &call->made);
	if ((rc = check_readers(call, r)) < 0 ||
	    (!d.skips && (rc = message_spend(call, r)) < 0))
		return rc;
	d.drops = drops;
	if (r->n == 1 && !d.skips) /* the event of send_one() would name a receiver who
				      was skipped */
		return send_one(call, &d, r, &call->made);
	if ((rc = send_many(call, &d, r, except, &call->made)) < 0 || !skips->n_reached)
		return rc;
	return message_spend(call, r);
}

/* --- reporting ----------------------------------------------------------------------- */

enum { SHOWN = 100 }; /* maximum number of deliveries that an answer lists */
/* Maximum number of delayed messages to deliver before the search for a reply. */
enum { REPLIES_MOST = 100 };

/* Finds the answer to the call's message: the first reply, or else the first message that a
 * recipient has sent since. Returns 1, 0 if no answer came, or a negative fault code. */
static int find_reply(struct call *call, const struct agent_row *from,
		      struct reply_of_row *r)
{
	struct reply_free_row free;
	int rc = sql_row(call, reply_of, r, .message = call->made, .agent = from->id,
			 .now = call->now);

	if (rc != 0)
		return rc;
	rc = sql_row(call, reply_free, &free, .message = call->made, .agent = from->id,
		     .now = call->now);
	if (rc > 0)
		*r = (struct reply_of_row){ free.id, free.state, free.lapsed };
	return rc;
}

/* Hands out the reply for which a sender waits, in the transaction of this call. */
static int take_reply(struct call *call, const struct message_send_in *in,
		      const struct agent_row *from, struct message_send_out *out)
{
	struct reply_of_row r;
	int rc;

	if (!in->wait_for_reply)
		return 0;
	if ((rc = message_delayed_come(call, from->id, REPLIES_MOST)) < 0)
		return rc;
	rc = find_reply(call, from, &r);
	if (rc < 0)
		return rc;
	if (rc == 0) {
		if (in->timeout_seconds > 0) {
			call->wait_on = WAKE_INBOX;
			call->wait_key = from->id;
		}
		for (size_t i = 0; i < in->n_to && rc >= 0; i++)
			rc = agent_tell_doing(call, in->to[i], &out->doing);
		return rc;
	}
	if (r.lapsed && (rc = inbox_settle(call, from->id)) < 0)
		return rc;
	out->has_reply = true;
	out->has_already_fetched = out->already_fetched =
		!r.lapsed && r.state != DELIVERY_STATE_QUEUED &&
		r.state != DELIVERY_STATE_NOTIFIED;
	return inbox_take(call, from, r.id, in->idempotency_key, &out->reply);
}

/* Fills the answer for a message to one recipient whose inbox dropped no older message. The
 * answer contains values that this call has just written, so most sends need not read their own
 * rows again. */
static bool tell_only(struct call *call, const struct recipients *r,
		      struct message_send_out *out)
{
	struct delivery *copy;

	if (r->n != 1 || r->full || r->abroad)
		return false;
	out->message_id = id_public(call, ID_MESSAGE, call->made, call->now);
	out->seq = call->made;
	out->recipients = 1;
	copy = arena_push(&call->arena, &out->deliveries, &out->n_deliveries,
			  sizeof(*copy));
	*copy = (struct delivery){ .to = r->agents->name,
				   .state = DELIVERY_STATE_QUEUED };
	return out->message_id != NULL;
}

/* Fills the answer from the rows of the message. Adds the copies that were dropped to make room
 * for the message. */
static int tell_all(struct call *call, const struct drops *drops,
		    struct message_send_out *out)
{
	struct deliveries_count_row count;
	struct delayed_count_row delayed;
	struct message_head_row m;
	int rc;

	if ((rc = find_made(call, &m)) < 0)
		return rc;
	out->message_id = id_public(call, ID_MESSAGE, m.id, m.at);
	out->seq = m.id;
	out->dropped = (int64_t)drops->n;
	if ((rc = message_deliveries(call,
				     &(struct delivery_page){ .message = m.id,
							      .limit = SHOWN,
							      .drops = drops },
				     &out->deliveries, &out->n_deliveries)) < 0)
		return rc;
	if ((rc = sql_row(call, delayed_count, &delayed, .message = m.id)) < 0)
		return rc;
	out->recipients = (int64_t)out->n_deliveries;
	out->delayed = delayed.n;
	out->has_delayed = delayed.n > 0;
	if (out->n_deliveries == SHOWN) {
		rc = sql_row(call, deliveries_count, &count, .message = m.id);
		if (rc < 0)
			return rc;
		out->recipients = count.n + delayed.n;
	}
	return 0;
}

/* Refuses a message that has neither a text nor metadata. */
static int message_check_text(struct call *call, const char *text, const char *metadata)
{
	if (text[strspn(text, " \t\r\n")] || metadata)
		return 0;
	return fault_set(&call->fault, FAULT_INVALID, "/text",
			 "must contain more than blanks");
}

/* Names the recipients that got the message and the recipients that were skipped. Names are
 * short, so the answer lists the names of all recipients. */
static void tell_skips(const struct message_send_in *in, const struct skips *skips,
		       struct message_send_out *out)
{
	if (in->on_limit != ON_LIMIT_SKIP)
		return;
	out->reached = skips->reached;
	out->n_reached = skips->n_reached;
	out->skipped = skips->names;
	out->n_skipped = skips->n;
	out->n_deliveries = 0;
}

int message_send(struct call *call, const struct message_send_in *in,
		 struct message_send_out *out)
{
	struct recipients to = { 0 };
	struct drops drops = { 0 };
	struct skips skips = { 0 };
	struct agent_row from;
	bool fresh = call->made == 0;
	int rc;

	/* A bare name tells the team only if it is the only recipient. */
	if ((rc = who_team_of(call, in->team,
			      in->n_to == 1 || (in->n_to && strchr(in->to[0], '/'))
				      ? in->to[0]
				      : NULL,
			      "/to")) < 0 ||
	    (rc = who_is(call, in->from, "/from", &from)) < 0 ||
	    (rc = message_check_text(call, in->text, in->metadata)) < 0)
		return rc;
	if (fresh && (rc = send_new(call, in, &from, &to, &drops, &skips)) < 0)
		return rc;
	if (!(fresh && in->on_limit != ON_LIMIT_SKIP && tell_only(call, &to, out)) &&
	    (rc = tell_all(call, &drops, out)) < 0)
		return rc;
	tell_skips(in, &skips, out);
	return take_reply(call, in, &from, out);
}

/* Answers the message `parent`. If the sender holds `parent`, the same call acknowledges
 * `parent`. */
static int reply_new(struct call *call, const struct message_reply_in *in,
		     const struct agent_row *from, const struct message_head_row *parent,
		     struct drops *drops)
{
	struct draft d = { .sender = from->id,
			   .drops = drops,
			   .reply_to = parent->id,
			   .content = in->text,
			   .type = in->message_type,
			   .thread = parent->thread,
			   .metadata = in->metadata,
			   .priority = in->priority,
			   .said = true,
			   .delays = in->on_limit == ON_LIMIT_DELAY };
	struct agent_row to;
	struct recipients only = { .agents = &to, .n = 1 };
	int rc = sql_row(call, agent_by_id, &to, .id = parent->sender);

	if (rc < 0)
		return rc;
	if (!rc || to.gone)
		return fault_set(&call->fault, FAULT_NOT_FOUND, "/message_id",
				 "the message's sender is gone");
	if (strcmp(d.type, "task_assignment") == 0)
		return fault_set(&call->fault, FAULT_INVALID, "/message_type",
				 "a reply cannot assign work");
	if (!d.thread)
		d.thread = id_public(call, ID_MESSAGE, parent->id, parent->at);
	if ((rc = message_spend(call, &only)) < 0 ||
	    (rc = inbox_answer(call, from, parent->id)) < 0)
		return rc;
	d.abroad = to.team != call->caller.team;
	return send_one(call, &d, &only, &call->made);
}

int message_reply(struct call *call, const struct message_reply_in *in,
		  struct message_reply_out *out)
{
	struct message_head_row parent, m;
	struct delivery_of_row held;
	struct drops drops = { 0 };
	struct agent_row from;
	bool fresh = call->made == 0;
	int rc;

	if (in->on_limit == ON_LIMIT_SKIP)
		return fault_set(&call->fault, FAULT_INVALID, "/on_limit",
				 "a reply has one recipient, so `skip` has no other "
				 "recipient to go on to: use `refuse` or `delay`");
	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = who_acts(call, in->from, "/from", &from)) < 0 ||
	    (rc = message_check_text(call, in->text, in->metadata)) < 0 ||
	    (rc = message_delayed_come(call, from.id, REPLIES_MOST)) < 0 ||
	    (rc = find_answerable(call, in->message_id, "/message_id", &from, &parent)) <
		    0 ||
	    (fresh && (rc = reply_new(call, in, &from, &parent, &drops)) < 0) ||
	    (rc = find_made(call, &m)) < 0 ||
	    (rc = sql_row(call, delivery_of, &held, .message = parent.id,
			  .agent = from.id)) < 0)
		return rc;
	out->acked = rc > 0 && held.state == DELIVERY_STATE_ACKED;
	out->message_id = id_public(call, ID_MESSAGE, m.id, m.at);
	out->seq = m.id;
	return message_deliveries(
		call,
		&(struct delivery_page){ .message = m.id, .limit = 100, .drops = &drops },
		&out->deliveries, &out->n_deliveries);
}
