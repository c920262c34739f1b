/*
 * sqlgen_portable - the SQL that SQLite and PostgreSQL both understand, and alike.
 *
 * A second engine takes the statements of the state as they are.  So a form that only
 * SQLite knows (INSERT OR …, GLOB, rowid, max of two), or that means something else
 * elsewhere (LIKE, x'…'), is refused with the form that both know; and so is a value of
 * another kind than stands there, which SQLite makes fit by itself: a comparison that is
 * added up, a number that a WHERE takes for true, a text beside a number.
 *
 * The statement is read word by word along the grammar of the common part, and all that
 * is not of it is refused.  Columns and parameters have the kind that check_statement()
 * knows of them; where none is known, nothing is refused.  sqlgen_words.c has the tables,
 * sqlgen_value.c reads expressions.
 *
 * The guest's spool and the search index are files of SQLite's for good (main() tells
 * them by their prefix), and so are migrations, which an engine has its own of; but views
 * that statements of the state read from are read here like these.
 */
#include "tools/build/sqlgen_portable.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- where rows come from --------------------------------------------------------------- */

static void read_alias(struct sqlgen_reader *r, bool needed)
{
	if (sqlgen_take_if(r, "AS")) {
		sqlgen_take_name(r);
	} else if (isalpha((unsigned char)*r->w.at) && !sqlgen_is_clause(r->w)) {
		sqlgen_take_name(r);
	} else if (needed) {
		sqlgen_refuse_at(r, r->w.at, "a SELECT behind FROM needs a name: (…) x");
	}
}

static void read_source(struct sqlgen_reader *r)
{
	struct sqlgen_word table;

	if (sqlgen_take_if(r, "(")) {
		struct sqlgen_select inner = { 0 };

		sqlgen_read_select(r, &inner);
		sqlgen_expect(r, ")");
		read_alias(r, true);
		return;
	}
	table = sqlgen_take_name(r);
	if (table.len > 7 && strncmp(table.at, "pragma_", 7) == 0)
		sqlgen_refuse_at(r, table.at,
				 "%.*s is SQLite's: ask it from "
				 "storage/words.h",
				 (int)table.len, table.at);
	if (sqlgen_take_if(r, "(")) {
		sqlgen_read_value(r);
		sqlgen_expect(r, ")");
	}
	read_alias(r, false);
	if (sqlgen_word_is(r->w, "INDEXED") || sqlgen_word_is(r->w, "NOT"))
		sqlgen_refuse_at(r, r->w.at,
				 "INDEXED BY is SQLite's: a + in front of a column "
				 "keeps its index out");
}

static bool read_join(struct sqlgen_reader *r)
{
	struct sqlgen_word join = r->w;

	if (sqlgen_take_if(r, "CROSS")) {
		sqlgen_refuse_at(r, join.at,
				 "CROSS JOIN says SQLite in which order to look: write "
				 "JOIN … ON, and a + in front of the column that is not "
				 "to be looked up");
		sqlgen_expect(r, "JOIN");
		read_source(r);
		if (sqlgen_take_if(r, "ON"))
			sqlgen_read_truth(r);
		return true;
	}
	if (sqlgen_take_if(r, "LEFT"))
		sqlgen_take_if(r, "OUTER");
	else
		sqlgen_take_if(r, "INNER");
	if (!sqlgen_take_if(r, "JOIN"))
		return false;
	read_source(r);
	if (sqlgen_take_if(r, "ON"))
		sqlgen_read_truth(r);
	else
		sqlgen_refuse_at(r, join.at,
				 "a JOIN without ON is SQLite's: write JOIN … ON, or a "
				 "comma");
	return true;
}

static void read_sources(struct sqlgen_reader *r)
{
	do {
		read_source(r);
		while (!r->lost && read_join(r))
			;
	} while (sqlgen_take_if(r, ","));
}

/* --- SELECT ------------------------------------------------------------------------------- */

static void read_item(struct sqlgen_reader *r)
{
	struct sqlgen_select *select = r->select;
	struct sqlgen_value v = { .kind = IS_ANY };

	if (!sqlgen_take_if(r, "*"))
		v = sqlgen_read_value(r);
	if (v.kind == IS_TRUTH && !select->item.len)
		select->item = v.text;
	if (select->n_items < SQLGEN_ITEMS_MOST)
		select->items[select->n_items++] = v.kind;
	/* Any word may stand behind AS. */
	if (sqlgen_take_if(r, "AS"))
		sqlgen_take(r);
	else if (isalpha((unsigned char)*r->w.at) && !sqlgen_is_clause(r->w))
		sqlgen_take_name(r);
}

static bool same(struct sqlgen_word a, struct sqlgen_word b)
{
	return a.len == b.len && strncmp(a.at, b.at, a.len) == 0;
}

/* Whether rows of one group have one value of the column: it is said, or the table's id. */
static bool is_grouped(struct sqlgen_column c, const struct sqlgen_column *groups, int n)
{
	for (int i = 0; i < n; i++)
		if (same(c.table, groups[i].table) &&
		    (same(c.name, groups[i].name) ||
		     sqlgen_word_is(groups[i].name, "id")))
			return true;
	return false;
}

static void read_group(struct sqlgen_reader *r, const struct sqlgen_select *items,
		       bool grouped)
{
	struct sqlgen_select groups = { 0 }, *above = r->select;

	r->select = &groups;
	if (grouped)
		do
			sqlgen_read_value(r);
		while (sqlgen_take_if(r, ","));
	r->select = above;
	for (int i = 0; (grouped || items->sums) && i < items->n_bare; i++) {
		struct sqlgen_word name = items->bare[i].name;

		if (!is_grouped(items->bare[i], groups.bare, groups.n_bare))
			sqlgen_refuse_at(r, name.at,
					 "%.*s is of any row in SQLite: write min(%.*s), "
					 "or GROUP BY it",
					 (int)name.len, name.at, (int)name.len, name.at);
	}
}

/* From SELECT to the end of its WHERE and GROUP BY. */
static void read_core(struct sqlgen_reader *r, struct sqlgen_select *select)
{
	struct sqlgen_select *above = r->select;
	bool grouped;

	r->select = select;
	sqlgen_expect(r, "SELECT");
	sqlgen_take_if(r, "DISTINCT");
	do
		read_item(r);
	while (sqlgen_take_if(r, ","));
	select->done = true;
	if (sqlgen_take_if(r, "FROM"))
		read_sources(r);
	if (sqlgen_take_if(r, "WHERE"))
		sqlgen_read_truth(r);
	grouped = sqlgen_take_if(r, "GROUP");
	if (grouped)
		sqlgen_expect(r, "BY");
	read_group(r, select, grouped);
	if (sqlgen_take_if(r, "HAVING"))
		sqlgen_read_truth(r);
	r->select = above;
}

static void read_order(struct sqlgen_reader *r)
{
	do {
		sqlgen_read_value(r);
		if (!sqlgen_take_if(r, "ASC"))
			sqlgen_take_if(r, "DESC");
		if (sqlgen_take_if(r, "NULLS") && !sqlgen_take_if(r, "FIRST"))
			sqlgen_expect(r, "LAST");
	} while (sqlgen_take_if(r, ","));
}

static void read_limit(struct sqlgen_reader *r)
{
	if (sqlgen_word_is(r->w, "-"))
		sqlgen_refuse_at(r, r->w.at,
				 "only SQLite takes a negative LIMIT for none: write "
				 "9223372036854775807");
	sqlgen_read_value(r);
	if (sqlgen_word_is(r->w, ","))
		sqlgen_refuse_at(r, r->w.at, "write LIMIT … OFFSET …");
	if (sqlgen_take_if(r, "OFFSET") || sqlgen_take_if(r, ","))
		sqlgen_read_value(r);
}

/* `WITH name(columns) AS (SELECT …), …` */
static void read_with(struct sqlgen_reader *r)
{
	sqlgen_take_if(r, "RECURSIVE");
	do {
		struct sqlgen_select inner = { 0 };

		sqlgen_take_name(r);
		if (sqlgen_take_if(r, "(")) {
			do
				sqlgen_take_name(r);
			while (sqlgen_take_if(r, ","));
			sqlgen_expect(r, ")");
		}
		sqlgen_expect(r, "AS");
		sqlgen_take_if(r, "NOT");
		sqlgen_take_if(r, "MATERIALIZED");
		sqlgen_expect(r, "(");
		sqlgen_read_select(r, &inner);
		sqlgen_expect(r, ")");
	} while (sqlgen_take_if(r, ","));
}

void sqlgen_read_select(struct sqlgen_reader *r, struct sqlgen_select *select)
{
	struct sqlgen_select *above = r->select;

	if (sqlgen_take_if(r, "WITH"))
		read_with(r);
	read_core(r, select);
	for (;;) {
		struct sqlgen_select next = { 0 };

		if (sqlgen_take_if(r, "UNION"))
			sqlgen_take_if(r, "ALL");
		else if (!sqlgen_take_if(r, "INTERSECT") && !sqlgen_take_if(r, "EXCEPT"))
			break;
		read_core(r, &next);
	}
	r->select = select;
	if (sqlgen_take_if(r, "ORDER")) {
		sqlgen_expect(r, "BY");
		read_order(r);
	}
	if (sqlgen_take_if(r, "LIMIT"))
		read_limit(r);
	r->select = above;
}

/* --- what changes rows ---------------------------------------------------------------------- */

static void read_set(struct sqlgen_reader *r)
{
	do {
		struct sqlgen_word column = sqlgen_take_name(r);

		sqlgen_expect(r, "=");
		sqlgen_check_kinds(r, sqlgen_read_value(r),
				   sqlgen_kind_of_column(r, column));
	} while (sqlgen_take_if(r, ","));
}

static void read_end(struct sqlgen_reader *r)
{
	if (sqlgen_take_if(r, "WHERE"))
		sqlgen_read_truth(r);
	if (sqlgen_take_if(r, "RETURNING"))
		do
			read_item(r);
		while (sqlgen_take_if(r, ","));
}

/* Behind INSERT or UPDATE: what SQLite does instead of failing. */
static void read_or(struct sqlgen_reader *r, const char *instead)
{
	const char *at = r->w.at;

	if (!sqlgen_take_if(r, "OR"))
		return;
	sqlgen_refuse_at(r, at, "OR %.*s is SQLite's: write %s", (int)r->w.len, r->w.at,
			 instead);
	sqlgen_take(r);
}

static const char on_conflict[] =
	"INSERT … ON CONFLICT DO NOTHING, or ON CONFLICT (column, …) DO UPDATE SET …";

static void read_conflict(struct sqlgen_reader *r)
{
	const char *at = r->w.at;
	bool target;

	sqlgen_expect(r, "ON");
	sqlgen_expect(r, "CONFLICT");
	target = sqlgen_take_if(r, "(");
	if (target) {
		do
			sqlgen_take_name(r);
		while (sqlgen_take_if(r, ","));
		sqlgen_expect(r, ")");
		if (sqlgen_take_if(r, "WHERE"))
			sqlgen_read_truth(r);
	}
	sqlgen_expect(r, "DO");
	if (sqlgen_take_if(r, "NOTHING"))
		return;
	if (!target)
		sqlgen_refuse_at(r, at, "write ON CONFLICT (column, …) DO UPDATE");
	sqlgen_expect(r, "UPDATE");
	sqlgen_expect(r, "SET");
	read_set(r);
	if (sqlgen_take_if(r, "WHERE"))
		sqlgen_read_truth(r);
}

/* `(a, b), (c, d)`, for columns of these kinds. */
static void read_rows(struct sqlgen_reader *r, const struct sqlgen_select *columns)
{
	do {
		int i = 0;

		sqlgen_expect(r, "(");
		do {
			struct sqlgen_value v = sqlgen_read_value(r);

			if (i < columns->n_items)
				sqlgen_check_kinds(r, v, columns->items[i++]);
		} while (sqlgen_take_if(r, ","));
		sqlgen_expect(r, ")");
	} while (sqlgen_take_if(r, ","));
}

/* Behind INSERT or REPLACE. */
static void read_insert(struct sqlgen_reader *r)
{
	struct sqlgen_select columns = { 0 }, rows = { 0 };

	sqlgen_expect(r, "INTO");
	sqlgen_take_name(r);
	sqlgen_expect(r, "(");
	do {
		struct sqlgen_word name = sqlgen_take_name(r);

		if (columns.n_items < SQLGEN_ITEMS_MOST)
			columns.items[columns.n_items++] = sqlgen_kind_of_column(r, name);
	} while (sqlgen_take_if(r, ","));
	sqlgen_expect(r, ")");
	if (sqlgen_take_if(r, "VALUES")) {
		read_rows(r, &columns);
	} else {
		const char *from = r->w.at;

		sqlgen_read_select(r, &rows);
		for (int i = 0; i < rows.n_items && i < columns.n_items; i++)
			sqlgen_check_kinds(
				r,
				(struct sqlgen_value){
					rows.items[i],
					rows.items[i] == IS_TRUTH
						? rows.item
						: (struct sqlgen_word){ from, 6 } },
				columns.items[i]);
	}
	if (sqlgen_word_is(r->w, "ON"))
		read_conflict(r);
	read_end(r);
}

static void read_update(struct sqlgen_reader *r)
{
	read_or(r, "UPDATE … WHERE NOT EXISTS (…)");
	sqlgen_take_name(r);
	read_alias(r, false);
	sqlgen_expect(r, "SET");
	read_set(r);
	if (sqlgen_take_if(r, "FROM"))
		read_sources(r);
	read_end(r);
}

static void read_statement(struct sqlgen_reader *r)
{
	struct sqlgen_select select = { 0 };
	const char *at = r->w.at;

	if (sqlgen_take_if(r, "INSERT")) {
		read_or(r, on_conflict);
		read_insert(r);
	} else if (sqlgen_take_if(r, "REPLACE")) {
		sqlgen_refuse_at(r, at, "REPLACE is SQLite's: write %s", on_conflict);
		read_insert(r);
	} else if (sqlgen_take_if(r, "UPDATE")) {
		read_update(r);
	} else if (sqlgen_take_if(r, "DELETE")) {
		sqlgen_expect(r, "FROM");
		sqlgen_take_name(r);
		read_alias(r, false);
		read_end(r);
	} else {
		sqlgen_read_select(r, &select);
	}
	sqlgen_take_if(r, ";");
	if (r->w.len)
		sqlgen_lose(r);
}

void sqlgen_check_portable(struct sqlgen_build *b, const struct sqlgen_statement *s)
{
	struct sqlgen_select none = { .done = true };
	struct sqlgen_reader r = {
		.b = b,
		.s = s,
		.text = s->written,
		.line = s->sql_line,
		.w = sqlgen_word_next(s->written),
		.read_to = s->written,
		.select = &none,
	};

	read_statement(&r);
}

/* --- views ------------------------------------------------------------------------------------ */

/* Reads `CREATE VIEW name AS SELECT …`; its columns are numbers to those who read them. */
static void check_view(struct sqlgen_build *b, const struct sqlgen_statement *at,
		       const char *sql)
{
	struct sqlgen_select none = { .done = true }, select = { 0 };
	struct sqlgen_reader r = {
		.b = b,
		.s = at,
		.text = sql,
		.line = at->line,
		.w = sqlgen_word_next(sql),
		.read_to = sql,
		.select = &none,
	};

	sqlgen_expect(&r, "CREATE");
	sqlgen_expect(&r, "VIEW");
	sqlgen_take_name(&r);
	sqlgen_expect(&r, "AS");
	sqlgen_read_select(&r, &select);
	if (select.item.len)
		sqlgen_check_kinds(&r, (struct sqlgen_value){ IS_TRUTH, select.item },
				   IS_NUMBER);
}

/* The place of the newest view of that name. */
static struct sqlgen_statement place_of(const struct sqlgen_build *b, const char *name)
{
	struct sqlgen_statement at = { .file = "migrations", .line = 1 };
	size_t len = strlen(name);

	at.name = sqlgen_copy(name, len);
	for (int i = b->n_migrations - 1; i >= 0; i--) {
		const char *text = b->migrations[i].text, *view = text, *found = NULL;

		for (; (view = strstr(view, "CREATE VIEW ")); view += 12)
			if (strncmp(view + 12, name, len) == 0 && view[12 + len] == ' ')
				found = view;
		if (!found)
			continue;
		at.file = b->migrations[i].file;
		for (; text < found; text++)
			at.line += *text == '\n';
		break;
	}
	return at;
}

void sqlgen_check_views(struct sqlgen_build *b)
{
	sqlite3_stmt *views = NULL;

	sqlite3_prepare_v2(b->db,
			   "SELECT name, sql FROM sqlite_schema"
			   " WHERE type = 'view' AND name NOT LIKE 'v~_%' ESCAPE '~'",
			   -1, &views, NULL);
	while (sqlite3_step(views) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(views, 0);
		struct sqlgen_statement at = place_of(b, name);

		check_view(b, &at, (const char *)sqlite3_column_text(views, 1));
		free(at.name);
	}
	sqlite3_finalize(views);
}
