/* The guest's spool: its contents after restarts and after failed steps. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/lib/fault_vfs.h"
#include "tests/lib/hooks.h"
#include "storage/spool/spool.h"

enum { SQLITE_FULL_CODE = 13, SQLITE_IOERR_CODE = 10 };

struct fixture {
	char top[32], dir[64]; /* `top` holds `dir` and, beside it, the file spool.seq */
	struct spool *spool;
	struct arena arena;
	struct fault f;
};

static void reopen_after(struct fixture *x, const char *workspace, int64_t restores,
			 int64_t now)
{
	const struct spool_place place = { x->dir, workspace, restores };

	spool_close(x->spool);
	x->spool = NULL;
	x->f = (struct fault){ 0 };
	spool_open(&x->spool, &place, now, &x->f);
}

static void reopen(struct fixture *x, const char *workspace, int64_t now)
{
	reopen_after(x, workspace, -1, now);
}

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *where)
{
	(void)st, (void)kind, (void)where;
	return remove(path);
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	snprintf(x->top, sizeof(x->top), "/tmp/cadre-spool-XXXXXX");
	assert_non_null(mkdtemp(x->top));
	snprintf(x->dir, sizeof(x->dir), "%s/spool", x->top);
	assert_int_equal(mkdir(x->dir, 0700), 0);
	reopen(x, "one", 1000);
	*state = x;
	return x->spool ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *x = *state;
	int rc;

	spool_close(x->spool);
	arena_release(&x->arena);
	rc = nftw(x->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(x);
	return rc;
}

static struct spool_result_row a_result(const char *id, const char *out)
{
	return (struct spool_result_row){
		.message_id = id,
		.task_id = "t",
		.success = true,
		.out = out,
		.err = "",
	};
}

static struct spool_counts_row counts(struct fixture *x)
{
	struct spool_counts_row c = { 0 };

	assert_int_equal(spool_count(x->spool, &c, &x->f), 0);
	return c;
}

static void test_life(void **state)
{
	struct fixture *x = *state;
	struct spool *s = x->spool;
	struct spool_assignment_row as;
	struct spool_result_row r = a_result("a", "out"), got;

	assert_int_equal(spool_put(s, "a", "A", 1, &x->f), 0);
	assert_int_equal(spool_put(s, "b", "B", 1, &x->f), 0);
	assert_int_equal(spool_put(s, "a", "other", 1, &x->f), 0);
	assert_int_equal(counts(x).waiting, 2);
	assert_int_equal(spool_next(s, &x->arena, &as, &x->f), 1);
	assert_string_equal(as.message_id, "a");
	assert_string_equal(as.content, "A");
	assert_int_equal(spool_start(s, "a", "t", 5, &x->f), 0);
	assert_int_equal(counts(x).running, 1);
	assert_int_equal(spool_finish(s, &r, 6, &x->f), 0);
	r.out = "second"; /* a second result does not replace the first one */
	assert_int_equal(spool_finish(s, &r, 6, &x->f), 0);
	assert_int_equal(spool_result(s, 0, NULL, &x->arena, &got, &x->f), 1);
	assert_string_equal(got.out, "out");
	assert_int_equal(spool_result(s, 0, "a", &x->arena, &got, &x->f), 1);
	assert_int_equal(spool_result(s, got.seq, NULL, &x->arena, &got, &x->f), 0);
	assert_int_equal(spool_ack(s, (const char *[]){ "a", "x" }, 2, &x->f), 0);
	assert_int_equal(counts(x).results, 0);
	assert_int_equal(counts(x).waiting, 1);
	assert_int_equal(spool_knows(s, "a", &x->f), 1);
	assert_int_equal(spool_knows(s, "x", &x->f), 0);
}

static void test_drop(void **state)
{
	struct fixture *x = *state;
	struct spool *s = x->spool;
	struct spool_assignment_row as;

	spool_put(s, "a", "A", 1, &x->f);
	spool_put(s, "b", "B", 1, &x->f);
	spool_start(s, "a", "t", 5, &x->f);
	assert_int_equal(spool_drop(s, "a", 6, &x->f), 0);
	assert_int_equal(spool_drop(s, "b", 6, &x->f), 0);
	assert_int_equal(spool_drop(s, "c", 6, &x->f), 0);
	assert_int_equal(counts(x).running, 1); /* a started command is not dropped */
	assert_int_equal(spool_next(s, &x->arena, &as, &x->f), 0);
	assert_int_equal(spool_put(s, "b", "B", 7, &x->f), 0);
	assert_int_equal(spool_put(s, "c", "C", 7, &x->f), 0);
	assert_int_equal(counts(x).waiting, 0);
	assert_int_equal(counts(x).results, 0);
}

static void test_restart(void **state)
{
	struct fixture *x = *state;
	struct spool_result_row got;

	spool_put(x->spool, "a", "A", 1, &x->f);
	spool_put(x->spool, "b", "B", 1, &x->f);
	spool_start(x->spool, "a", "task", 5000, &x->f);
	reopen(x, "one", 9000);
	assert_non_null(x->spool);
	assert_int_equal(counts(x).running, 0);
	assert_int_equal(counts(x).waiting, 1);
	assert_int_equal(spool_result(x->spool, 0, NULL, &x->arena, &got, &x->f), 1);
	assert_string_equal(got.message_id, "a");
	assert_string_equal(got.task_id, "task");
	assert_true(got.interrupted);
	assert_false(got.success);
	assert_int_equal(got.exit_code, -1);
	assert_int_equal(got.elapsed_secs, 4);
	assert_int_equal(spool_put(x->spool, "a", "A", 9, &x->f), 0);
	assert_int_equal(counts(x).waiting, 1);
}

static void test_another_workspace(void **state)
{
	struct fixture *x = *state;
	struct stat st;
	char path[100];

	spool_put(x->spool, "a", "A", 1, &x->f);
	reopen(x, "two", 1);
	assert_non_null(x->spool);
	assert_int_equal(spool_knows(x->spool, "a", &x->f), 0);
	snprintf(path, sizeof(path), "%s/spool.db.one", x->dir);
	assert_int_equal(stat(path, &st), 0);
	reopen(x, "two", 1);
	assert_non_null(x->spool);
}

static void keep_identity(struct fixture *x, char out[64])
{
	assert_non_null(x->spool);
	snprintf(out, 64, "%s", spool_identity(x->spool));
	assert_true(strlen(out) >= 32);
}

/* The spool's identity stays the same through restarts. A spool that is made anew gets another
 * identity. */
static void test_identity(void **state)
{
	struct fixture *x = *state;
	char first[64], second[64], path[100];

	keep_identity(x, first);
	reopen(x, "one", 1);
	assert_string_equal(spool_identity(x->spool), first);
	reopen(x, NULL, 1);
	assert_string_equal(spool_identity(x->spool), first);
	reopen(x, "two", 1);
	keep_identity(x, second);
	assert_string_not_equal(second, first);
	spool_close(x->spool);
	x->spool = NULL;
	snprintf(path, sizeof(path), "%s/spool.db", x->dir);
	remove(path);
	reopen(x, "two", 1);
	keep_identity(x, first);
	assert_string_not_equal(second, first);
}

/* After a restore of the workspace, the spool's commands and results are dropped, but the
 * spool's variables stay. */
static void test_restored(void **state)
{
	struct fixture *x = *state;
	struct spool_assignment_row as;
	struct spool_result_row got;
	const char *name = "", *value;
	char first[64], second[64];

	keep_identity(x, first);
	spool_put(x->spool, "a", "A", 1, &x->f);
	spool_put(x->spool, "b", "B", 1, &x->f);
	spool_start(x->spool, "a", "", 1, &x->f);
	spool_set_env(x->spool, "K", "v", &x->f);
	reopen_after(x, "one", 0, 1);
	assert_string_equal(spool_identity(x->spool), first);
	assert_int_equal(counts(x).waiting, 1);
	reopen_after(x, "one", 1, 1);
	keep_identity(x, second);
	assert_string_not_equal(second, first);
	assert_string_equal(spool_owner(x->spool), "one");
	assert_int_equal(spool_next(x->spool, &x->arena, &as, &x->f), 0);
	assert_int_equal(spool_result(x->spool, 0, NULL, &x->arena, &got, &x->f), 0);
	assert_int_equal(spool_knows(x->spool, "a", &x->f), 0);
	assert_int_equal(spool_env(x->spool, name, &x->arena, &name, &value, &x->f), 1);
	assert_string_equal(value, "v");
	reopen_after(x, "one", 1, 1);
	assert_string_equal(spool_identity(x->spool), second);
	reopen(x, "one", 1); /* opens the spool for a host that counts no restores */
	assert_string_equal(spool_identity(x->spool), second);
}

/* The number of commands that were begun or dropped is stored. An older copy of the spool is
 * detected, because the number in the copy is lower. A renewed spool keeps only its variables. */
static void test_seq(void **state)
{
	struct fixture *x = *state;
	const char *name = "", *value;
	char first[64];

	keep_identity(x, first);
	assert_int_equal(spool_seq(x->spool), 0);
	spool_put(x->spool, "a", "A", 1, &x->f);
	spool_put(x->spool, "b", "B", 1, &x->f);
	assert_int_equal(spool_seq(x->spool), 0);
	assert_int_equal(spool_start(x->spool, "a", "", 1, &x->f), 0);
	assert_int_equal(spool_seq(x->spool), 1);
	assert_int_equal(spool_drop(x->spool, "b", 1, &x->f), 0);
	assert_int_equal(spool_seq(x->spool), 2);
	spool_put(x->spool, "c", "C", 1, &x->f);
	spool_fail(x->spool, 2, SQLITE_FULL_CODE);
	assert_int_equal(spool_start(x->spool, "c", "", 1, &x->f), FAULT_UNAVAILABLE);
	assert_int_equal(spool_seq(x->spool), 2);
	spool_set_env(x->spool, "K", "v", &x->f);
	reopen(x, "one", 1);
	assert_int_equal(spool_seq(x->spool), 2);
	assert_string_equal(spool_identity(x->spool), first);
	x->f = (struct fault){ 0 };
	assert_int_equal(spool_renew(x->spool, &x->f), 0);
	assert_string_not_equal(spool_identity(x->spool), first);
	assert_int_equal(spool_seq(x->spool), 0);
	assert_int_equal(counts(x).waiting, 0);
	assert_int_equal(counts(x).results, 0);
	assert_int_equal(spool_env(x->spool, name, &x->arena, &name, &value, &x->f), 1);
	assert_string_equal(value, "v");
}

/* Converts the spool to a spool of version 1 with the owner `owner`. */
static void make_old(struct fixture *x, const char *owner)
{
	char path[100], sql[300];
	sqlite3 *db;

	spool_close(x->spool);
	x->spool = NULL;
	snprintf(path, sizeof(path), "%s.seq", x->dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/spool.db", x->dir);
	snprintf(sql, sizeof(sql),
		 "ALTER TABLE spool DROP COLUMN seq;"
		 "ALTER TABLE spool DROP COLUMN identity;"
		 "ALTER TABLE spool DROP COLUMN restores;"
		 "UPDATE spool SET workspace = '%s'; PRAGMA user_version = 1;",
		 owner);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* In version 1 a workspace had one spool, so the workspace's id becomes the spool's identity. */
static void test_older_version(void **state)
{
	struct fixture *x = *state;
	char first[64];

	spool_put(x->spool, "a", "A", 1, &x->f);
	make_old(x, "one");
	reopen(x, "one", 1);
	assert_non_null(x->spool);
	assert_string_equal(spool_identity(x->spool), "one");
	assert_int_equal(counts(x).waiting, 1);
	make_old(x, ""); /* without an owner */
	reopen(x, "one", 1);
	keep_identity(x, first);
	assert_string_equal(spool_owner(x->spool), "one");
	reopen(x, "one", 1);
	assert_string_equal(spool_identity(x->spool), first);
}

/* After the spool's file got another name, writes are refused, since the rows would be lost. */
static void test_lost(void **state)
{
	struct fixture *x = *state;
	struct spool *s = x->spool;
	char path[100], away[100];
	FILE *other;

	snprintf(path, sizeof(path), "%s/spool.db", x->dir);
	snprintf(away, sizeof(away), "%s/away", x->dir);
	spool_put(s, "a", "A", 1, &x->f);
	assert_false(spool_is_lost(s));
	rename(path, away);
	assert_true(spool_is_lost(s));
	assert_int_equal(spool_put(s, "b", "B", 1, &x->f), FAULT_CONFLICT);
	assert_int_equal(spool_start(s, "a", "", 1, &x->f), FAULT_CONFLICT);
	assert_int_equal(spool_drop(s, "c", 1, &x->f), FAULT_CONFLICT);
	other = fopen(path, "w");
	fclose(other);
	assert_true(spool_is_lost(s));
	rename(away, path);
	assert_false(spool_is_lost(s));
	x->f = (struct fault){ 0 };
	assert_int_equal(spool_put(s, "b", "B", 1, &x->f), 0);
	assert_int_equal(counts(x).waiting, 2);
}

static void test_bad_file(void **state)
{
	struct fixture *x = *state;
	char path[100];
	FILE *out;

	spool_close(x->spool);
	x->spool = NULL;
	snprintf(path, sizeof(path), "%s/spool.db", x->dir);
	out = fopen(path, "w");
	for (int i = 0; i < 1000; i++)
		fputs("no database ", out);
	fclose(out);
	reopen(x, "one", 1);
	assert_null(x->spool);
	assert_int_equal(x->f.code, FAULT_IO);
}

static void test_room(void **state)
{
	struct fixture *x = *state;
	char id[16];

	spool_begin(x->spool, &x->f);
	spool_end(x->spool, false, &x->f);
	for (int i = 0; i < SPOOL_WAITING; i++) {
		snprintf(id, sizeof(id), "m%d", i);
		assert_int_equal(spool_put(x->spool, id, "", 1, &x->f), 0);
	}
	assert_int_equal(spool_put(x->spool, "more", "", 1, &x->f), FAULT_EXHAUSTED);
	assert_int_equal(spool_put(x->spool, "m3", "", 1, &x->f), 0);
	x->f = (struct fault){ 0 };
	assert_int_equal(spool_start(x->spool, "m0", "", 1, &x->f), 0);
	assert_int_equal(spool_put(x->spool, "more", "", 1, &x->f), 0);
}

static void test_variables(void **state)
{
	struct fixture *x = *state;
	const char *name = "", *value;

	spool_set_env(x->spool, "B", "2", &x->f);
	spool_set_env(x->spool, "A", "1", &x->f);
	spool_set_env(x->spool, "B", "3", &x->f);
	reopen(x, "one", 1);
	assert_int_equal(spool_env(x->spool, name, &x->arena, &name, &value, &x->f), 1);
	assert_string_equal(name, "A");
	assert_int_equal(spool_env(x->spool, name, &x->arena, &name, &value, &x->f), 1);
	assert_string_equal(value, "3");
	assert_int_equal(spool_env(x->spool, name, &x->arena, &name, &value, &x->f), 0);
}

/* Whichever step of a call fails, the call returns a fault and leaves no partial change. */
static void test_failing_steps(void **state)
{
	struct fixture *x = *state;
	struct spool_result_row r = a_result("a", "out");
	long n = 0;
	int rc;

	do {
		x->f = (struct fault){ 0 };
		spool_fail(x->spool, ++n, SQLITE_FULL_CODE);
		rc = spool_put(x->spool, "a", "A", 1, &x->f);
		spool_fail(x->spool, 0, 0);
		assert_int_equal(x->f.code, rc ? FAULT_UNAVAILABLE : 0);
		x->f = (struct fault){ 0 };
		assert_int_equal(counts(x).waiting, rc ? 0 : 1);
		assert_int_equal(spool_knows(x->spool, "a", &x->f), rc == 0);
	} while (rc);
	assert_true(n > 4);
	n = 0;
	do {
		x->f = (struct fault){ 0 };
		spool_fail(x->spool, ++n, SQLITE_IOERR_CODE);
		rc = spool_finish(x->spool, &r, 1, &x->f);
		spool_fail(x->spool, 0, 0);
		x->f = (struct fault){ 0 };
		assert_int_equal(counts(x).results, rc ? 0 : 1);
		assert_int_equal(counts(x).waiting, rc ? 1 : 0);
	} while (rc);
	assert_true(n > 3);
}

/* Returns the number of syncs to the disk since the last call of this function. */
static long syncs(struct fault_control *control)
{
	return atomic_exchange(&control->seen, 0);
}

/* Each change is on the disk when its function returns. */
static void test_durable(void **state)
{
	struct fault_control control = { .kinds = FAULT_DISK_SYNC, .after = 1 << 20 };
	sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
	struct fixture *x = *state;
	struct spool_result_row r = a_result("a", "out");

	assert_int_equal(fault_vfs_register(&control), 0);
	sqlite3_vfs_register(sqlite3_vfs_find("faulty"), 1);
	reopen(x, "one", 1);
	syncs(&control);
	assert_int_equal(spool_put(x->spool, "a", "A", 1, &x->f), 0);
	assert_true(syncs(&control) > 0);
	assert_int_equal(spool_drop(x->spool, "b", 1, &x->f), 0);
	assert_true(syncs(&control) > 0);
	assert_int_equal(spool_start(x->spool, "a", "t", 1, &x->f), 0);
	assert_true(syncs(&control) > 0);
	assert_int_equal(spool_finish(x->spool, &r, 1, &x->f), 0);
	assert_true(syncs(&control) > 0);
	assert_int_equal(spool_ack(x->spool, (const char *[]){ "a" }, 1, &x->f), 0);
	assert_true(syncs(&control) > 0);
	spool_close(x->spool);
	x->spool = NULL;
	sqlite3_vfs_register(usual, 1);
	fault_vfs_unregister();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_life, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_workspace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_identity, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restored, setup, teardown),
		cmocka_unit_test_setup_teardown(test_seq, setup, teardown),
		cmocka_unit_test_setup_teardown(test_older_version, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_variables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failing_steps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_durable, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
