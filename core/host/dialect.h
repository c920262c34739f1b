/*
 * dialect - translates a client's messages into calls, and the calls' answers into messages.
 *
 * The message Call carries any operation. Older messages of a guest's agent, such as
 * TeamMessage, TeamReceive and TaskClaim, are translated into calls. Each older message has its
 * own form of answer.
 */
#ifndef CORE_HOST_DIALECT_H
#define CORE_HOST_DIALECT_H

#include "core/host/conn.h"

enum heard {
	HEARD_NONSENSE, /* the message is refused and `f` is set */
	HEARD_CALL, /* job->call is decoded */
	HEARD_ANSWERED, /* not a call; the answer, if any, is in c->flow.out */
};

/* Binds the connection to this caller. The client's Hello cannot change the caller. */
void dialect_pin(struct conn *c, const struct identity *who);

/* Reads the message in job->packet and returns its kind. Sets `f` for HEARD_NONSENSE. */
enum heard dialect_read(struct conn *c, struct job *job, struct fault *f);

/* Appends the answer or the fault of a connection's call to c->flow.out. */
void dialect_answer(struct conn *c, struct job *job);

#endif
