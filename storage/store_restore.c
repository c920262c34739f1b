#include "storage/store_restore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "storage/defend.h"
#include "storage/durable.h"
#include "storage/store_inside.h"
#include "storage/words.h"

enum {
	WAIT_MS = 3000, /* longest wait for processes that have the state open */
	KEPT = 3, /* number of former states that stay in replaced/ */
};

static const char staging[] = "restore.tmp", ready[] = "restore.ready",
		  former[] = "replaced";

static int store_restore_failed(struct fault *f, const char *what)
{
	return fault_set(f, errno == ENOSPC ? FAULT_UNAVAILABLE : FAULT_IO, "",
			 "cannot %s: %s", what, strerror(errno));
}

/* --- the backup ------------------------------------------------------------------- */

static int64_t store_restore_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	if (store_db_first(db, sql, &st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

static int store_restore_check_version(sqlite3 *db, const char *file, struct fault *f)
{
	int64_t version = store_restore_number(db, SQL_VERSION);

	if (version < 1 ||
	    store_restore_number(db, statement_table[sql_restore_states].text) != 1) {
		fault_set(f, FAULT_INVALID, "/file", "%.150s is not a state of cadre",
			  file);
		return fault_hint(f, "name a file that `cadre backup` wrote");
	}
	if (version <= migration_count)
		return 0;
	fault_set(f, FAULT_INVALID, "/file",
		  "%.120s is of version %lld, this program knows versions up to %d", file,
		  (long long)version, migration_count);
	return fault_hint(f, "use the newer cadre that wrote it");
}

static int open_backup(const char *file, sqlite3 **db, struct fault *f)
{
	*db = NULL;
	if (access(file, R_OK))
		return fault_set(f, FAULT_NOT_FOUND, "/file", "cannot read %.150s: %s",
				 file, strerror(errno));
	if (sqlite3_open_v2(file, db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		return fault_set(f, FAULT_IO, "/file", "cannot open %.150s: %s", file,
				 sqlite3_errmsg(*db));
	sqlite_defend(*db);
	return 0;
}

int restore_check(const char *file, struct fault *f)
{
	struct fault found = { 0 };
	sqlite3 *db;

	if (open_backup(file, &db, f) == 0 &&
	    store_restore_check_version(db, file, f) == 0 &&
	    store_check_db(db, &found) < 0) {
		fault_set(f, FAULT_IO, "/file", "%.100s is damaged: %.120s", file,
			  found.text);
		fault_hint(f, "take an older backup; nothing was changed");
	}
	sqlite3_close(db);
	return f->code;
}

int64_t restore_counts(const char *dir)
{
	struct fault none = { 0 };
	sqlite3 *db = NULL;
	char path[4300];
	int64_t n = -1;

	snprintf(path, sizeof(path), "%s/state.db", dir);
	if (open_backup(path, &db, &none) == 0)
		n = store_restore_number(db, statement_table[sql_restore_counts].text);
	sqlite3_close(db);
	return n < 0 ? 0 : n;
}

/* --- staging -------------------------------------------------------------------------- */

/* Removes a folder and the files in it. The folder must have no subfolders. Errors are ignored,
 * since the next attempt to make the folder reports them. */
static void store_restore_remove_folder(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d)))
		unlinkat(fd, e->d_name, 0);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	unlinkat(dir, name, AT_REMOVEDIR);
}

static int copy_database(sqlite3 *from, const char *to, struct fault *f)
{
	sqlite3 *db = NULL;

	if (store_db_copy(from, to) != SQLITE_DONE)
		return fault_set(f, FAULT_UNAVAILABLE, "", "cannot copy the backup: %s",
				 sqlite3_errmsg(from));
	if (sqlite3_open_v2(to, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		fault_set(f, FAULT_IO, "", "cannot open %.150s: %s", to,
			  sqlite3_errmsg(db));
	else
		store_mark(db, f);
	sqlite3_close(db);
	return f->code;
}

static int store_restore_open_dir(const char *dir, struct fault *f)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return store_restore_failed(f, "open the state folder");
	return fd;
}

int restore_stage(const char *dir, const char *file, char *stage, size_t room,
		  struct fault *f)
{
	char path[4400];
	sqlite3 *from = NULL;
	int fd = store_restore_open_dir(dir, f);

	if (fd < 0)
		return fd;
	snprintf(stage, room, "%s/%s", dir, staging);
	snprintf(path, sizeof(path), "%s/state.db", stage);
	store_restore_remove_folder(fd, staging);
	if (mkdirat(fd, staging, 0700) || mknod(path, S_IFREG | 0600, 0))
		store_restore_failed(f, "make restore.tmp");
	else if (open_backup(file, &from, f) == 0)
		copy_database(from, path, f);
	sqlite3_close(from);
	if (f->code)
		store_restore_remove_folder(fd, staging);
	close(fd);
	return f->code;
}

void restore_unstage(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		store_restore_remove_folder(fd, staging);
		close(fd);
	}
}

/* --- parts of the steps ------------------------------------------------------------------ */

static int sync_at(int dir, const char *name, int flags, struct fault *f)
{
	int fd = openat(dir, name, flags | O_CLOEXEC);

	if (fd < 0 || fsync(fd))
		store_restore_failed(f, "make the restored files durable");
	if (fd >= 0)
		close(fd);
	return f->code;
}

static int store_restore_write_file(int dir, const char *name, const void *bytes,
				    size_t n, struct fault *f)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || fsync(fd))
		store_restore_failed(f, name);
	if (fd >= 0)
		close(fd);
	return f->code;
}

static int copy_secret(int stage, const char *from, struct fault *f)
{
	char bytes[33];
	int fd = from ? open(from, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	if (!from)
		n = getrandom(bytes, 32, 0);
	if (fd >= 0)
		close(fd);
	if (n != 32)
		return fault_set(f, FAULT_INVALID, "/file",
				 "%.150s has %zd bytes instead of 32",
				 from ? from : "a new secret", n);
	return store_restore_write_file(stage, "secret", bytes, 32, f);
}

static bool store_restore_is_there(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Moves a file. A missing file is no error, since an earlier run may have moved the file, or
 * the file never existed. */
static int store_restore_move(int from, int to, const char *name, struct fault *f)
{
	if (renameat(from, name, to, name) == 0 || errno == ENOENT)
		return 0;
	return store_restore_failed(f, name);
}

/* --- the steps ------------------------------------------------------------------------------ */

static int read_aside(int new, char *name, size_t room, struct fault *f)
{
	int fd = openat(new, "aside", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, name, room - 1);

	if (n < 0)
		store_restore_failed(f, "read restore.ready/aside");
	else if (n == 0 || strchr(name, '/') || name[0] == '.')
		fault_set(f, FAULT_IO, "", "restore.ready/aside holds no name");
	if (fd >= 0)
		close(fd);
	return f->code;
}

/* Makes or opens the folder `name`, and syncs the folder above. Returns a descriptor, or a
 * negative fault code. */
static int store_restore_make_folder(int above, const char *name, struct fault *f)
{
	int fd = -1;

	if (mkdirat(above, name, 0700) == 0 || errno == EEXIST)
		fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && dir_sync(above) == 0)
		return fd;
	store_restore_failed(f, "make a folder in replaced/");
	if (fd >= 0)
		close(fd);
	return f->code;
}

static int make_aside(int dir, const char *name, struct fault *f)
{
	int parent = store_restore_make_folder(dir, former, f), aside;

	if (parent < 0)
		return parent;
	aside = store_restore_make_folder(parent, name, f);
	close(parent);
	return aside;
}

/* Opens the folder for the former files. The name of this folder is in restore.ready/aside, so
 * that a repeated step moves the remaining files to the same folder. */
static int open_aside(int dir, int new, struct fault *f)
{
	char name[64] = "";

	if (read_aside(new, name, sizeof(name), f) < 0)
		return f->code;
	return make_aside(dir, name, f);
}

/* Moves the former files aside and the new files into the state folder. The former log is moved
 * before the former state.db. After a crash between two moves, restore_finish() continues with
 * the next move. */
static int store_restore_change_files(int dir, int new, int aside, struct fault *f)
{
	static const char *const old[] = { "state.db-shm", "state.db-wal", "state.db" };

	if (store_restore_is_there(new, "state.db")) {
		for (size_t i = 0; i < sizeof(old) / sizeof(*old); i++)
			if (store_restore_move(dir, aside, old[i], f) < 0)
				return f->code;
	}
	if (store_restore_is_there(new, "secret") &&
	    store_restore_move(dir, aside, "secret", f) < 0)
		return f->code;
	if (fsync(aside) || fsync(dir))
		return store_restore_failed(f, "make the former files durable");
	if (store_restore_move(new, dir, "secret", f) < 0 ||
	    store_restore_move(new, dir, "state.db", f) < 0)
		return f->code;
	return fsync(dir) ? store_restore_failed(f, "make the new files durable") : 0;
}

/* Removes the search index, which belongs to the former state. */
static void drop_index(int dir)
{
	static const char *const names[] = { "search.db", "search.db-wal",
					     "search.db-shm", "search.db-journal" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlinkat(dir, names[i], 0);
}

static int finish_alone(int dir, struct fault *f)
{
	int new = openat(dir, ready, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int aside = -1;

	if (new < 0)
		return store_restore_failed(f, "open restore.ready");
	/* If restore.ready/ contains neither `secret` nor state.db, an earlier run has moved
	 * both files, and only the folder must be removed. */
	if (store_restore_is_there(new, "secret") ||
	    store_restore_is_there(new, "state.db"))
		aside = open_aside(dir, new, f);
	if (aside >= 0 && store_restore_change_files(dir, new, aside, f) == 0)
		drop_index(dir);
	if (!f->code) {
		store_restore_remove_folder(dir, ready);
		fsync(dir);
	}
	if (aside >= 0)
		close(aside);
	close(new);
	return f->code;
}

/* Waits until no other process has the state open. After success, no other process can open the
 * state until the caller closes the queue `t`. */
static int take_state(struct writer_queue *t, int dir, const char *why, struct fault *f)
{
	if (writer_queue_open(t, dir, f) < 0 ||
	    writer_queue_lock(t, WRITER_QUEUE_OPEN, true, f) < 0)
		return f->code;
	return writer_queue_alone_for(t, WAIT_MS, why, f);
}

int restore_finish(const char *dir, struct fault *f)
{
	char path[4300];
	struct writer_queue turn = { .lock = -1, .bell = -1 };
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, ready);
	if (access(path, F_OK))
		return 0;
	if ((fd = store_restore_open_dir(dir, f)) < 0)
		return fd;
	if (take_state(&turn, fd, "a restore must be finished", f) == 0 &&
	    store_restore_is_there(fd, ready))
		finish_alone(fd, f);
	writer_queue_close(&turn);
	close(fd);
	return f->code;
}

/* --- the whole restore ------------------------------------------------------------------------ */

static int is_former(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* Removes all former states except the newest KEPT. The names of former states are times, so
 * alphasort() sorts by time. The state `own` is never removed, even if its time is old because
 * the clock was set. */
static void prune(int dir, const char *own)
{
	int fd = openat(dir, former, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **list = NULL;
	int n = fd < 0 ? 0 : scandirat(fd, ".", &list, is_former, alphasort), left = n;

	for (int i = 0; i < n; i++) {
		if (left > KEPT && strcmp(list[i]->d_name, own) != 0) {
			store_restore_remove_folder(fd, list[i]->d_name);
			left--;
		}
		free(list[i]);
	}
	free(list);
	if (fd >= 0)
		close(fd);
}

/* Names a former state by the present time in milliseconds, since no two states are set aside
 * in the same millisecond. */
static void name_aside(char name[32])
{
	const int64_t now = clock_wall_ms();
	size_t n = clock_stamp(now, name);

	snprintf(name + n, 32 - n, "-%03d", (int)(now % 1000));
}

/* Checks that the log of the staged state is empty. The last connection that closed the staged
 * state should have copied the log into state.db. */
static int store_restore_check_log(int stage, struct fault *f)
{
	struct stat st;

	if (fstatat(stage, "state.db-wal", &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0
				       : store_restore_failed(f, "look at restore.tmp");
	if (st.st_size == 0)
		return 0;
	return fault_set(f, FAULT_IO, "", "changes of restore.tmp are still in its log");
}

/* Makes the staged folder complete and durable before the folder is renamed to restore.ready.
 * Removes the files beside state.db that only an open state needs. */
static int store_restore_complete(int dir, const char *secret, const char *name,
				  struct fault *f)
{
	static const char *const extra[] = { "state.lock", "bell", "state.db-wal",
					     "state.db-shm" };
	int stage = openat(dir, staging, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (stage < 0)
		return store_restore_failed(f, "open restore.tmp");
	store_restore_check_log(stage, f);
	for (size_t i = 0; !f->code && i < sizeof(extra) / sizeof(*extra); i++)
		unlinkat(stage, extra[i], 0);
	if (!f->code && copy_secret(stage, secret, f) == 0 &&
	    store_restore_write_file(stage, "aside", name, strlen(name), f) == 0 &&
	    sync_at(stage, "state.db", O_RDONLY, f) == 0 && fsync(stage))
		store_restore_failed(f, "make restore.tmp durable");
	close(stage);
	return f->code;
}

/* While a program has a database in WAL mode open, SQLite holds a lock on this byte of the file
 * -shm. This process has no connection to the state that is replaced, so close() on -shm drops
 * no lock of this process. */
enum { SHM_OPEN_BYTE = 128 };
static const char shm_file[] = "state.db-shm";

static int store_restore_refuse_stranger(int dir, struct fault *f)
{
	struct flock l = { .l_type = F_WRLCK,
			   .l_whence = SEEK_SET,
			   .l_start = SHM_OPEN_BYTE,
			   .l_len = 1 };
	int fd = openat(dir, shm_file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	char name[80] = "another process";
	bool held;

	if (fd < 0)
		return 0;
	held = fcntl(fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK;
	close(fd);
	if (!held)
		return 0;
	if (l.l_pid > 0)
		lock_holder_name(l.l_pid, name, sizeof(name));
	fault_set(f, FAULT_UNAVAILABLE, "",
		  "a backup cannot replace the state, because a process "
		  "has state.db open: %s",
		  name);
	return fault_hint(f, "end that process, then repeat");
}

int restore_commit(const char *dir, const char *secret, char *aside, size_t room,
		   struct fault *f)
{
	struct writer_queue turn = { .lock = -1, .bell = -1 };
	int fd = store_restore_open_dir(dir, f);
	char name[32] = "";

	if (fd < 0)
		return fd;
	name_aside(name);
	snprintf(aside, room, "%s/%s/%s", dir, former, name);
	if (store_restore_complete(fd, secret, name, f) == 0 &&
	    take_state(&turn, fd, "a backup is to replace the state", f) == 0 &&
	    store_restore_refuse_stranger(fd, f) == 0) {
		if (renameat(fd, staging, fd, ready) || fsync(fd))
			store_restore_failed(f, "name restore.ready");
		else if (finish_alone(fd, f) == 0)
			prune(fd, name);
	}
	if (f->code)
		store_restore_remove_folder(fd, staging);
	writer_queue_close(&turn);
	close(fd);
	return f->code;
}

/* Moves the former files aside, and leaves an empty state.db and an empty state.lock. If a
 * folder has these two empty files, the next process makes a new state in the folder, whatever
 * other files the folder contains. */
static int set_files_aside(int dir, int aside, const struct writer_queue *turn,
			   struct fault *f)
{
	static const char *const left[] = { "state.db-shm", "state.db-wal", "state.db",
					    "secret" };

	for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++)
		if (store_restore_move(dir, aside, left[i], f) < 0)
			return f->code;
	drop_index(dir);
	if (ftruncate(turn->lock, 0) || mknodat(dir, "state.db", S_IFREG | 0600, 0) ||
	    fsync(aside) || fsync(dir))
		return store_restore_failed(f, "set the former files aside");
	return 0;
}

int restore_set_aside(const char *dir, restore_is_lost *is_lost, char *path, size_t room,
		      struct fault *f)
{
	struct writer_queue turn = { .lock = -1, .bell = -1 };
	int fd = store_restore_open_dir(dir, f), aside = -1;
	char name[32] = "";

	*path = '\0';
	if (fd < 0)
		return fd;
	if (take_state(&turn, fd, "a new state is to be made", f) == 0 &&
	    is_lost(dir, NULL, 0)) {
		name_aside(name);
		snprintf(path, room, "%s/%s/%s", dir, former, name);
		aside = make_aside(fd, name, f);
	}
	if (aside >= 0) {
		if (set_files_aside(fd, aside, &turn, f) == 0)
			prune(fd, name);
		close(aside);
	}
	writer_queue_close(&turn);
	close(fd);
	return f->code;
}
