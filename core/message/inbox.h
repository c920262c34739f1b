/*
 * inbox - handing messages out under leases, and taking them back.
 *
 * docs/doors.md, "What was seen, and what was not", has the rules.  The reaper of a host
 * (core/host/reaper.h) and the next receive return messages whose lease has ended.
 */
#ifndef CORE_MESSAGE_INBOX_H
#define CORE_MESSAGE_INBOX_H

#include "core/message/message.h"

/* Urgent messages of an inbox are counted up to this number. */
enum { URGENT_MOST = 20 };

/* Acknowledges one message that `agent` holds under a live lease. Returns 1, 0 if the agent
 * does not hold the message, or negative. */
int inbox_ack(struct call *call, const struct agent_row *agent, int64_t message);

/* Hands one delivery out to `agent` under a new lease, and fills its envelope. A delivery that
 * is already handed out is only shown, and its lease does not change. `request` names the
 * hand-out; NULL: no name. */
int inbox_take(struct call *call, const struct agent_row *agent, int64_t message,
	       const char *request, struct envelope *out);

/* Hands out all mail that waits for `agent` and fits the answer, urgent messages first. The
 * messages are held under the hand-out `request` until the time `until`. The envelopes are in
 * the call's arena. Returns 0 or negative. */
int inbox_hand(struct call *call, const struct agent_row *agent, int64_t request,
	       int64_t until, struct envelope **out, size_t *n);
/* Acknowledges the messages of a hand-out, even those whose lease has ended. Adds their number
 * to `*kept`; returns 0 or negative. */
int inbox_keep(struct call *call, const struct agent_row *a, int64_t request,
	       int64_t *kept);

/* Messages that are handed out to be shown to a model. */
struct showing {
	const char *request; /* name of the hand-out */
	bool urgent; /* only urgent messages */
	size_t bytes; /* room for all messages, with HEAD_SHOWN for each */
	struct envelope *messages; /* in the arena; filled by inbox_show() */
	size_t n;
	int64_t chain; /* the longest chain of the messages */
};

/* Bytes around a message that is shown, besides its sender, type and thread. */
enum { HEAD_SHOWN = 320 };

/* Hands out the messages that wait for `agent` and fit. A repeated request gets again the
 * messages that it still holds. Returns 0 or negative. */
int inbox_show(struct call *call, const struct agent_row *agent, struct showing *s);

/* Hashes to 63 bits the name that a caller gives to a hand-out of `agent`'s inbox, or to a
 * session that reads the inbox. 0 for NULL. */
int64_t inbox_name(const struct call *call, int64_t agent, const char *text);

/* Takes a hand-out back if it is not known whether the answer has arrived. The messages and
 * results of the hand-out wait again. `sent` means that the caller may have read the answer, so
 * the hand-out counts as an attempt. Adds the number of messages and results to `*undone`;
 * returns 0 or negative. */
int inbox_unhand(struct call *call, const struct agent_row *a, int64_t request, bool sent,
		 int64_t *undone);

/* The counters of an agent's inbox at this moment. Leases and messages whose time has run out
 * count as ended, even if the end is not stored yet. */
int inbox_counters(struct call *call, int64_t agent, struct inbox_state_row *out);

/* Makes an envelope from row `e` of a message. */
void envelope_fill(struct call *call, const struct envelope_row *e, struct envelope *out);

/* Takes space for an envelope in the answer. Returns false if the envelope does not fit. If an
 * envelope would fit no answer, its metadata is replaced by the metadata's size, and a content
 * that is too large by itself is cut to its first part. message.part reads the rest. */
bool envelope_take(struct call *call, struct envelope *e);

#endif
