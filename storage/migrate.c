/*
 * migrate - migrations: forward only, all missing ones or none, in an exclusive lock.
 *
 * A new file gets the tables and rows that all migrations would leave, in a fifth of the time.
 */
#include "core/base/alloc.h"
#include "storage/store_inside.h"
#include "storage/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 10000 }; /* for processes that have the state open */

int store_refuse_newer(const struct store *s, int64_t version, struct fault *f)
{
	fault_set(f, FAULT_UNAVAILABLE, "",
		  "a newer cadre has migrated %s to version %lld; this program "
		  "knows versions up to %d",
		  s->path, (long long)version, migration_count);
	return fault_hint(f, "use the newer cadre; a session over MCP goes on once its "
			     "server is restarted");
}

static int migrate_refuse_stranger(struct store *s, struct fault *f)
{
	fault_set(f, FAULT_UNAVAILABLE, "", "%s is a database of another program",
		  s->path);
	return fault_hint(f, "set CADRE_HOME to another folder");
}

/* PRAGMA journal_mode does not fail: it returns the mode that holds now, which is
 * checked. */
static int use_wal(struct store *s, struct fault *f)
{
	if (s->flags & STORE_MEMORY)
		return 0;
	return store_exec(s, SQL_WAL, f);
}

static int migrate_back_up(struct store *s, int64_t version, struct fault *f)
{
	char *path;
	int rc;

	if (version == 0 || s->flags & STORE_MEMORY)
		return 0;
	path = xasprintf("%s.v%lld.backup", s->path, (long long)version);
	rc = store_copy_to(s, path, true, f);
	free(path);
	return rc;
}

/* Makes the tables, or everything that stands on them; SQLite makes some indexes itself. */
static int make_objects(struct store *s, bool tables, struct fault *f)
{
	for (int i = 0; i < schema_count; i++)
		if (*schema_table[i].sql &&
		    !strcmp(schema_table[i].type, "table") == tables &&
		    store_exec(s, schema_table[i].sql, f) < 0)
			return f->code;
	return 0;
}

static int make_new(struct store *s, struct fault *f)
{
	if (make_objects(s, true, f) < 0 || make_objects(s, false, f) < 0)
		return f->code;
	return store_exec(s, schema_rows, f);
}

static int run_missing(struct store *s, int64_t version, struct fault *f)
{
	for (int i = 0; i < migration_count; i++)
		if (migration_table[i].version > version &&
		    store_exec(s, migration_table[i].text, f) < 0)
			return f->code;
	if (store_number(s, SQL_COUNT_LOOSE, f) != 0)
		fault_set(f, FAULT_IO, "",
			  "the migrated state would have rows that "
			  "refer to nothing");
	return f->code;
}

static int migrate_apply(struct store *s, int64_t version, struct fault *f)
{
	if (store_exec(s, SQL_BEGIN_WRITE, f) < 0)
		return f->code;
	if ((version ? run_missing(s, version, f) : make_new(s, f)) < 0 ||
	    store_exec(s, SQL_COMMIT, f) < 0)
		sqlite3_exec(s->db, SQL_ROLLBACK, NULL, NULL, NULL);
	return f->code;
}

static int first_time(struct store *s, struct fault *f)
{
	int64_t objects = store_number(s, SQL_COUNT_OBJECTS, f);

	if (objects < 0)
		return f->code;
	if (objects > 0)
		return migrate_refuse_stranger(s, f);
	return store_exec(s, SQL_INCREMENTAL, f);
}

/* The mark must be in the file itself, not in the WAL: so there is no WAL at this
 * time. */
static int set_mark(struct store *s, struct fault *f)
{
	int64_t mark = store_number(s, SQL_MARK, f);

	if (mark || s->flags & STORE_MEMORY)
		return mark < 0 ? (int)f->code : 0;
	if (store_mark(s->db, f) < 0)
		return f->code;
	if (store_exec(s, SQL_CHECKPOINT, f) < 0)
		return f->code;
	return ground_admit(s, f);
}

static int migrate_alone(struct store *s, int64_t version, struct fault *f)
{
	if ((version == 0 && first_time(s, f) < 0) || set_mark(s, f) < 0)
		return f->code;
	if (version > 0 && schema_check(s, (int)version, f) < 0)
		return f->code;
	if (use_wal(s, f) < 0 || migrate_back_up(s, version, f) < 0)
		return f->code;
	return migrate_apply(s, version, f);
}

int store_migrate(struct store *s, struct fault *f)
{
	int64_t version = store_number(s, SQL_VERSION, f);

	if (version < 0)
		return f->code ? f->code : migrate_refuse_stranger(s, f);
	if (version > migration_count)
		return store_refuse_newer(s, version, f);
	if (version < migration_count) {
		if (writer_queue_alone(&s->queue, WAIT_MS, f) < 0 ||
		    migrate_alone(s, version, f) < 0)
			return f->code;
	} else if (use_wal(s, f) < 0) {
		return f->code;
	}
	return writer_queue_lock(&s->queue, WRITER_QUEUE_VERSION, false, f);
}
