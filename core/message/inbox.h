/*
 * inbox - hands messages out under leases, and takes unread messages back.
 *
 * The section "What was seen, and what was not" of docs/doors.md explains the rules. When a
 * lease ends, the reaper of a host (core/host/reaper.h) or the next receive puts the message
 * back into the inbox.
 */
#ifndef CORE_MESSAGE_INBOX_H
#define CORE_MESSAGE_INBOX_H

#include "core/message/message.h"

/* Urgent messages of an inbox are counted up to this number. */
enum { URGENT_MOST = 20 };

/* Acknowledges the message that `agent` answers, whether or not the agent holds the message.
 * Returns 0 or more, or a negative fault. */
int inbox_answer(struct call *call, const struct agent_row *agent, int64_t message);

/* Hands one delivery out to `agent` under a new lease, and fills its envelope. If the delivery
 * is already handed out, only fills the envelope, and the lease does not change. `request` is
 * the caller's name for this hand-out. If `request` is NULL, the hand-out gets no name. */
int inbox_take(struct call *call, const struct agent_row *agent, int64_t message,
	       const char *request, struct envelope *out);

/* Hands out the messages that wait for `agent` and fit into the answer, urgent messages first.
 * The hand-out `request` holds these messages until the time `until`. The envelopes `*out` are
 * in the call's arena. Returns 0 or a negative fault. */
int inbox_hand(struct call *call, const struct agent_row *agent, int64_t request,
	       int64_t until, struct envelope **out, size_t *n);
/* Acknowledges the messages of a hand-out, even messages whose lease has ended. Adds the number
 * of acknowledged messages to `*kept`. Returns 0 or a negative fault. */
int inbox_keep(struct call *call, const struct agent_row *a, int64_t request,
	       int64_t *kept);

/* Messages that are handed out to be shown to a model. */
struct showing {
	const char *request; /* name of the hand-out */
	bool urgent; /* only urgent messages are handed out */
	size_t bytes; /* room for all messages, including HEAD_SHOWN bytes for each
			 message */
	struct envelope *messages; /* filled by inbox_show(), in the call's arena */
	size_t n;
	int64_t chain; /* the highest chain number of the messages (core/turn/chain.h) */
};

/* Bytes reserved for each message in addition to its content, sender, type and thread. */
enum { HEAD_SHOWN = 320 };

/* Hands out the messages that wait for `agent` and fit into `s->bytes`. A repeated request gets
 * the messages that it still holds, and gets new messages only if it holds none. Returns 0 or a
 * negative fault. */
int inbox_show(struct call *call, const struct agent_row *agent, struct showing *s);

/* Hashes to 63 bits the name that a caller gives to a hand-out of `agent`'s inbox, or to a
 * session that reads the inbox. Returns 0 for the name NULL. */
int64_t inbox_name(const struct call *call, int64_t agent, const char *text);
/* Whether the caller's session was the last to receive the message `m` of `agent`, and the answer is
 * known to have arrived. `seen` names answers that have arrived. The session's next receive
 * acknowledges such a message, even if the message's lease has ended. */
bool inbox_knows(const struct call *call, int64_t agent, const struct inbox_row *m,
		 const char *const *seen, size_t n);

/* Takes a hand-out back, because it is not known whether the receiver got its answer. The
 * messages and results of the hand-out wait again. If `sent` is true, the caller may have read
 * the answer, so the hand-out counts as an attempt. Adds the number of messages and results
 * that were taken back to `*undone`. Returns 0 or a negative fault. */
int inbox_unhand(struct call *call, const struct agent_row *a, int64_t request, bool sent,
		 int64_t *undone);

/* The counters of an agent's inbox at this moment. A lease or a message whose time has run out
 * counts as ended, even if the state does not store its end yet. */
int inbox_counters(struct call *call, int64_t agent, struct inbox_state_row *out);

/* Makes the envelope `*out` from the row `e` of a message. */
void envelope_fill(struct call *call, const struct envelope_row *e, struct envelope *out);

/* Takes space for an envelope in the answer. Returns false if the envelope does not fit. If an
 * envelope is too large for any answer, the size of the metadata replaces the metadata. A
 * content that is too large for any answer is cut to its first part. The call message.part
 * reads the other parts. */
bool envelope_take(struct call *call, struct envelope *e);

#endif
