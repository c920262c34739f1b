#include "tests/unit/test_store/place.h"

#include <ftw.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

int place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	const char *temp = getenv("TMPDIR");

	snprintf(p->dir, sizeof(p->dir), "%.40s/store.XXXXXX", temp ? temp : "/tmp");
	assert_non_null(mkdtemp(p->dir));
	*state = p;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int place_remove(void **state)
{
	struct place *p = *state;

	nftw(p->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	arena_release(&p->arena);
	free(p);
	return 0;
}

struct store *place_open_with(struct place *p, unsigned flags, const char *vfs)
{
	struct store *s = NULL;

	if (store_open(&s, p->dir, flags, vfs, &p->fault) < 0)
		fail_msg("%s", p->fault.text);
	return s;
}

struct store *place_open(struct place *p)
{
	return place_open_with(p, STORE_CREATE, NULL);
}

int add_event(struct store *s, int64_t actor, int64_t subject, struct fault *f)
{
	const struct sql_event_add_in in = {
		.seq = store_new_id(s, sql_event_new_id, f),
		.now = 1000,
		.kind = 1,
		.team = 1,
		.actor = actor,
		.subject = subject,
		.detail = "a small detail",
	};

	return in.seq < 0 ? (int)in.seq : store_run(s, sql_late_event_add, &in, f);
}

int commit_event(struct store *s, int64_t actor, int64_t subject, struct fault *f)
{
	if (store_begin(s, true, f) < 0)
		return f->code;
	if (add_event(s, actor, subject, f) < 0) {
		store_rollback(s);
		return f->code;
	}
	return store_commit(s, f);
}

int64_t place_number(const struct place *p, const char *sql)
{
	char path[128];
	sqlite3_stmt *st;
	sqlite3 *db;
	int64_t n;

	snprintf(path, sizeof(path), "%s/state.db", p->dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK ||
	    sqlite3_step(st) != SQLITE_ROW)
		fail_msg("%s: %s (%d)", sql, sqlite3_errmsg(db),
			 sqlite3_extended_errcode(db));
	n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

int64_t events(struct store *s)
{
	struct sql_event_last_in in = { 0 };
	struct event_last_row row;
	struct arena arena = { 0 };
	struct fault f = { 0 };

	assert_int_equal(store_row(s, sql_event_last, &in, &row, sizeof(row), &arena, &f),
			 1);
	arena_release(&arena);
	return row.seq;
}

void place_assert_sound(struct place *p)
{
	struct store *s = place_open(p);

	assert_int_equal(store_check(s, &p->fault), 0);
	store_close(s);
}
