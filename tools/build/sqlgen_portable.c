/*
 * sqlgen_portable - reads a statement, and refuses numbers in place of names, and SQL that
 * SQLite and PostgreSQL do not both understand, and alike.
 *
 * Numbers: a value knows of which enums it may be (sqlgen_held.c), and is refused beside
 * one of another enum or of none.  This holds in every database and in migrations.
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
 * sqlgen_value.c reads expressions, sqlgen_held.c knows the enums.
 *
 * The guest's spool and the search index are files of SQLite's for good (main() tells
 * them by their prefix), and so are migrations, which an engine has its own of: there only
 * numbers are refused.  Views that statements of the state read from are held to both.
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
	if (r->cte.len && sqlgen_word_same(table, r->cte))
		sqlgen_refuse_at(r, table.at, "%.*s reads itself: write WITH RECURSIVE",
				 (int)table.len, table.at);
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

static struct sqlgen_word last_word(struct sqlgen_word text)
{
	struct sqlgen_word last = text, w = sqlgen_word_next(text.at);

	for (; w.len && w.at < text.at + text.len; w = sqlgen_word_next(w.at + w.len))
		last = w;
	return last;
}

static void read_item(struct sqlgen_reader *r)
{
	struct sqlgen_select *select = r->select;
	struct sqlgen_value v = { .kind = IS_ANY, .lists = SQLGEN_ALL };
	struct sqlgen_word name = r->w;

	if (!sqlgen_take_if(r, "*")) {
		v = sqlgen_read_value(r);
		name = last_word(v.text); /* a column keeps its own */
	}
	/* Any word may stand behind AS. */
	if (sqlgen_take_if(r, "AS")) {
		name = r->w;
		sqlgen_take(r);
	} else if (isalpha((unsigned char)*r->w.at) && !sqlgen_is_clause(r->w)) {
		name = sqlgen_take_name(r);
	}
	sqlgen_rename(r, name, v.lists);
	if (select->n_items == SQLGEN_ITEMS_MOST)
		return;
	select->names[select->n_items] = name;
	select->items[select->n_items++] = v;
}

/* Whether rows of one group have one value of the column: it is said, or the table's id. */
static bool is_grouped(struct sqlgen_column c, const struct sqlgen_column *groups, int n)
{
	for (int i = 0; i < n; i++)
		if (sqlgen_word_same(c.table, groups[i].table) &&
		    (sqlgen_word_same(c.name, groups[i].name) ||
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
	bool conflict = r->conflict, grouped;

	r->select = select;
	r->conflict = false;
	sqlgen_expect(r, "SELECT");
	select->distinct = sqlgen_take_if(r, "DISTINCT");
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
	r->conflict = conflict;
	r->select = above;
}

/* The column or name that an item of ORDER BY is, if it is one by itself. */
static struct sqlgen_column bare_column(struct sqlgen_word w)
{
	struct sqlgen_column c = { .name = w };
	struct sqlgen_word next = sqlgen_word_next(w.at + w.len);
	bool ends;

	if (sqlgen_word_is(next, ".")) {
		c.table = w;
		c.name = sqlgen_word_next(next.at + 1);
		next = sqlgen_word_next(c.name.at + c.name.len);
	}
	ends = !next.len || sqlgen_word_is(next, ",") || sqlgen_word_is(next, ")") ||
	       sqlgen_word_is(next, ";") || sqlgen_word_is(next, "NULLS") ||
	       sqlgen_is_clause(next);
	return ends && isalpha((unsigned char)*c.name.at) ? c
							  : (struct sqlgen_column){ 0 };
}

static bool is_given(const struct sqlgen_select *select, struct sqlgen_value v,
		     struct sqlgen_word name)
{
	for (int i = 0; i < select->n_items; i++)
		if (sqlgen_word_same(select->items[i].text, v.text) ||
		    sqlgen_word_same(select->names[i], name))
			return true;
	return false;
}

void sqlgen_read_order(struct sqlgen_reader *r)
{
	do {
		struct sqlgen_column c = bare_column(r->w);
		struct sqlgen_value v;

		r->select->by_name = c.name.len != 0;
		v = sqlgen_read_value(r);
		r->select->by_name = false;
		if (r->select->distinct && r->select->done &&
		    !is_given(r->select, v, c.name))
			sqlgen_refuse_at(r, v.text.at,
					 "%.*s is not among what DISTINCT gives: add it",
					 (int)v.text.len, v.text.at);
		if (!sqlgen_take_if(r, "ASC"))
			sqlgen_take_if(r, "DESC");
		if (sqlgen_take_if(r, "NULLS")) {
			if (!sqlgen_take_if(r, "FIRST"))
				sqlgen_expect(r, "LAST");
		} else if (c.name.len && sqlgen_is_nullable(r->b, r->text, c)) {
			sqlgen_refuse_at(r, v.text.at,
					 "%.*s may be NULL, which other engines sort to "
					 "the other end: write NULLS FIRST or LAST",
					 (int)v.text.len, v.text.at);
		}
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
	struct sqlgen_word above = r->cte;
	bool recursive = sqlgen_take_if(r, "RECURSIVE");

	do {
		struct sqlgen_select inner = { 0 };
		struct sqlgen_word names[SQLGEN_ITEMS_MOST];
		int n = 0;

		r->cte = sqlgen_take_name(r);
		if (recursive)
			r->cte.len = 0;
		if (sqlgen_take_if(r, "(")) {
			do {
				struct sqlgen_word name = sqlgen_take_name(r);

				if (n < SQLGEN_ITEMS_MOST)
					names[n++] = name;
			} while (sqlgen_take_if(r, ","));
			sqlgen_expect(r, ")");
		}
		sqlgen_expect(r, "AS");
		sqlgen_take_if(r, "NOT");
		sqlgen_take_if(r, "MATERIALIZED");
		sqlgen_expect(r, "(");
		sqlgen_read_select(r, &inner);
		sqlgen_expect(r, ")");
		for (int i = 0; i < n && i < inner.n_items; i++)
			sqlgen_rename(r, names[i], inner.items[i].lists);
	} while (sqlgen_take_if(r, ","));
	r->cte = above;
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
		for (int i = 0; i < next.n_items && i < select->n_items; i++)
			sqlgen_check_fit(r, next.items[i], select->items[i]);
	}
	r->select = select;
	if (sqlgen_take_if(r, "ORDER")) {
		sqlgen_expect(r, "BY");
		sqlgen_read_order(r);
	}
	if (sqlgen_take_if(r, "LIMIT"))
		read_limit(r);
	r->select = above;
}

/* --- what changes rows ---------------------------------------------------------------------- */

/* The value that a column of this table may hold. */
static struct sqlgen_value sqlgen_portable_column_of(struct sqlgen_reader *r,
						     struct sqlgen_word table,
						     struct sqlgen_word name)
{
	struct sqlgen_value v =
		sqlgen_column_value(r, (struct sqlgen_column){ .name = name });

	v.lists = sqlgen_lists_of_table(r->b, table, name);
	return v;
}

static void read_set(struct sqlgen_reader *r, struct sqlgen_word table)
{
	do {
		struct sqlgen_value column =
			sqlgen_portable_column_of(r, table, sqlgen_take_name(r));

		sqlgen_expect(r, "=");
		sqlgen_check_fit(r, sqlgen_read_value(r), column);
	} while (sqlgen_take_if(r, ","));
}

static void sqlgen_portable_read_end(struct sqlgen_reader *r)
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

static void read_conflict(struct sqlgen_reader *r, struct sqlgen_word table)
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
	r->conflict = true;
	read_set(r, table);
	if (sqlgen_take_if(r, "WHERE"))
		sqlgen_read_truth(r);
	r->conflict = false;
}

/* `(a, b), (c, d)`, for these columns. */
static void sqlgen_portable_read_rows(struct sqlgen_reader *r,
				      const struct sqlgen_select *columns)
{
	do {
		int i = 0;

		sqlgen_expect(r, "(");
		do {
			struct sqlgen_value v = sqlgen_read_value(r);

			if (i < columns->n_items)
				sqlgen_check_fit(r, v, columns->items[i++]);
		} while (sqlgen_take_if(r, ","));
		sqlgen_expect(r, ")");
	} while (sqlgen_take_if(r, ","));
}

/* Refuses rows whose ids SQLite would choose by itself. */
static void sqlgen_portable_check_id(struct sqlgen_reader *r, struct sqlgen_word table,
				     const struct sqlgen_select *columns)
{
	char *name = sqlgen_copy(table.at, table.len), *id = sqlgen_id_of(r->b, name);
	bool given = !id;

	for (int i = 0; id && i < columns->n_items; i++)
		given |= sqlgen_word_is(columns->items[i].text, id);
	if (!given)
		sqlgen_refuse_at(
			r, table.at,
			"%s.%s is handed out before the INSERT: name it, and ask "
			"%s_new_id",
			name, id, name);
	free(name);
	free(id);
}

/* Behind INSERT or REPLACE. */
static void read_insert(struct sqlgen_reader *r)
{
	struct sqlgen_select columns = { 0 }, rows = { 0 };
	struct sqlgen_word table;

	sqlgen_expect(r, "INTO");
	table = sqlgen_take_name(r);
	sqlgen_expect(r, "(");
	do {
		struct sqlgen_value column =
			sqlgen_portable_column_of(r, table, sqlgen_take_name(r));

		if (columns.n_items < SQLGEN_ITEMS_MOST)
			columns.items[columns.n_items++] = column;
	} while (sqlgen_take_if(r, ","));
	sqlgen_expect(r, ")");
	sqlgen_portable_check_id(r, table, &columns);
	if (sqlgen_take_if(r, "VALUES")) {
		sqlgen_portable_read_rows(r, &columns);
	} else {
		sqlgen_read_select(r, &rows);
		for (int i = 0; i < rows.n_items && i < columns.n_items; i++)
			sqlgen_check_fit(r, rows.items[i], columns.items[i]);
	}
	if (sqlgen_word_is(r->w, "ON"))
		read_conflict(r, table);
	sqlgen_portable_read_end(r);
}

static void read_update(struct sqlgen_reader *r)
{
	struct sqlgen_word table;

	read_or(r, "UPDATE … WHERE NOT EXISTS (…)");
	table = sqlgen_take_name(r);
	read_alias(r, false);
	sqlgen_expect(r, "SET");
	read_set(r, table);
	if (sqlgen_take_if(r, "FROM"))
		read_sources(r);
	sqlgen_portable_read_end(r);
}

/* --- what makes tables ------------------------------------------------------------------------- */

/* Reads `CREATE VIEW name AS SELECT …`; its columns are numbers to those who read them. */
static void read_view(struct sqlgen_reader *r)
{
	struct sqlgen_select select = { 0 };
	struct sqlgen_value any = { .kind = IS_ANY, .lists = SQLGEN_ALL };

	sqlgen_take_name(r);
	sqlgen_expect(r, "AS");
	sqlgen_read_select(r, &select);
	for (int i = 0; i < select.n_items; i++) {
		any.kind = select.items[i].kind == IS_TRUTH ? IS_NUMBER : IS_ANY;
		sqlgen_check_fit(r, select.items[i], any);
	}
}

/* `CREATE [UNIQUE] INDEX name ON table (columns) [WHERE …]` */
static void sqlgen_portable_read_index(struct sqlgen_reader *r)
{
	sqlgen_take_name(r);
	sqlgen_expect(r, "ON");
	sqlgen_take_name(r);
	sqlgen_expect(r, "(");
	do {
		sqlgen_read_value(r);
		sqlgen_take_if(r, "DESC");
	} while (sqlgen_take_if(r, ","));
	sqlgen_expect(r, ")");
	if (sqlgen_take_if(r, "WHERE"))
		sqlgen_read_truth(r);
}

static void read_statement(struct sqlgen_reader *r)
{
	struct sqlgen_select select = { 0 };
	const char *at = r->w.at;

	sqlgen_take_if(r, "{words}"); /* statements by itself */
	if (sqlgen_take_if(r, "INSERT")) {
		read_or(r, on_conflict);
		read_insert(r);
	} else if (sqlgen_take_if(r, "REPLACE")) {
		sqlgen_refuse_at(r, at, "REPLACE is SQLite's: write %s", on_conflict);
		read_insert(r);
	} else if (sqlgen_take_if(r, "CREATE")) {
		sqlgen_take_if(r, "UNIQUE");
		if (sqlgen_take_if(r, "INDEX"))
			sqlgen_portable_read_index(r);
		else if (sqlgen_take_if(r, "VIEW"))
			read_view(r);
		else
			sqlgen_lose(r);
	} else if (sqlgen_take_if(r, "UPDATE")) {
		read_update(r);
	} else if (sqlgen_take_if(r, "DELETE")) {
		sqlgen_expect(r, "FROM");
		sqlgen_take_name(r);
		read_alias(r, false);
		sqlgen_portable_read_end(r);
	} else {
		sqlgen_read_select(r, &select);
	}
	sqlgen_take_if(r, ";");
	if (r->w.len)
		sqlgen_lose(r);
}

/* Reads the text from its beginning. */
static void read_whole(struct sqlgen_reader *r)
{
	r->w = sqlgen_word_next(r->text);
	r->read_to = r->text;
	r->outside = (struct sqlgen_select){ .done = true };
	r->select = &r->outside;
	r->lost = false;
	read_statement(r);
}

/* A name may stand in front of the SELECT that gives it, and be of another such name:
 * so the text is read until no new one is found, once more for names that are given to
 * other values as well, and then for what is wrong. */
static void read_checked(struct sqlgen_reader *r)
{
	r->collects = true;
	do {
		r->collected = false;
		read_whole(r);
	} while (r->collected);
	r->plain = true;
	read_whole(r);
	r->collects = false;
	read_whole(r);
}

void sqlgen_check_portable(struct sqlgen_build *b, const struct sqlgen_statement *s,
			   bool shared)
{
	struct sqlgen_reader r = {
		.b = b,
		.s = s,
		.text = s->written,
		.line = s->sql_line,
		.shared = shared,
		.named = true,
	};

	read_checked(&r);
}

/* --- views ------------------------------------------------------------------------------------ */

/* The place of the newest view of that name. */
static struct sqlgen_statement sqlgen_portable_place_of(const struct sqlgen_build *b,
							const char *name)
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
		struct sqlgen_statement at = sqlgen_portable_place_of(b, name);
		struct sqlgen_reader r = {
			.b = b,
			.s = &at,
			.text = (const char *)sqlite3_column_text(views, 1),
			.line = at.line,
			.shared = true,
		};

		read_checked(&r);
		free(at.name);
	}
	sqlite3_finalize(views);
}
