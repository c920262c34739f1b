#include "tests/lib/hooks.h"
#include "tests/unit/test_ground/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void assert_lost(struct store *s, const char *what)
{
	struct fault f = { 0 };

	assert_int_equal(add(s, &f), FAULT_UNAVAILABLE);
	assert_non_null(strstr(f.text, what));
	assert_int_equal(store_begin(s, false, &(struct fault){ 0 }), FAULT_UNAVAILABLE);
	assert_int_equal(store_checkpoint(s, &(struct fault){ 0 }), FAULT_UNAVAILABLE);
	assert_int_equal(store_restart_wal(s, 10, &(struct fault){ 0 }),
			 FAULT_UNAVAILABLE);
	assert_true(store_lost(s));
}

static void test_removed(void **state)
{
	struct place *p = *state;
	struct store *s = open_it(p);

	add_many(s, &p->fault, 1);
	assert_false(store_lost(s));
	assert_int_equal(unlink(p->path), 0);
	assert_lost(s, "is gone");
	store_close(s);
	assert_int_equal(access(p->wal, F_OK), 0);
}

static void test_written_over(void **state)
{
	struct place *p = *state;
	char backup[160];
	struct store *s = open_it(p);

	snprintf(backup, sizeof(backup), "%s/backup", p->dir);
	add_many(s, &p->fault, 3);
	assert_int_equal(store_backup(s, backup, &p->fault), 0);
	copy_over(backup, p->path);
	assert_lost(s, "was written over");
	store_close(s);
	assert_same(p->path, backup); /* the open store's WAL was not applied */
}

static void test_cut_off(void **state)
{
	struct place *p = *state;
	struct store *s = open_it(p);

	add_many(s, &p->fault, 400);
	assert_true(store_checkpoint(s, &p->fault) >= 0);
	assert_int_equal(add(s, &p->fault), 0);
	assert_int_equal(truncate(p->path, 8192), 0);
	assert_lost(s, "was cut off");
	store_close(s);
}

/* A file that VACUUM makes smaller does not count as cut off. */
static void test_vacuum(void **state)
{
	struct place *p = *state;
	struct store *s = open_it(p), *beside = open_it(p);
	struct stat before, after;

	add_many(s, &p->fault, 2000);
	assert_int_equal(store_restart_wal(s, 1000, &p->fault), 1);
	assert_int_equal(stat(p->path, &before), 0);
	assert_int_equal(store_exec(s, "DELETE FROM event", &p->fault), 0);
	assert_int_equal(store_exec(s, "VACUUM", &p->fault), 0);
	assert_int_equal(store_restart_wal(s, 1000, &p->fault), 1);
	assert_int_equal(stat(p->path, &after), 0);
	assert_true(after.st_size < before.st_size);
	for (int i = 0; i < 10; i++) {
		add_many(beside, &p->fault, 100);
		add_many(s, &p->fault, 100);
		assert_true(store_checkpoint(s, &p->fault) >= 0);
	}
	store_close(s);
	store_close(beside);
}

static bool succeeds(const char *command)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

/* A checkpoint is killed after it wrote page 1, and before it made the file longer. A store
 * opened the file before VACUUM made the file smaller, and still has the file open. */
static void test_checkpoint_that_died(void **state)
{
	struct place *p = *state;
	struct store *s = open_it(p), *beside;
	char command[400];
	struct stat st;

	add_many(s, &p->fault, 2000);
	assert_int_equal(store_restart_wal(s, 1000, &p->fault), 1);
	beside = open_it(p);
	assert_int_equal(store_exec(s, "DELETE FROM event", &p->fault), 0);
	assert_int_equal(store_exec(s, "VACUUM", &p->fault), 0);
	assert_int_equal(store_restart_wal(s, 1000, &p->fault), 1);
	assert_int_equal(stat(p->path, &st), 0);
	add_many(s, &p->fault, 1000);
	snprintf(command, sizeof(command),
		 "ulimit -c 0; ulimit -f %ld; sqlite3 '%s' 'PRAGMA wal_checkpoint'",
		 (long)st.st_size / 512 + 8, p->path);
	assert_false(succeeds(command));
	assert_false(store_lost(beside));
	assert_int_equal(add(beside, &p->fault), 0);
	assert_false(store_lost(s));
	assert_int_equal(count(beside), 1001);
	store_close(s);
	store_close(beside);
}

static void test_log_cut_off(void **state)
{
	struct place *p = *state;
	struct store *s = open_it(p);

	add_many(s, &p->fault, 5);
	assert_int_equal(truncate(p->wal, 0), 0);
	assert_true(store_lost(s)); /* detected before any write */
	assert_lost(s, "had its -wal cut off");
	store_close(s);
}

/* The WAL is overwritten with a copy of an older WAL, which is longer. */
static void test_log_written_over(void **state)
{
	struct place *p = *state;
	char wal[160];
	struct store *s;

	crash(p, 50);
	snprintf(wal, sizeof(wal), "%s/wal", p->dir);
	copy_over(p->wal, wal);
	s = open_it(p);
	assert_int_equal(store_restart_wal(s, 1000, &p->fault), 1);
	add_many(s, &p->fault, 5);
	copy_over(p->path, p->kept);
	copy_over(wal, p->wal);
	assert_lost(s, "cut off or written over");
	store_close(s);
	assert_same(p->path, p->kept); /* no page of the copy was applied */
}

/* The file is renamed between BEGIN and COMMIT. So COMMIT would write to a file that no longer
 * has the state's name. */
static void test_removed_under_commit(void **state)
{
	const struct sql_event_add_in event = { .seq = 1, .now = 1, .kind = 120 };
	struct place *p = *state;
	struct store *s = open_it(p);

	assert_int_equal(store_begin(s, true, &p->fault), 0);
	assert_true(store_run(s, sql_late_event_add, &event, &p->fault) >= 0);
	assert_int_equal(rename(p->path, p->kept), 0);
	assert_int_equal(store_commit(s, &p->fault), FAULT_UNAVAILABLE);
	store_close(s);
}

static void test_wal_removed(void **state)
{
	struct place *p = *state;
	struct store *s = open_it(p), *beside = open_it(p);

	add_many(s, &p->fault, 5);
	assert_int_equal(unlink(p->wal), 0);
	assert_lost(s, "has lost its -wal");
	store_close(s);
	store_close(beside);
	s = open_it(p);
	assert_int_equal(count(s), 5);
	store_close(s);
}

/* After a failure the store does not open another file at the same path. */
static void test_replaced_before_it_is_opened_again(void **state)
{
	struct place *p = *state;
	char backup[160];
	struct store *s = open_it(p);

	snprintf(backup, sizeof(backup), "%s/backup", p->dir);
	assert_int_equal(store_backup(s, backup, &p->fault), 0);
	assert_int_equal(store_begin(s, true, &p->fault), 0);
	assert_int_equal(rename(backup, p->path), 0);
	store_fail(s, 1, SQLITE_IOERR);
	assert_int_equal(store_commit(s, &p->fault), FAULT_UNAVAILABLE);
	store_fail(s, 0, 0);
	assert_lost(s, "is another file now");
	store_close(s);
}

/* A slightly older copy of the WAL replaces the WAL. Generation and length are the same. Where
 * the WAL has its last frames, the copy has frames of an earlier generation. */
static void test_log_of_a_moment_ago(void **state)
{
	struct place *p = *state;
	struct store *s = open_it(p);
	char wal[160];

	add_many(s, &p->fault, 50);
	assert_int_equal(store_restart_wal(s, 1000, &p->fault), 1);
	add_many(s, &p->fault, 5);
	snprintf(wal, sizeof(wal), "%s/wal", p->dir);
	copy_over(p->wal, wal);
	add_many(s, &p->fault, 5);
	copy_over(wal, p->wal);
	assert_lost(s, "cut off or written over");
	store_close(s);
}

/* Cuts state.db (or its WAL, if `log`) to `size` bytes between BEGIN and COMMIT. The COMMIT
 * makes the cut file long again. */
static void cut_under_commit(void **state, bool log, off_t size)
{
	const struct sql_event_add_in event = { .seq = 1000, .now = 1, .kind = 120 };
	struct place *p = *state;
	struct store *s = open_it(p);

	add_many(s, &p->fault, 400);
	assert_true(store_checkpoint(s, &p->fault) >= 0);
	add_many(s, &p->fault, 5);
	assert_int_equal(store_begin(s, true, &p->fault), 0);
	assert_true(store_run(s, sql_late_event_add, &event, &p->fault) >= 0);
	assert_int_equal(truncate(log ? p->wal : p->path, size), 0);
	assert_int_equal(store_commit(s, &p->fault), FAULT_UNAVAILABLE);
	assert_non_null(strstr(p->fault.text, "cut off"));
	store_close(s);
}

static void test_file_cut_under_commit(void **state)
{
	cut_under_commit(state, false, 8192);
}

static void test_log_cut_under_commit(void **state)
{
	cut_under_commit(state, true, 8192);
}

static void test_log_emptied_under_commit(void **state)
{
	cut_under_commit(state, true, 0);
}

#define STORY(name) \
	cmocka_unit_test_setup_teardown(name, ground_place_make, ground_place_clear)

int run_open_tests(void)
{
	const struct CMUnitTest tests[] = {
		STORY(test_removed),
		STORY(test_written_over),
		STORY(test_cut_off),
		STORY(test_vacuum),
		STORY(test_checkpoint_that_died),
		STORY(test_log_cut_off),
		STORY(test_log_written_over),
		STORY(test_removed_under_commit),
		STORY(test_wal_removed),
		STORY(test_replaced_before_it_is_opened_again),
		STORY(test_log_of_a_moment_ago),
		STORY(test_file_cut_under_commit),
		STORY(test_log_cut_under_commit),
		STORY(test_log_emptied_under_commit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
