/* Reads storage/exports, and writes the tables and statements of storage/store_transfer.h: what
 * an export holds of the state. */
#include "tools/build/sqlgen.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tools/build/opgen.h"

struct told {
	char *name, *kind; /* kind: the words behind it */
	bool key, row, left, none; /* row: the number of a row of `table` */
	char *table; /* behind -> or as */
	bool text, null; /* as the schema has it */
	int primary; /* place in the primary key, from 1; 0: none */
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

/* --- what the file says ------------------------------------------------------------ */

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
	free(text);
	free(raw);
}

/* --- what the schema says -------------------------------------------------------------- */

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

/* The column that another table's numbers of rows are equal to: the key, or what the
 * primary key is of where rows have the numbers of another table. */
static const struct told *sqlgen_transfer_id_of(const struct table *table)
{
	for (int i = 0; i < table->n; i++)
		if (table->columns[i].primary == 1)
			return &table->columns[i];
	return NULL;
}

static void sqlgen_transfer_check_columns(struct transfer *t, struct table *table)
{
	sqlite3_stmt *st = NULL;
	int known = 0;

	sqlite3_prepare_v2(
		t->b->db, "SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1)",
		-1, &st, NULL);
	sqlite3_bind_text(st, 1, table->name, -1, SQLITE_STATIC);
	while (sqlite3_step(st) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 0);
		const char *type = (const char *)sqlite3_column_text(st, 1);
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
	sqlite3_finalize(st);
}

static void check_column(struct transfer *t, struct table *table, const struct told *c)
{
	static const char *const own[] = { "key",  "subject", "event", "int",    "time",
					   "flag", "text",    "slug",  "signed", "left" };
	struct table *to = c->table ? table_find(t, c->table) : NULL;

	if (c->table && (!to || to->left))
		sqlgen_refuse(t->b, &t->at, "%s.%s: there is no table %s", table->name,
			      c->name, c->table);
	if (c->table || strncmp(c->kind, "is ", 3) == 0)
		return;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strcmp(c->kind, own[i]))
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
	sqlite3_stmt *st = NULL;

	if (!t)
		return;
	sqlite3_prepare_v2(b->db,
			   "SELECT name FROM sqlite_schema WHERE type = 'table'"
			   " AND name NOT LIKE 'sqlite%'",
			   -1, &st, NULL);
	while (sqlite3_step(st) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 0);

		if (!table_find(t, name))
			sqlgen_refuse(b, &t->at, "table %s: say what it is to an export",
				      name);
	}
	sqlite3_finalize(st);
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

/* Whether the row `alias` of a table is of the team: all rows that it cannot be without
 * are. */
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

/* Whether there is the row whose number column `c` of `alias` holds. */
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
	free(x);
}

/* A column as an export tells it: what may be missing is told if it is there. */
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

static void put_select(struct transfer *t, FILE *out, const struct table *table,
		       bool of_team)
{
	const char *comma = "";

	fprintf(out, "%sSELECT ", of_team ? below : "");
	for (int i = 0; i < table->n; i++) {
		if (table->columns[i].left)
			continue;
		fputs(comma, out);
		put_told(t, out, &table->columns[i], of_team);
		comma = ", ";
	}
	fprintf(out, " FROM %s r WHERE 1", table->name);
	if (of_team)
		put_inside(t, out, table, "r", 0);
	comma = " ORDER BY ";
	for (int place = 1; place <= table->n; place++)
		for (int i = 0; i < table->n; i++)
			if (table->columns[i].primary == place) {
				fprintf(out, "%sr.%s", comma, table->columns[i].name);
				comma = ", ";
			}
}

static void put_count(struct transfer *t, FILE *out, const struct table *table,
		      bool of_team)
{
	fprintf(out, "%sSELECT count(*) FROM %s r WHERE 1", of_team ? below : "",
		table->name);
	if (of_team)
		put_inside(t, out, table, "r", 0);
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

/* Writes a statement as a member, once SQLite has taken it. */
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
	else if (which < COUNT)
		put_select(t, out, table, which == OF_TEAM);
	else
		put_count(t, out, table, which == COUNT_OF_TEAM);
	fclose(out);
	if (sqlite3_prepare_v2(t->b->db, sql, -1, &st, NULL) != SQLITE_OK)
		sqlgen_refuse(t->b, &t->at, "%s: %s\n%s", table->name,
			      sqlite3_errmsg(t->b->db), sql);
	sqlite3_finalize(st);
	printf("\t\t.%s =", names[which]);
	put_string(sql);
	printf(",\n");
	free(sql);
}

/* The number of a table among those that are told. */
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
	static const char *const own[] = { "key",  "subject", "event", "int",   "time",
					   "flag", "text",    "slug",  "signed" };

	if (c->table) {
		printf("TRANSFER_%s", c->row ? "ROW" : "AS");
		return;
	}
	if (strncmp(c->kind, "is ", 3) == 0) {
		printf("TRANSFER_IS, .is = %s", c->kind + 3);
		return;
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strcmp(c->kind, own[i])) {
			printf("TRANSFER_");
			for (const char *p = own[i]; *p; p++)
				putchar(toupper((unsigned char)*p));
			return;
		}
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

void sqlgen_free_transfer(struct sqlgen_build *b)
{
	struct transfer *t = b->transfer;

	for (int i = 0; t && i < t->n; i++) {
		for (int k = 0; k < t->tables[i].n; k++) {
			free(t->tables[i].columns[k].name);
			free(t->tables[i].columns[k].kind);
			free(t->tables[i].columns[k].table);
		}
		free(t->tables[i].columns);
		free(t->tables[i].name);
	}
	free(t ? t->tables : NULL);
	free(t);
}
