#include "core/access/secret.h"

#include "core/access/token.h"
#include "core/base/arena.h"
#include "sql.gen.h"

static bool secret_fits(const uint8_t secret[32], const struct agent_tokens_row *r)
{
	char token[TOKEN_SIZE];
	uint8_t hash[TOKEN_HASH];

	token_make(secret, r->id, r->generation, token);
	token_hash(token, hash);
	return r->token.size == TOKEN_HASH &&
	       token_equal(hash, r->token.data, TOKEN_HASH);
}

int secret_look(struct store *store, const uint8_t secret[32], struct secret_fit *out,
		struct fault *f)
{
	const struct sql_agent_tokens_in none = { 0 };
	struct agent_tokens_row row;
	struct arena a = { 0 };
	struct query q;

	*out = (struct secret_fit){ 0 };
	if (store_begin(store, false, f) < 0)
		return f->code;
	store_query(store, &q, sql_agent_tokens, &none);
	while (store_next(&q, &row, sizeof(row), &a, f) > 0) {
		out->tokens++;
		out->fit += secret_fits(secret, &row);
	}
	query_end(&q);
	store_rollback(store);
	arena_release(&a);
	return f->code;
}
