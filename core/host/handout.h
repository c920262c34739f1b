/*
 * handout - answers with a claim or messages, until their callers say Arrived.
 *
 * If an answer did not reach its caller, its claim or messages are taken back. A caller that
 * `confirms` says Arrived or Cancel after the answer. If the caller leaves without either
 * message, or before its answer could be sent, answer.undo takes the answer back. If one
 * connection has more than a thousand unconfirmed answers, the oldest is taken back too.
 */
#ifndef CORE_HOST_HANDOUT_H
#define CORE_HOST_HANDOUT_H

#include "core/host/conn.h"

/* A job is over. `told`: its answer is being sent. */
void handout_answered(struct conn *c, struct job *job, bool told);
/* The answer to the request with this id arrived: its claims and messages stay given. */
void handout_arrived(struct conn *c, const char *id);
/* The answer did not arrive. `gone`: its caller left without a message, and may have seen the
 * answer. */
void handout_lost(struct conn *c, const char *id, bool gone);
/* The connection is closed: its client may have seen the answers that were sent. */
void handout_close(struct conn *c);

/* For calls without a connection: the call's door reports whether the answer has `arrived`. */
void handout_settle(struct host *host, const struct given *given, bool arrived);

#endif
