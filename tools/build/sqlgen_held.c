/*
 * sqlgen_held - storage/enums, and which enums a column or a name in braces is of.
 *
 * An enum is called a list here, as in the table `word`.  Every value of a statement has a
 * set of lists, a bit for each of which it may be a number, and one for numbers that are of
 * none.  Two values that are compared, or one
 * that a column is set to, need a list in common; who counts with a number needs that it
 * be of none.  So a number beside an enum's column is refused whatever stands between,
 * since the number is the place of a line in schema/; and so is a value of another enum.
 */
#include "tools/build/sqlgen_portable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/build/opgen.h"

/* --- storage/enums ------------------------------------------------------------------- */

static bool is_list(const struct sqlgen_build *b, const char *name)
{
	const struct decl *d = schema_find(b->schema, DECL_ENUM, name);

	return strcmp(name, "event") == 0 || strcmp(name, "none") == 0 ||
	       (d && d->kind == DECL_ENUM);
}

/* `TABLE.COLUMN LIST [ordered]`, `TABLE.COLUMN none` or `LIST.NAME = VALUE...` */
static void sqlgen_held_read_line(struct sqlgen_build *b, struct sqlgen_statement *at,
				  char *line)
{
	char *dot = strchr(line, '.'), *blank = strchr(line, ' '), *ordered;
	struct held *h;
	struct set *set;

	if (!*line || *line == '#')
		return;
	if (!dot || !blank || dot > blank) {
		sqlgen_refuse(b, at,
			      "expected: TABLE.COLUMN ENUM [ordered], TABLE.COLUMN "
			      "none, or ENUM.NAME = VALUE...");
		return;
	}
	*dot++ = *blank++ = '\0';
	if (strncmp(blank, "= ", 2) == 0) {
		b->sets = sqlgen_grow(b->sets, b->n_sets, sizeof(*set));
		set = &b->sets[b->n_sets++];
		set->list = sqlgen_copy(line, strlen(line));
		set->name = sqlgen_copy(dot, strlen(dot));
		set->values = sqlgen_copy(blank + 2, strlen(blank + 2));
	} else {
		if (b->n_held == SQLGEN_HELD_MOST)
			sqlgen_refuse(b, at, "more than %d columns: widen sqlgen_lists",
				      SQLGEN_HELD_MOST);
		if (b->n_held == SQLGEN_HELD_MOST)
			return;
		b->held = sqlgen_grow(b->held, b->n_held, sizeof(*h));
		h = &b->held[b->n_held++];
		if ((ordered = strstr(blank, " ordered")) && !ordered[8])
			*ordered = '\0'; /* see tests/e2e/permute.sh */
		h->table = sqlgen_copy(line, strlen(line));
		h->column = sqlgen_copy(dot, strlen(dot));
		h->list = sqlgen_copy(blank, strlen(blank));
	}
	if (!is_list(b, *blank == '=' ? line : blank))
		sqlgen_refuse(b, at, "no enum of schema/ is called %s",
			      *blank == '=' ? line : blank);
}

void sqlgen_read_enums(struct sqlgen_build *b, const char *file)
{
	struct sqlgen_statement at = { .file = file };
	char *text = sqlgen_slurp(file), *next;

	for (char *line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		at.line++;
		sqlgen_held_read_line(b, &at, line);
	}
	free(text);
}

void sqlgen_free_enums(struct sqlgen_build *b)
{
	for (int i = 0; i < b->n_held; i++) {
		free(b->held[i].table);
		free(b->held[i].column);
		free(b->held[i].list);
	}
	for (int i = 0; i < b->n_sets; i++) {
		free(b->sets[i].list);
		free(b->sets[i].name);
		free(b->sets[i].values);
	}
	free(b->held);
	free(b->sets);
}

const char *sqlgen_set_find(const struct sqlgen_build *b, const char *list,
			    const char *name)
{
	for (int i = 0; i < b->n_sets; i++)
		if (strcmp(b->sets[i].list, list) == 0 &&
		    strcmp(b->sets[i].name, name) == 0)
			return b->sets[i].values;
	return NULL;
}

bool sqlgen_is_stored(const struct sqlgen_build *b, const char *list)
{
	for (int i = 0; i < b->n_held; i++)
		if (strcmp(b->held[i].list, list) == 0)
			return true;
	return false;
}

/* --- which lists ------------------------------------------------------------------------- */

/* The bit of a list: the place of the first column that storage/enums says holds it. */
static sqlgen_lists bit_of(const struct sqlgen_build *b, const char *list, size_t len)
{
	if (len == 4 && strncmp(list, "none", 4) == 0)
		return SQLGEN_NONE;
	for (int i = 0; i < b->n_held; i++)
		if (strlen(b->held[i].list) == len &&
		    strncmp(b->held[i].list, list, len) == 0)
			return (sqlgen_lists)1 << i;
	return SQLGEN_OTHER; /* no column holds it */
}

sqlgen_lists sqlgen_lists_named(const struct sqlgen_build *b, const char *name)
{
	if (strncmp(name, "{events.", 8) == 0)
		return bit_of(b, "event", 5);
	if (strncmp(name, "{most.", 6) == 0)
		return SQLGEN_NONE;
	return bit_of(b, name + 1, strcspn(name + 1, ".}"));
}

enum { DEPTH_MOST = 64 };

/* Follows where a statement names tables: behind FROM, JOIN, UPDATE and INTO, behind the
 * commas of a FROM, and behind the ON of an index. */
struct places {
	struct sqlgen_word before;
	bool index, from[DEPTH_MOST]; /* from: between FROM and the next clause */
	int depth; /* of parentheses */
};

/* Whether a table stands at the word, which is taken. */
static bool names_here(struct places *p, struct sqlgen_word w)
{
	static const char *const in_front[] = { "FROM", "JOIN", "UPDATE", "INTO" };
	static const char *const ends[] = { "WHERE",     "GROUP",  "ORDER",    "LIMIT",
					    "UNION",     "SELECT", "SET",      "VALUES",
					    "RETURNING", "EXCEPT", "INTERSECT" };
	bool named = (p->from[p->depth] && sqlgen_word_is(p->before, ",")) ||
		     (p->index && sqlgen_word_is(p->before, "ON"));

	for (size_t i = 0; i < sizeof(in_front) / sizeof(in_front[0]); i++)
		named |= sqlgen_word_is(p->before, in_front[i]);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sqlgen_word_is(w, ends[i]))
			p->from[p->depth] = false;
	if (sqlgen_word_is(w, "FROM"))
		p->from[p->depth] = true;
	if (sqlgen_word_is(w, "INDEX") && sqlgen_word_is(p->before, "CREATE"))
		p->index = true;
	if (sqlgen_word_is(w, "INDEX") && sqlgen_word_is(p->before, "UNIQUE"))
		p->index = true;
	if (sqlgen_word_is(w, "(") && p->depth + 1 < DEPTH_MOST)
		p->from[++p->depth] = false;
	if (sqlgen_word_is(w, ")") && p->depth > 0)
		p->depth--;
	p->before = w;
	return named;
}

/* Whether the statement names the table, under this alias if there is one. */
static bool names_table(const char *sql, const char *table, struct sqlgen_word alias)
{
	struct places places = { .before = { "", 0 } };
	struct sqlgen_word w = { sql, 0 }, next;

	if (!strcasestr(sql, table)) /* most statements lack most tables */
		return false;
	while ((w = sqlgen_word_next(w.at + w.len)).len) {
		if (!names_here(&places, w) || !sqlgen_word_is(w, table))
			continue;
		next = sqlgen_word_next(w.at + w.len);
		if (sqlgen_word_is(next, "AS"))
			next = sqlgen_word_next(next.at + next.len);
		if (!alias.len || sqlgen_word_same(w, alias) ||
		    sqlgen_word_same(next, alias))
			return true;
	}
	return false;
}

sqlgen_lists sqlgen_lists_held(const struct sqlgen_build *b, const char *sql,
			       struct sqlgen_column c)
{
	sqlgen_lists lists = 0;

	/* The rows of `word` are numbers of all lists. */
	if (sqlgen_word_is(c.name, "n") && names_table(sql, "word", c.table))
		return ~SQLGEN_NONE;
	for (int i = 0; i < b->n_held; i++)
		if (sqlgen_word_is(c.name, b->held[i].column) &&
		    names_table(sql, b->held[i].table, c.table))
			lists |= bit_of(b, b->held[i].list, strlen(b->held[i].list));
	return lists;
}

sqlgen_lists sqlgen_lists_of_table(const struct sqlgen_build *b, struct sqlgen_word table,
				   struct sqlgen_word column)
{
	for (int i = 0; i < b->n_held; i++)
		if (sqlgen_word_is(table, b->held[i].table) &&
		    sqlgen_word_is(column, b->held[i].column))
			return bit_of(b, b->held[i].list, strlen(b->held[i].list));
	return SQLGEN_NONE;
}

bool sqlgen_is_nullable(const struct sqlgen_build *b, const char *sql,
			struct sqlgen_column c)
{
	sqlite3_stmt *tables = NULL;
	bool found = false;

	sqlite3_prepare_v2(
		b->db,
		"SELECT m.name FROM sqlite_schema m,"
		" pragma_table_xinfo(m.name) p WHERE m.type = 'table'"
		" AND p.name = ?1 COLLATE NOCASE AND p.\"notnull\" = 0 AND p.pk = 0",
		-1, &tables, NULL);
	sqlite3_bind_text(tables, 1, c.name.at, (int)c.name.len, SQLITE_STATIC);
	while (!found && sqlite3_step(tables) == SQLITE_ROW)
		found = names_table(sql, (const char *)sqlite3_column_text(tables, 0),
				    c.table);
	sqlite3_finalize(tables);
	return found;
}

const char *sqlgen_list_name(const struct sqlgen_build *b, sqlgen_lists lists)
{
	for (int i = 0; i < b->n_held; i++)
		if (lists >> i & 1)
			return b->held[i].list;
	return "another enum";
}

/* Refuses a column that is called like one that holds an enum, and of which storage/enums
 * does not say what it holds. */
void sqlgen_check_held(struct sqlgen_build *b)
{
	struct sqlgen_statement at = { .file = "storage/enums", .line = 1 };
	sqlite3_stmt *columns = NULL;

	sqlite3_prepare_v2(b->db,
			   "SELECT m.name, p.name FROM sqlite_schema m,"
			   " pragma_table_xinfo(m.name) p WHERE m.type = 'table'",
			   -1, &columns, NULL);
	while (sqlite3_step(columns) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(columns, 0);
		const char *column = (const char *)sqlite3_column_text(columns, 1);
		bool said = false, like = false;

		for (int i = 0; i < b->n_held; i++) {
			bool same = strcmp(b->held[i].column, column) == 0;

			like |= same;
			said |= same && strcmp(b->held[i].table, table) == 0;
		}
		if (like && !said)
			sqlgen_refuse(b, &at, "say what %s.%s holds: an enum, or none",
				      table, column);
	}
	sqlite3_finalize(columns);
}
