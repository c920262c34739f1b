/*
 * bearer - tokens that the operator makes for clients over HTTP.
 *
 * One reads cadre_ROW_SECRET: the row's number, then 64 hex digits, derived from the state's
 * secret, so that a repeated call can be answered with the same.  The row keeps its SHA-256.
 */
#ifndef CORE_ACCESS_BEARER_H
#define CORE_ACCESS_BEARER_H

#include "core/call/call.h"
#include "storage/store.h"

#include "sql.gen.h"

/* Makes the call's identity the one that call->identity.bearer stands for: a client's token, or
 * an agent's own.  1 with `r` filled for an agent, 0 for an operator or an observer, or
 * `denied` at /token, the same for every token that proves nothing. */
int bearer_find(struct call *call, struct caller_row *r);

/* Whether any client has a token that may prove something, in the state at `dir`; false also
 * where it cannot be read. */
bool bearer_any(const char *dir);

/* The row of the token or code that a text is, if it is good: 0, or `denied`, the same for every
 * text that is not. */
int bearer_row(struct call *call, const char *text, struct bearer_row *k);

#endif
