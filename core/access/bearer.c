#include "core/access/bearer.h"

#include <inttypes.h>
#include <string.h>

#include "core/access/token.h"
#include "core/access/who.h"
#include "core/base/clock.h"
#include "core/call/space.h"
#include "core/event/event.h"

#define PREFIX "cadre_"

/* --- texts ---------------------------------------------------------------------------- */

/* The text of a token, made from its row and the time at which the token was made. The text is
 * in the call's arena. */
static const char *bearer_text(struct call *call, int64_t row, int64_t made_at)
{
	char secret[TOKEN_SIZE];

	token_for_client(call->settings->secret, row, made_at, secret);
	return arena_printf(&call->arena, PREFIX "%" PRId64 "_%s", row, secret);
}

/* The number of the row that the text of a token names, or 0. */
static int64_t bearer_row_of(const char *text)
{
	size_t at = strlen(PREFIX);
	int64_t row = 0;

	if (strncmp(text, PREFIX, at) != 0)
		return 0;
	for (; text[at] >= '0' && text[at] <= '9'; at++)
		if (__builtin_mul_overflow(row, 10, &row) ||
		    __builtin_add_overflow(row, text[at] - '0', &row))
			return 0;
	return text[at] == '_' ? row : 0;
}

/* --- who calls -------------------------------------------------------------------------- */

/* Gives the same refusal for every wrong token. So the caller does not learn which tokens were
 * ever made. */
static int bearer_no_token(struct call *call)
{
	fault_set(&call->fault, FAULT_DENIED, "/token", "the token is not valid");
	return fault_hint(&call->fault,
			  "The token may be revoked, or its time is over. Ask "
			  "the operator for a new token.");
}

static bool bearer_is_good(const struct call *call, const char *text,
			   const struct bearer_row *k)
{
	uint8_t hash[TOKEN_HASH];

	token_hash(text, hash);
	return k->hash.size == TOKEN_HASH &&
	       token_equal(hash, k->hash.data, TOKEN_HASH) && !k->revoked_at &&
	       (!k->expires_at || k->expires_at > call->now);
}

static int become_agent(struct call *call, const struct caller_row *r)
{
	struct identity *id = &call->identity;

	id->level = WHO_OBSERVER; /* until who_level_of() sets the level by the agent's
				     role */
	id->team = r->team_name;
	id->agent = r->name;
	id->proven = true;
	return 1;
}

static int find_own(struct call *call, struct caller_row *r)
{
	uint8_t hash[TOKEN_HASH];
	int rc;

	token_hash(call->identity.bearer, hash);
	rc = sql_row(call, caller_by_hash, r, .hash = { hash, TOKEN_HASH });
	return rc > 0 ? become_agent(call, r) : rc < 0 ? rc : bearer_no_token(call);
}

int bearer_row(struct call *call, const char *text, struct bearer_row *k)
{
	int rc = sql_row(call, token_by_id, k, .id = bearer_row_of(text));

	if (rc < 0)
		return rc;
	return rc && bearer_is_good(call, text, k) ? 0 : bearer_no_token(call);
}

int bearer_find(struct call *call, struct caller_row *r)
{
	struct identity *id = &call->identity;
	struct bearer_row k;
	int rc;

	if (!bearer_row_of(id->bearer))
		return find_own(call, r);
	if ((rc = bearer_row(call, id->bearer, &k)) < 0)
		return rc;
	if (k.once)
		return bearer_no_token(call);
	call->bearer.row = k.id;
	call->bearer.used_at = k.used_at;
	call->bearer.until = k.expires_at;
	if (k.kind == TOKEN_KIND_AGENT) {
		rc = sql_row(call, caller_by_id, r, .agent = k.agent);
		if (rc < 0)
			return rc;
		return rc > 0 && r->generation == k.generation &&
				       r->kind == AGENT_KIND_MEMBER
			       ? become_agent(call, r)
			       : bearer_no_token(call);
	}
	id->level = k.kind == TOKEN_KIND_OPERATOR ? WHO_OPERATOR : WHO_OBSERVER;
	id->looks = k.kind == TOKEN_KIND_OBSERVER;
	return 0;
}

bool bearer_any(const char *dir)
{
	const struct sql_token_any_in in = { .now = clock_wall_ms() };
	struct token_any_row row = { 0 };
	struct store *store = NULL;
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct query q;

	if (store_open(&store, dir, STORE_READ, NULL, &f) == 0 &&
	    store_begin(store, false, &f) == 0) {
		store_query(store, &q, sql_token_any, &in);
		store_next(&q, &row, sizeof(row), &a, &f);
		query_end(&q);
		store_rollback(store);
	}
	store_close(store);
	arena_release(&a);
	return row.n > 0;
}

/* --- operations ------------------------------------------------------------------------- */

static int bearer_check_kind(struct call *call, const struct token_create_in *in)
{
	if ((in->agent != NULL) + in->operator+ in->observer == 1)
		return 0;
	fault_set(&call->fault, FAULT_INVALID, "/agent",
		  "name exactly one of agent, operator and observer");
	return fault_hint(&call->fault,
			  "For an agent: {token.create}{| --agent TEAM/NAME}.");
}

/* The token's default name: the agent's name, `operator` or `observer`, and the token's
 * number. */
static const char *bearer_name_of(struct call *call, const struct token_create_in *in,
				  const struct agent_row *a)
{
	return in->name ? in->name
			: arena_printf(&call->arena, "%.40s-%" PRId64,
				       in->agent     ? a->name
				       : in->operator? "operator"
						     : "observer",
				       call->made);
}

static int bearer_add(struct call *call, const struct token_create_in *in,
		      const struct agent_row *a)
{
	const char *name = bearer_name_of(call, in, a);
	uint8_t hash[TOKEN_HASH];
	int rc;

	token_hash(bearer_text(call, call->made, call->now), hash);
	rc = sql_run(call, token_add, .id = call->made, .name = name,
		     .kind = in->agent     ? TOKEN_KIND_AGENT
			     : in->operator? TOKEN_KIND_OPERATOR
					   : TOKEN_KIND_OBSERVER,
		     .agent = a->id, .generation = a->generation,
		     .hash = { hash, TOKEN_HASH }, .now = call->now,
		     .expires_at = in->has_ttl_seconds
					   ? call->now + in->ttl_seconds * 1000
					   : 0);
	if (rc > 0)
		return event_by(call, .kind = EVENT_TOKEN_CREATED, .team = a->team,
				.actor = event_actor(call), .target = a->id,
				.detail = name);
	if (rc < 0)
		return rc;
	fault_set(&call->fault, FAULT_CONFLICT, "/name", "there is a token %s already",
		  name);
	return fault_hint(&call->fault,
			  "Choose another name, or revoke the other token.");
}

/* Refuses a token for the operator's row. The operator has a row in each team, but may act in
 * all teams. So a token for one of these rows would be valid in all teams. */
static int check_agent(struct call *call, const struct agent_row *a)
{
	if (!a->id || a->kind != AGENT_KIND_OPERATOR)
		return 0;
	fault_set(&call->fault, FAULT_INVALID, "/agent",
		  "%s is the operator, not an agent", a->name);
	return fault_hint(&call->fault, "{token.create} {operator=true|--operator} makes "
					"a token for all teams.");
}

static int bearer_make(struct call *call, const struct token_create_in *in)
{
	struct token_new_id_row next;
	struct agent_row a = { 0 };
	int rc = bearer_check_kind(call, in);

	if (rc < 0 ||
	    (in->agent && ((rc = who_team_of(call, in->team, in->agent, "/agent")) < 0 ||
			   (rc = who_agent(call, in->agent, "/agent", &a)) < 0)) ||
	    (rc = check_agent(call, &a)) < 0 ||
	    (rc = sql_row(call, token_new_id, &next)) < 0)
		return rc;
	call->made = next.id;
	return bearer_add(call, in, &a);
}

static int bearer_tell(struct call *call, const struct bearer_row *k,
		       struct token_line *line)
{
	struct caller_row r;
	int rc = 0;

	*line = (struct token_line){
		.name = k->name,
		.kind = k->kind,
		.created_at = k->created_at,
		.has_expires_at = k->expires_at != 0,
		.expires_at = k->expires_at,
	};
	if (k->agent && (rc = sql_row(call, caller_by_id, &r, .agent = k->agent)) > 0)
		line->agent = arena_printf(&call->arena, "%s/%s", r.team_name, r.name);
	return rc < 0 ? rc : 0;
}

int token_create(struct call *call, const struct token_create_in *in,
		 struct token_create_out *out)
{
	struct bearer_row k;
	int rc;

	if ((!call->made && (rc = bearer_make(call, in)) < 0) ||
	    (rc = sql_row(call, token_by_id, &k, .id = call->made)) < 0)
		return rc;
	out->bearer = bearer_text(call, k.id, k.created_at);
	return bearer_tell(call, &k, &out->token);
}

int token_list(struct call *call, const struct token_list_in *in,
	       struct token_list_out *out)
{
	struct token_page_row k;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, token_page, &k,
			      .after = in->after_name ? in->after_name : "",
			      .every = in->all, .now = call->now,
			      .limit = in->limit + 1)) > 0) {
		struct token_line line = {
			.name = k.name,
			.kind = k.kind,
			.agent = k.agent_name,
			.created_at = k.created_at,
			.has_expires_at = k.expires_at != 0,
			.expires_at = k.expires_at,
			.has_used_at = k.used_at != 0,
			.used_at = k.used_at,
			.has_revoked_at = k.revoked_at != 0,
			.revoked_at = k.revoked_at,
		};

		if (!space_put(call, out, tokens, &record_token_line, &line, in->limit))
			break;
	}
	return query_over(&q, rc);
}

int token_revoke(struct call *call, const struct token_revoke_in *in,
		 struct token_revoke_out *out)
{
	struct token_by_name_row k;
	struct token_was_row was;
	int rc;

	out->name = in->name;
	if (call->made)
		return 0;
	if ((rc = sql_row(call, token_by_name, &k, .name = in->name)) < 0)
		return rc;
	if (rc > 0) {
		call->made = k.id;
		rc = sql_run(call, token_revoke, .id = k.id, .now = call->now);
		return rc < 0 ? rc
			      : event_by(call, .kind = EVENT_TOKEN_REVOKED,
					 .subject = k.id, .actor = event_actor(call),
					 .detail = in->name);
	}
	if ((rc = sql_row(call, token_was, &was, .name = in->name)) < 0)
		return rc;
	return was.n ? 0
		     : fault_set(&call->fault, FAULT_NOT_FOUND, "/name",
				 "there is no token %s", in->name);
}

int token_used(struct call *call, const struct token_used_in *in,
	       struct token_used_out *out)
{
	int rc = 0;

	(void)out;
	for (size_t i = 0; i < in->n_tokens && rc >= 0; i++)
		rc = sql_run(call, token_note, .id = in->tokens[i], .now = call->now);
	return rc < 0 ? rc : 0;
}

int token_who(struct call *call, const struct token_who_in *in, struct token_who_out *out)
{
	const struct caller *caller = &call->caller;

	(void)in;
	out->name = caller->agent && call->identity.agent ? caller->name : NULL;
	out->team = caller->team ? caller->team_name : NULL;
	out->level = caller->level >= WHO_OPERATOR ? CALLER_LEVEL_OPERATOR
		     : caller->level == WHO_LEAD   ? CALLER_LEVEL_LEAD
		     : caller->level == WHO_MEMBER ? CALLER_LEVEL_MEMBER
						   : CALLER_LEVEL_OBSERVER;
	return 0;
}

/*
 * Browsers keep the addresses of pages, so no address may contain a token. Instead, a browser
 * gets its token in exchange for a code that works once.
 */

enum { CODE_S = 120, BROWSER_S = 12 * 3600, ENDED_S = 30 * 86400 };

static const char *code_name_of(struct call *call, const char *name, int tried)
{
	return tried ? arena_printf(&call->arena, "%s-%" PRId64 "-%d", name, call->made,
				    tried)
		     : arena_printf(&call->arena, "%s-%" PRId64, name, call->made);
}

/* Makes a token or, if `once` is set, a code. call->made becomes the number of the new row. The
 * new name is `name` and the row's number. A second number is appended if another token has
 * this name already. */
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

/* Whether a code that an earlier call made is still valid, so that a repeat of the call can
 * give the code again. */
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
				 "the code was used already, or has expired");
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
		fault_set(&call->fault, FAULT_DENIED, "/code", "this is not a code");
		return fault_hint(&call->fault, "Get a new code: {token.code}.");
	}
	if ((rc = code_add(call, "browser", k.kind, BROWSER_S, false)) < 0 ||
	    (rc = sql_row(call, token_by_id, &k, .id = call->made)) < 0)
		return rc;
	out->bearer = bearer_text(call, call->made, call->now);
	out->seconds = BROWSER_S;
	return event_by(call, .kind = EVENT_TOKEN_CREATED, .actor = event_actor(call),
			.detail = k.name);
}
