/*
 * sqlgen_held - storage/enums, and numbers beside the columns that hold an enum's value.
 *
 * Such a number is the place of a line in schema/, so statements ask for it by name.  A
 * number is refused where one word tells its column: beside a sign, in the list of an IN or
 * the bounds of a BETWEEN, as the result of a CASE there, in SET and in INSERT.  A name of
 * another enum is refused, too.  e2e/permute finds numbers that stand farther away.
 */
#include "tools/build/sqlgen.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* --- numbers beside columns ------------------------------------------------------------ */

/* A name with its table's in front, a number, a text, a name in braces, or a sign. */
struct word {
	const char *at;
	size_t len;
};

/* The statement that is read; `table`: the one whose columns an INSERT names. */
struct held_place {
	struct sqlgen_build *b;
	const struct sqlgen_statement *s;
	struct word table;
};

static bool held_same(struct word a, struct word b)
{
	return a.len == b.len && strncasecmp(a.at, b.at, a.len) == 0;
}

static bool held_is(struct word w, const char *s)
{
	return held_same(w, (struct word){ s, strlen(s) });
}

static bool held_is_one(struct word w, const char *const *words)
{
	while (*words && !held_is(w, *words))
		words++;
	return *words;
}

static struct word held_next(struct word w)
{
	const char *s = w.at + w.len;
	size_t n;

	while (s += strspn(s, " \t\r\n"), strncmp(s, "--", 2) == 0)
		s += strcspn(s, "\n");
	n = *s == '\''  ? 2 + strcspn(s + 1, "'")
	    : *s == '{' ? 1 + strcspn(s, "}")
			: strspn(s, "<>=!|");
	for (n += *s == ':'; isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '.';)
		n++;
	return (struct word){ s, strnlen(s, n ? n : 1) };
}

/* Whether the statement names the table, as `alias` if that is not empty. */
static bool held_names(const char *sql, const char *table, struct word alias)
{
	static const char *const in_front[] = { "FROM", "JOIN", "UPDATE", "INTO",
						"ON",   ",",    NULL };
	struct word before = { sql, 0 }, next;

	for (struct word w = held_next(before); w.len; before = w, w = held_next(w)) {
		next = held_next(w);
		if (!held_is_one(before, in_front) || !held_is(w, table) ||
		    (held_is(before, ",") &&
		     (!isalpha((unsigned char)*next.at) || held_is(next, "FROM"))))
			continue;
		if (held_is(next, "AS"))
			next = held_next(next);
		if (!alias.len || held_same(w, alias) || held_same(next, alias))
			return true;
	}
	return false;
}

/* The enum that the column holds; NULL if it holds none, or the value is of it. */
static const char *held_list(const struct held_place *p, struct word column,
			     struct word value)
{
	const char *dot = memchr(column.at, '.', column.len), *list = NULL;
	struct word alias = { column.at, dot ? (size_t)(dot - column.at) : 0 };
	struct word of = { value.at + 1, strcspn(value.at + 1, ".}") };

	if (dot)
		column = (struct word){ dot + 1, column.len - alias.len - 1 };
	for (const struct held *h = p->b->held; h < p->b->held + p->b->n_held; h++) {
		if (!held_is(column, h->column) ||
		    !(p->table.len ? held_is(p->table, h->table)
				   : held_names(p->s->written, h->table, alias)))
			continue;
		if (strcmp(h->list, "none") == 0 || held_is(of, h->list) ||
		    (strcmp(h->list, "event") == 0 && held_is(of, "events")))
			return NULL;
		list = list ? list : h->list;
	}
	return list;
}

static void held_check(const struct held_place *p, struct word column, struct word value);

/* Checks values up to the parenthesis behind them, and returns what follows; `each`: the
 * columns from there on take one each, in all SELECTs of a UNION. */
static struct word held_check_row(const struct held_place *p, struct word column,
				  struct word at, bool each)
{
	struct word first = column;

	held_check(p, column, at);
	for (int depth = 0; at.len && depth >= 0; at = held_next(at)) {
		depth += held_is(at, "(") - held_is(at, ")");
		if (depth != 0 || !(held_is(at, ",") || held_is(at, "SELECT")))
			continue;
		if (held_is(at, "SELECT")) {
			column = first;
		} else if (each && !held_is(column, ")")) {
			column = held_next(column);
			if (held_is(column, ","))
				column = held_next(column);
		}
		held_check(p, column, held_next(at));
	}
	return at;
}

/* Checks the value that begins there: a number, or the results of a CASE. */
static void held_check(const struct held_place *p, struct word column, struct word value)
{
	static const char *const in_front[] = { "(",    "+",        "-", "NOT",
						"FROM", "DISTINCT", NULL };
	struct sqlgen_statement place = *p->s;
	const char *list;

	while (held_is_one(value, in_front))
		value = held_next(value);
	if (held_is(value, "coalesce"))
		held_check_row(p, column, held_next(held_next(value)), false);
	for (int depth = held_is(value, "CASE"); value.len && depth > 0;) {
		value = held_next(value);
		depth += held_is(value, "CASE") - held_is(value, "END");
		if (depth == 1 && (held_is(value, "THEN") || held_is(value, "ELSE")))
			held_check(p, column, held_next(value));
	}
	if ((!isdigit((unsigned char)*value.at) && *value.at != '{') ||
	    !(list = held_list(p, column, value)))
		return;
	place.line = place.sql_line;
	for (const char *c = place.written; c < value.at; c++)
		place.line += *c == '\n';
	sqlgen_refuse(p->b, &place, "%.*s holds %s: write {%s.…} in place of %.*s",
		      (int)column.len, column.at, list, list, (int)value.len, value.at);
}

/* Behind INTO: `table (columns) VALUES (…), …`, or a SELECT. */
static void held_check_insert(struct held_place p, struct word at)
{
	struct word columns;

	p.table = at;
	columns = at = held_next(held_next(at));
	while (at.len && !held_is(at, ")"))
		at = held_next(at);
	at = held_next(at);
	if (!held_is(at, "VALUES"))
		held_check_row(&p, columns, at, true);
	else
		do
			at = held_check_row(&p, columns, held_next(held_next(at)), true);
		while (held_is(at, ","));
}

void sqlgen_check_numbers(struct sqlgen_build *b, const struct sqlgen_statement *s)
{
	static const char *const signs[] = { "=",  "==", "<>", "!=", "<", ">", "<=",
					     ">=", "IS", "+",  "-",  "*", "/", "%",
					     "&",  "|",  "<<", ">>", NULL };
	struct held_place p = { b, s, { "", 0 } };
	struct word w = held_next((struct word){ s->written, 0 }), sign, value;
	struct word of = { "", 0 }; /* behind the last CASE, if it compares */

	if (held_is(w, "CREATE") && held_is(held_next(w), "TABLE"))
		return; /* defaults and bounds stay as they were when it was made */
	for (; w.len; w = held_next(w)) {
		sign = held_next(w);
		if (held_is(w, "INTO"))
			held_check_insert(p, sign);
		else if (held_is(w, "coalesce") || held_is(w, "nullif"))
			held_check_row(&p, held_next(sign), held_next(sign), false);
		else if (held_is(w, "CASE"))
			of = held_is(held_next(sign), "WHEN") ? sign : p.table;
		else if (held_is(w, "WHEN") && of.len)
			held_check(&p, of, sign);
		if (held_is(sign, "NOT"))
			sign = held_next(sign);
		value = held_next(sign);
		if (held_is_one(sign, signs)) {
			held_check(&p, w, value);
			held_check(&p, value, w);
		} else if (held_is(sign, "IN")) {
			if (held_is(value, "("))
				held_check_row(&p, w, held_next(value), false);
			else
				held_check(&p, w, value);
		} else if (held_is(sign, "BETWEEN")) {
			held_check(&p, w, value);
			held_check(&p, w, held_next(held_next(value)));
		}
	}
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
