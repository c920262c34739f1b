#include "storage/spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "storage/defend.h"
#include "storage/durable.h"
#include "storage/side.h"
#include "storage/words.h"

/*
 * spool_witness - stores a spool's count in a file beside the spool's folder.
 *
 * The file DIR.seq contains the spool's identity and spool_seq(), the number of commands that
 * were started or called off. A copy of the folder DIR does not contain this file. After an old
 * copy of DIR is put back, the spool's count is lower than the count in DIR.seq. The host
 * stores the count, too, but does not know of commands that began without a connection to the
 * host. If DIR.seq is missing or cannot be written, only the host's count is compared.
 */

struct spool_witness {
	char identity[64];
	int64_t seq;
};

/* The size of the file in bytes. The few bytes fit into one block, so a write stores either all
 * of the bytes or no byte. */
enum { LINE = 96 };

static int spool_witness_open_file(const char *dir, int flags)
{
	char path[4200];

	if (snprintf(path, sizeof(path), "%s.seq", dir) >= (int)sizeof(path))
		return -1;
	return open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

/* Reads the witness file.  Returns false if there is no readable file. */
static bool spool_witness_read(const char *dir, struct spool_witness *w)
{
	char line[LINE + 1] = "";
	struct stat st;
	int fd = spool_witness_open_file(dir, O_RDONLY);
	bool whole;

	if (fd < 0)
		return false;
	whole = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		pread(fd, line, LINE, 0) == LINE;
	close(fd);
	return whole && sscanf(line, "%63s %" SCNd64, w->identity, &w->seq) == 2;
}

/* Writes the witness file durably. If the write fails, the file keeps the old contents. */
static void spool_witness_write(const char *dir, const char *identity, int64_t seq)
{
	char line[LINE + 1], path[4200];
	struct stat st;
	int fd = spool_witness_open_file(dir, O_WRONLY | O_CREAT);

	if (fd < 0)
		return;
	snprintf(line, sizeof(line), "%-64s %-30" PRId64 "\n", identity, seq);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    pwrite(fd, line, LINE, 0) == LINE && fdatasync(fd) == 0 && !st.st_size) {
		snprintf(path, sizeof(path), "%s.seq", dir);
		dir_sync_above(path);
	}
	close(fd);
}

/*
 * spool_db - the connection and the statements of the guest's spool.
 */

/* Runs a statement of spool.sql with its parameters.  Returns 0, or a fault. */
#define spool_run(s, name, f, ...) \
	spool_run_in((s), sql_##name, side_in(name, __VA_ARGS__), (f))
/* Reads one row. Returns 1 if there is a row, 0 if there is no row, or a negative fault code. */
#define spool_row(s, name, row, a, f, ...) \
	spool_row_in((s), SIDE_ROW(spool_side(s), name, (row), (a), __VA_ARGS__), (f))

enum { IDENTITY_BYTES = 16 };

extern const struct statement spool_statement_table[];
extern const struct migration spool_migration_table[];
extern const int spool_migration_count;

#define DAYS_MS (86400 * INT64_C(1000))
#define KNOWN_FOR (90 * DAYS_MS) /* longer than a host keeps a delivery */

struct spool {
	struct side_db side; /* the first member, because tests set side.fail_after */
	sqlite3_stmt *prepared[SPOOL_SQL_COUNT];
	char owner[64];
	char identity[64];
	int64_t restores, seq;
	char dir[4096];
	bool overwritten; /* somebody copied another spool into the file */
};

/* --- statements --------------------------------------------------------------- */

static int spool_db_broken(struct spool *s, int rc, struct fault *f)
{
	enum fault_code code = FAULT_IO;

	rc &= 0xff;
	if (rc == SQLITE_FULL || rc == SQLITE_NOMEM || rc == SQLITE_BUSY)
		code = FAULT_UNAVAILABLE;
	return fault_set(f, code, "", "the guest's spool: %s",
			 s->side.fail_after < 0 ? sqlite3_errstr(rc)
						: sqlite3_errmsg(s->side.db));
}

static struct side_db *spool_side(struct spool *s)
{
	return &s->side;
}

bool spool_is_lost(struct spool *s)
{
	int moved = 0;

	if (s->overwritten)
		return true;
	sqlite3_file_control(s->side.db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	return moved;
}

/* Refuses to write to a file that was replaced or removed from the folder, since the data would
 * be lost. */
static int spool_db_check_place(struct spool *s, struct fault *f)
{
	if (!spool_is_lost(s))
		return 0;
	return fault_set(f, FAULT_CONFLICT, "", "the guest's spool is %s",
			 s->overwritten ? "written over" : "gone from its folder");
}

/* Runs a statement for spool_run().  Returns 0, or a fault. */
static int spool_run_in(struct spool *s, enum spool_sql id, const void *in,
			struct fault *f)
{
	int rc;

	if (sqlite3_get_autocommit(s->side.db) && spool_db_check_place(s, f))
		return f->code;
	rc = side_run(&s->side, id, in);
	return rc == SQLITE_OK ? 0 : spool_db_broken(s, rc, f);
}

/* Converts `rc`, the result of SIDE_ROW(). Returns 1 for a row, 0 if there is no row, or a
 * negative fault code. */
static int spool_row_in(struct spool *s, int rc, struct fault *f)
{
	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : spool_db_broken(s, rc, f);
}

int spool_begin(struct spool *s, struct fault *f)
{
	return spool_run(s, spool_begin, f);
}

int spool_end(struct spool *s, bool ok, struct fault *f)
{
	struct fault ignored = { 0 };
	int rc = ok ? spool_run(s, spool_commit, f) : 0;

	if (!sqlite3_get_autocommit(s->side.db))
		spool_run(s, spool_rollback, &ignored);
	return rc;
}

/* --- opening -------------------------------------------------------------------- */

static int execute(struct spool *s, const char *sql, struct fault *f)
{
	int rc = side_exec(&s->side, sql);

	return rc == SQLITE_OK ? 0 : spool_db_broken(s, rc, f);
}

static int connect(struct spool *s, const char *path, struct fault *f)
{
	/* SQLite gives -wal and -shm the mode of the file. The file is made here with the mode
	 * 0600, since a umask would apply to all threads. An existing file is not opened, since
	 * close() would drop the locks that this process may have on the file. */
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc;

	if (fd >= 0)
		close(fd);
	rc = sqlite3_open_v2(
		path, &s->side.db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc != SQLITE_OK)
		spool_db_broken(s, rc, f);
	sqlite_defend(s->side.db);
	if (rc == SQLITE_OK)
		rc = execute(s, SQL_SPOOL, f);
	sqlite3_busy_timeout(s->side.db, 2000);
	return rc == SQLITE_OK ? 0 : f->code;
}

static int make_identity(struct spool *s, struct fault *f)
{
	unsigned char r[IDENTITY_BYTES];

	if (getrandom(r, sizeof(r), 0) != sizeof(r))
		return fault_set(f, FAULT_IO, "", "no randomness");
	for (size_t i = 0; i < sizeof(r); i++)
		snprintf(s->identity + 2 * i, 3, "%02x", r[i]);
	return 0;
}

static int write_self(struct spool *s, struct fault *f)
{
	return spool_run(s, spool_self_set, f, .workspace = s->owner,
			 .identity = s->identity, .restores = s->restores, .seq = s->seq);
}

/* Runs the migrations from `version` to the version of this program. */
static int migrate(struct spool *s, int version, struct fault *f)
{
	int rc = 0;

	for (int i = version; i < spool_migration_count && !rc; i++)
		rc = execute(s, spool_migration_table[i].text, f);
	return rc;
}

/* Deletes everything but the variables. If the file has no tables, makes the tables. */
static int empty(struct spool *s, struct fault *f)
{
	int version = 0, rc = side_version(&s->side, &version);

	if (rc != SQLITE_OK)
		return spool_db_broken(s, rc, f);
	if (version == 0)
		return migrate(s, 0, f);
	rc = spool_run(s, spool_empty_had, f);
	if (!rc)
		rc = spool_run(s, spool_empty_assignments, f);
	return rc ? rc : spool_run(s, spool_empty_results, f);
}

/* Empties the spool and gives it a new identity. */
static int begin_anew(struct spool *s, struct fault *f)
{
	char identity[sizeof(s->identity)];
	int64_t seq = s->seq;
	int rc;

	memcpy(identity, s->identity, sizeof(identity));
	rc = make_identity(s, f);
	s->seq = 0;
	if (!rc && !(rc = spool_begin(s, f))) {
		rc = empty(s, f);
		if (!rc)
			rc = write_self(s, f);
		if (spool_end(s, !rc, f))
			rc = f->code;
	}
	if (!rc)
		spool_witness_write(s->dir, s->identity, s->seq);
	if (rc) { /* the spool on the disk is unchanged */
		memcpy(s->identity, identity, sizeof(s->identity));
		s->seq = seq;
	}
	return rc;
}

static int spool_db_make(struct spool *s, const struct spool_place *place,
			 struct fault *f)
{
	if (*place->workspace)
		snprintf(s->owner, sizeof(s->owner), "%s", place->workspace);
	s->restores = place->restores < 0 ? 0 : place->restores;
	return begin_anew(s, f);
}

int spool_renew(struct spool *s, struct fault *f)
{
	return begin_anew(s, f);
}

static int read_self(struct spool *s, struct fault *f)
{
	struct spool_self_row row = { .workspace = "unknown", .identity = "" };
	struct arena a = { 0 };
	int rc = spool_row(s, spool_self, &row, &a, f);

	snprintf(s->owner, sizeof(s->owner), "%s", row.workspace);
	snprintf(s->identity, sizeof(s->identity), "%s", row.identity);
	s->restores = row.restores;
	s->seq = row.seq;
	arena_release(&a);
	return rc < 0 ? rc : 0;
}

static int upgrade(struct spool *s, int version, struct fault *f)
{
	int rc = spool_begin(s, f);

	if (rc)
		return rc;
	rc = migrate(s, version, f);
	return spool_end(s, !rc, f) ? f->code : rc;
}

/* Renames the spool's file, and makes a new file at `path`. SQLite writes the WAL into the old
 * file when the last connection closes, so no other file need be renamed. */
static int spool_db_set_aside(struct spool *s, const char *path, struct arena *a,
			      struct fault *f)
{
	side_close(&s->side);
	if (rename(path, arena_printf(a, "%s.%.64s", path, s->owner)) == 0 &&
	    dir_sync_above(path) == 0)
		return connect(s, path, f);
	return fault_set(f, FAULT_IO, "", "cannot set %s aside: %s", path,
			 strerror(errno));
}

/* Brings the spool at `path` to this version, and reads the spool's own row. Fails if the spool
 * is of a newer version. */
static int read_spool(struct spool *s, const char *path, int version, struct fault *f)
{
	int rc = 0;

	if (version > spool_migration_count)
		return fault_set(f, FAULT_CONFLICT, "", "%s is of a newer version (%d)",
				 path, version);
	if (version < spool_migration_count)
		rc = upgrade(s, version, f);
	return rc ? rc : read_self(s, f);
}

/* Continues a spool that belongs to this workspace or to no workspace. If the workspace was
 * restored to a snapshot after the spool was made, the spool is emptied. A spool without an
 * identity gets an identity. A spool without an owner gets an owner. */
static int spool_db_keep(struct spool *s, const struct spool_place *place,
			 struct fault *f)
{
	int rc = 0;

	if (place->restores >= 0 && place->restores != s->restores)
		return spool_db_make(s, place, f);
	if (!*s->identity && !(rc = make_identity(s, f)))
		rc = write_self(s, f);
	if (!rc && !*s->owner && *place->workspace)
		rc = spool_adopt(s, place->workspace, f);
	return rc;
}

/* Makes a new spool, or checks the version, the owner and the number of restores of an existing
 * spool. */
static int spool_db_settle(struct spool *s, const char *path,
			   const struct spool_place *place, struct arena *a,
			   struct fault *f)
{
	int version = 0, rc = side_version(&s->side, &version);

	if (rc != SQLITE_OK)
		return spool_db_broken(s, rc, f);
	if (version == 0)
		return spool_db_make(s, place, f);
	if ((rc = read_spool(s, path, version, f)))
		return rc;
	if (!*place->workspace || !*s->owner || !strcmp(s->owner, place->workspace))
		return spool_db_keep(s, place, f);
	rc = spool_db_set_aside(s, path, a, f);
	return rc ? rc : spool_db_make(s, place, f);
}

const char *spool_identity(const struct spool *s)
{
	return s->identity;
}

int64_t spool_seq(const struct spool *s)
{
	return s->seq;
}

/* Increases the count in the file. If the count in the file differs from s->seq, somebody wrote
 * an older copy over the file, and the function fails. */
static int count_on(struct spool *s, struct fault *f)
{
	if (spool_run(s, spool_count_on, f, .identity = s->identity, .seq = s->seq))
		return f->code;
	if (sqlite3_changes(s->side.db) == 1)
		return 0;
	s->overwritten = true;
	return spool_db_check_place(s, f);
}

/* Like spool_end(), but also increases the count. The function ends a transaction that starts
 * or calls off a command. */
static int spool_end_counted(struct spool *s, bool ok, struct fault *f)
{
	int rc = ok ? count_on(s, f) : 0;

	if (spool_end(s, ok && !rc, f) || rc)
		return f->code;
	if (ok)
		spool_witness_write(s->dir, s->identity, ++s->seq);
	return 0;
}

const char *spool_owner(const struct spool *s)
{
	return s->owner;
}

int spool_adopt(struct spool *s, const char *workspace, struct fault *f)
{
	int rc = spool_run(s, spool_owner_set, f, .workspace = workspace);

	if (!rc)
		snprintf(s->owner, sizeof(s->owner), "%s", workspace);
	return rc;
}

/* Empties a spool whose count is lower than the count in DIR.seq, or whose identity differs
 * from the identity in DIR.seq. An older copy of the spool may contain waiting commands that
 * were started after the copy was made. */
static int compare_witness(struct spool *s, struct fault *f)
{
	struct spool_witness w;
	bool is_there = spool_witness_read(s->dir, &w);

	if (is_there && (strcmp(w.identity, s->identity) != 0 || w.seq > s->seq))
		return begin_anew(s, f);
	if (!is_there || w.seq < s->seq)
		spool_witness_write(s->dir, s->identity, s->seq);
	return 0;
}

/* Gives a failed result to every command that ran when the guest ended. A command with a result
 * never runs again. */
static int recover(struct spool *s, int64_t now, struct fault *f)
{
	int rc = spool_begin(s, f);

	if (rc)
		return rc;
	rc = spool_run(s, spool_interrupt, f, .now = now);
	if (!rc)
		rc = spool_run(s, spool_started_gone, f);
	if (!rc)
		rc = spool_run(s, spool_prune, f, .before = now - KNOWN_FOR);
	return spool_end(s, !rc, f) ? f->code : rc;
}

int spool_open(struct spool **out, const struct spool_place *place, int64_t now,
	       struct fault *f)
{
	struct spool_place at = { place->dir, place->workspace ? place->workspace : "",
				  place->restores };
	struct spool *s = xcalloc(1, sizeof(*s));
	struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s/spool.db", at.dir);
	int rc;

	s->side.table = spool_statement_table;
	s->side.prepared = s->prepared;
	s->side.n = SPOOL_SQL_COUNT;
	snprintf(s->dir, sizeof(s->dir), "%s", at.dir);
	rc = connect(s, path, f);
	if (!rc)
		rc = spool_db_settle(s, path, &at, &a, f);
	if (!rc)
		rc = compare_witness(s, f);
	if (!rc)
		rc = recover(s, now, f);
	if (!rc)
		*out = s;
	else
		spool_close(s);
	arena_release(&a);
	return rc;
}

void spool_close(struct spool *s)
{
	if (!s)
		return;
	side_close(&s->side);
	free(s);
}

/* Removes the text of deleted rows from the WAL and the file, by a checkpoint. If the
 * checkpoint fails, the text stays until the checkpoint that follows the next deletion. */
static void erase(struct spool *s)
{
	side_exec(spool_side(s), SQL_CHECKPOINT);
}

/* --- assignments ------------------------------------------------------------------- */

int spool_knows(struct spool *s, const char *message_id, struct fault *f)
{
	struct spool_known_row row;

	return spool_row(s, spool_known, &row, NULL, f, .message_id = message_id);
}

static int spool_note(struct spool *s, const char *message_id, int64_t now,
		      struct fault *f)
{
	return spool_run(s, spool_note, f, .message_id = message_id, .at = now);
}

static int spool_check_room(struct spool *s, struct fault *f)
{
	struct spool_waiting_row row = { 0 };
	int rc = spool_row(s, spool_waiting, &row, NULL, f);

	if (rc < 0)
		return rc;
	if (row.n >= SPOOL_WAITING)
		return fault_set(f, FAULT_EXHAUSTED, "", "%d assignments wait already",
				 SPOOL_WAITING);
	return 0;
}

static int put_new(struct spool *s, const char *message_id, const char *content,
		   int64_t now, struct fault *f)
{
	int rc = spool_check_room(s, f);

	if (rc)
		return rc;
	rc = spool_note(s, message_id, now, f);
	if (rc)
		return rc;
	return spool_run(s, spool_put, f, .message_id = message_id, .content = content);
}

int spool_put(struct spool *s, const char *message_id, const char *content, int64_t now,
	      struct fault *f)
{
	int rc = spool_knows(s, message_id, f);

	if (rc)
		return rc < 0 ? rc : 0;
	rc = spool_begin(s, f);
	if (rc)
		return rc;
	rc = put_new(s, message_id, content, now, f);
	return spool_end(s, !rc, f) ? f->code : rc;
}

int spool_drop(struct spool *s, const char *message_id, int64_t now, struct fault *f)
{
	int rc = spool_begin(s, f);

	if (rc)
		return rc;
	rc = spool_note(s, message_id, now, f);
	if (!rc)
		rc = spool_run(s, spool_drop, f, .message_id = message_id);
	if (spool_end_counted(s, !rc, f))
		rc = f->code;
	if (!rc)
		erase(s);
	return rc;
}

int spool_next(struct spool *s, struct arena *arena, struct spool_assignment_row *a,
	       struct fault *f)
{
	return spool_row(s, spool_next, a, arena, f);
}

int spool_start(struct spool *s, const char *message_id, const char *task_id, int64_t now,
		struct fault *f)
{
	int rc = spool_begin(s, f);

	if (rc)
		return rc;
	rc = spool_run(s, spool_start, f, .message_id = message_id, .at = now,
		       .task_id = task_id);
	return spool_end_counted(s, !rc, f) ? f->code : rc;
}

/* --- results --------------------------------------------------------------------- */

int spool_finish(struct spool *s, const struct spool_result_row *r, int64_t now,
		 struct fault *f)
{
	int rc = spool_begin(s, f);

	if (rc)
		return rc;
	rc = spool_run(s, spool_finish, f, .message_id = r->message_id,
		       .task_id = r->task_id, .success = r->success,
		       .exit_code = r->exit_code, .interrupted = r->interrupted,
		       .elapsed_secs = r->elapsed_secs, .out = r->out, .err = r->err);
	if (!rc)
		rc = spool_note(s, r->message_id, now, f);
	if (!rc)
		rc = spool_run(s, spool_forget, f, .message_id = r->message_id);
	return spool_end(s, !rc, f) ? f->code : rc;
}

int spool_result(struct spool *s, int64_t after, const char *message_id,
		 struct arena *arena, struct spool_result_row *r, struct fault *f)
{
	if (message_id)
		return spool_row(s, spool_result_of, r, arena, f,
				 .message_id = message_id);
	return spool_row(s, spool_result, r, arena, f, .after = after);
}

int spool_ack(struct spool *s, const char *const *ids, size_t n, struct fault *f)
{
	int rc = n ? spool_begin(s, f) : 0;

	if (!n || rc)
		return rc;
	for (size_t i = 0; i < n && !rc; i++)
		rc = spool_run(s, spool_ack, f, .message_id = ids[i]);
	if (spool_end(s, !rc, f))
		rc = f->code;
	if (!rc)
		erase(s);
	return rc;
}

int spool_count(struct spool *s, struct spool_counts_row *c, struct fault *f)
{
	int rc = spool_row(s, spool_counts, c, NULL, f);

	return rc < 0 ? rc : 0;
}

/* --- variables ------------------------------------------------------------------- */

int spool_set_env(struct spool *s, const char *name, const char *value, struct fault *f)
{
	return spool_run(s, spool_env_set, f, .name = name, .value = value);
}

int spool_env(struct spool *s, const char *after, struct arena *arena, const char **name,
	      const char **value, struct fault *f)
{
	struct spool_env_row row;
	int rc = spool_row(s, spool_env, &row, arena, f, .after = after);

	if (rc == 1) {
		*name = row.name;
		*value = row.value;
	}
	return rc;
}
