/*
 * bearer - tokens that the operator makes for clients over HTTP.
 *
 * A token has the form cadre_ROW_SECRET: the row's number, then 64 hex digits that are derived
 * from the state's secret. So the answer to a repeated call can give the same token again. The
 * row keeps the token's SHA-256.
 */
#ifndef CORE_ACCESS_BEARER_H
#define CORE_ACCESS_BEARER_H

#include "core/call/call.h"
#include "storage/store.h"

#include "sql.gen.h"

/* Sets the call's identity from call->identity.bearer, which is a token of a client or of an
 * agent. Returns 1 with `r` filled for an agent, 0 for an operator or an observer, or `denied`
 * at /token. The refusal is the same for every wrong token. */
int bearer_find(struct call *call, struct caller_row *r);

/* Whether any client has a valid token in the state at `dir`. Returns false if the state cannot
 * be read. */
bool bearer_any(const char *dir);

/* Finds the row of the token or code whose text is `text`. Returns 0, or `denied` if the token
 * is not valid. The refusal is the same for every wrong text. */
int bearer_row(struct call *call, const char *text, struct bearer_row *k);

#endif
