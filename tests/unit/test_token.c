/* A token proves an agent. The values of tokens never change between versions of cadre, and two
 * different tokens never count as equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/access/token.h"
#include "tests/lib/world.h"

static uint8_t secret[32];

static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(secret); i++)
		secret[i] = (uint8_t)i;
	return 0;
}

/* Running agents may have tokens of an earlier version, so the values must not change. */
static void tokens_stay_as_they_are(void **state)
{
	char token[TOKEN_SIZE];

	(void)state;
	token_make(secret, 5, 2, token);
	assert_string_equal(token, "3bce4ee17607cccd82fec317fd0948da"
				   "888f192b37bba1894be5bb6d54a85b81");
	token_for_door(secret, 5, 2, 9, 1, token);
	assert_string_equal(token, "764b87d29858d12a2787a4bac0d93dfd"
				   "7fb34caad5be64b98d63e8c5bbf24cab");
}

/* The comparison covers every bit of every byte. */
static void equal_is_equal_in_all_bytes(void **state)
{
	uint8_t other[sizeof(secret)];

	(void)state;
	for (size_t i = 0; i < sizeof(secret); i++)
		for (int bit = 0; bit < 8; bit++) {
			memcpy(other, secret, sizeof(other));
			assert_true(token_equal(secret, other, sizeof(other)));
			other[i] ^= (uint8_t)(1 << bit);
			assert_false(token_equal(secret, other, sizeof(other)));
		}
}

/* --- calls ------------------------------------------------------------------------- */

struct tried {
	struct world world;
	struct identity identity;
};

static enum fault_code ask(struct tried *t)
{
	const struct asked q = { .op = op_find("message.peek"),
				 .args = json_object(),
				 .identity = t->identity };
	struct answer a;
	enum fault_code code;

	world_ask(&t->world, t->world.store, &q, &a);
	code = a.rc;
	answer_release(&a);
	json_decref(q.args);
	return code;
}

static int make_agent(void **state)
{
	struct tried *t = test_calloc(1, sizeof(*t));
	const struct asked q = {
		.op = op_find("team.create"),
		.args = json_pack("{sss[{ss}]}", "name", "red", "roles", "name", "ann"),
		.identity = { .level = WHO_OPERATOR },
	};
	struct answer a;

	world_open(&t->world);
	world_ask(&t->world, t->world.store, &q, &a);
	assert_int_equal(a.rc, 0);
	t->identity =
		(struct identity){ .level = WHO_OBSERVER, .team = "red", .agent = "ann" };
	answer_release(&a);
	json_decref(q.args);
	*state = t;
	return 0;
}

static int unmake(void **state)
{
	struct tried *t = *state;

	world_close(&t->world);
	test_free(t);
	return 0;
}

static int64_t row_of_ann(struct tried *t)
{
	return world_number(t->world.store, "SELECT id FROM agent WHERE name = 'ann'");
}

/* Only the agent's own token proves the agent. The beginning of the token, a token of another
 * generation or of another agent, and an empty token are refused. */
static void only_its_own_token_proves_an_agent(void **state)
{
	struct tried *t = *state;
	const uint8_t *key = t->world.settings.secret;
	int64_t ann = row_of_ann(t);
	char token[TOKEN_SIZE];

	assert_int_equal(ask(t), FAULT_DENIED);
	t->identity.token = token;
	token_make(key, ann, 1, token);
	assert_int_equal(ask(t), 0);
	token[TOKEN_SIZE - 2] ^= 1;
	assert_int_equal(ask(t), FAULT_DENIED);
	token[TOKEN_SIZE - 2] = '\0';
	assert_int_equal(ask(t), FAULT_DENIED);
	token[0] = '\0';
	assert_int_equal(ask(t), FAULT_DENIED);
	token_make(key, ann, 2, token);
	assert_int_equal(ask(t), FAULT_DENIED);
	token_make(key, ann + 1, 1, token);
	assert_int_equal(ask(t), FAULT_DENIED);
	/* No token proves the agent `operator` of a team. */
	t->identity.agent = "operator";
	assert_int_equal(ask(t), FAULT_DENIED);
	token[0] = '\0';
	assert_int_equal(ask(t), FAULT_DENIED);
}

/* A door's proof is for one generation of the agent. If the row has an earlier or a later
 * generation, the call is refused. */
static void a_door_knows_a_generation(void **state)
{
	struct tried *t = *state;

	t->identity.proven = true;
	assert_int_equal(ask(t), 0);
	t->identity.generation = 1;
	assert_int_equal(ask(t), 0);
	t->identity.generation = 2;
	assert_int_equal(ask(t), FAULT_CONFLICT);
	world_number(t->world.store, "UPDATE agent SET generation = 3"
				     " WHERE name = 'ann' RETURNING generation");
	assert_int_equal(ask(t), FAULT_CONFLICT);
	t->identity.generation = 3;
	assert_int_equal(ask(t), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_stay_as_they_are),
		cmocka_unit_test(equal_is_equal_in_all_bytes),
		cmocka_unit_test_setup_teardown(only_its_own_token_proves_an_agent,
						make_agent, unmake),
		cmocka_unit_test_setup_teardown(a_door_knows_a_generation, make_agent,
						unmake),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
