/*
 * migrate - runs all missing migrations or none, forward only, under an exclusive lock.
 *
 * A new file directly gets the tables and rows that all migrations together would make. This
 * takes a fifth of the time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "storage/store_inside.h"
#include "storage/words.h"

/*
 * schema_check - checks that a state file holds cadre's tables, indexes and views, and nothing
 * else.
 *
 * A file from elsewhere may hold triggers, which would run with cadre's own statements, or
 * views in the place of tables. The list of objects for a file of the present version is
 * compiled into the program. A file of an older version is compared with a database in memory,
 * made by the migrations up to the file's version.
 */

static const char *text(sqlite3_stmt *st, int column)
{
	const char *s = (const char *)sqlite3_column_text(st, column);

	return s ? s : "";
}

/* Compares objects by type and name. Both lists of objects are sorted in this order. */
static int order(const struct schema_object *a, const struct schema_object *b)
{
	int by_type = strcmp(a->type, b->type);

	return by_type ? by_type : strcmp(a->name, b->name);
}

/* Whether an object is a table of statistics that SQLite's ANALYZE has made. */
static bool is_statistics(const struct schema_object *o)
{
	return !strcmp(o->type, "table") &&
	       (!strcmp(o->name, "sqlite_stat1") || !strcmp(o->name, "sqlite_stat4")) &&
	       !strncmp(o->sql, SQL_STATISTICS, strlen(SQL_STATISTICS));
}

static int refuse_extra(const struct store *s, const struct schema_object *o,
			struct fault *f)
{
	fault_set(f, FAULT_DENIED, "",
		  "%.120s holds %s %.20s that does not belong to cadre: %.60s", s->path,
		  strcmp(o->type, "index") ? "a" : "an", o->type, o->name);
	return fault_hint(f,
			  "remove it with sqlite3, if the file is yours: DROP %.20s "
			  "\"%.60s\"",
			  o->type, o->name);
}

static int refuse_other(const struct store *s, const struct schema_object *o,
			const char *what, struct fault *f)
{
	fault_set(f, FAULT_DENIED, "", "%.120s: its %.20s %.60s is %s", s->path, o->type,
		  o->name, what);
	return fault_hint(f, "use a state that cadre made, or a backup of one");
}

/* Compares an object with the expected object (NULL: no further object is expected). Returns 1
 * if the objects are the same, 0 if the object is an unexpected table of statistics, or a
 * negative fault code. */
static int schema_check_compare(const struct store *s, const struct schema_object *found,
				const struct schema_object *wanted, struct fault *f)
{
	int by = wanted ? order(found, wanted) : -1;

	if (by < 0)
		return is_statistics(found) ? 0 : refuse_extra(s, found, f);
	if (by > 0)
		return refuse_other(s, wanted, "missing", f);
	if (strcmp(found->table, wanted->table) != 0 ||
	    strcmp(found->sql, wanted->sql) != 0)
		return refuse_other(s, found, "not as cadre made it", f);
	return 1;
}

/* Compares the file's objects with `n` expected objects, which are sorted by type and name. */
static int compare_all(struct store *s, const struct schema_object *wanted, int n,
		       struct fault *f)
{
	sqlite3_stmt *st = NULL;
	int i = 0, rc = sqlite3_prepare_v2(s->db, SQL_OBJECTS, -1, &st, NULL);

	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		struct schema_object found;
		int same;

		if ((rc = sqlite3_step(st)) != SQLITE_ROW)
			break;
		found = (struct schema_object){ text(st, 0), text(st, 1), text(st, 2),
						text(st, 3) };
		same = schema_check_compare(s, &found, i < n ? &wanted[i] : NULL, f);
		if (same < 0)
			break;
		i += same;
	}
	sqlite3_finalize(st);
	if (f->code)
		return f->code;
	if (rc != SQLITE_DONE)
		return store_fault(s, rc, "read the schema", f);
	return i < n ? refuse_other(s, &wanted[i], "missing", f) : 0;
}

/* Lists the objects that the migrations up to `version` make, by running these migrations in
 * memory. */
static int list_older(struct arena *a, struct schema_object **out, size_t *n, int version)
{
	sqlite3_stmt *st = NULL;
	sqlite3 *db = NULL;
	int rc = sqlite3_open(":memory:", &db);

	for (int i = 0; rc == SQLITE_OK && i < version; i++)
		rc = sqlite3_exec(db, migration_table[i].text, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, SQL_OBJECTS, -1, &st, NULL);
	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct schema_object *o = arena_push(a, out, n, sizeof(*o));

		*o = (struct schema_object){ arena_strdup(a, text(st, 0)),
					     arena_strdup(a, text(st, 1)),
					     arena_strdup(a, text(st, 2)),
					     arena_strdup(a, text(st, 3)) };
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	return rc;
}

int schema_check(struct store *s, int version, struct fault *f)
{
	struct schema_object *wanted = NULL;
	struct arena a = { 0 };
	size_t n = 0;
	int rc;

	if (version == migration_count)
		return compare_all(s, schema_table, schema_count, f);
	rc = list_older(&a, &wanted, &n, version);
	if (rc == SQLITE_DONE)
		compare_all(s, wanted, (int)n, f);
	else
		fault_set(f, FAULT_INTERNAL, "", "the schema of version %d: %s", version,
			  sqlite3_errstr(rc));
	arena_release(&a);
	return f->code;
}

enum { WAIT_MS = 10000 }; /* how long to wait for processes that use the state */

int store_refuse_newer(const struct store *s, int64_t version, struct fault *f)
{
	fault_set(f, FAULT_UNAVAILABLE, "",
		  "a newer cadre has migrated %s to version %lld; this program "
		  "knows versions up to %d",
		  s->path, (long long)version, migration_count);
	return fault_hint(f, "use the newer cadre; restart the MCP server of each "
			     "open session");
}

static int migrate_refuse_stranger(struct store *s, struct fault *f)
{
	fault_set(f, FAULT_UNAVAILABLE, "", "%s is a database of another program",
		  s->path);
	return fault_hint(f, "set CADRE_HOME to another folder");
}

/* Switches the file to WAL mode. The function does not check the mode that PRAGMA journal_mode
 * returns. */
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

/* Makes the tables, or all objects that need the tables. Objects without SQL text are skipped:
 * they are indexes that SQLite makes by itself. */
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

/* The file's mark must be in the file itself, not in the WAL. So the mark is set while the file
 * has no WAL. */
static int set_mark(struct store *s, struct fault *f)
{
	int64_t mark = store_number(s, SQL_MARK, f);

	if (mark || s->flags & STORE_MEMORY)
		return mark < 0 ? (int)f->code : 0;
	if (store_mark(s->db, f) < 0)
		return f->code;
	return store_exec(s, SQL_CHECKPOINT, f);
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
