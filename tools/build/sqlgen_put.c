/* Writes the two generated files of a database. storage/stmt.h describes the tables in these
 * files. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tools/build/opgen.h"
#include "tools/build/sqlgen.h"

/* Writes the objects and rows that an empty database has when all migrations have run.
 * storage/migrate.c compares a database file with these objects. A new database file gets these
 * rows. */

/* Writes a text as a string in C, on separate lines. */
static void put_string(const char *s)
{
	printf("\n\t\t");
	opgen_put_string(stdout, s);
}

/* A query whose rows are queries, one for each table. The rows of a table's query are
 * statements that insert the table's rows. For some columns, such as columns with random
 * numbers, these statements hold an expression in place of the value. So each new state gets
 * its own values, as in migrations/0001-first.sql. */
static const char tables[] =
	"SELECT 'SELECT ''INSERT INTO ' || t.name || ' VALUES ('' || '"
	" || (SELECT group_concat(CASE name WHEN 'incarnation' THEN '''lower(hex(randomblob(8)))'''"
	" WHEN 'created_at' THEN"
	" '''CAST((julianday(''''now'''') - 2440587.5) * 86400000 AS INTEGER)'''"
	" WHEN 'id_a' THEN '''random() & 4095''' WHEN 'id_b' THEN '''random() & 1023'''"
	" WHEN 'id_c' THEN '''random() & 281474976710655''' ELSE 'quote(' || name || ')' END,"
	" ' || '', '' || ') FROM pragma_table_info(t.name)) || ' || '');'' FROM ' || t.name"
	" FROM sqlite_schema t WHERE t.type = 'table'";

static void put_objects(const struct sqlgen_build *b)
{
	sqlite3_stmt *st = sqlgen_query(b,
					"SELECT type, name, tbl_name, coalesce(sql, '')"
					" FROM sqlite_schema ORDER BY type, name");
	int n = 0;

	printf("\nconst struct schema_object schema_table[] = {\n");
	for (; sqlgen_row(b, st); n++) {
		printf("\t{ .type = \"%s\", .name = \"%s\", .table = \"%s\", .sql =",
		       sqlgen_text(st, 0), sqlgen_text(st, 1), sqlgen_text(st, 2));
		put_string(sqlgen_text(st, 3));
		printf(" },\n");
	}
	printf("};\nconst int schema_count = %d;\n", n);
}

static void sqlgen_schema_put_rows(const struct sqlgen_build *b)
{
	sqlite3_stmt *query = sqlgen_query(b, tables), *row;

	printf("const char schema_rows[] =");
	while (sqlgen_row(b, query)) {
		row = sqlgen_query(b, sqlgen_text(query, 0));
		while (sqlgen_row(b, row))
			put_string(sqlgen_text(row, 0));
	}
	printf("\n\t\t\"PRAGMA user_version = %d;\";\n", b->n_migrations);
}

/* The forms of struct names. The prefix `sql_` is necessary, since an operation of schema/ may
 * have a struct NAME_in with the same NAME. */
static const struct shape {
	const char *prefix, *suffix;
} in_shape = { "sql_", "_in" }, row_shape = { "", "_row" };

static void sqlgen_put_struct(const struct shape *shape, const char *name,
			      const struct columns *c)
{
	printf("struct %s%s%s {\n", shape->prefix, name, shape->suffix);
	if (!c->n)
		printf("\tchar none;\n");
	for (int i = 0; i < c->n; i++)
		printf("\t%s%s;\n", sqlgen_types[c->at[i].type].c, c->at[i].name);
	printf("};\n\n");
}

/* Declares each script whose file name has no number. If a script sets user_version, also
 * writes this version. */
static void put_scripts(const struct sqlgen_build *b)
{
	sqlite3_stmt *st = sqlgen_query(b, "PRAGMA user_version");

	for (int i = 0; i < b->n_migrations; i++)
		if (!b->migrations[i].version)
			printf("extern const char %s%.*s[];\n", b->prefix,
			       (int)strcspn(b->migrations[i].name, "."),
			       b->migrations[i].name);
	if (sqlgen_row(b, st) && sqlite3_column_int(st, 0) > 0) {
		opgen_put_constant(stdout, "enum { ", b->prefix, "VERSION");
		printf(" = %d };\n\n", sqlite3_column_int(st, 0));
	}
	sqlite3_finalize(st);
}

/* The prefix for the name of a statement whose result nobody uses (see core/call/call.h). */
static const char *late(const struct sqlgen_statement *s)
{
	return s->late ? "late_" : "";
}

void put_header(const struct sqlgen_build *b)
{
	opgen_put_constant(stdout, "#ifndef ", b->prefix, "SQL_GEN_H\n");
	opgen_put_constant(stdout, "#define ", b->prefix,
			   "SQL_GEN_H\n\n#include <stdint.h>\n\n");
	put_scripts(b);
	printf("enum %ssql {\n", b->prefix);
	for (int i = 0; i < b->n_statements; i++)
		printf("\tsql_%s%s,\n", late(&b->statements[i]), b->statements[i].name);
	opgen_put_constant(stdout, "\t", b->prefix, "SQL_COUNT\n};\n\n");
	for (int i = 0; i < b->n_statements; i++) {
		const struct sqlgen_statement *s = &b->statements[i];

		printf("/* %s - %s:%d */\n", s->name, s->file, s->line);
		sqlgen_put_struct(&in_shape, s->name, &s->in);
		if (s->first_of_row)
			sqlgen_put_struct(&row_shape, s->row, &s->out);
	}
	printf("#endif\n");
}

static void put_slots(const struct shape *shape, const char *name,
		      const struct columns *c)
{
	if (!c->n)
		return;
	printf("static const struct slot %s%s[] = {\n", name, shape->suffix);
	for (int i = 0; i < c->n; i++)
		printf("\t{ .kind = %s, .at = offsetof(struct %s%s%s, %s) },\n",
		       sqlgen_types[c->at[i].type].slot, shape->prefix, name,
		       shape->suffix, c->at[i].name);
	printf("};\n");
}

/* Writes checks of the columns that a statement puts into a record. sqlgen does not know the
 * structs of schema/, so the C compiler refuses a column that is no field of the struct. The
 * store itself finds the offsets of the fields. */
static void put_into(const struct sqlgen_statement *s)
{
	if (!s->into)
		return;
	printf("extern const struct record record_%s;\n", s->into);
	for (int i = 0; i < s->out.n; i++)
		printf("_Static_assert(offsetof(struct %s, %s) < 65536, \"%s:%d\");\n",
		       s->into, s->out.at[i].name, s->file, s->line);
}

static void sqlgen_put_statement(const struct sqlgen_statement *s)
{
	printf("\t[sql_%s%s] = {\n\t\t.name = \"%s\",\n\t\t.readonly = %s,\n", late(s),
	       s->name, s->name, s->readonly ? "true" : "false");
	if (s->kept_number)
		printf("\t\t.kept = %d,\n", s->kept_number);
	if (s->late)
		printf("\t\t.late = true,\n");
	if (s->always)
		printf("\t\t.always = true,\n");
	if (s->invalidates)
		printf("\t\t.invalidates = 0x%x,\n", s->invalidates);
	if (s->in.n)
		printf("\t\t.params = %s_in,\n\t\t.n_params = %d,\n", s->name, s->in.n);
	if (s->out.n)
		printf("\t\t.n_columns = %d,\n", s->out.n);
	if (s->into)
		printf("\t\t.record = &record_%s,\n", s->into);
	else if (s->out.n)
		printf("\t\t.columns = %s_row,\n\t\t.row_size = sizeof(struct %s_row),\n",
		       s->row, s->row);
	printf("\t\t.text =");
	put_string(s->sql);
	printf(",\n\t},\n");
}

static void put_migrations(const struct sqlgen_build *b)
{
	int n = 0;

	for (int i = 0; i < b->n_migrations; i++) {
		const struct sqlgen_migration *m = &b->migrations[i];

		if (m->version) {
			if (!n++)
				printf("const struct migration %smigration_table[] = {\n",
				       b->prefix);
			printf("\t{ .version = %d, .name = \"%s\", .text =", m->version,
			       m->name);
			put_string(m->text);
			printf("\n\t\t\"\\nPRAGMA user_version = %d;\" },\n", m->version);
			continue;
		}
		printf("const char %s%.*s[] =", b->prefix, (int)strcspn(m->name, "."),
		       m->name);
		put_string(m->text);
		printf(";\n");
	}
	if (n)
		printf("};\nconst int %smigration_count = %d;\n\n", b->prefix, n);
}

void put_source(const struct sqlgen_build *b)
{
	bool records = false;

	for (int i = 0; i < b->n_statements; i++)
		records |= b->statements[i].into != NULL;
	printf("#include <stddef.h>\n\n%s#include \"storage/stmt.h\"\n"
	       "#include \"%ssql.gen.h\"\n\n",
	       records ? "#include \"core/op/op.h\"\n#include \"ops.gen.h\"\n" : "",
	       b->prefix);
	put_migrations(b);
	printf("_Static_assert(KEPT_STATEMENTS == %d, \"as sqlgen has it\");\n\n",
	       KEPT_STATEMENTS);
	for (int i = 0; i < b->n_statements; i++) {
		const struct sqlgen_statement *s = &b->statements[i];

		put_slots(&in_shape, s->name, &s->in);
		if (s->first_of_row)
			put_slots(&row_shape, s->row, &s->out);
		put_into(s);
	}
	printf("\nconst struct statement %sstatement_table[] = {\n", b->prefix);
	for (int i = 0; i < b->n_statements; i++)
		sqlgen_put_statement(&b->statements[i]);
	printf("};\n");
	if (*b->prefix)
		return;
	put_objects(b);
	sqlgen_schema_put_rows(b);
}

void put_statements(const struct sqlgen_build *b)
{
	for (int i = 0; i < b->n_statements; i++) {
		const struct sqlgen_statement *s = &b->statements[i];

		printf("-- statement %s:%d %s", s->file, s->line, s->name);
		for (int j = 0; j < s->in.n; j++)
			printf(" %s:%s", s->in.at[j].name,
			       sqlgen_types[s->in.at[j].type].word);
		printf("\n%s\n", s->sql);
	}
}

/* Reads storage/exports, and writes the tables and statements that storage/store_transfer.h
 * declares. The tables and statements define which parts of the state an export holds. */

struct told {
	char *name, *kind; /* kind: the words behind the column's name */
	bool key, row, left, none; /* row: the column holds row numbers of `table` */
	char *table; /* the name behind `->` or `as` */
	bool text, null; /* text: a TEXT column; null: the column may be NULL */
	int primary; /* place in the primary key, from 1 on; 0: not in the primary key */
};

struct table {
	char *name;
	bool left;
	struct told *columns;
	int n;
};

struct transfer {
	struct sqlgen_build *b;
	struct sqlgen_statement at;
	struct table *tables;
	int n;
};

/* --- the contents of the file ------------------------------------------------------ */

static char *sqlgen_transfer_word(char **line)
{
	char *at = *line + strspn(*line, " \t");
	size_t n = strcspn(at, " \t");

	*line = at + n + (at[n] != '\0');
	at[n] = '\0';
	return at;
}

static void read_column(struct transfer *t, char *line)
{
	struct table *table = t->n ? &t->tables[t->n - 1] : NULL;
	struct told *c;
	char *first;

	if (!table || table->left) {
		sqlgen_refuse(t->b, &t->at, "a column stands below no table");
		return;
	}
	table->columns = sqlgen_grow(table->columns, table->n, sizeof(*c));
	c = &table->columns[table->n++];
	c->name = xasprintf("%s", sqlgen_transfer_word(&line));
	c->kind = xasprintf("%s", line);
	first = sqlgen_transfer_word(&line);
	c->key = !strcmp(first, "key");
	c->left = !strcmp(first, "left");
	c->row = !strcmp(first, "->");
	if (c->row || !strcmp(first, "as"))
		c->table = xasprintf("%s", sqlgen_transfer_word(&line));
	c->none = !strcmp(sqlgen_transfer_word(&line), "none");
}

static void read_table(struct transfer *t, char *line)
{
	char *first = sqlgen_transfer_word(&line);
	bool left = !strcmp(first, "left");
	struct table *table;

	t->tables = sqlgen_grow(t->tables, t->n, sizeof(*table));
	table = &t->tables[t->n++];
	table->left = left;
	table->name = xasprintf("%s", left ? sqlgen_transfer_word(&line) : first);
}

void sqlgen_read_transfer(struct sqlgen_build *b, const char *file)
{
	struct transfer *t = b->transfer = xcalloc(1, sizeof(*t));
	char *raw = sqlgen_slurp(file), *next;
	char *text = sqlgen_put_numbers(b, file, 1, raw, strlen(raw));

	*t = (struct transfer){ .b = b,
				.at = { .file = file, .name = (char *)"transfer" } };
	for (char *line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		t->at.line++;
		if (*line == '\t')
			read_column(t, line);
		else if (*line && *line != '#')
			read_table(t, line);
	}
}

/* --- the columns in the schema --------------------------------------------------------- */

static struct table *table_find(struct transfer *t, const char *name)
{
	for (int i = 0; i < t->n; i++)
		if (!strcmp(t->tables[i].name, name))
			return &t->tables[i];
	return NULL;
}

static struct told *column_find(struct table *table, const char *name)
{
	for (int i = 0; i < table->n; i++)
		if (!strcmp(table->columns[i].name, name))
			return &table->columns[i];
	return NULL;
}

/* The first column of a table's primary key. References to rows of the table hold values of
 * this column. If the table's rows have the same numbers as another table's rows, this column
 * is itself a reference. */
static const struct told *sqlgen_transfer_id_of(const struct table *table)
{
	for (int i = 0; i < table->n; i++)
		if (table->columns[i].primary == 1)
			return &table->columns[i];
	return NULL;
}

static void sqlgen_transfer_check_columns(struct transfer *t, struct table *table)
{
	sqlite3_stmt *st = sqlgen_query(
		t->b, "SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1)");
	int known = 0;

	sqlite3_bind_text(st, 1, table->name, -1, SQLITE_STATIC);
	while (sqlgen_row(t->b, st)) {
		const char *name = sqlgen_text(st, 0), *type = sqlgen_text(st, 1);
		struct told *c = column_find(table, name);

		if (!c) {
			sqlgen_refuse(t->b, &t->at, "%s.%s: say what it is to an export",
				      table->name, name);
			continue;
		}
		known++;
		c->text = !strcmp(type, "TEXT");
		c->primary = sqlite3_column_int(st, 3);
		c->null = !sqlite3_column_int(st, 2) && !c->primary;
		if (!c->left && !c->text && strcmp(type, "INTEGER") != 0)
			sqlgen_refuse(t->b, &t->at, "%s.%s: a %s has to be `left`",
				      table->name, name, type);
	}
	if (known < table->n)
		sqlgen_refuse(t->b, &t->at, "%s: a column is named that it does not have",
			      table->name);
}

/* Kinds of columns that are no types of schema/. */
static const char *const own_kinds[] = { "key",  "subject", "event", "int",    "time",
					 "flag", "text",    "slug",  "signed", NULL };

static void check_column(struct transfer *t, struct table *table, const struct told *c)
{
	struct table *to = c->table ? table_find(t, c->table) : NULL;

	if (c->table && (!to || to->left))
		sqlgen_refuse(t->b, &t->at, "%s.%s: there is no table %s", table->name,
			      c->name, c->table);
	if (c->table || c->left || strncmp(c->kind, "is ", 3) == 0 ||
	    opgen_among(c->kind, own_kinds))
		return;
	if (!schema_find(t->b->schema, DECL_TYPE, c->kind) &&
	    !schema_find(t->b->schema, DECL_ENUM, c->kind))
		sqlgen_refuse(t->b, &t->at, "%s.%s: schema/ has no type %s", table->name,
			      c->name, c->kind);
	for (int i = 0; i < t->b->n_held; i++) {
		const struct held *h = &t->b->held[i];

		if (!strcmp(h->table, table->name) && !strcmp(h->column, c->name) &&
		    strcmp(h->list, c->kind) != 0)
			sqlgen_refuse(t->b, &t->at, "%s.%s holds a %s", table->name,
				      c->name, h->list);
	}
}

void sqlgen_check_transfer(struct sqlgen_build *b)
{
	struct transfer *t = b->transfer;
	sqlite3_stmt *st;

	if (!t)
		return;
	st = sqlgen_query(b, "SELECT name FROM sqlite_schema WHERE type = 'table'"
			     " AND name NOT LIKE 'sqlite%'");
	while (sqlgen_row(b, st))
		if (!table_find(t, sqlgen_text(st, 0)))
			sqlgen_refuse(b, &t->at, "table %s: say what it is to an export",
				      sqlgen_text(st, 0));
	for (int i = 0; i < t->n; i++)
		if (!t->tables[i].left)
			sqlgen_transfer_check_columns(t, &t->tables[i]);
	for (int i = 0; i < t->n; i++)
		for (int k = 0; k < t->tables[i].n; k++)
			check_column(t, &t->tables[i], &t->tables[i].columns[k]);
}

/* --- statements ------------------------------------------------------------------------ */

static const char below[] =
	"WITH RECURSIVE below (id) AS (SELECT ?1 UNION SELECT t.id FROM team t"
	" JOIN below b ON t.parent = b.id) ";

static void put_exists(struct transfer *t, FILE *out, const char *alias,
		       const struct told *c, bool of_team, int depth);

/* Writes the condition that the row `alias` of a table belongs to the team, or to a team below
 * the team. A row belongs to the team if all rows to which it must refer belong to the team. */
static void put_inside(struct transfer *t, FILE *out, const struct table *table,
		       const char *alias, int depth)
{
	for (int i = 0; i < table->n; i++) {
		const struct told *c = &table->columns[i];

		if (!c->row || c->null || (c->none && strcmp(c->table, "team") != 0))
			continue;
		fprintf(out, " AND ");
		put_exists(t, out, alias, c, true, depth + 1);
	}
	if (!strcmp(table->name, "team"))
		fprintf(out, " AND %s.id IN below", alias);
}

/* Writes the condition that column `c` of the row `alias` refers to an existing row. */
static void put_exists(struct transfer *t, FILE *out, const char *alias,
		       const struct told *c, bool of_team, int depth)
{
	struct table *to = table_find(t, c->table);
	char *x = xasprintf("x%d", depth);

	fprintf(out, "EXISTS (SELECT 1 FROM %s %s WHERE %s.%s = %s.%s", to->name, x, x,
		sqlgen_transfer_id_of(to)->name, alias, c->name);
	if (of_team)
		put_inside(t, out, to, x, depth);
	fputc(')', out);
}

/* Writes a column in the form of an export. A reference to a row that may be missing is
 * exported only if the row exists. */
static void put_told(struct transfer *t, FILE *out, const struct told *c, bool of_team)
{
	if (strncmp(c->kind, "is ", 3) == 0) {
		fprintf(out, "%s", c->kind + 3);
	} else if (c->row && (c->null || c->none)) {
		fprintf(out, "CASE WHEN ");
		if (c->none)
			fprintf(out, "r.%s <= 0 OR ", c->name);
		put_exists(t, out, "r", c, of_team, 0);
		fprintf(out, " THEN r.%s%s END", c->name, c->none ? " ELSE 0" : "");
	} else {
		fprintf(out, "r.%s", c->name);
	}
}

/* Writes a statement that selects or counts the rows of a table. */
static void put_select(struct transfer *t, FILE *out, const struct table *table,
		       bool of_team, bool counts)
{
	const char *comma = "";

	fprintf(out, "%sSELECT %s", of_team ? below : "", counts ? "count(*)" : "");
	for (int i = 0; i < table->n; i++) {
		if (table->columns[i].left || counts)
			continue;
		fputs(comma, out);
		put_told(t, out, &table->columns[i], of_team);
		comma = ", ";
	}
	fprintf(out, " FROM %s r WHERE 1", table->name);
	if (of_team)
		put_inside(t, out, table, "r", 0);
	comma = " ORDER BY ";
	for (int place = 1; place <= table->n && !counts; place++)
		for (int i = 0; i < table->n; i++)
			if (table->columns[i].primary == place) {
				fprintf(out, "%sr.%s", comma, table->columns[i].name);
				comma = ", ";
			}
}

static void put_add(FILE *out, const struct table *table)
{
	const char *comma = "";
	int n = 0;

	fprintf(out, "INSERT INTO %s (", table->name);
	for (int i = 0; i < table->n; i++) {
		if (table->columns[i].left)
			continue;
		fprintf(out, "%s%s", comma, table->columns[i].name);
		comma = ", ";
		n++;
	}
	fprintf(out, ") VALUES (");
	for (int i = 0; i < n; i++)
		fprintf(out, "%s?%d", i ? ", " : "", i + 1);
	fputc(')', out);
}

/* --- the tables in C ---------------------------------------------------------------------- */

enum which { ALL, OF_TEAM, COUNT, COUNT_OF_TEAM, ADD, N_WHICH };

/* Writes a statement as a member of a struct. SQLite must accept the statement. */
static void sqlgen_transfer_put_statement(struct transfer *t, const struct table *table,
					  enum which which)
{
	static const char *const names[N_WHICH] = { "all", "of_team", "count",
						    "count_of_team", "add" };
	sqlite3_stmt *st = NULL;
	char *sql = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&sql, &size);

	if (which == ADD)
		put_add(out, table);
	else
		put_select(t, out, table, which == OF_TEAM || which == COUNT_OF_TEAM,
			   which >= COUNT);
	fclose(out);
	if (sqlite3_prepare_v2(t->b->db, sql, -1, &st, NULL) != SQLITE_OK)
		sqlgen_refuse(t->b, &t->at, "%s: %s\n%s", table->name,
			      sqlite3_errmsg(t->b->db), sql);
	sqlite3_finalize(st);
	printf("\t\t.%s =", names[which]);
	put_string(sql);
	printf(",\n");
}

/* The index of a table among the exported tables. */
static int sqlgen_transfer_place_of(const struct transfer *t, const char *name)
{
	int n = 0;

	for (int i = 0; i < t->n; i++) {
		if (!t->tables[i].left && name && !strcmp(t->tables[i].name, name))
			return n;
		n += !t->tables[i].left;
	}
	return -1;
}

static void put_kind(const struct told *c)
{
	if (c->table)
		printf("TRANSFER_%s", c->row ? "ROW" : "AS");
	else if (strncmp(c->kind, "is ", 3) == 0)
		printf("TRANSFER_IS, .is = %s", c->kind + 3);
	else if (opgen_among(c->kind, own_kinds))
		opgen_put_constant(stdout, "TRANSFER_", c->kind, "");
	else
		printf("TRANSFER_TYPE, .type = \"%s\"", c->kind);
}

static void put_columns(struct transfer *t, const struct table *table)
{
	printf("\nstatic const struct transfer_column transfer_%s[] = {\n", table->name);
	for (int i = 0; i < table->n; i++) {
		const struct told *c = &table->columns[i];

		if (c->left)
			continue;
		printf("\t{ .name = \"%s\", .kind = ", c->name);
		put_kind(c);
		printf(", .text = %d, .null = %d, .none = %d, .table = %d", c->text,
		       c->null, c->none, sqlgen_transfer_place_of(t, c->table));
		if (c->row)
			printf(",\n\t  .loose = \"SELECT r.%s FROM %s r WHERE r.%s > ?1 AND"
			       " NOT EXISTS (SELECT 1 FROM %s x WHERE x.%s = r.%s)"
			       " LIMIT 1\"",
			       c->name, table->name, c->name, c->table,
			       sqlgen_transfer_id_of(table_find(t, c->table))->name,
			       c->name);
		printf(" },\n");
	}
	printf("};\n");
}

static void sqlgen_transfer_put_table(struct transfer *t, const struct table *table)
{
	printf("\t{\n\t\t.name = \"%s\",\n\t\t.columns = transfer_%s,\n"
	       "\t\t.n_columns = sizeof(transfer_%s) / sizeof(*transfer_%s),\n",
	       table->name, table->name, table->name, table->name);
	for (int i = 0; i < table->n; i++)
		if (table->columns[i].key)
			printf("\t\t.last = \"SELECT coalesce(max(%s), 0) FROM %s\",\n",
			       table->columns[i].name, table->name);
	for (enum which w = ALL; w < N_WHICH; w++)
		sqlgen_transfer_put_statement(t, table, w);
	printf("\t},\n");
}

void sqlgen_put_transfer(struct sqlgen_build *b)
{
	struct transfer *t = b->transfer;
	int n = 0;

	if (!t)
		return;
	printf("\n#include \"storage/store_transfer.h\"\n");
	for (int i = 0; i < t->n; i++)
		if (!t->tables[i].left)
			put_columns(t, &t->tables[i]);
	printf("\nconst struct transfer_table transfer_table[] = {\n");
	for (int i = 0; i < t->n; i++)
		if (!t->tables[i].left) {
			sqlgen_transfer_put_table(t, &t->tables[i]);
			n++;
		}
	printf("};\nconst int transfer_count = %d;\n", n);
}
