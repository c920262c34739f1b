/* Writes the state file as all migrations leave an empty one: its objects, with which
 * storage/migrate.c compares a file, and its rows, for one that is made. */
#include "tools/build/sqlgen.h"

#include <stdio.h>
#include <stdlib.h>

/* For each table a query whose rows are statements that insert the table's.  Some columns each new
 * state draws for itself, as migrations/0001-first.sql does. */
static const char tables[] =
	"SELECT 'SELECT ''INSERT INTO ' || t.name || ' VALUES ('' || '"
	" || (SELECT group_concat(CASE name WHEN 'incarnation' THEN '''lower(hex(randomblob(8)))'''"
	" WHEN 'created_at' THEN"
	" '''CAST((julianday(''''now'''') - 2440587.5) * 86400000 AS INTEGER)'''"
	" WHEN 'id_a' THEN '''random() & 4095''' WHEN 'id_b' THEN '''random() & 1023'''"
	" WHEN 'id_c' THEN '''random() & 281474976710655''' ELSE 'quote(' || name || ')' END,"
	" ' || '', '' || ') FROM pragma_table_info(t.name)) || ' || '');'' FROM ' || t.name"
	" FROM sqlite_schema t WHERE t.type = 'table'";

static sqlite3_stmt *schema_prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK) {
		fprintf(stderr, "sqlgen: %s\n%s\n", sqlite3_errmsg(db), sql);
		exit(1);
	}
	return st;
}

static bool schema_next_row(sqlite3 *db, sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);

	if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
		fprintf(stderr, "sqlgen: %s\n", sqlite3_errmsg(db));
		exit(1);
	}
	return rc == SQLITE_ROW;
}

static void put_objects(const struct sqlgen_build *b)
{
	sqlite3_stmt *st = schema_prepare(b->db,
					  "SELECT type, name, tbl_name, coalesce(sql, '')"
					  " FROM sqlite_schema ORDER BY type, name");
	int n = 0;

	printf("\nconst struct schema_object schema_table[] = {\n");
	for (; schema_next_row(b->db, st); n++) {
		printf("\t{ .type = \"%s\", .name = \"%s\", .table = \"%s\", .sql =",
		       sqlite3_column_text(st, 0), sqlite3_column_text(st, 1),
		       sqlite3_column_text(st, 2));
		put_string((const char *)sqlite3_column_text(st, 3));
		printf(" },\n");
	}
	sqlite3_finalize(st);
	printf("};\nconst int schema_count = %d;\n", n);
}

static void sqlgen_schema_put_rows(const struct sqlgen_build *b)
{
	sqlite3_stmt *query = schema_prepare(b->db, tables), *row;

	printf("const char schema_rows[] =");
	while (schema_next_row(b->db, query)) {
		row = schema_prepare(b->db, (const char *)sqlite3_column_text(query, 0));
		while (schema_next_row(b->db, row))
			put_string((const char *)sqlite3_column_text(row, 0));
		sqlite3_finalize(row);
	}
	sqlite3_finalize(query);
	printf("\n\t\t\"PRAGMA user_version = %d;\";\n", b->n_migrations);
}

void sqlgen_put_schema(const struct sqlgen_build *b)
{
	put_objects(b);
	sqlgen_schema_put_rows(b);
}
