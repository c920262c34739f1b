/* The write of a note is interrupted. If the interruption comes after COMMIT, the next call
 * completes the write once. An interruption before COMMIT leaves the note unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/vault/vault.h"
#include "tests/lib/hooks.h"
#include "tests/lib/world.h"

struct bed {
	struct world world;
	struct answer answer;
};

static int set_up(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	world_open(&b->world);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bed *b = *state;

	answer_release(&b->answer);
	world_close(&b->world);
	free(b);
	return 0;
}

/* Makes a call as the operator. Returns the call's fault code, or 0. */
static int ask(struct bed *b, const char *op, const char *args)
{
	struct asked q = { .op = op_find(op), .args = json_loads(args, 0, NULL) };

	q.identity.level = WHO_OPERATOR;
	assert_non_null(q.args);
	answer_release(&b->answer);
	world_ask(&b->world, b->world.store, &q, &b->answer);
	json_decref(q.args);
	return b->answer.rc;
}

static const char *said(struct bed *b, const char *key)
{
	const char *text = json_string_value(json_object_get(b->answer.reply, key));

	return text ? text : "(none)";
}

static int n_staged(const struct bed *b)
{
	int n = 0;

	for (int i = 0; i < FAKE_NOTES; i++)
		n += b->world.notes.files[i].path[0] == '.';
	return n;
}

static int64_t number(struct bed *b, const char *sql)
{
	return world_number(b->world.store, sql);
}

static const char *const append =
	"{\"path\":\"log.md\",\"content\":\"line\",\"idempotency_key\":\"k\"}";

static void test_decided_and_not_made(void **state)
{
	struct bed *b = *state;

	/* The process was killed, or the disk failed, after COMMIT. */
	b->world.notes.fail_make = 1;
	assert_int_equal(ask(b, "vault.append", append), FAULT_UNAVAILABLE);
	assert_int_equal(n_staged(b), 1);
	assert_int_equal(number(b, "SELECT count(*) FROM event"), 1);
	/* The first repeat completes the write. The second repeat finds the write completed. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ask(b, "vault.append", append), 0);
		assert_true(b->answer.replayed);
		assert_int_equal(
			json_integer_value(json_object_get(b->answer.reply, "size")), 4);
	}
	assert_int_equal(number(b, "SELECT count(*) FROM event"), 1);
	assert_int_equal(ask(b, "vault.read", "{\"path\":\"log.md\"}"), 0);
	assert_string_equal(said(b, "content"), "line");
	assert_int_equal(n_staged(b), 0);
}

static void test_a_reader_makes_it(void **state)
{
	struct bed *b = *state;

	b->world.notes.fail_make = 1;
	assert_int_equal(ask(b, "vault.append", append), FAULT_UNAVAILABLE);
	/* A caller that has read the event can also read the note that the event reports. */
	assert_int_equal(ask(b, "vault.read", "{\"path\":\"log.md\"}"), 0);
	assert_string_equal(said(b, "content"), "line");
	assert_int_equal(ask(b, "vault.append", append), 0);
	assert_int_equal(ask(b, "vault.read", "{\"path\":\"log.md\"}"), 0);
	assert_string_equal(said(b, "content"), "line");
}

static void test_the_next_writer_makes_it(void **state)
{
	struct bed *b = *state;

	b->world.notes.fail_make = 1;
	assert_int_equal(ask(b, "vault.append", append), FAULT_UNAVAILABLE);
	assert_int_equal(ask(b, "vault.append",
			     "{\"path\":\"log.md\",\"content\":\"another\"}"),
			 0);
	assert_int_equal(ask(b, "vault.append", append), 0);
	assert_int_equal(ask(b, "vault.read", "{\"path\":\"log.md\"}"), 0);
	assert_string_equal(said(b, "content"), "line\nanother");
	/* The next write of any note deletes the rows of completed writes. */
	assert_int_equal(
		ask(b, "vault.write", "{\"path\":\"other.md\",\"content\":\"\"}"), 0);
	assert_int_equal(number(b, "SELECT count(*) FROM vault_move"), 1);
}

static void test_a_host_makes_it(void **state)
{
	struct bed *b = *state;
	struct call call = { .store = b->world.store, .settings = &b->world.settings };

	b->world.notes.fail_make = 1;
	assert_int_equal(ask(b, "vault.append", append), FAULT_UNAVAILABLE);
	assert_int_equal(vault_sweep(&call), 0);
	arena_release(&call.arena);
	assert_int_equal(n_staged(b), 0);
	assert_int_equal(ask(b, "vault.read", "{\"path\":\"log.md\"}"), 0);
	assert_string_equal(said(b, "content"), "line");
}

/* Each step of the store fails in turn. After each failure the note still has its old text, and
 * the next successful call removes the staged file. */
static void test_never_decided(void **state)
{
	struct bed *b = *state;
	long n = 0;

	assert_int_equal(
		ask(b, "vault.write", "{\"path\":\"log.md\",\"content\":\"old\"}"), 0);
	do {
		store_fail(b->world.store, ++n, 10); /* SQLITE_IOERR */
		if (ask(b, "vault.append", append) == 0)
			break;
		store_fail(b->world.store, 0, 0);
		assert_int_equal(b->answer.rc, FAULT_UNAVAILABLE);
		assert_int_equal(ask(b, "vault.read", "{\"path\":\"log.md\"}"), 0);
		assert_string_equal(said(b, "content"), "old");
	} while (n < 1000);
	store_fail(b->world.store, 0, 0);
	assert_in_range(n, 10, 999);
	assert_int_equal(ask(b, "vault.append", append), 0);
	assert_int_equal(ask(b, "vault.read", "{\"path\":\"log.md\"}"), 0);
	assert_string_equal(said(b, "content"), "old\nline");
	assert_int_equal(n_staged(b), 0);
}

/* --- a team is renamed while a call waits for its folder ------------------------------------- */

/* A simulated mirror. Its first visit renames the team and at once renames it back. Only from
 * the second visit on is the team's folder in place. */
struct visits {
	struct bed *bed;
	int n;
	int64_t tells; /* the row of the team that the folder's page names */
};

static int64_t row_of(const void *self, const char *name, struct fault *f)
{
	const struct visits *v = self;

	(void)name;
	(void)f;
	return v->tells;
}

static int visit(const void *self, struct store *store, const char *name, int64_t team,
		 struct fault *f)
{
	struct visits *v = (struct visits *)self;
	static const char there[] = "{\"name\":\"busy\",\"new_name\":\"bee\"}";
	static const char back[] = "{\"name\":\"bee\",\"new_name\":\"busy\"}";

	(void)store;
	(void)f;
	assert_string_equal(name, "busy");
	if (++v->n > 1) {
		v->tells = team;
		return 0;
	}
	assert_int_equal(ask(v->bed, "team.update", there), 0);
	assert_int_equal(ask(v->bed, "team.update", back), 0);
	answer_release(&v->bed->answer);
	return 0;
}

static int has_followed(const void *self, struct store *store, struct fault *f)
{
	const struct visits *v = self;

	(void)store;
	(void)f;
	return v->n > 1;
}

static void test_waits_while_the_name_changes(void **state)
{
	struct bed *b = *state;
	struct visits v = { .bed = b };
	const struct team_folders folders = {
		.self = &v, .row = row_of, .settle = visit, .followed = has_followed
	};

	assert_int_equal(ask(b, "team.create", "{\"name\":\"busy\"}"), 0);
	b->world.settings.folders = &folders;
	assert_int_equal(ask(b, "vault.write",
			     "{\"path\":\"teams/busy/n.md\",\"content\":\"x\"}"),
			 0);
	assert_int_equal(v.n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(test_decided_and_not_made),
		TEST(test_a_reader_makes_it),
		TEST(test_the_next_writer_makes_it),
		TEST(test_a_host_makes_it),
		TEST(test_never_decided),
		TEST(test_waits_while_the_name_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
