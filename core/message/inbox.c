#include "core/message/inbox.h"

#include <string.h>

#include "core/assignment/assignment.h"
#include "core/base/hash.h"
#include "core/call/id.h"
#include "core/call/space.h"
#include "core/team/estop.h"
#include "core/turn/chain.h"

enum { HANDFUL = 100 }; /* maximum number of messages in one answer */

/* Hashes a text to 63 bits. The hash is 0 only for NULL. Rows contain hashes instead of the
 * names of sessions and requests. */
static int64_t text_hash(const char *s)
{
	uint64_t h;

	if (!s)
		return 0;
	h = hash_text(s);
	h = (h ^ h >> 29) >> 1;
	return h ? (int64_t)h : 1;
}

/* Hashes the name that a caller gives to a hand-out or to a session. The same text gives
 * different hashes for different callers. */
int64_t inbox_name(const struct call *call, int64_t agent, const char *text)
{
	uint64_t h = (uint64_t)text_hash(text);

	if (!h)
		return 0;
	h = (h * HASH_PRIME) ^ (uint64_t)call->caller.agent;
	h = (h * HASH_PRIME) ^ (uint64_t)agent;
	return (int64_t)(h >> 1 | 1);
}

bool inbox_knows(const struct call *call, int64_t agent, const struct inbox_row *m,
		 const char *const *seen, size_t n)
{
	int64_t session = inbox_name(call, agent, call->identity.session);

	if (!session || !m->attempt || m->session != session)
		return false;
	if (m->seen)
		return true;
	for (size_t i = 0; i < n; i++)
		if (inbox_name(call, agent, seen[i]) == m->request)
			return true;
	return false;
}

/* --- ended leases and messages -------------------------------------------------- */

int delivery_leave(struct call *call, const struct inbox_lapsed_row *d, int64_t state)
{
	static const int events[] = { [DELIVERY_STATE_EXPIRED] = EVENT_MESSAGE_EXPIRED,
				      [DELIVERY_STATE_DEAD] = EVENT_MESSAGE_DEAD };
	bool held = d->state == DELIVERY_STATE_FETCHED;
	int rc;

	rc = sql_run(call, delivery_end, .message = d->message, .agent = d->agent,
		     .state = state, .now = call->now);
	if (rc <= 0)
		return rc;
	if (d->lane != DELIVERY_LANE_ASSIGNMENT &&
	    (rc = sql_late(call, inbox_less, .agent = d->agent, .queued = !held,
			   .leased = held)) < 0)
		return rc;
	return event_by(call, .kind = events[state], .team = d->team, .actor = ACTOR_HOST,
			.subject = d->message, .target = d->agent);
}

int delivery_expire(struct call *call, const struct inbox_lapsed_row *d)
{
	int rc;

	if (d->state != DELIVERY_STATE_FETCHED)
		return delivery_leave(call, d, DELIVERY_STATE_EXPIRED);
	if (d->after_lapse == DELIVERY_STATE_DEAD)
		return delivery_leave(call, d, DELIVERY_STATE_DEAD);
	if (d->expires_at && d->expires_at <= call->now)
		return delivery_leave(call, d, DELIVERY_STATE_EXPIRED);
	if ((rc = sql_run(call, delivery_requeue, .message = d->message,
			  .agent = d->agent, .expires_at = d->expires_at)) <= 0 ||
	    (rc = sql_run(call, inbox_requeued, .agent = d->agent)) < 0)
		return rc;
	return event_by(call, .kind = EVENT_MESSAGE_REQUEUED, .team = d->team,
			.actor = ACTOR_HOST, .subject = d->message, .target = d->agent);
}

int inbox_settle(struct call *call, int64_t agent)
{
	struct inbox_lapsed_row *all = NULL;
	size_t n;
	int rc;

	rc = sql_all(call, inbox_lapsed, &all, &n, .agent = agent, .now = call->now);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = delivery_expire(call, &all[i]);
	return rc < 0 ? rc : (int)n;
}

int inbox_unlease(struct call *call, int64_t agent)
{
	struct agent_unlease_row *all = NULL;
	size_t n;
	int rc = sql_all(call, agent_unlease, &all, &n, .agent = agent);

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = event_emit(call, EVENT_MESSAGE_REQUEUED, all[i].message, agent,
				NULL);
	return rc < 0 ? rc : 0;
}

int inbox_counters(struct call *call, int64_t agent, struct inbox_state_row *out)
{
	struct inbox_overdue_row over;
	struct delayed_of_row came;
	int rc = sql_row(call, inbox_state, out, .agent = agent);

	if (rc <= 0 ||
	    (rc = sql_row(call, inbox_overdue, &over, .agent = agent,
			  .now = call->now)) <= 0 ||
	    (rc = sql_row(call, delayed_of, &came, .agent = agent, .now = call->now)) < 0)
		return rc;
	out->queued += over.queued + came.n;
	out->leased -= over.leased;
	return 0;
}

/* --- envelopes -------------------------------------------------------------------- */

/* Returns the name of a conversation. In a brief answer, a number stands for the id of the
 * conversation's first message. */
static const char *envelope_thread(struct call *call, const char *thread)
{
	int64_t row, at;

	if (!thread || !call->form.brief ||
	    id_parse(call, ID_MESSAGE, thread, &row, &at) <= 0)
		return thread;
	return arena_printf(&call->arena, "#%lld", (long long)row);
}

void envelope_fill(struct call *call, const struct envelope_row *e, struct envelope *out)
{
	*out = (struct envelope){
		.message_id = id_public(call, ID_MESSAGE, e->id, e->at),
		.seq = e->id,
		.from = e->name,
		.to = e->to_all    ? "*"
		      : e->to_name ? e->to_name
				   : "",
		.content = e->content,
		.message_type = e->type,
		.timestamp = e->at,
		.priority = e->urgent ? PRIORITY_URGENT : PRIORITY_NORMAL,
		.thread = envelope_thread(call, e->thread),
		.has_ack_required = e->ack_required,
		.ack_required = e->ack_required,
		.metadata = e->metadata,
	};
	if (e->reply_to && e->reply_at) /* reply_at is 0 if cleaning has deleted the
					   message `reply_to` */
		out->reply_to = id_public(call, ID_MESSAGE, e->reply_to, e->reply_at);
	out->has_answers = out->reply_to != NULL;
	out->answers = e->reply_to;
}

/* Bytes that the field `content_size` adds to an envelope. */
enum { SIZE_FIELD = 48 };

bool envelope_take(struct call *call, struct envelope *e)
{
	size_t size = space_size(call, &record_envelope, e), all = space_all(call);

	if (e->metadata && size >= all) {
		e->has_metadata_size = true;
		e->metadata_size = (int64_t)strlen(e->metadata);
		e->metadata = NULL;
		size = space_size(call, &record_envelope, e);
	}
	if (size >= all && space_is_whole(call)) {
		size_t rest = size - text_json_size(e->content) + SIZE_FIELD;

		e->content = space_cut(call, e->content, all > rest ? all - rest : 0,
				       &e->content_size);
		e->has_content_size = true;
		size = space_size(call, &record_envelope, e);
	}
	return space_take_bytes(call, size);
}

static void envelope_of(struct call *call, const struct inbox_row *r, const char *to,
			struct envelope *out)
{
	struct envelope_row e = { .id = r->message,
				  .at = r->at,
				  .urgent = r->lane == DELIVERY_LANE_URGENT,
				  .ack_required = r->ack_required,
				  .type = r->type,
				  .content = r->content,
				  .thread = r->thread,
				  .reply_to = r->reply_to,
				  .reply_at = r->reply_at,
				  .metadata = r->metadata,
				  .name = r->sender_name,
				  .to_name = to };

	envelope_fill(call, &e, out);
	out->attempt = r->attempt;
}

/* --- handing out ------------------------------------------------------------------- */

struct handing {
	struct call *call;
	const struct agent_row *agent;
	int64_t lease_until; /* end of the lease; 0: the messages are acknowledged at
				once */
	int64_t session, request;
	bool takes; /* the messages are acknowledged when the answer has arrived */
	bool acks; /* the hand-out acknowledges what the session has seen */
	bool lapsed; /* the session has seen a message that waits again */
	struct envelope *out;
	size_t n;
	size_t n_again; /* messages in `out` that were in an earlier answer that did not
			   arrive */
	int64_t held; /* messages under a lease of any session */
	int64_t chain; /* the highest chain number in `out`; see core/turn/chain.h */
	bool more;
	struct showing *shows; /* space for messages that a model sees; may be NULL */
};

static int inbox_fetch(struct handing *h, int64_t message)
{
	struct call *call = h->call;

	return sql_late(call, delivery_fetch, .message = message, .agent = h->agent->id,
			.lease_until = h->lease_until,
			.session = h->takes ? 0 : h->session, .request = h->request,
			.max_attempts = call->settings->config.inbox_max_attempts,
			.now = call->now);
}

/* Whether the end of a lease is known. While a team is stopped, the ends of its leases are not
 * known, because the time of its leases does not run. */
static bool inbox_is_known(const struct call *call, int64_t until)
{
	return until != 0 && until < ESTOP_FAR && !call->caller.team_stopped;
}

/* Takes space for a message from `shows`, the space for messages that are shown to a model. If
 * the first message is larger than the space, cuts the content of the message. */
static bool take_shown(struct handing *h, struct envelope *e)
{
	size_t head = HEAD_SHOWN + strlen(e->from) + strlen(e->message_type) +
		      (e->thread ? strlen(e->thread) : 0);
	size_t size = head + text_json_size(e->content);

	if (size > h->shows->bytes) {
		if (h->n)
			return false;
		e->content =
			space_cut(h->call, e->content,
				  h->shows->bytes > head ? h->shows->bytes - head : 0,
				  &e->content_size);
		e->has_content_size = true;
		size = h->shows->bytes;
	}
	h->shows->bytes -= size;
	return true;
}

/* Adds a message to the answer. Returns false if the message does not fit. Such a message is
 * left for the next answer. */
static bool inbox_add(struct handing *h, const struct inbox_row *r, int64_t lease_until)
{
	struct envelope e;

	envelope_of(h->call, r, h->agent->name, &e);
	e.has_lease_until = !h->takes && inbox_is_known(h->call, lease_until);
	e.lease_until = e.has_lease_until ? lease_until : 0;
	if ((h->shows && !take_shown(h, &e)) || !envelope_take(h->call, &e))
		return false;
	arena_add(&h->call->arena, h->out, h->n, e);
	h->chain = r->chain > h->chain ? r->chain : h->chain;
	return true;
}

/* Adds to the answer the messages that a repeated request still holds. */
static int held_by_request(struct handing *h)
{
	struct call *call = h->call;
	struct inbox_row r;
	struct query q = { 0 };
	int rc;

	if (!h->request)
		return 0;
	while ((rc = sql_each(call, &q, inbox_held, &r, .agent = h->agent->id,
			      .request = h->request, .now = call->now,
			      .limit = HANDFUL)) > 0 &&
	       !h->more)
		h->more = !inbox_add(h, &r, r.due_at);
	return query_over(&q, rc);
}

/* Adds unseen messages: this session holds them from an earlier answer that did not arrive.
 * inbox_hand_out() first calls this function without `often`, to add the unseen messages with
 * few attempts. After that, inbox_hand_out() adds new messages, and calls this function with
 * `often`, to add the unseen messages with many attempts. So even a client that never confirms
 * an arrival gets every message sooner or later.
 *
 * A receive that has waited adds no unseen messages, since the receive added all unseen
 * messages before its wait. Messages that became unseen during the wait may be on their way to
 * another receive of the same session. */
static int unseen_messages(struct handing *h, bool often, int64_t limit)
{
	struct call *call = h->call;
	struct inbox_row r;
	struct query q = { 0 };
	size_t before = h->n;
	int rc = 0;

	if (!h->session || !h->held || call->waited)
		return 0;
	while ((int64_t)h->n < limit && !h->more &&
	       (rc = sql_each(call, &q, inbox_unseen, &r, .agent = h->agent->id,
			      .session = h->session, .often = often,
			      .most = call->settings->config.inbox_max_attempts,
			      .now = call->now, .limit = limit - (int64_t)h->n)) > 0) {
		r.attempt++;
		h->more = !inbox_add(h, &r, h->lease_until);
	}
	query_end(&q);
	h->n_again += h->n - before;
	return rc < 0 ? rc : 0;
}

/* Adds new messages, but none that the session has seen. Such a message waits again because its
 * lease has ended. */
static int next_messages(struct handing *h, int64_t limit)
{
	struct call *call = h->call;
	struct inbox_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, inbox_next, &r, .agent = h->agent->id,
			      .now = call->now, .limit = INT64_MAX)) > 0) {
		if (h->acks && inbox_knows(call, h->agent->id, &r, NULL, 0)) {
			h->lapsed = true;
			continue;
		}
		r.attempt++;
		h->more |= h->shows && h->shows->urgent && r.lane != DELIVERY_LANE_URGENT;
		if (h->more || (int64_t)h->n >= limit ||
		    !inbox_add(h, &r, h->lease_until)) {
			h->more |= (int64_t)h->n < limit || limit == HANDFUL;
			break;
		}
	}
	query_end(&q);
	return rc < 0 ? rc : 0;
}

/* Updates the counters of the inbox for the messages of the answer. Messages that were handed
 * out before are already counted as leased. */
static int count_out(struct handing *h)
{
	int64_t again = (int64_t)h->n_again, fresh = (int64_t)h->n - again;

	return sql_late(h->call, inbox_fetched, .agent = h->agent->id, .n = fresh,
			.leased = h->lease_until ? fresh : -again);
}

static int fetch_all(struct handing *h)
{
	int rc = 0;

	for (size_t i = 0; i < h->n && rc >= 0; i++)
		rc = inbox_fetch(h, h->out[i].seq);
	if (rc >= 0)
		rc = count_out(h);
	for (size_t i = 0; i < h->n && rc >= 0; i++)
		rc = event_emit(h->call, EVENT_MESSAGE_FETCHED, h->out[i].seq,
				h->agent->id, h->lease_until ? NULL : "for good");
	return rc < 0 ? rc : 0;
}

static int ack_session(struct handing *h, int64_t arrived)
{
	struct call *call = h->call;
	struct inbox_ack_session_row *all = NULL;
	int64_t late = 0, held;
	size_t n;
	int rc;

	rc = sql_all(call, inbox_ack_session, &all, &n, .agent = h->agent->id,
		     .session = h->session, .arrived = arrived, .now = call->now);
	if (rc < 0 || n == 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		late += all[i].late;
	held = (int64_t)n - late;
	h->held -= held;
	rc = sql_late(call, inbox_less, .agent = h->agent->id, .queued = late,
		      .leased = held);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = event_emit(call, EVENT_MESSAGE_ACKED, all[i].message, h->agent->id,
				NULL);
	return rc;
}

static int inbox_note_seen(struct call *call, int64_t agent, const char *const *requests,
			   size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = sql_run(call, delivery_seen, .agent = agent,
			     .request = inbox_name(call, agent, requests[i]));
	return rc < 0 ? rc : 0;
}

/* Acknowledges the messages that the caller has seen, unless the caller sets `keep`. Usually a
 * caller names one answer as seen. For this answer, one SQL statement marks the messages as
 * seen and acknowledges them. */
static int acknowledge(struct handing *h, const struct message_receive_in *in)
{
	struct call *call = h->call;
	const char *const *named = (const char *const *)in->seen;
	size_t first = h->acks && in->n_seen ? in->n_seen - 1 : in->n_seen;
	int rc = inbox_note_seen(call, h->agent->id, named, first);

	if (rc < 0 || !h->acks)
		return rc;
	return ack_session(
		h, first < in->n_seen ? inbox_name(call, h->agent->id, named[first]) : 0);
}

static int inbox_hand_out(struct handing *h, const struct message_receive_in *in)
{
	struct call *call = h->call;
	int64_t limit = in->limit > HANDFUL ? HANDFUL : in->limit;
	int rc;

	h->acks = !in->keep && h->session;
	if ((rc = held_by_request(h)) < 0)
		return rc;
	if (h->n > 0)
		return inbox_note_seen(call, h->agent->id, (const char *const *)in->seen,
				       in->n_seen);
	if ((h->held || in->n_seen) && (rc = acknowledge(h, in)) < 0)
		return rc;
	if ((rc = unseen_messages(h, false, limit)) < 0 ||
	    (rc = next_messages(h, limit)) < 0 ||
	    (rc = unseen_messages(h, true, limit)) < 0 ||
	    (h->lapsed && (rc = acknowledge(h, in)) < 0) || h->n == 0)
		return rc;
	return fetch_all(h);
}

static int64_t usual_lease(const struct call *call)
{
	return call->now + call->settings->config.inbox_lease_seconds * 1000;
}

/* Sets the end of the lease, and the names of the session and the request that hold the
 * messages. A caller may want its messages to be acknowledged at once. If the caller's door
 * will report whether the answer arrived, the messages first get the usual lease. While a
 * request holds messages, no other receive gets the messages, not even a receive of the same
 * session. */
static void set_terms(struct handing *h, const struct message_receive_in *in)
{
	struct call *call = h->call;

	h->session = inbox_name(call, h->agent->id, call->identity.session);
	h->request = inbox_name(call, h->agent->id, in->request_id);
	h->takes = in->has_lease_seconds && !in->lease_seconds && call->settles;
	if (h->takes && !h->request)
		h->request = (int64_t)(call->seed >> 1 | 1);
	if (h->takes || !in->has_lease_seconds)
		h->lease_until = usual_lease(call);
	else if (in->lease_seconds)
		h->lease_until = call->now + in->lease_seconds * 1000;
}

/* Collects results of assignments. A request that has already collected results gets the same
 * results again. Any other request gets the results of earlier answers that did not arrive,
 * followed by new results. */
static int bring_results(const struct handing *h, int64_t collected_at,
			 const struct message_receive_in *in,
			 struct message_receive_out *out)
{
	struct call *call = h->call;
	bool any = collected_at > call->now - RESULT_REPEAT_MS;
	struct collecting c = { .agent = h->agent,
				.request = h->request,
				.session = h->lease_until ? h->session : 0,
				.takes = h->takes,
				.unseen = any };
	int rc = 0;

	for (size_t i = 0; i < in->n_seen && any && rc >= 0; i++)
		rc = sql_run(call, result_seen,
			     .request = inbox_name(call, h->agent->id, in->seen[i]));
	if (rc < 0 ||
	    (any && ((rc = result_again(call, h->agent, h->request, &out->results,
					&out->n_results, &out->more)) < 0 ||
		     out->n_results)))
		return rc;
	return result_collect(call, &c, &out->results, &out->n_results, &out->more);
}

int message_receive(struct call *call, const struct message_receive_in *in,
		    struct message_receive_out *out)
{
	struct handing h = { .call = call };
	struct inbox_opened_row open = { 0 };
	struct inbox_state_row now = { 0 };
	struct agent_row a;
	int rc;

	if ((rc = who_team_of(call, in->team, in->agent, "/agent")) < 0 ||
	    (rc = who_is(call, in->agent, "/agent", &a)) < 0 ||
	    (rc = sql_row(call, inbox_opened, &open, .agent = a.id, .now = call->now)) <
		    0 ||
	    (open.came && (rc = message_delayed_come(call, a.id, HANDFUL)) < 0))
		return rc;
	h.agent = &a;
	set_terms(&h, in);
	h.held = open.leased;
	if ((open.leased || open.queued || open.came) &&
	    ((rc = inbox_settle(call, a.id)) < 0 || (rc = inbox_hand_out(&h, in)) < 0))
		return rc;
	out->messages = h.out;
	out->n_messages = h.n;
	out->count = (int64_t)h.n;
	out->more = h.more;
	if (h.n > 0 && (rc = chain_follow(call, &a, h.chain + 1)) < 0)
		return rc;
	if ((rc = bring_results(&h, open.collected_at, in, out)) < 0 ||
	    (rc = sql_row(call, inbox_state, &now, .agent = a.id)) < 0)
		return rc;
	out->pending = now.queued;
	out->pending_tasks = now.assignments;
	if (h.n > 0 || out->n_results > 0) {
		if (h.lease_until && h.request)
			call->given = (struct given){ .agent = a.id,
						      .request = h.request,
						      .for_good = h.takes };
	} else if (in->wait_seconds > 0) {
		call->wait_on = WAKE_INBOX;
		call->wait_key = a.id;
	}
	return 0;
}

/* Milliseconds in which a hook must show its messages. A hook that has not shown its messages
 * within SHOWING_MS will never show its messages. */
enum { SHOWING_MS = 30000 };

int inbox_show(struct call *call, const struct agent_row *agent, struct showing *s)
{
	struct handing h = { .call = call, .agent = agent, .shows = s };
	int rc;

	h.request = inbox_name(call, agent->id, s->request);
	h.lease_until = usual_lease(call);
	if (h.lease_until > call->now + SHOWING_MS)
		h.lease_until = call->now + SHOWING_MS;
	if ((rc = inbox_settle(call, agent->id)) < 0 || (rc = held_by_request(&h)) < 0)
		return rc;
	if (h.n == 0 && ((rc = next_messages(&h, HANDFUL)) < 0 ||
			 (h.n > 0 && (rc = fetch_all(&h)) < 0)))
		return rc;
	s->messages = h.out;
	s->n = h.n;
	s->chain = h.chain;
	if (h.n > 0 && h.request)
		call->given = (struct given){ .agent = agent->id, .request = h.request };
	return 0;
}

int inbox_take(struct call *call, const struct agent_row *agent, int64_t message,
	       const char *request, struct envelope *out)
{
	struct handing h = { .call = call, .agent = agent };
	struct delivery_of_row d;
	struct envelope_row e;
	int rc;

	h.session = inbox_name(call, agent->id, call->identity.session);
	h.request = inbox_name(call, agent->id, request);
	h.lease_until = usual_lease(call);
	rc = sql_row(call, envelope_one, &e, .id = message, .team = call->caller.team,
		     .agent = agent->id);
	if (rc <= 0 || (rc = sql_row(call, delivery_of, &d, .message = message,
				     .agent = agent->id)) < 0)
		return rc;
	if (d.state == DELIVERY_STATE_QUEUED || d.state == DELIVERY_STATE_NOTIFIED) {
		if ((rc = inbox_fetch(&h, message)) < 0 ||
		    (rc = sql_late(call, inbox_fetched, .agent = agent->id, .n = 1,
				   .leased = 1)) < 0 ||
		    (rc = event_emit(call, EVENT_MESSAGE_FETCHED, message, agent->id,
				     NULL)) < 0)
			return rc;
		if (h.request)
			call->given = (struct given){ .agent = agent->id,
						      .request = h.request };
	}
	rc = sql_row(call, delivery_of, &d, .message = message, .agent = agent->id);
	if (rc < 0)
		return rc;
	e.to_all = 0;
	e.to_name = agent->name;
	envelope_fill(call, &e, out);
	out->attempt = d.attempt;
	out->has_lease_until = d.state == DELIVERY_STATE_FETCHED &&
			       inbox_is_known(call, d.due_at);
	out->lease_until = out->has_lease_until ? d.due_at : 0;
	envelope_take(call, out);
	return 0;
}

int inbox_hand(struct call *call, const struct agent_row *agent, int64_t request,
	       int64_t until, struct envelope **out, size_t *n)
{
	struct handing h = {
		.call = call, .agent = agent, .request = request, .lease_until = until
	};
	int rc = message_delayed_come(call, agent->id, HANDFUL);

	if (rc < 0 || (rc = inbox_settle(call, agent->id)) < 0 ||
	    (rc = next_messages(&h, HANDFUL)) < 0 || (h.n && (rc = fetch_all(&h)) < 0))
		return rc;
	*out = h.out;
	*n = h.n;
	return 0;
}

/* --- acknowledging --------------------------------------------------------------------------- */

/* Acknowledges one message that `agent` holds under a live lease. Returns 1 if the message was
 * acknowledged, 0 if the agent does not hold the message, or a negative fault. */
static int inbox_ack(struct call *call, const struct agent_row *agent, int64_t message)
{
	int rc = sql_run(call, delivery_ack, .message = message, .agent = agent->id,
			 .now = call->now);

	if (rc <= 0)
		return rc;
	if ((rc = sql_late(call, inbox_less, .agent = agent->id, .queued = 0,
			   .leased = 1)) < 0 ||
	    (rc = event_emit(call, EVENT_MESSAGE_ACKED, message, agent->id, NULL)) < 0)
		return rc;
	return 1;
}

int inbox_answer(struct call *call, const struct agent_row *agent, int64_t message)
{
	struct delivery_of_row d;
	int rc = sql_row(call, delivery_of, &d, .message = message, .agent = agent->id);

	if (rc <= 0 || (rc = sql_run(call, delivery_answer, .message = message,
				     .agent = agent->id, .now = call->now)) <= 0)
		return rc;
	rc = sql_late(call, inbox_less, .agent = agent->id,
		      .queued = d.state != DELIVERY_STATE_FETCHED,
		      .leased = d.state == DELIVERY_STATE_FETCHED);
	return rc < 0 ? rc
		      : event_emit(call, EVENT_MESSAGE_ACKED, message, agent->id, NULL);
}

static int inbox_not_held(struct call *call, const struct agent_row *a, int64_t message,
			  size_t i)
{
	struct delivery_of_row d;
	const char *where = arena_printf(&call->arena, "/message_ids/%zu", i);
	int rc = sql_row(call, delivery_of, &d, .message = message, .agent = a->id);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return fault_set(&call->fault, FAULT_NOT_FOUND, where,
				 "the message was not sent to %s", a->name);
	fault_set(&call->fault, FAULT_CONFLICT, where, "%s does not hold the message now",
		  a->name);
	return fault_hint(&call->fault,
			  "Receive the message again before you acknowledge it; "
			  "{message.list} shows its state.");
}

int message_ack(struct call *call, const struct message_ack_in *in,
		struct message_ack_out *out)
{
	struct message_head_row m;
	struct agent_row a;
	int rc;

	if ((rc = who_team_of(call, in->team, in->agent, "/agent")) < 0 ||
	    (rc = who_is(call, in->agent, "/agent", &a)) < 0)
		return rc;
	out->acked = (int64_t)in->n_message_ids;
	if (call->made)
		return 0;
	if (in->n_message_ids == 0)
		return fault_set(&call->fault, FAULT_INVALID, "/message_ids",
				 "names no message");
	for (size_t i = 0; i < in->n_message_ids; i++) {
		rc = message_find(call, in->message_ids[i],
				  arena_printf(&call->arena, "/message_ids/%zu", i), &m);
		if (rc < 0 || (rc = inbox_ack(call, &a, m.id)) < 0)
			return rc;
		if (rc == 0)
			return inbox_not_held(call, &a, m.id, i);
	}
	call->made = a.id;
	return 0;
}

/* Adds messages of a query to a page. `*passed` counts the messages that the query has returned
 * so far. If the page is full, `*more` is set to true. */
static int show_page(struct handing *h, struct query *q, const struct message_peek_in *in,
		     int64_t *passed, bool *more)
{
	struct inbox_row r;
	int rc;

	while ((rc = sql_next(h->call, q, &r)) > 0) {
		if ((*passed)++ < in->offset)
			continue;
		if ((int64_t)h->n >= in->limit || !inbox_add(h, &r, 0)) {
			*more = true;
			query_end(q);
			return 0;
		}
	}
	return rc;
}

int message_peek(struct call *call, const struct message_peek_in *in,
		 struct message_peek_out *out)
{
	struct handing h = { .call = call };
	struct inbox_state_row now;
	struct agent_row a;
	struct query q;
	int64_t most = in->offset + in->limit + 1, passed = 0;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = who_acts(call, in->agent, "/agent", &a)) < 0 ||
	    (rc = inbox_counters(call, a.id, &now)) < 0)
		return rc;
	h.agent = &a;
	sql_query(call, &q, inbox_next, .agent = a.id, .now = call->now, .limit = most);
	if ((rc = show_page(&h, &q, in, &passed, &out->more)) < 0)
		return rc;
	sql_query(call, &q, inbox_came, .agent = a.id, .now = call->now, .limit = most);
	if (out->more)
		query_end(&q);
	else if ((rc = show_page(&h, &q, in, &passed, &out->more)) < 0)
		return rc;
	out->messages = h.out;
	out->n_messages = h.n;
	out->next = in->offset + (int64_t)h.n;
	out->queued = now.queued;
	out->leased = now.leased;
	return rc < 0 ? rc : 0;
}
