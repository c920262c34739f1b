/*
 * code - codes for which a browser gets a token, once: so no token stands in an address, which
 * browsers keep.
 */
#include <inttypes.h>

#include "core/access/bearer.h"
#include "core/access/token.h"
#include "core/event.h"

enum { CODE_S = 120, BROWSER_S = 12 * 3600 };

/* Adds a row for a text of that name, which becomes call->made. */
static int add(struct call *call, const char *name, int64_t kind, int64_t seconds,
	       bool once)
{
	struct token_new_id_row next;
	uint8_t hash[TOKEN_HASH];
	int rc;

	if ((rc = sql_row(call, token_new_id, &next)) < 0)
		return rc;
	call->made = next.id;
	token_hash(bearer_text(call, call->made, call->now), hash);
	rc = sql_run(call, token_add, .id = call->made,
		     .name = arena_printf(&call->arena, "%s-%" PRId64, name, call->made),
		     .kind = kind, .hash = { hash, TOKEN_HASH }, .now = call->now,
		     .expires_at = call->now + seconds * 1000, .once = once);
	if (rc > 0)
		return 0;
	return rc < 0 ? rc
		      : fault_set(&call->fault, FAULT_CONFLICT, "",
				  "there is a token %s-%" PRId64 " already", name,
				  call->made);
}

int token_code(struct call *call, const struct token_code_in *in,
	       struct token_code_out *out)
{
	struct bearer_row k;
	int rc;

	if (!call->made &&
	    ((rc = sql_run(call, token_drop_codes, .now = call->now)) < 0 ||
	     (rc = add(call, "code",
		       in->observer ? TOKEN_KIND_OBSERVER : TOKEN_KIND_OPERATOR, CODE_S,
		       true)) < 0))
		return rc;
	if ((rc = sql_row(call, token_by_id, &k, .id = call->made)) < 0)
		return rc;
	if (rc == 0)
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
	if ((rc = add(call, "browser", k.kind, BROWSER_S, false)) < 0)
		return rc;
	out->bearer = bearer_text(call, call->made, call->now);
	out->seconds = BROWSER_S;
	return event_by(call, .kind = EVENT_TOKEN_CREATED, .actor = event_actor(call),
			.detail = arena_printf(&call->arena, "browser-%" PRId64,
					       call->made));
}
