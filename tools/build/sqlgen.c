/*
 * sqlgen - compiles the statements of a database into tables.
 *
 *     sqlgen -h schema/x.op ... storage/enums storage/exports migrations/x.sql ...
 *               -- storage/y.sql ...
 *     sqlgen    schema/x.op ... storage/enums migrations/x.sql ... -- storage/y.sql ...
 *     sqlgen -p PREFIX_ ...: for a database other than the state
 *
 * The first call writes build/sql.gen.h, and the second call writes build/sql.gen.c. A call
 * with -m instead of -h writes the migrations in the form in which they are run. Each migration
 * follows a line `-- migration NAME`. A call with -l writes the statements. Each statement
 * follows a line `-- statement FILE:LINE NAME PARAMETER:TYPE...`.
 *
 * The migrations (or schemas, whose names have no number) are applied to an empty database, and
 * every statement is prepared against this database. So a misspelt column or a view without its
 * table stops the build with a line `file:line: name: reason`. A statement that would read a
 * whole table also stops the build, unless a comment line `-- scan ok` allows this.
 * storage/README.md lists the comment lines that may be above a statement. The output fills the
 * structs of storage/stmt.h.
 */
#include "tools/build/sqlgen.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/build/opgen.h"

void *sqlgen_grow(void *array, int n, size_t size)
{
	char *p = xreallocarray(array, (size_t)n + 1, size);

	memset(p + (size_t)n * size, 0, size);
	return p;
}

char *sqlgen_copy(const char *s, size_t n)
{
	return xasprintf("%.*s", (int)n, s);
}

static struct column *columns_add(struct columns *c, const char *name, size_t len)
{
	c->at = sqlgen_grow(c->at, c->n, sizeof(*c->at));
	c->at[c->n].name = sqlgen_copy(name, len);
	return &c->at[c->n++];
}

static struct column *columns_find(const struct columns *c, const char *name)
{
	for (int i = 0; i < c->n; i++)
		if (strcmp(c->at[i].name, name) == 0)
			return &c->at[i];
	return NULL;
}

sqlite3_stmt *sqlgen_query(const struct sqlgen_build *b, const char *sql)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(b->db, sql, -1, &st, NULL) != SQLITE_OK) {
		fprintf(stderr, "sqlgen: %s\n%s\n", sqlite3_errmsg(b->db), sql);
		exit(1);
	}
	return st;
}

bool sqlgen_row(const struct sqlgen_build *b, sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW)
		return true;
	if (sqlite3_finalize(st) != SQLITE_OK) {
		fprintf(stderr, "sqlgen: %s\n", sqlite3_errmsg(b->db));
		exit(1);
	}
	return false;
}

const char *sqlgen_text(sqlite3_stmt *st, int column)
{
	return (const char *)sqlite3_column_text(st, column);
}

void sqlgen_refuse(struct sqlgen_build *b, const struct sqlgen_statement *s,
		   const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%d: %s: ", s->file, s->line, s->name ? s->name : "-");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	b->n_errors++;
}

static bool sqlgen_is_identifier(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	while (isalnum((unsigned char)*s) || *s == '_')
		s++;
	return !*s;
}

char *sqlgen_slurp(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *s = NULL;
	size_t room = 0;
	ssize_t n = f ? getdelim(&s, &room, '\0', f) : -1;

	if (!f || (n < 0 && ferror(f))) {
		perror(path);
		exit(1);
	}
	fclose(f);
	return n < 0 ? sqlgen_copy("", 0) : s;
}

/* Reading of statements, and of the comments above statements. storage/README.md has the rules. */

static char *sqlgen_read_word(const char *s)
{
	s += strspn(s, " \t");
	return sqlgen_copy(s, strcspn(s, " \t\r\n"));
}

static void read_types(struct sqlgen_statement *s, const char *names, enum type type)
{
	for (;;) {
		size_t len;

		names += strspn(names, " \t,");
		len = strcspn(names, " \t,\r\n");
		if (len == 0)
			return;
		columns_add(&s->said, names, len)->type = type;
		names += len;
	}
}

/* Whether a line is a comment that consists only of the word `mark`. */
static bool heading_is(const char *line, const char *mark)
{
	size_t n = strlen(mark);

	return strncmp(line, mark, n) == 0 && line[n + strspn(line + n, " \t")] == '\n';
}

/* Reads a comment line above a statement. */
static void read_heading(struct sqlgen_statement *s, const char *line)
{
	if (strncmp(line, "-- row:", 7) == 0 && !s->row)
		s->row = sqlgen_read_word(line + 7);
	else if (strncmp(line, "-- into:", 8) == 0 && !s->into)
		s->into = sqlgen_read_word(line + 8);
	else if (strncmp(line, "-- text:", 8) == 0)
		read_types(s, line + 8, TYPE_TEXT);
	else if (strncmp(line, "-- int:", 7) == 0)
		read_types(s, line + 7, TYPE_INT);
	else if (strncmp(line, "-- blob:", 8) == 0)
		read_types(s, line + 8, TYPE_BLOB);
	else if (strncmp(line, "-- scan ok:", 11) == 0)
		s->scan_ok = true;
	else if (strncmp(line, "-- kept:", 8) == 0)
		s->kept = true;
	else if (heading_is(line, "-- late"))
		s->late = true;
	else if (heading_is(line, "-- always"))
		s->always = true;
}

void sqlgen_append(char **text, const char *more, size_t len)
{
	size_t have = *text ? strlen(*text) : 0;

	*text = xreallocarray(*text, have + len + 1, 1);
	memcpy(*text + have, more, len);
	(*text)[have + len] = '\0';
}

/* Appends a line, and replaces each {columns.NAME} in the line by the columns of the list NAME. */
static void append_line(struct sqlgen_build *b, const struct sqlgen_statement *at,
			char **text, const char *line, size_t len)
{
	const char *end = line + len, *open;

	while ((open = memmem(line, (size_t)(end - line), "{columns.", 9))) {
		size_t n = strcspn(open + 9, "}\n");
		char *name = sqlgen_copy(open + 9, n);
		const char *columns = sqlgen_set_find(b, "columns", name);

		sqlgen_append(text, line, (size_t)(open - line));
		if (columns)
			sqlgen_append(text, columns, strlen(columns));
		else
			sqlgen_refuse(b, at, "no list above is called %s", name);
		line = open + 9 + n;
		line += *line == '}';
	}
	sqlgen_append(text, line, (size_t)(end - line));
}

static void read_sql(struct sqlgen_build *b, struct sqlgen_statement *s, int at,
		     const char *line, size_t len)
{
	const struct sqlgen_statement here = { .file = s->file,
					       .line = at,
					       .name = s->name };
	size_t have = s->written ? strlen(s->written) : 0;
	char *sql;

	if (!s->written)
		s->sql_line = at;
	append_line(b, &here, &s->written, line, len);
	sql = sqlgen_put_numbers(b, s->file, at, s->written + have,
				 strlen(s->written + have));
	sqlgen_append(&s->sql, sql, strlen(sql));
}

/* Begins a list of columns. The lines of the list are joined to one line. */
static struct set *sqlgen_read_list(struct sqlgen_build *b, const char *line)
{
	struct set *list;

	b->sets = sqlgen_grow(b->sets, b->n_sets, sizeof(*list));
	list = &b->sets[b->n_sets++];
	list->list = sqlgen_copy("columns", 7);
	list->name = sqlgen_read_word(line + 11);
	return list;
}

static struct sqlgen_statement *sqlgen_read_name(struct sqlgen_build *b, const char *file,
						 int line, const char *text)
{
	struct sqlgen_statement *s;
	char *name = sqlgen_read_word(text + 8);

	b->statements = sqlgen_grow(b->statements, b->n_statements, sizeof(*s));
	s = &b->statements[b->n_statements++];
	s->file = file;
	s->line = line;
	s->name = name;
	if (!sqlgen_is_identifier(name))
		sqlgen_refuse(b, s, "not a name");
	for (int i = 0; i < b->n_statements - 1; i++)
		if (strcmp(b->statements[i].name, name) == 0)
			sqlgen_refuse(b, s, "duplicate of %s:%d", b->statements[i].file,
				      b->statements[i].line);
	return s;
}

static void read_file(struct sqlgen_build *b, const char *file)
{
	char *text = sqlgen_slurp(file), *next;
	struct sqlgen_statement here = { .file = file, .line = 1 }, *s = NULL;
	struct set *list = NULL;

	for (char *at = text; *at; at = next, here.line++) {
		size_t blank = strspn(at, " \t\r"), len = strcspn(at, "\n");

		next = at + len + (at[len] == '\n');
		if (strncmp(at, "-- name:", 8) == 0) {
			s = sqlgen_read_name(b, file, here.line, at);
		} else if (strncmp(at, "-- columns:", 11) == 0) {
			list = sqlgen_read_list(b, at);
			s = NULL;
		} else if (strncmp(at + blank, "--", 2) == 0 && s && !s->sql) {
			read_heading(s, at + blank);
		} else if (blank == len || strncmp(at + blank, "--", 2) == 0) {
			if (s && s->written)
				sqlgen_append(&s->written, "\n", 1);
		} else if (s) {
			read_sql(b, s, here.line, at, (size_t)(next - at));
		} else if (list) {
			append_line(b, &here, &list->values, at, len);
		} else {
			sqlgen_refuse(b, &here, "SQL without `-- name:` above it");
		}
	}
}

/* The types of parameters and columns, and the query plans that no statement may have. */

/* --- types ------------------------------------------------------------------ */

const struct sqlgen_type sqlgen_types[] = {
	[TYPE_INT] = { "INTEGER", "int", "int64_t ", "SLOT_INT" },
	[TYPE_TEXT] = { "TEXT", "text", "const char *", "SLOT_TEXT" },
	[TYPE_BLOB] = { "BLOB", "blob", "struct blob ", "SLOT_BLOB" },
};

static enum type type_named(const char *sql)
{
	for (int i = TYPE_INT; i <= TYPE_BLOB; i++)
		if (strcasecmp(sql, sqlgen_types[i].sql) == 0)
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
	sqlite3_stmt *st = sqlgen_query(b, sql);

	sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
	while (sqlgen_row(b, st))
		type = type == TYPE_UNSAID ? type_named(sqlgen_text(st, 0))
					   : TYPE_UNKNOWN;
	return type;
}

/* The type of the columns with this name, if they have the same type in all tables. */
static enum type type_everywhere(struct sqlgen_build *b, const char *name)
{
	struct column *c = columns_find(&b->known, name);

	if (!c) {
		c = columns_add(&b->known, name, strlen(name));
		c->type = look_up_type(b, name);
	}
	return c->type;
}

/* Finds a column's type. If a comment above the statement declares a type, the column gets this
 * type. Otherwise the column gets the type of the table's column. If no table has the column,
 * the column gets the common type of all columns with the same name. */
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

static void check_rows(struct sqlgen_build *b)
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

/* Whether the text contains `NAME [(columns)] AS [[NOT] MATERIALIZED] (`. */
static bool defines_cte(const char *sql, struct word name)
{
	struct word w = { sql, 0 }, at;

	while ((w = sqlgen_next(w)).len) {
		at = sqlgen_next(w);
		if (!sqlgen_same(w, name))
			continue;
		if (sqlgen_is(at, "(")) {
			while (at.len && !sqlgen_is(at, ")"))
				at = sqlgen_next(at);
			at = sqlgen_next(at);
		}
		if (!sqlgen_is(at, "AS"))
			continue;
		do
			at = sqlgen_next(at);
		while (sqlgen_is(at, "NOT") || sqlgen_is(at, "MATERIALIZED"));
		if (sqlgen_is(at, "("))
			return true;
	}
	return false;
}

/* Whether `name` in a plan is a common table expression, or an alias of a common table
 * expression. A plan may scan a common table expression, since the scan reads only rows that
 * the expression has looked up. */
static bool is_cte(const char *sql, struct word name)
{
	struct word before = { "", 0 }, w = { sql, 0 };

	if (defines_cte(sql, name))
		return true;
	while ((w = sqlgen_next(w)).len) {
		if (sqlgen_is(w, "AS"))
			continue;
		if (sqlgen_same(w, name) && before.len && defines_cte(sql, before))
			return true;
		before = w;
	}
	return false;
}

/* The second word of a plan's line, which names the table that the plan reads or makes. */
static struct word plan_name(const char *detail)
{
	return sqlgen_next((struct word){ detail + strcspn(detail, " "), 0 });
}

/* Whether `name` is the alias of a subquery, so that the plan itself makes the rows of `name`. */
static bool is_derived(sqlite3_stmt *plan, struct word name)
{
	bool found = false;

	sqlite3_reset(plan);
	while (sqlite3_step(plan) == SQLITE_ROW) {
		const char *d = sqlgen_text(plan, 3);
		size_t n = strcspn(d, " ");

		if (strncmp(d, "CO-ROUTINE", n) == 0 || strncmp(d, "MATERIALIZE", n) == 0)
			found |= sqlgen_same(plan_name(d), name);
	}
	return found;
}

static bool is_scan(const char *detail)
{
	if (strstr(detail, "USING AUTOMATIC"))
		return true; /* SQLite builds an index of the whole table on each run */
	return strncmp(detail, "SCAN ", 5) == 0 && detail[5] != '(' &&
	       !strstr(detail, "CONSTANT ROW") && !strstr(detail, "VALUES CLAUSE") &&
	       !strstr(detail, "VIRTUAL TABLE");
}

static void check_plan(struct sqlgen_build *b, struct sqlgen_statement *s)
{
	const char *sql = xasprintf("EXPLAIN QUERY PLAN %s", s->sql);
	sqlite3_stmt *plan = sqlgen_query(b, sql), *again = sqlgen_query(b, sql);

	while (sqlgen_row(b, plan)) {
		const char *d = sqlgen_text(plan, 3);
		struct word name = plan_name(d);

		if (is_scan(d) && !is_cte(s->sql, name) && !is_derived(again, name))
			sqlgen_refuse(b, s,
				      "%s: it reads a whole table "
				      "(`-- scan ok: WHY` if that is meant)",
				      d);
	}
	sqlite3_finalize(again);
}

/* Finds the statements that change columns of the rows that a `kept` statement returns.
 * SQLite's authorizer names every column that a statement reads or writes. */

static void sqlgen_kept_note(struct columns *c, const char *table, const char *column)
{
	const char *name =
		xasprintf("%s.%s", table ? table : "", column && *column ? column : "*");

	if (table && column && !columns_find(c, name))
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

static void check_statement(struct sqlgen_build *b, struct sqlgen_statement *s)
{
	const char *tail = NULL;
	sqlite3_stmt *st = NULL;

	if (!s->sql) {
		sqlgen_refuse(b, s, "no SQL below it");
		return;
	}
	sqlite3_set_authorizer(b->db, sqlgen_kept_see, s);
	if (sqlite3_prepare_v2(b->db, s->sql, -1, &st, &tail) != SQLITE_OK || !st)
		sqlgen_refuse(b, s, "%s", sqlite3_errmsg(b->db));
	else if (tail[strspn(tail, " \t\r\n;")])
		sqlgen_refuse(b, s, "more than one statement");
	sqlite3_set_authorizer(b->db, NULL, NULL);
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

/* Checks that a `kept` statement is a query whose row has a struct of its own. */
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

static void sqlgen_check_kept(struct sqlgen_build *b)
{
	int n = 0;

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

/* --- migrations --------------------------------------------------------------- */

static void check_views(struct sqlgen_build *b, const struct sqlgen_statement *file)
{
	sqlite3_stmt *st,
		*views = sqlgen_query(b,
				      "SELECT name, printf('SELECT * FROM \"%w\"', name)"
				      " FROM sqlite_schema WHERE type = 'view'");

	while (sqlgen_row(b, views)) {
		if (sqlite3_prepare_v2(b->db, sqlgen_text(views, 1), -1, &st, NULL) !=
		    SQLITE_OK)
			sqlgen_refuse(b, file, "view %s: %s", sqlgen_text(views, 0),
				      sqlite3_errmsg(b->db));
		sqlite3_finalize(st);
	}
}

/* Refuses numbers in place of names, in each statement of a file. */
static void check_written(struct sqlgen_build *b, const char *file, const char *text)
{
	struct sqlgen_statement s = { .file = file,
				      .sql_line = 1,
				      .name = (char *)"migration" };
	struct word w = { text, 0 };

	do {
		w = sqlgen_next(w);
		if (w.len && !sqlgen_is(w, ";"))
			continue;
		s.written = sqlgen_copy(text, (size_t)(w.at - text));
		sqlgen_check_numbers(b, &s);
		for (; text < w.at + w.len; text++)
			s.sql_line += *text == '\n';
	} while (w.len);
}

/* Refuses triggers. Another database engine would need triggers in another language, so
 * statements have to do the work of triggers. */
static void check_triggers(struct sqlgen_build *b)
{
	struct sqlgen_statement at = { .file = "migrations", .line = 1 };
	sqlite3_stmt *triggers =
		sqlgen_query(b, "SELECT name FROM sqlite_schema WHERE type = 'trigger'");

	while (sqlgen_row(b, triggers))
		sqlgen_refuse(b, &at, "trigger %s: write a statement that C runs",
			      sqlgen_text(triggers, 0));
}

/* Runs the statements of a file one by one, so that an error can name the statement's line. */
static void sqlgen_apply(struct sqlgen_build *b, const char *file, const char *text)
{
	struct sqlgen_statement at = { .file = file,
				       .line = 1,
				       .name = (char *)"migration" };
	const char *from = text, *tail;

	for (const char *sql = text; *sql; sql = tail) {
		sqlite3_stmt *st;
		int rc = sqlite3_prepare_v2(b->db, sql, -1, &st, &tail);

		while (rc == SQLITE_OK && st && (rc = sqlite3_step(st)) == SQLITE_ROW)
			;
		if (rc != SQLITE_OK && rc != SQLITE_DONE) {
			for (; from < tail; from++)
				at.line += *from == '\n';
			sqlgen_refuse(b, &at, "%s (in the statement that ends here)",
				      sqlite3_errmsg(b->db));
			exit(1);
		}
		sqlite3_finalize(st);
	}
	at.line = 1;
	check_views(b, &at);
}

static void read_migration(struct sqlgen_build *b, const char *file)
{
	struct sqlgen_migration *m;
	const char *slash = strrchr(file, '/');
	char *written;

	b->migrations = sqlgen_grow(b->migrations, b->n_migrations, sizeof(*m));
	m = &b->migrations[b->n_migrations++];
	m->file = file;
	m->name = slash ? slash + 1 : file;
	written = sqlgen_slurp(file);
	m->text = sqlgen_put_numbers(b, file, 1, written, strlen(written));
	check_written(b, file, written);
	m->version = (int)strtol(m->name, NULL, 10);
	if (m->version && m->version != b->n_migrations)
		sqlgen_refuse(b, &(struct sqlgen_statement){ .file = file, .line = 1 },
			      "its number is not %04d, the next", b->n_migrations);
	sqlgen_apply(b, file, m->text);
}

/* --- arguments ------------------------------------------------------------------- */

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/* Reads the files that the command line names before the statements. The order of these files
 * is schema, enums, exports, migrations. */
static int read_ground(struct sqlgen_build *b, char **argv, int i)
{
	for (; argv[i] && ends_with(argv[i], ".op"); i++)
		schema_read(b->schema, argv[i]);
	if (!b->schema->n_errors)
		schema_check_all(b->schema);
	if (b->schema->n_errors)
		exit(1);
	for (; argv[i] && strcmp(argv[i], "--") != 0; i++)
		if (ends_with(argv[i], "/enums"))
			sqlgen_read_enums(b, argv[i]);
		else if (ends_with(argv[i], "/exports"))
			sqlgen_read_transfer(b, argv[i]);
		else
			read_migration(b, argv[i]);
	return argv[i] ? i + 1 : i;
}

int main(int argc, char **argv)
{
	struct schema schema;
	struct sqlgen_build b = { .prefix = "", .schema = &schema };
	bool header = false, migrations = false, list = false;
	int i;

	while ((i = getopt(argc, argv, "+hmlp:")) > 0)
		if (i == 'p')
			b.prefix = optarg;
		else if (i == 'h')
			header = true;
		else if (i == 'm')
			migrations = true;
		else if (i == 'l')
			list = true;
		else
			return 2;
	i = optind;
	if (sqlite3_open(":memory:", &b.db) != SQLITE_OK)
		return 1;
	/* The store forbids unsafe functions in views by the same setting. So the build stops
	 * at a view that needs such a function. */
	sqlite3_db_config(b.db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(b.db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(b.db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	schema_init(&schema, stderr);
	for (i = read_ground(&b, argv, i); i < argc; i++)
		read_file(&b, argv[i]);
	for (i = 0; i < b.n_statements; i++)
		check_statement(&b, &b.statements[i]);
	if (!b.n_errors)
		check_rows(&b);
	if (!*b.prefix) {
		sqlgen_check_held(&b);
		check_triggers(&b);
	}
	sqlgen_check_kept(&b);
	sqlgen_check_transfer(&b);
	for (i = 0; migrations && i < b.n_migrations; i++)
		printf("-- migration %s\n%s", b.migrations[i].name, b.migrations[i].text);
	if (!b.n_errors && list)
		put_statements(&b);
	if (!b.n_errors && !migrations && !list) {
		printf("/* Generated by sqlgen from what `make` names for it. */\n");
		header ? put_header(&b) : put_source(&b);
		if (!header)
			sqlgen_put_transfer(&b);
	}
	return b.n_errors != 0;
}
