/* Types of parameters and columns, and plans that no statement may have. */
#include "tools/build/sqlgen.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- types ------------------------------------------------------------------ */

static const char *const sql_names[] = {
	[TYPE_INT] = "INTEGER",
	[TYPE_TEXT] = "TEXT",
	[TYPE_BLOB] = "BLOB",
};

static enum type type_named(const char *sql)
{
	for (int i = TYPE_INT; i <= TYPE_BLOB; i++)
		if (strcasecmp(sql, sql_names[i]) == 0)
			return (enum type)i;
	return strcasecmp(sql, "INT") == 0 ? TYPE_INT : TYPE_UNKNOWN;
}

static enum type look_up_type(struct sqlgen_build *b, const char *name)
{
	static const char sql[] =
		"SELECT DISTINCT upper(p.type) FROM pragma_table_list l,"
		" pragma_table_xinfo(l.name) p WHERE l.type = 'table'"
		" AND l.schema = 'main' AND l.name NOT LIKE 'sqlite~_%' ESCAPE '~'"
		" AND p.name = ?1 COLLATE NOCASE";
	enum type type = TYPE_UNSAID;
	sqlite3_stmt *st;

	if (sqlite3_prepare_v2(b->db, sql, -1, &st, NULL) != SQLITE_OK)
		abort();
	sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
	while (sqlite3_step(st) == SQLITE_ROW)
		type = type == TYPE_UNSAID
			       ? type_named((const char *)sqlite3_column_text(st, 0))
			       : TYPE_UNKNOWN;
	sqlite3_finalize(st);
	return type;
}

/* The type that all columns of this name in all tables have. */
static enum type type_everywhere(struct sqlgen_build *b, const char *name)
{
	struct column *c = columns_find(&b->known, name);

	if (!c) {
		c = columns_add(&b->known, name, strlen(name));
		c->type = look_up_type(b, name);
	}
	return c->type;
}

/* A column's type is the one declared above the statement, else that of the table's
 * column, else the one that its name stands for. */
static void type_column(struct sqlgen_build *b, struct sqlgen_statement *s,
			struct column *c, const char *declared)
{
	struct column *said = columns_find(&s->said, c->name);

	if (!sqlgen_is_identifier(c->name))
		sqlgen_refuse(b, s, "column `%s` needs a name (AS ...)", c->name);
	if (said) {
		said->used = true;
		c->type = said->type;
	} else {
		c->type = declared ? type_named(declared) : type_everywhere(b, c->name);
	}
	if (c->type == TYPE_UNSAID)
		c->type = TYPE_INT;
	if (c->type == TYPE_UNKNOWN)
		sqlgen_refuse(b, s,
			      "the type of `%s` is not clear: say `-- int:`, "
			      "`-- text:` or `-- blob:`",
			      c->name);
}

static void type_parameters(struct sqlgen_build *b, struct sqlgen_statement *s,
			    sqlite3_stmt *st)
{
	for (int i = 1; i <= sqlite3_bind_parameter_count(st); i++) {
		const char *name = sqlite3_bind_parameter_name(st, i);

		if (!name || *name != ':') {
			sqlgen_refuse(b, s, "parameters are :name, not %s",
				      name ? name : "?");
			return;
		}
		type_column(b, s, columns_add(&s->in, name + 1, strlen(name + 1)), NULL);
	}
}

static void type_results(struct sqlgen_build *b, struct sqlgen_statement *s,
			 sqlite3_stmt *st)
{
	for (int i = 0; i < sqlite3_column_count(st); i++) {
		const char *name = sqlite3_column_name(st, i);

		if (columns_find(&s->out, name))
			sqlgen_refuse(b, s, "two columns are named %s", name);
		type_column(b, s, columns_add(&s->out, name, strlen(name)),
			    sqlite3_column_decltype(st, i));
	}
	for (int i = 0; i < s->said.n; i++)
		if (!s->said.at[i].used)
			sqlgen_refuse(b, s, "no parameter or column is named %s",
				      s->said.at[i].name);
	if (s->row && !sqlgen_is_identifier(s->row))
		sqlgen_refuse(b, s, "not a name: `%s`", s->row);
	if ((s->row || s->into) && !s->out.n)
		sqlgen_refuse(b, s, "it has no row");
	if (!s->row && !s->into)
		s->row = sqlgen_copy(s->name, strlen(s->name));
}

static bool same_columns(const struct columns *a, const struct columns *b)
{
	for (int i = 0; i < a->n && i < b->n; i++)
		if (strcmp(a->at[i].name, b->at[i].name) != 0 ||
		    a->at[i].type != b->at[i].type)
			return false;
	return a->n == b->n;
}

void check_rows(struct sqlgen_build *b)
{
	for (int i = 0; i < b->n_statements; i++) {
		struct sqlgen_statement *s = &b->statements[i], *t = NULL;

		if (s->into || !s->out.n)
			continue;
		for (int j = 0; j < i && !t; j++)
			if (!b->statements[j].into && b->statements[j].out.n &&
			    strcmp(b->statements[j].row, s->row) == 0)
				t = &b->statements[j];
		s->first_of_row = !t;
		if (t && !same_columns(&s->out, &t->out))
			sqlgen_refuse(b, s,
				      "its columns are not those of row %s in %s:%d (%s)",
				      s->row, t->file, t->line, t->name);
	}
}

/* --- plans -------------------------------------------------------------------- */

struct token {
	const char *at;
	size_t len;
};

static bool token_is(struct token a, struct token b)
{
	return a.len == b.len && strncasecmp(a.at, b.at, a.len) == 0;
}

/* The next name or keyword at or behind `at`; its length is 0 at the end. */
static struct token token_next(const char *at)
{
	struct token t = { at, 0 };

	while (*t.at && !isalnum((unsigned char)*t.at) && *t.at != '_')
		t.at++;
	while (isalnum((unsigned char)t.at[t.len]) || t.at[t.len] == '_')
		t.len++;
	return t;
}

/* Whether `NAME [(columns)] AS [[NOT] MATERIALIZED] (` stands in the text. */
static bool defines_cte(const char *sql, struct token name)
{
	static const struct token as = { "AS", 2 };

	for (struct token t = token_next(sql); t.len; t = token_next(t.at + t.len)) {
		const char *after = t.at + t.len;

		if (!token_is(t, name))
			continue;
		after += strspn(after, " \t\n");
		if (*after == '(')
			after += strcspn(after, ")");
		t = (struct token){ t.at, (size_t)(after - t.at) };
		if (!token_is(token_next(after), as))
			continue;
		after = token_next(after).at + 2;
		after += strspn(after, " \t\nADEILMNOTRZadeilmnotrz");
		if (*after == '(')
			return true;
	}
	return false;
}

/* Whether the plan's `name` is a common table expression or an alias of one:
 * such a thing has only the rows that its own parts have looked up. */
static bool is_cte(const char *sql, struct token name)
{
	static const struct token as = { "AS", 2 };
	struct token before = { "", 0 };

	if (defines_cte(sql, name))
		return true;
	for (struct token t = token_next(sql); t.len; t = token_next(t.at + t.len)) {
		if (token_is(t, as))
			continue;
		if (token_is(t, name) && before.len && defines_cte(sql, before))
			return true;
		before = t;
	}
	return false;
}

/* Whether the plan itself makes the rows of `name` (a subquery with an alias). */
static bool is_derived(sqlite3_stmt *plan, struct token name)
{
	bool found = false;

	sqlite3_reset(plan);
	while (sqlite3_step(plan) == SQLITE_ROW) {
		const char *d = (const char *)sqlite3_column_text(plan, 3);
		size_t n = strcspn(d, " ");

		if (strncmp(d, "CO-ROUTINE", n) == 0 || strncmp(d, "MATERIALIZE", n) == 0)
			found |= token_is(token_next(d + n), name);
	}
	return found;
}

static bool is_scan(const char *detail)
{
	if (strstr(detail, "USING AUTOMATIC"))
		return true; /* builds an index of the whole table each time */
	return strncmp(detail, "SCAN ", 5) == 0 && detail[5] != '(' &&
	       !strstr(detail, "CONSTANT ROW") && !strstr(detail, "VALUES CLAUSE") &&
	       !strstr(detail, "VIRTUAL TABLE");
}

static void check_plan(struct sqlgen_build *b, struct sqlgen_statement *s)
{
	char *sql = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", s->sql);
	sqlite3_stmt *plan = NULL, *again = NULL;

	if (sqlite3_prepare_v2(b->db, sql, -1, &plan, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(b->db, sql, -1, &again, NULL) != SQLITE_OK)
		sqlgen_refuse(b, s, "%s", sqlite3_errmsg(b->db));
	while (plan && sqlite3_step(plan) == SQLITE_ROW) {
		const char *d = (const char *)sqlite3_column_text(plan, 3);
		struct token name = token_next(d + strcspn(d, " "));

		if (is_scan(d) && !is_cte(s->sql, name) && !is_derived(again, name))
			sqlgen_refuse(b, s,
				      "%s: it reads a whole table "
				      "(`-- scan ok: WHY` if that is meant)",
				      d);
	}
	sqlite3_finalize(plan);
	sqlite3_finalize(again);
	sqlite3_free(sql);
}

void check_statement(struct sqlgen_build *b, struct sqlgen_statement *s)
{
	const char *tail = NULL;
	sqlite3_stmt *st = NULL;

	if (!s->sql) {
		sqlgen_refuse(b, s, "no SQL below it");
		return;
	}
	if (sqlite3_prepare_v2(b->db, s->sql, -1, &st, &tail) != SQLITE_OK || !st)
		sqlgen_refuse(b, s, "%s", sqlite3_errmsg(b->db));
	else if (tail[strspn(tail, " \t\r\n;")])
		sqlgen_refuse(b, s, "more than one statement");
	if (!st)
		return;
	s->readonly = sqlite3_stmt_readonly(st);
	type_parameters(b, s, st);
	type_results(b, s, st);
	sqlite3_finalize(st);
	if (s->late && (s->readonly || s->out.n))
		sqlgen_refuse(b, s, "it returns rows, so it is not late");
	sqlgen_check_numbers(b, s);
	if (!s->scan_ok)
		check_plan(b, s);
}
