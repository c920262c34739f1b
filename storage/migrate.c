/* migrate - migrations: forward only, all missing ones or none, in an exclusive lock. */
#include "core/base/alloc.h"
#include "storage/inside.h"
#include "storage/words.h"

#include <stdio.h>
#include <stdlib.h>

enum { WAIT_MS = 10000 }; /* for processes that have the state open */

static int refuse_newer(struct store *s, int64_t version, struct fault *f)
{
	fault_set(f, FAULT_UNAVAILABLE, "",
		  "a newer cadre has migrated %s to version %lld; this program "
		  "knows versions up to %d",
		  s->path, (long long)version, migration_count);
	return fault_hint(f, "use the newer cadre; a session over MCP goes on once its "
			     "server is restarted");
}

static int refuse_stranger(struct store *s, struct fault *f)
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

static int back_up(struct store *s, int64_t version, struct fault *f)
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

static int apply(struct store *s, int64_t version, struct fault *f)
{
	if (store_exec(s, SQL_BEGIN_WRITE, f) < 0)
		return f->code;
	for (int i = 0; i < migration_count; i++) {
		if (migration_table[i].version <= version)
			continue;
		if (store_exec(s, migration_table[i].text, f) < 0)
			goto out;
	}
	if (store_number(s, SQL_COUNT_LOOSE, f) != 0)
		fault_set(f, FAULT_IO, "",
			  "the migrated state would have rows that "
			  "refer to nothing");
	else
		store_exec(s, SQL_COMMIT, f);
out:
	if (f->code)
		sqlite3_exec(s->db, SQL_ROLLBACK, NULL, NULL, NULL);
	return f->code;
}

static int first_time(struct store *s, struct fault *f)
{
	int64_t objects = store_number(s, SQL_COUNT_OBJECTS, f);

	if (objects < 0)
		return f->code;
	if (objects > 0)
		return refuse_stranger(s, f);
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
	if (use_wal(s, f) < 0 || back_up(s, version, f) < 0)
		return f->code;
	return apply(s, version, f);
}

int store_migrate(struct store *s, struct fault *f)
{
	int64_t version = store_number(s, SQL_VERSION, f);

	if (version < 0)
		return f->code ? f->code : refuse_stranger(s, f);
	if (version > migration_count)
		return refuse_newer(s, version, f);
	if (version < migration_count) {
		if (turn_alone(&s->turn, WAIT_MS, f) < 0 ||
		    migrate_alone(s, version, f) < 0)
			return f->code;
	} else if (use_wal(s, f) < 0) {
		return f->code;
	}
	return turn_lock(&s->turn, TURN_VERSION, false, f);
}
