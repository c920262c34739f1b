/* Writes the schema of the state file after all migrations, for
 * storage/schema_check.c. */
#include "tools/build/sqlgen.h"

#include <stdio.h>

void sqlgen_put_schema(const struct sqlgen_build *b)
{
	sqlite3_stmt *st = NULL;
	int n = 0;

	sqlite3_prepare_v2(b->db,
			   "SELECT type, name, tbl_name, coalesce(sql, '')"
			   " FROM sqlite_schema ORDER BY type, name",
			   -1, &st, NULL);
	printf("\nconst struct schema_object schema_table[] = {\n");
	for (; sqlite3_step(st) == SQLITE_ROW; n++) {
		printf("\t{ .type = \"%s\", .name = \"%s\", .table = \"%s\", .sql =",
		       sqlite3_column_text(st, 0), sqlite3_column_text(st, 1),
		       sqlite3_column_text(st, 2));
		put_string((const char *)sqlite3_column_text(st, 3));
		printf(" },\n");
	}
	sqlite3_finalize(st);
	printf("};\nconst int schema_count = %d;\n", n);
}
