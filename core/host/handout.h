/*
 * handout - answers with a claim or messages, until their callers say Arrived.
 *
 * A claim that nobody was told of and a message that nobody saw are taken back.  A
 * caller that `confirms` says Arrived or Cancel behind an answer; when it goes without
 * a word, or before its answer could be sent, answer.undo does the rest.  Of more than
 * a thousand on one connection the oldest is taken back too.
 */
#ifndef CORE_HOST_HANDOUT_H
#define CORE_HOST_HANDOUT_H

#include "core/host/conn.h"

/* A job is over; `told`: the answer is being sent. */
void handout_answered(struct conn *c, struct job *job, bool told);
/* The answer of the request with this id arrived: claims and messages stay given. */
void handout_arrived(struct conn *c, const char *id);
/* The answer reached nobody; `gone`: its caller went without a word, and may have seen
 * it. */
void handout_lost(struct conn *c, const char *id, bool gone);
/* The connection is closed: its client may have seen the answers that were sent. */
void handout_close(struct conn *c);

/* The door of a call says what became of its answer; `arrived` false: nobody
 * has seen it. */
void handout_settle(struct host *host, const struct given *given, bool arrived);

#endif
