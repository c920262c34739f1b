/* A store detects that other files were put in the place of its files. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "storage/store_restore.h"
#include "tests/unit/test_ground/place.h"

static void assert_refused(struct place *p)
{
	struct fault f = { 0 };
	struct store *s = NULL;

	assert_int_equal(store_open(&s, p->dir, 0, NULL, &f), FAULT_IO);
	assert_non_null(strstr(f.text, "does not belong to the state.db beside it"));
	assert_non_null(strstr(f.hint, "cadre restore"));
}

/* --- the WAL of another file --------------------------------------------------- */

static void test_own_wal(void **state)
{
	struct place *p = *state;
	struct store *s, *other;
	struct stat st;

	crash(p, 3);
	crash(p, 3);
	s = open_it(p);
	other = open_it(p);
	assert_int_equal(count(s), 6);
	store_close(s);
	assert_int_equal(stat(p->wal, &st), 0);
	assert_true(st.st_size > 0);
	store_close(other); /* the store that closes last empties the WAL */
	assert_int_equal(stat(p->wal, &st), 0);
	assert_int_equal(st.st_size, 0);
}

static void test_wal_beside_a_backup(void **state)
{
	struct place *p = *state;
	char wal[160], backup[160];
	struct store *s = open_it(p);

	add_many(s, &p->fault, 3);
	snprintf(wal, sizeof(wal), "%s/wal", p->dir);
	snprintf(backup, sizeof(backup), "%s/backup", p->dir);
	assert_int_equal(store_backup(s, backup, &p->fault), 0);
	store_close(s);
	crash(p, 3);
	copy_over(p->path, p->kept);
	copy_over(p->wal, wal);
	copy_over(backup, p->path);
	assert_refused(p);
	assert_refused(p); /* the first refusal changed no file */
	assert_same(p->path, backup);
	assert_same(p->wal, wal);
	copy_over(p->kept, p->path);
	s = open_it(p);
	assert_int_equal(count(s), 6);
	store_close(s);
	copy_over(backup, p->path); /* without a WAL the copy is accepted */
	crash(p, 1);
	s = open_it(p);
	assert_int_equal(count(s), 4);
	store_close(s);
}

/* An older copy of the file, from before the WAL's generation began, lies beside the WAL. */
static void test_wal_beside_an_older_copy(void **state)
{
	struct place *p = *state;
	struct store *s = open_it(p);

	store_close(s);
	copy_over(p->path, p->kept);
	s = open_it(p);
	add_many(s, &p->fault, 400);
	store_close(s);
	crash(p, 3);
	copy_over(p->kept, p->path);
	assert_refused(p);
}

/* A copy of the file lies beside the WAL. The copy was made while no store had the file open.
 * Afterwards the WAL was restarted several times. */
static void test_wal_beside_a_copy_of_before(void **state)
{
	struct place *p = *state;
	char wal[160], now[160];
	struct store *s;

	store_close(open_it(p));
	copy_over(p->path, p->kept);
	s = open_it(p);
	for (int i = 0; i < 3; i++) {
		add_many(s, &p->fault, 1);
		assert_int_equal(store_restart_wal(s, 1000, &p->fault), 1);
	}
	add_many(s, &p->fault, 1);
	snprintf(wal, sizeof(wal), "%s/wal", p->dir);
	snprintf(now, sizeof(now), "%s/now", p->dir);
	copy_over(p->wal, wal);
	copy_over(p->path, now);
	store_close(s);
	copy_over(wal, p->wal); /* as after a crash, the WAL still has its frames */
	copy_over(p->kept, p->path);
	assert_refused(p);
	assert_same(p->path, p->kept);
	assert_same(p->wal, wal);
	copy_over(now, p->path);
	s = open_it(p);
	assert_int_equal(count(s), 4);
	store_close(s);
}

/* A WAL is accepted beside each content that the file has had since the WAL's generation began. */
static void test_wal_copied_in_part(void **state)
{
	struct place *p = *state;
	struct store *s = open_it(p), *beside = open_it(p), *reader = open_it(p);
	char now[3][160], wal[160];

	snprintf(wal, sizeof(wal), "%s/wal", p->dir);
	add_many(s, &p->fault, 2);
	assert_int_equal(store_restart_wal(s, 1000, &p->fault), 1);
	for (int i = 0; i < 3; i++) {
		/* These rows make the file longer, so page 1 is written again. */
		add_many(i & 1 ? beside : s, &p->fault, 100);
		snprintf(now[i], sizeof(now[i]), "%s/now-%d", p->dir, i);
		copy_over(p->path, now[i]);
		/* While a reader is open, the WAL cannot be restarted. */
		store_rollback(reader);
		assert_int_equal(store_begin(reader, false, &p->fault), 0);
		assert_int_equal(count(reader), 102 + 100 * i);
		assert_true(store_checkpoint(s, &p->fault) >= 0);
	}
	copy_over(p->wal, wal);
	store_close(reader);
	store_close(s);
	store_close(beside);
	for (int i = 0; i < 3; i++) {
		copy_over(wal, p->wal);
		copy_over(now[i], p->path);
		s = open_it(p);
		assert_int_equal(count(s), 302);
		store_close(s);
	}
}

/* Two stores write alternately, and open and close the file. The WAL is restarted often. */
static void test_many_generations(void **state)
{
	struct place *p = *state;
	struct store *a = open_it(p);
	int n = 0;

	for (int i = 0; i < 40; i++) {
		struct store *b = open_it(p);

		add_many(i % 3 ? a : b, &p->fault, 1);
		add_many(i % 2 ? a : b, &p->fault, 2);
		n += 3;
		if (i % 5 == 0)
			assert_int_equal(store_restart_wal(b, 1000, &p->fault), 1);
		if (i % 7 == 0) {
			store_close(a);
			a = open_it(p);
		}
		store_close(b);
	}
	assert_int_equal(count(a), n);
	store_close(a);
}

/* Earlier versions of cadre wrote nothing to state.lock. */
static void test_nothing_noted(void **state)
{
	struct place *p = *state;
	char lock[128];
	struct store *s;

	crash(p, 3);
	snprintf(lock, sizeof(lock), "%s/state.lock", p->dir);
	assert_int_equal(truncate(lock, 0), 0);
	s = open_it(p);
	assert_int_equal(count(s), 3);
	store_close(s);
}

static void test_wal_without_its_file(void **state)
{
	struct place *p = *state;
	struct fault f = { 0 };
	struct store *s = NULL;

	crash(p, 3);
	assert_int_equal(rename(p->path, p->kept), 0);
	assert_int_equal(store_open(&s, p->dir, STORE_CREATE, NULL, &f), FAULT_CONFLICT);
	assert_int_equal(rename(p->kept, p->path), 0);
	s = open_it(p);
	assert_int_equal(count(s), 3);
	store_close(s);
}

/* --- a restore ---------------------------------------------------------------------- */

/* A restore is refused if the WAL of the staged state is not empty. */
static void test_staged_log(void **state)
{
	struct place *p = *state;
	char backup[160], stage[160], log[200], aside[300];
	struct store *s = open_it(p);
	FILE *file;

	snprintf(backup, sizeof(backup), "%s/backup", p->dir);
	assert_int_equal(store_backup(s, backup, &p->fault), 0);
	store_close(s);
	assert_int_equal(restore_stage(p->dir, backup, stage, sizeof(stage), &p->fault),
			 0);
	snprintf(log, sizeof(log), "%s/state.db-wal", stage);
	file = fopen(log, "w");
	assert_non_null(file);
	fputs("x", file);
	fclose(file);
	assert_int_equal(restore_commit(p->dir, backup, aside, sizeof(aside), &p->fault),
			 FAULT_IO);
	assert_non_null(strstr(p->fault.text, "still in its log"));
	assert_int_equal(access(stage, F_OK), -1);
	p->fault = (struct fault){ 0 };
	store_close(open_it(p));
}

#define STORY(name) \
	cmocka_unit_test_setup_teardown(name, ground_place_make, ground_place_clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(test_own_wal),
		STORY(test_wal_beside_a_backup),
		STORY(test_wal_beside_an_older_copy),
		STORY(test_wal_beside_a_copy_of_before),
		STORY(test_wal_copied_in_part),
		STORY(test_many_generations),
		STORY(test_nothing_noted),
		STORY(test_wal_without_its_file),
		STORY(test_staged_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) + run_open_tests() +
	       run_planted_tests();
}
