/*
 * code - codes for which a browser gets a token, once: so no token stands in an address, which
 * browsers keep.
 */
#include <inttypes.h>

#include "core/access/bearer.h"
#include "core/access/token.h"
#include "core/event/event.h"

enum { CODE_S = 120, BROWSER_S = 12 * 3600, ENDED_S = 30 * 86400 };

static const char *code_name_of(struct call *call, const char *name, int tried)
{
	return tried ? arena_printf(&call->arena, "%s-%" PRId64 "-%d", name, call->made,
				    tried)
		     : arena_printf(&call->arena, "%s-%" PRId64, name, call->made);
}

/* Makes a token, or with `once` a code, which becomes call->made.  Its name begins with `name`:
 * another one where somebody has given that to a token. */
static int code_add(struct call *call, const char *name, int64_t kind, int64_t seconds,
		    bool once)
{
	struct token_new_id_row next;
	uint8_t hash[TOKEN_HASH];
	int rc, tried = 0;

	if ((rc = sql_row(call, token_new_id, &next)) < 0)
		return rc;
	call->made = next.id;
	token_hash(bearer_text(call, call->made, call->now), hash);
	do
		rc = sql_run(call, token_add, .id = call->made,
			     .name = code_name_of(call, name, tried++), .kind = kind,
			     .hash = { hash, TOKEN_HASH }, .now = call->now,
			     .expires_at = call->now + seconds * 1000, .once = once);
	while (rc == 0);
	return rc < 0 ? rc : 0;
}

/* Whether a code that was made is good still, for who repeats the call. */
static bool code_is_good(const struct call *call, const struct bearer_row *k)
{
	return k->once && !k->revoked_at && k->expires_at > call->now;
}

int token_code(struct call *call, const struct token_code_in *in,
	       struct token_code_out *out)
{
	struct bearer_row k;
	int rc;

	if (!call->made &&
	    ((rc = sql_run(call, token_drop_ended, .now = call->now,
			   .before = call->now - ENDED_S * 1000LL)) < 0 ||
	     (rc = code_add(call, "code",
			    in->observer ? TOKEN_KIND_OBSERVER : TOKEN_KIND_OPERATOR,
			    CODE_S, true)) < 0))
		return rc;
	if ((rc = sql_row(call, token_by_id, &k, .id = call->made)) < 0)
		return rc;
	if (rc == 0 || !code_is_good(call, &k))
		return fault_set(&call->fault, FAULT_CONFLICT, "/idempotency_key",
				 "the code was given, or has ended");
	out->code = bearer_text(call, k.id, k.created_at);
	out->expires_at = k.expires_at;
	return 0;
}

int token_exchange(struct call *call, const struct token_exchange_in *in,
		   struct token_exchange_out *out)
{
	struct bearer_row k;
	int rc;

	if ((rc = bearer_row(call, in->code, &k)) < 0 ||
	    (rc = sql_run(call, token_give, .id = k.id, .now = call->now)) < 0)
		return rc;
	if (rc == 0) {
		fault_set(&call->fault, FAULT_DENIED, "/code", "this is no code");
		return fault_hint(&call->fault, "Get one: {token.code}.");
	}
	if ((rc = code_add(call, "browser", k.kind, BROWSER_S, false)) < 0 ||
	    (rc = sql_row(call, token_by_id, &k, .id = call->made)) < 0)
		return rc;
	out->bearer = bearer_text(call, call->made, call->now);
	out->seconds = BROWSER_S;
	return event_by(call, .kind = EVENT_TOKEN_CREATED, .actor = event_actor(call),
			.detail = k.name);
}
