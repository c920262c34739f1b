/*
 * handout - remembers answers with a claim or messages until the callers say Arrived.
 *
 * If an answer did not reach its caller, the claim or the messages of the answer are taken
 * back. A caller with the flag `confirms` sends Arrived or Cancel after the answer. If the
 * caller leaves without sending Arrived or Cancel, the operation answer.undo takes the answer
 * back. An answer that could not be sent is also taken back by answer.undo, unless the caller
 * can repeat the call and get the same answer. If one connection has more than a thousand
 * unconfirmed answers, the oldest of these answers is taken back too.
 */
#ifndef CORE_HOST_HANDOUT_H
#define CORE_HOST_HANDOUT_H

#include "core/host/conn.h"

/* Called for a job that has ended. `told`: the answer of the job is being sent. */
void handout_answered(struct conn *c, struct job *job, bool told);
/* Called when the answer to the request `id` arrived. The caller keeps the claims and messages
 * of the answer. */
void handout_arrived(struct conn *c, const char *id);
/* Called when the answer to the request `id` did not arrive. `gone`: the caller left without
 * sending Arrived or Cancel, and may have seen the answer. */
void handout_lost(struct conn *c, const char *id, bool gone);
/* Called when the connection is closed. Takes back all unconfirmed answers, though the client
 * may have seen them. */
void handout_close(struct conn *c);

/* Whether an answer that did not arrive has to be taken back. Returns true if the caller
 * confirms answers, if the call may wait, or if the operation has OP_REQUEST. If the answer is
 * not taken back, the caller repeats the call under the same key and gets the same answer. */
bool handout_is_undone(const struct job *job);
/* Ends the handout of an answer to a call over HTTP. The call's door says by `arrived` whether
 * the answer has arrived. `sent`: the answer was sent, so the caller may have seen a lost
 * answer. */
void handout_settle(struct host *host, const struct given *given, bool arrived,
		    bool sent);

#endif
