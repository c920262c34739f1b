/* store_backup - makes verified copies of a state, and checks the state. */
#include "core/base/alloc.h"
#include "storage/durable.h"
#include "storage/store_inside.h"
#include "storage/words.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- checks ------------------------------------------------------------------- */

int store_db_first(sqlite3 *db, const char *sql, sqlite3_stmt **st)
{
	int rc = sqlite3_prepare_v2(db, sql, -1, st, NULL);

	return rc == SQLITE_OK ? sqlite3_step(*st) : rc;
}

static int check_integrity(sqlite3 *db, struct fault *f)
{
	sqlite3_stmt *st = NULL;
	const char *said = store_db_first(db, SQL_INTEGRITY, &st) == SQLITE_ROW
				   ? (const char *)sqlite3_column_text(st, 0)
				   : sqlite3_errmsg(db);

	if (!said || strcmp(said, "ok") != 0)
		fault_set(f, FAULT_IO, "", "%s", said ? said : "no memory");
	sqlite3_finalize(st);
	return f->code;
}

static int store_backup_check_references(sqlite3 *db, struct fault *f)
{
	sqlite3_stmt *st = NULL;
	int rc = store_db_first(db, SQL_LOOSE, &st);

	if (rc == SQLITE_ROW)
		fault_set(f, FAULT_IO, "",
			  "row %lld of %s refers to a row of %s "
			  "that is not there",
			  (long long)sqlite3_column_int64(st, 1),
			  sqlite3_column_text(st, 0), sqlite3_column_text(st, 2));
	else if (rc != SQLITE_DONE)
		fault_set(f, FAULT_IO, "", "%s", sqlite3_errmsg(db));
	sqlite3_finalize(st);
	return f->code;
}

int store_check_db(sqlite3 *db, struct fault *f)
{
	return check_integrity(db, f) < 0 ? (int)f->code
					  : store_backup_check_references(db, f);
}

int store_no_own_row(struct fault *f)
{
	fault_set(f, FAULT_IO, "",
		  "the state is damaged: the row about the state itself is gone");
	return fault_hint(f, "Put a backup in its place: `cadre restore`.");
}

static int store_backup_check_state(sqlite3 *db, struct fault *f)
{
	sqlite3_stmt *st = NULL;
	int rc;

	if (store_check_db(db, f) < 0)
		return f->code;
	rc = store_db_first(db, statement_table[sql_state_keys].text, &st);
	if (rc == SQLITE_DONE)
		store_no_own_row(f);
	else if (rc != SQLITE_ROW)
		fault_set(f, FAULT_IO, "", "%s", sqlite3_errmsg(db));
	sqlite3_finalize(st);
	return f->code;
}

int store_check(struct store *s, struct fault *f)
{
	if (!s->db)
		return store_fault(s, SQLITE_CANTOPEN, "check", f);
	return store_backup_check_state(s->db, f);
}

/* --- copies ------------------------------------------------------------------- */

int store_db_copy(sqlite3 *db, const char *path)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, SQL_COPY, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(st, 1, path, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	sqlite3_finalize(st);
	return rc;
}

/* Gives the copy its own mark, since no two files of a state have the same mark (ground.h).
 * Checks the copy through a new connection. */
static int store_backup_settle_copy(struct store *s, const char *path, struct fault *f)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, s->vfs);

	if (rc != SQLITE_OK)
		store_fault(s, rc, "backup", f);
	else if (store_mark(db, f) == 0)
		store_check_db(db, f);
	sqlite3_close(db);
	return f->code;
}

static int sync_path(const char *path, int flags, struct fault *f)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		fault_set(f, errno == ENOSPC ? FAULT_UNAVAILABLE : FAULT_IO, "",
			  "cannot make %s durable: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return f->code;
}

static int store_backup_put_in_place(const char *from, const char *path, bool replace,
				     struct fault *f)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, path, replace ? 0 : RENAME_NOREPLACE) ==
		    0 &&
	    dir_sync_above(path) == 0)
		return 0;
	if (errno == EEXIST)
		return fault_set(f, FAULT_CONFLICT, "", "%s is there already", path);
	return fault_set(f, FAULT_IO, "", "cannot name the copy %s: %s", path,
			 strerror(errno));
}

int store_copy_to(struct store *s, const char *path, bool replace, struct fault *f)
{
	char *temp;
	int rc;

	assert(!s->writing && (!s->db || sqlite3_get_autocommit(s->db)));
	if (!s->db)
		return store_fault(s, SQLITE_CANTOPEN, "backup", f);
	temp = xasprintf("%s.%d.tmp", path, (int)getpid());
	unlink(temp);
	if (mknod(temp, S_IFREG | 0600, 0) < 0)
		fault_set(f, FAULT_IO, "", "cannot make %s: %s", temp, strerror(errno));
	else if ((rc = store_db_copy(s->db, temp)) != SQLITE_DONE)
		store_fault(s, rc, "backup", f);
	else if (store_backup_settle_copy(s, temp, f) == 0 &&
		 sync_path(temp, O_RDONLY, f) == 0)
		store_backup_put_in_place(temp, path, replace, f);
	if (f->code)
		unlink(temp);
	free(temp);
	return f->code;
}

/* Checks the state before the copy, since a copy of a damaged file may lack rows and still pass
 * all checks. */
int store_backup(struct store *s, const char *path, struct fault *f)
{
	struct fault found = { 0 };

	if (s->db && store_backup_check_state(s->db, &found) < 0) {
		fault_set(f, FAULT_IO, "",
			  "the state is damaged, and was not copied: %.150s", found.text);
		return fault_hint(
			f, "See `cadre doctor`; `cadre export` writes what is left.");
	}
	return store_copy_to(s, path, false, f);
}
