/*
 * handout - remembers answers with a claim or messages until the callers say Arrived.
 *
 * If an answer did not reach its caller, its claim or messages are taken back. A caller with
 * the flag `confirms` says Arrived or Cancel after the answer. If the caller leaves without
 * either message, or before its answer could be sent, answer.undo takes the answer back. If one
 * connection has more than a thousand unconfirmed answers, the oldest is taken back too.
 */
#ifndef CORE_HOST_HANDOUT_H
#define CORE_HOST_HANDOUT_H

#include "core/host/conn.h"

/* Called for a job that has ended. `told`: the answer of the job is being sent. */
void handout_answered(struct conn *c, struct job *job, bool told);
/* Called when the answer to the request `id` arrived. The claims and messages of the answer
 * stay given. */
void handout_arrived(struct conn *c, const char *id);
/* Called when the answer to the request `id` did not arrive. `gone`: the caller left without
 * saying Arrived or Cancel, and may have seen the answer. */
void handout_lost(struct conn *c, const char *id, bool gone);
/* Called when the connection is closed. The connection's client may have seen the answers that
 * were sent. */
void handout_close(struct conn *c);

/* Settles the answer to a call without a connection. The call's door knows whether the answer
 * has `arrived`. */
void handout_settle(struct host *host, const struct given *given, bool arrived);

#endif
