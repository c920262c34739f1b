/*
 * message_show - hands an agent's new messages to a hook. The hook puts each message once into
 * the context of the agent's model.
 *
 * A hook first asks by one read-only call whether there are new messages, and ends if the inbox
 * has no new message. The hook shows the messages before the hook confirms the messages. If the
 * hook is killed before it has shown its messages, the next hook gets the same messages.
 */
#include "core/message/inbox.h"
#include "core/turn/chain.h"
#include "core/reservation/reservation.h"
#include "core/task/task.h"

enum { BYTES_PER_TOKEN = 4, FRAME = 400 }; /* FRAME: bytes of text around the messages */

/* Names the task that an agent holds and does not wait for. */
static int tell_work(struct call *call, int64_t agent, const char **task)
{
	struct task_row t;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, task_held, &t, .agent = agent,
			      .team = call->caller.team, .now = call->now, .limit = 10)) >
		       0 &&
	       !*task)
		if (t.state_now != TASK_STATE_BLOCKED)
			*task = task_name(call, t.number);
	return query_over(&q, rc);
}

int message_news(struct call *call, const struct message_news_in *in,
		 struct message_news_out *out)
{
	struct inbox_urgent_row urgent = { 0 };
	struct inbox_state_row now = { 0 };
	struct agent_row a;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = who_acts(call, in->agent, "/agent", &a)) < 0 ||
	    (rc = tell_work(call, a.id, &out->holds)) < 0 ||
	    (rc = inbox_counters(call, a.id, &now)) < 0 ||
	    (now.queued > 0 && (rc = sql_row(call, inbox_urgent, &urgent, .agent = a.id,
					     .now = call->now, .most = URGENT_MOST)) < 0))
		return rc;
	out->name = a.name;
	out->team = call->caller.team_name;
	out->queued = now.queued;
	out->urgent = urgent.n;
	out->chain = call->caller.chain;
	out->stopped = call->caller.team_stopped != 0;
	if (!in->n_paths)
		return 0;
	rc = reservation_covers(call, &a, in->paths, in->n_paths, &out->reserved,
				&out->reserved_path);
	out->has_reserved = rc > 0;
	return rc < 0 ? rc : 0;
}

/* Sets the number of the agent's chain (core/turn/chain.h). Urgent messages make a client go on
 * without a person, so the number grows. A hook that asks for all messages runs after a
 * person's prompt, so the number becomes 0. */
static int message_show_follow(struct call *call, const struct agent_row *a,
			       const struct showing *s)
{
	if (!s->urgent)
		return chain_follow(call, a, 0);
	return s->n ? chain_follow(call, a, s->chain + 1) : 0;
}

int message_show(struct call *call, const struct message_show_in *in,
		 struct message_show_out *out)
{
	struct showing s = { .request = in->request_id,
			     .urgent = in->urgent,
			     .bytes = (size_t)in->max_tokens * BYTES_PER_TOKEN - FRAME };
	struct inbox_opened_row open = { 0 };
	struct inbox_state_row now = { 0 };
	struct agent_row a;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = who_is(call, in->agent, "/agent", &a)) < 0 ||
	    (rc = sql_row(call, inbox_opened, &open, .agent = a.id, .now = call->now)) <
		    0 ||
	    (open.came && (rc = message_delayed_come(call, a.id, 100)) < 0) ||
	    (rc = inbox_show(call, &a, &s)) < 0 ||
	    (rc = message_show_follow(call, &a, &s)) < 0 ||
	    (rc = sql_row(call, inbox_state, &now, .agent = a.id)) < 0)
		return rc;
	out->messages = s.messages;
	out->n_messages = s.n;
	out->pending = now.queued;
	return 0;
}

/* Stores that the messages of a hand-out were shown. Returns the number of shown messages, or a
 * negative fault code. */
static int message_show_note_shown(struct call *call, const struct agent_row *a,
				   const char *request)
{
	struct delivery_shown_row *all = NULL;
	int64_t late = 0, freed = 0;
	size_t n;
	int rc = sql_all(call, delivery_shown, &all, &n, .agent = a->id,
			 .request = inbox_name(call, a->id, request), .now = call->now);

	if (rc < 0 || n == 0)
		return rc;
	for (size_t i = 0; i < n && rc >= 0; i++) {
		late += all[i].late;
		freed += !all[i].late && !all[i].held;
		freed -= all[i].late && all[i].held;
		if (!all[i].held)
			rc = event_emit(call, EVENT_MESSAGE_ACKED, all[i].message, a->id,
					NULL);
	}
	if (rc >= 0)
		rc = sql_late(call, inbox_less, .agent = a->id, .queued = late,
			      .leased = freed);
	return rc < 0 ? rc : (int)n;
}

int message_shown(struct call *call, const struct message_shown_in *in,
		  struct message_shown_out *out)
{
	struct agent_row a;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = who_is(call, in->agent, "/agent", &a)) < 0)
		return rc;
	if (in->n_requests == 0)
		return fault_set(&call->fault, FAULT_INVALID, "/requests",
				 "names no answer");
	if ((rc = inbox_settle(call, a.id)) < 0)
		return rc;
	for (size_t i = 0; i < in->n_requests; i++) {
		if ((rc = message_show_note_shown(call, &a, in->requests[i])) < 0)
			return rc;
		out->shown += rc;
	}
	return 0;
}
