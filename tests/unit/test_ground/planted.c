/* A foreign WAL or rollback journal lies beside a state.db that no process has open. */
#include "tests/unit/test_ground/place.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGES = 28, MARK = 68, PAGE = 4096 }; /* header offsets, page size */

static void put_at(const char *path, off_t at, const void *data, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	assert_int_equal(pwrite(fd, data, n, at), n);
	close(fd);
}

static void get_at(const char *path, off_t at, void *data, size_t n)
{
	int fd = open(path, O_RDONLY);

	assert_int_equal(pread(fd, data, n, at), n);
	close(fd);
}

/* Runs SQL in the database `kept`, and leaves the WAL of `kept`. */
static void leave_log(struct place *p, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(p->kept, &db), SQLITE_OK);
	sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	assert_int_equal(sqlite3_exec(db, "PRAGMA wal_autocheckpoint = 0", NULL, NULL,
				      NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Makes a state with three events, and puts beside it the WAL of a copy in which `sql` ran. The
 * copy had the same counters, but another mark (application id). */
static void make_strange(struct place *p, const char *sql)
{
	struct store *s = open_it(p);
	char log[160];

	add_many(s, &p->fault, 3);
	store_close(s);
	copy_over(p->path, p->kept);
	put_at(p->kept, MARK, "\x12\x34\x56\x78", 4);
	leave_log(p, sql);
	snprintf(log, sizeof(log), "%s-wal", p->kept);
	copy_over(log, p->wal);
	copy_over(p->path, p->kept);
}

static void assert_left_alone(struct place *p, const char *what, const char *file)
{
	struct fault f = { 0 };
	struct store *s = NULL;

	assert_int_equal(store_open(&s, p->dir, 0, NULL, &f), FAULT_IO);
	assert_non_null(strstr(f.text, what));
	assert_non_null(strstr(f.text, "does not belong to the state.db beside it"));
	assert_non_null(strstr(f.hint, "move "));
	assert_same(p->path, p->kept);
	assert_int_equal(unlink(file), 0);
	s = open_it(p);
	assert_int_equal(count(s), 3);
	store_close(s);
}

static void test_strange_log(void **state)
{
	make_strange(*state, "DELETE FROM event; VACUUM");
	assert_left_alone(*state, "state.db-wal", ((struct place *)*state)->wal);
}

static void test_strange_log_without_page_1(void **state)
{
	make_strange(*state, "UPDATE event SET kind = 121");
	assert_left_alone(*state, "state.db-wal", ((struct place *)*state)->wal);
}

/* A later frame of the WAL contains a page 1 that fits the file. But the WAL does not continue
 * the file's present content. */
static void test_log_of_a_later_file(void **state)
{
	struct place *p = *state;
	struct store *s = open_it(p);
	unsigned char changes[4], page[PAGE];
	char lock[128];
	struct stat st;

	add_many(s, &p->fault, 3);
	store_close(s);
	copy_over(p->path, p->kept);
	crash(p, 1);
	copy_over(p->kept, p->path);
	snprintf(lock, sizeof(lock), "%s/state.lock", p->dir);
	assert_int_equal(truncate(lock, 0), 0); /* state.lock is empty again */
	/* The file's change counter is lowered by two, and a frame with the lowered counter is
	 * added behind the last frame. */
	get_at(p->path, 24, changes, 4);
	changes[3] -= 2;
	put_at(p->path, 24, changes, 4);
	copy_over(p->path, p->kept);
	get_at(p->path, 0, page, sizeof(page));
	assert_int_equal(stat(p->wal, &st), 0);
	{
		unsigned char frame[24] = { 0, 0, 0, 1, 0, 0, 0, 1 };

		get_at(p->wal, 16, frame + 8, 8);
		put_at(p->wal, st.st_size, frame, sizeof(frame));
		put_at(p->wal, st.st_size + 24, page, sizeof(page));
	}
	assert_left_alone(p, "state.db-wal", p->wal);
}

/* The power failed while the last frame was written, so the page of this frame is missing. */
static void test_torn_frame(void **state)
{
	struct place *p = *state;
	unsigned char frame[24 + PAGE] = { 0, 0, 0, 1, 0, 0, 0, 9 };
	struct store *s;
	struct stat st;

	crash(p, 3);
	assert_int_equal(stat(p->wal, &st), 0);
	get_at(p->wal, 16, frame + 8, 8);
	put_at(p->wal, st.st_size, frame, sizeof(frame));
	s = open_it(p);
	assert_int_equal(count(s), 3);
	store_close(s);
}

/* --- a journal ------------------------------------------------------------------- */

/* Makes a journal that contains page 1 of state.db. Unless `own`, page 1 in the journal gets
 * another mark. */
static void make_journal(struct place *p, char *journal, size_t room, bool own)
{
	unsigned char head[28] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7, 0, 0,
				   0,    1,    0,    0,    0,    0,    0,    0,    0, 1,
				   0,    0,    2,    0,    0,    0,    0x10, 0 };
	unsigned char record[4 + PAGE + 4] = { 0, 0, 0, 1 };
	struct store *s = open_it(p);

	add_many(s, &p->fault, 3);
	store_close(s);
	copy_over(p->path, p->kept);
	get_at(p->path, 0, record + 4, PAGE);
	memcpy(head + 16, record + 4 + PAGES, 4); /* the number of pages in state.db */
	if (!own)
		memcpy(record + 4 + MARK, "\x12\x34\x56\x78", 4);
	snprintf(journal, room, "%s-journal", p->path);
	put_at(journal, 0, head, sizeof(head));
	put_at(journal, 512, record, sizeof(record));
}

static void test_strange_journal(void **state)
{
	struct place *p = *state;
	struct store *s = NULL;
	struct fault f = { 0 };
	char journal[160];

	make_journal(p, journal, sizeof(journal), false);
	/* The journal may still belong to this state, so the hint says to copy both files
	 * first. */
	assert_int_equal(store_open(&s, p->dir, 0, NULL, &f), FAULT_IO);
	assert_non_null(strstr(f.hint, ": copy both files; if a killed"));
	assert_left_alone(p, "state.db-journal", journal);
}

/* A journal of this file, which a person's killed `sqlite3` left. The store cannot tell the
 * state's own journal from a foreign journal. The person can roll the journal back with
 * `sqlite3`. */
static void test_own_journal(void **state)
{
	struct place *p = *state;
	char journal[160];

	make_journal(p, journal, sizeof(journal), true);
	assert_left_alone(p, "state.db-journal", journal);
}

/* A journal that is no longer valid is ignored. With `journal_mode = PERSIST` SQLite leaves an
 * invalid journal. */
static void test_ended_journal(void **state)
{
	struct place *p = *state;
	char journal[160];

	make_journal(p, journal, sizeof(journal), false);
	put_at(journal, 0, "\0\0\0\0\0\0\0\0", 8);
	store_close(open_it(p));
}

#define STORY(name) \
	cmocka_unit_test_setup_teardown(name, ground_place_make, ground_place_clear)

int run_planted_tests(void)
{
	const struct CMUnitTest tests[] = {
		STORY(test_strange_log),         STORY(test_strange_log_without_page_1),
		STORY(test_log_of_a_later_file), STORY(test_torn_frame),
		STORY(test_strange_journal),     STORY(test_own_journal),
		STORY(test_ended_journal),
	};

	return cmocka_run_group_tests_name("planted", tests, NULL, NULL);
}
