/* Which statements change what a kept row shows: SQLite itself names every
 * column that a statement reads or writes. */
#include "tools/build/sqlgen.h"

#include <stdio.h>
#include <string.h>

static void sqlgen_kept_note(struct columns *c, const char *table, const char *column)
{
	char name[256];

	if (!table || !column)
		return;
	snprintf(name, sizeof(name), "%s.%s", table, *column ? column : "*");
	if (!columns_find(c, name))
		columns_add(c, name, strlen(name));
}

static int sqlgen_kept_see(void *statement, int action, const char *a, const char *b,
			   const char *schema, const char *by)
{
	struct sqlgen_statement *s = statement;

	(void)schema;
	(void)by;
	if (action == SQLITE_READ)
		sqlgen_kept_note(&s->reads, a, b);
	else if (action == SQLITE_UPDATE)
		sqlgen_kept_note(&s->writes, a, b);
	else if (action == SQLITE_INSERT || action == SQLITE_DELETE)
		sqlgen_kept_note(&s->writes, a, "");
	return SQLITE_OK;
}

static void sqlgen_kept_look(struct sqlgen_build *b, struct sqlgen_statement *s)
{
	sqlite3_stmt *st = NULL;

	if (!s->sql)
		return;
	sqlite3_set_authorizer(b->db, sqlgen_kept_see, s);
	sqlite3_prepare_v2(b->db, s->sql, -1, &st, NULL);
	sqlite3_set_authorizer(b->db, NULL, NULL);
	sqlite3_finalize(st);
}

/* Only a query's row, in a struct of its own, can be kept. */
static void sqlgen_kept_check(struct sqlgen_build *b, struct sqlgen_statement *s)
{
	if (!s->readonly || !s->out.n || s->into)
		sqlgen_refuse(
			b, s,
			"only the row of a query, not `into` a record, can be kept");
	for (int i = 0; i < s->reads.n; i++)
		if (strchr(s->reads.at[i].name, '*'))
			sqlgen_refuse(b, s, "it reads %s: name the columns",
				      s->reads.at[i].name);
}

static bool whole_row(const char *written, const char *read)
{
	size_t n = strcspn(written, ".");

	return strcmp(written + n, ".*") == 0 && strncmp(written, read, n + 1) == 0;
}

static bool invalidates(const struct sqlgen_statement *s,
			const struct sqlgen_statement *kept)
{
	for (int w = 0; w < s->writes.n; w++)
		for (int r = 0; r < kept->reads.n; r++)
			if (strcmp(s->writes.at[w].name, kept->reads.at[r].name) == 0 ||
			    whole_row(s->writes.at[w].name, kept->reads.at[r].name))
				return true;
	return false;
}

void sqlgen_check_kept(struct sqlgen_build *b)
{
	int n = 0;

	for (int i = 0; i < b->n_statements; i++)
		sqlgen_kept_look(b, &b->statements[i]);
	for (int i = 0; i < b->n_statements; i++) {
		struct sqlgen_statement *kept = &b->statements[i];

		if (!kept->kept)
			continue;
		sqlgen_kept_check(b, kept);
		kept->kept_number = ++n;
		if (n >= KEPT_STATEMENTS)
			sqlgen_refuse(b, kept, "only %d statements can be kept",
				      KEPT_STATEMENTS - 1);
		for (int j = 0; j < b->n_statements; j++)
			if (invalidates(&b->statements[j], kept))
				b->statements[j].invalidates |= 1u << n % KEPT_STATEMENTS;
	}
}
