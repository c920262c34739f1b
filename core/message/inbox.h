/*
 * inbox - handing messages out under leases, and taking them back.
 *
 * docs/doors.md, "What was seen, and what was not", has the rules.  The reaper of a host
 * (core/host/reaper.h) and the next receive return messages whose lease has ended.
 */
#ifndef CORE_MESSAGE_INBOX_H
#define CORE_MESSAGE_INBOX_H

#include "core/message/message.h"

/* So many urgent messages are counted of an inbox. */
enum { URGENT_MOST = 20 };

/* Acknowledges one message that `agent` holds under a live lease: 1, or 0 if it
 * does not hold it, or negative. */
int inbox_ack(struct call *call, const struct agent_row *agent, int64_t message);

/* Hands one delivery out to `agent` under a new lease and fills its envelope.  A delivery
 * that is already handed out is only shown: its lease stays.  `request` names the
 * hand-out; NULL: no name. */
int inbox_take(struct call *call, const struct agent_row *agent, int64_t message,
	       const char *request, struct envelope *out);

/* Hands out all mail that waits for `agent` and fits the answer's room, urgent first, as the
 * hand-out `request`, held until a time: envelopes are in the call's arena.  0 or negative. */
int inbox_hand(struct call *call, const struct agent_row *agent, int64_t request,
	       int64_t until, struct envelope **out, size_t *n);
/* The messages of a hand-out are acknowledged, those whose lease has ended as well.  Adds
 * their number to `*kept`; 0 or negative. */
int inbox_keep(struct call *call, const struct agent_row *a, int64_t request,
	       int64_t *kept);

/* Messages that are handed out to be shown to a model. */
struct showing {
	const char *request; /* names the hand-out */
	bool urgent; /* only urgent ones */
	size_t bytes; /* room for all messages, with HEAD_SHOWN for each */
	struct envelope *messages; /* filled, in the arena */
	size_t n;
	int64_t chain; /* the furthest of them */
};

/* Bytes that stand around a message that is shown, beside its sender, type and thread. */
enum { HEAD_SHOWN = 320 };

/* Hands out what waits for `agent` and has room; a request that is repeated gets again what
 * it still holds.  0 or negative. */
int inbox_show(struct call *call, const struct agent_row *agent, struct showing *s);

/* 63 bits for a caller's own name of a hand-out of `agent`'s inbox, or of his session's
 * reading of it; 0 for NULL. */
int64_t inbox_name(const struct call *call, int64_t agent, const char *text);

/* Takes a hand-out back when nobody is known to have got its answer: its messages and
 * results wait again. `sent`: the answer may have been read, so it counts as an attempt.
 * Adds the number of messages and results to `*undone`; 0 or negative. */
int inbox_unhand(struct call *call, const struct agent_row *a, int64_t request, bool sent,
		 int64_t *undone);

/* The counters of an agent's inbox as they are now: a lease or a life is over at its
 * instant, written down or not. */
int inbox_counters(struct call *call, int64_t agent, struct inbox_state_row *out);

/* A message as an envelope, as row `e` tells it. */
void envelope_fill(struct call *call, const struct envelope_row *e, struct envelope *out);

/* Takes the place of an envelope in the answer: false where it does not fit any more.
 * Of one that would fit no answer, the metadata is replaced by its size, and of a content
 * that is too large by itself the first part comes: message.part reads them. */
bool envelope_take(struct call *call, struct envelope *e);

#endif
