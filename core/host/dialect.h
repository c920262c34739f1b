/*
 * dialect - a client's messages as calls, and their answers as messages.
 *
 * Call carries any operation.  The older messages of a guest's agent
 * (TeamMessage, TeamReceive, TaskClaim) become the calls that they stand for
 * and are answered in their own form.
 */
#ifndef CORE_HOST_DIALECT_H
#define CORE_HOST_DIALECT_H

#include "core/host/conn.h"

enum heard {
	HEARD_NONSENSE, /* `f` is filled */
	HEARD_CALL, /* job->call is decoded */
	HEARD_ANSWERED, /* no call: the answer is in c->flow.out */
};

/* Binds the connection to this caller; its Hello cannot change the caller. */
void dialect_pin(struct conn *c, const struct identity *who);

/* Reads the message in job->packet and says what it came to; `f` is filled for
 * HEARD_NONSENSE. */
enum heard dialect_read(struct conn *c, struct job *job, struct fault *f);

/* Appends what became of a connection's call to c->flow.out. */
void dialect_answer(struct conn *c, struct job *job);

#endif
