/*
 * Replaces a name in braces by its number in schema/.
 *
 *     {task_state.pending}                  the number of a value
 *     {event.message_sent}                  the number of an event
 *     IN {task_state.claimed in_progress}   one of these values
 *     IN {task_state.open}                  one of a set that storage/enums declares
 *     BETWEEN {task_state.open}             one of the set; a BETWEEN if the numbers have no gap
 *     {most.task_lease}                     the highest number of a type
 *     BETWEEN {events.task}                 the numbers that are reserved for a noun's events
 *     {words}                               rows of the table `word`: enums in storage/enums, and events
 *
 * Values behind IN become `< N` if they are the first N values of their enum. Otherwise, three
 * or more values become a BETWEEN if their numbers have no gap. In all other cases, the values
 * become a list. For `< N` and for a BETWEEN, SQLite walks along an index. For a longer list,
 * SQLite would build a table in each run.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/near.h"
#include "tools/build/opgen.h"
#include "tools/build/sqlgen.h"

/*
 * Reads storage/enums, and checks numbers beside the columns that hold an enum's value.
 *
 * The number of an enum's value is the place of the value's line in schema/. So statements
 * write the value's name in place of the number. A number is refused if its place in the
 * statement shows to which column the number belongs. The checked places are beside an
 * operator, in the list of an IN, at a bound of a BETWEEN, in SET and in INSERT. The arguments
 * of coalesce and nullif and the WHEN of a CASE are checked places, too. The results of a CASE
 * in a checked place are checked, too. A name of another enum is refused, too.
 * tests/e2e/permute.sh finds numbers that stand farther from their column.
 */

/* --- storage/enums ------------------------------------------------------------------- */

static const struct decl *enum_named(const struct sqlgen_build *b, const char *name)
{
	const struct decl *d = schema_find(b->schema, DECL_ENUM, name);

	return d && d->kind == DECL_ENUM ? d : NULL;
}

/* Reads a line `TABLE.COLUMN LIST [ordered]`, `TABLE.COLUMN none` or `LIST.NAME = VALUE...`. */
static void sqlgen_held_read_line(struct sqlgen_build *b, struct sqlgen_statement *at,
				  char *line)
{
	char *dot = strchr(line, '.'), *blank = strchr(line, ' '), *ordered, *list;
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
	list = *blank == '=' ? line : blank;
	if (strcmp(list, "event") != 0 && strcmp(list, "none") != 0 &&
	    !enum_named(b, list))
		sqlgen_refuse(b, at, "no enum of schema/ is called %s", list);
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

/* Whether a column holds values of the enum. */
static bool sqlgen_is_stored(const struct sqlgen_build *b, const char *list)
{
	for (int i = 0; i < b->n_held; i++)
		if (strcmp(b->held[i].list, list) == 0)
			return true;
	return false;
}

/* --- numbers beside columns ------------------------------------------------------------ */

/* The statement that is checked now; `table`: the table into which an INSERT writes, or "". */
struct held_place {
	struct sqlgen_build *b;
	const struct sqlgen_statement *s;
	struct word table;
};

bool sqlgen_same(struct word a, struct word b)
{
	return a.len == b.len && strncasecmp(a.at, b.at, a.len) == 0;
}

bool sqlgen_is(struct word w, const char *s)
{
	return sqlgen_same(w, (struct word){ s, strlen(s) });
}

static bool held_is_one(struct word w, const char *const *words)
{
	while (*words && !sqlgen_is(w, *words))
		words++;
	return *words;
}

struct word sqlgen_next(struct word w)
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

/* Whether the statement names the table. If `alias` is not empty, the table must have this
 * alias or this name. */
static bool held_names(const char *sql, const char *table, struct word alias)
{
	static const char *const in_front[] = { "FROM", "JOIN", "UPDATE", "INTO",
						"ON",   ",",    NULL };
	struct word before = { sql, 0 }, next;

	for (struct word w = sqlgen_next(before); w.len; before = w, w = sqlgen_next(w)) {
		next = sqlgen_next(w);
		if (!held_is_one(before, in_front) || !sqlgen_is(w, table) ||
		    (sqlgen_is(before, ",") &&
		     (!isalpha((unsigned char)*next.at) || sqlgen_is(next, "FROM"))))
			continue;
		if (sqlgen_is(next, "AS"))
			next = sqlgen_next(next);
		if (!alias.len || sqlgen_same(w, alias) || sqlgen_same(next, alias))
			return true;
	}
	return false;
}

/* The enum that the column holds. NULL: the column holds no enum, or the value is already
 * written as a name of this enum. */
static const char *held_list(const struct held_place *p, struct word column,
			     struct word value)
{
	const char *dot = memchr(column.at, '.', column.len), *list = NULL;
	struct word alias = { column.at, dot ? (size_t)(dot - column.at) : 0 };
	struct word of = { value.at + 1, strcspn(value.at + 1, ".}") };

	if (dot)
		column = (struct word){ dot + 1, column.len - alias.len - 1 };
	for (const struct held *h = p->b->held; h < p->b->held + p->b->n_held; h++) {
		if (!sqlgen_is(column, h->column) ||
		    !(p->table.len ? sqlgen_is(p->table, h->table)
				   : held_names(p->s->written, h->table, alias)))
			continue;
		if (strcmp(h->list, "none") == 0 || sqlgen_is(of, h->list) ||
		    (strcmp(h->list, "event") == 0 && sqlgen_is(of, "events")))
			return NULL;
		list = list ? list : h->list;
	}
	return list;
}

static void held_check(const struct held_place *p, struct word column, struct word value);

/* Checks the values up to the closing parenthesis. Returns the word behind the parenthesis.
 * With `each`, the first value belongs to `column`, the second value to the next column, and so
 * on. Each SELECT of a UNION begins again with `column`. */
static struct word held_check_row(const struct held_place *p, struct word column,
				  struct word at, bool each)
{
	struct word first = column;

	held_check(p, column, at);
	for (int depth = 0; at.len && depth >= 0; at = sqlgen_next(at)) {
		depth += sqlgen_is(at, "(") - sqlgen_is(at, ")");
		if (depth != 0 || !(sqlgen_is(at, ",") || sqlgen_is(at, "SELECT")))
			continue;
		if (sqlgen_is(at, "SELECT")) {
			column = first;
		} else if (each && !sqlgen_is(column, ")")) {
			column = sqlgen_next(column);
			if (sqlgen_is(column, ","))
				column = sqlgen_next(column);
		}
		held_check(p, column, sqlgen_next(at));
	}
	return at;
}

/* Checks the value that begins at `value`: a number, or the results of a CASE. */
static void held_check(const struct held_place *p, struct word column, struct word value)
{
	static const char *const in_front[] = { "(",    "+",        "-", "NOT",
						"FROM", "DISTINCT", NULL };
	struct sqlgen_statement place = *p->s;
	const char *list;

	while (held_is_one(value, in_front))
		value = sqlgen_next(value);
	if (sqlgen_is(value, "coalesce"))
		held_check_row(p, column, sqlgen_next(sqlgen_next(value)), false);
	for (int depth = sqlgen_is(value, "CASE"); value.len && depth > 0;) {
		value = sqlgen_next(value);
		depth += sqlgen_is(value, "CASE") - sqlgen_is(value, "END");
		if (depth == 1 && (sqlgen_is(value, "THEN") || sqlgen_is(value, "ELSE")))
			held_check(p, column, sqlgen_next(value));
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

/* Checks the words behind INTO. They are `table (columns) VALUES (…), …`, or end with a SELECT. */
static void held_check_insert(struct held_place p, struct word at)
{
	struct word columns;

	p.table = at;
	columns = at = sqlgen_next(sqlgen_next(at));
	while (at.len && !sqlgen_is(at, ")"))
		at = sqlgen_next(at);
	at = sqlgen_next(at);
	if (!sqlgen_is(at, "VALUES"))
		held_check_row(&p, columns, at, true);
	else
		do
			at = held_check_row(&p, columns, sqlgen_next(sqlgen_next(at)),
					    true);
		while (sqlgen_is(at, ","));
}

void sqlgen_check_numbers(struct sqlgen_build *b, const struct sqlgen_statement *s)
{
	static const char *const signs[] = { "=",  "==", "<>", "!=", "<", ">", "<=",
					     ">=", "IS", "+",  "-",  "*", "/", "%",
					     "&",  "|",  "<<", ">>", NULL };
	struct held_place p = { b, s, { "", 0 } };
	struct word w = sqlgen_next((struct word){ s->written, 0 }), sign, value;
	struct word of = { "", 0 }; /* operand of the last CASE, or "" */

	if (sqlgen_is(w, "CREATE") && sqlgen_is(sqlgen_next(w), "TABLE"))
		return; /* numbers in a table's definition never change */
	for (; w.len; w = sqlgen_next(w)) {
		sign = sqlgen_next(w);
		if (sqlgen_is(w, "INTO"))
			held_check_insert(p, sign);
		else if (sqlgen_is(w, "coalesce") || sqlgen_is(w, "nullif"))
			held_check_row(&p, sqlgen_next(sign), sqlgen_next(sign), false);
		else if (sqlgen_is(w, "CASE"))
			of = sqlgen_is(sqlgen_next(sign), "WHEN") ? sign : p.table;
		else if (sqlgen_is(w, "WHEN") && of.len)
			held_check(&p, of, sign);
		if (sqlgen_is(sign, "NOT"))
			sign = sqlgen_next(sign);
		value = sqlgen_next(sign);
		if (held_is_one(sign, signs)) {
			held_check(&p, w, value);
			held_check(&p, value, w);
		} else if (sqlgen_is(sign, "IN")) {
			if (sqlgen_is(value, "("))
				held_check_row(&p, w, sqlgen_next(value), false);
			else
				held_check(&p, w, value);
		} else if (sqlgen_is(sign, "BETWEEN")) {
			held_check(&p, w, value);
			held_check(&p, w, sqlgen_next(sqlgen_next(value)));
		}
	}
}

/* Refuses a column that is not in storage/enums, but has the name of a column that is in
 * storage/enums. */
void sqlgen_check_held(struct sqlgen_build *b)
{
	struct sqlgen_statement at = { .file = "storage/enums", .line = 1 };
	sqlite3_stmt *columns =
		sqlgen_query(b, "SELECT m.name, p.name FROM sqlite_schema m,"
				" pragma_table_xinfo(m.name) p WHERE m.type = 'table'");

	while (sqlgen_row(b, columns)) {
		const char *table = sqlgen_text(columns, 0);
		const char *column = sqlgen_text(columns, 1);
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
}

enum { NAMES_MOST = 32 };

/* The place of a name, and the text with which the name is replaced. */
struct names {
	struct sqlgen_build *b;
	struct sqlgen_statement at; /* the place that refusals name */
	char *out;
};

static void put_number(struct names *w, const char *before, long long number)
{
	const char *text = xasprintf("%s%lld", before, number);

	sqlgen_append(&w->out, text, strlen(text));
}

/* --- looking up ----------------------------------------------------------------- */

/* Returns the i-th name of a list; NULL: the list has fewer names. *number becomes the name's
 * number. */
static const char *name_at(const struct schema *s, const struct decl *list, size_t i,
			   int *number)
{
	if (list) {
		*number = (int)i;
		return i < list->in.n ? list->in.items[i]->id : NULL;
	}
	for (size_t j = 0; j < s->n; j++)
		if (s->decls[j]->kind == DECL_EVENT && i-- == 0) {
			*number = s->decls[j]->number;
			return s->decls[j]->id;
		}
	return NULL;
}

static void refuse_list(struct names *w, const char *name)
{
	const struct schema *s = w->b->schema;
	const char *nearest = "event";

	for (size_t i = 0; i < s->n; i++)
		if (s->decls[i]->kind == DECL_ENUM &&
		    near_distance(s->decls[i]->name, name) < near_distance(nearest, name))
			nearest = s->decls[i]->name;
	sqlgen_refuse(w->b, &w->at, "no enum of schema/ is called %s; the nearest is %s",
		      name, nearest);
}

static int sqlgen_names_number_of(struct names *w, const struct decl *list,
				  const char *name)
{
	const char *of = list ? list->name : "event", *have, *nearest = "?";
	size_t best = (size_t)-1;
	int number = 0;

	for (size_t i = 0; (have = name_at(w->b->schema, list, i, &number)); i++) {
		size_t d = near_distance(have, name);

		if (d == 0)
			return number;
		if (d < best) {
			best = d;
			nearest = have;
		}
	}
	sqlgen_refuse(w->b, &w->at, "%s has no value %s; the nearest is {%s.%s}", of,
		      name, of, nearest);
	return 0;
}

/* --- writing --------------------------------------------------------------------- */

/* If the written text ends with `keyword`, removes the keyword from the text. */
static bool sqlgen_names_take_back(struct names *w, const char *keyword)
{
	size_t len = strlen(keyword), n = strlen(w->out);

	if (n < len || strcmp(w->out + n - len, keyword) != 0)
		return false;
	w->out[n - len] = '\0';
	return true;
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void put_list(struct names *w, const int *numbers, int n, const char *keyword)
{
	sqlgen_append(&w->out, keyword, strlen(keyword));
	for (int i = 0; i < n; i++)
		put_number(w, i ? ", " : "(", numbers[i]);
	sqlgen_append(&w->out, ")", 1);
}

static void put_set(struct names *w, const struct decl *list, int *numbers, int n)
{
	bool between = sqlgen_names_take_back(w, "BETWEEN "), not, row;

	if (!between && !sqlgen_names_take_back(w, "IN ")) {
		sqlgen_refuse(w->b, &w->at, "several values stand behind IN or BETWEEN");
		return;
	}
	qsort(numbers, (size_t)n, sizeof(*numbers), by_value);
	row = numbers[n - 1] - numbers[0] == n - 1;
	for (int i = 1; i < n; i++)
		if (numbers[i] == numbers[i - 1])
			sqlgen_refuse(w->b, &w->at, "a value stands there twice");
	if (!row || (!between && n < 3 && (numbers[0] || !list))) {
		put_list(w, numbers, n, "IN ");
	} else if (!between && list && !numbers[0]) {
		not = sqlgen_names_take_back(w, "NOT ");
		put_number(w, not ? "> " : "< ", numbers[n - 1] + !not );
	} else {
		put_number(w, "BETWEEN ", numbers[0]);
		put_number(w, " AND ", numbers[n - 1]);
	}
}

static void sqlgen_names_put_events(struct names *w, const char *noun)
{
	const struct decl *d = schema_events(w->b->schema, noun, strlen(noun));

	if (!d) {
		sqlgen_refuse(w->b, &w->at, "no numbers are kept for the events of %s",
			      noun);
		return;
	}
	if (!sqlgen_names_take_back(w, "BETWEEN "))
		sqlgen_refuse(w->b, &w->at, "{events.%s} stands behind BETWEEN", noun);
	put_number(w, "BETWEEN ", d->min);
	put_number(w, " AND ", d->max);
}

static void put_most(struct names *w, const char *type)
{
	const struct decl *d = schema_find(w->b->schema, DECL_TYPE, type);

	if (d && d->max)
		put_number(w, "", d->max);
	else
		sqlgen_refuse(w->b, &w->at,
			      "no type of schema/ is called %s, or it has no end", type);
}

static void sqlgen_names_put_row(struct names *w, const char *list, int number,
				 const char *word)
{
	const char *text = xasprintf("%s('%s', %d, '%s');",
				     sqlgen_names_take_back(w, ";") ? ",\n\t" : "", list,
				     number, word);

	sqlgen_append(&w->out, text, strlen(text));
}

/* Writes the rows of {words} as a separate statement. */
static void put_words(struct names *w)
{
	const struct schema *s = w->b->schema;
	static const char insert[] = "INSERT INTO word (list, n, word) VALUES\n\t";

	sqlgen_append(&w->out, insert, sizeof(insert) - 1);
	for (size_t i = 0; i < s->n; i++)
		if (s->decls[i]->kind == DECL_EVENT)
			sqlgen_names_put_row(w, "event", s->decls[i]->number,
					     s->decls[i]->name);
	for (size_t i = 0; i < s->n; i++) {
		const struct decl *d = s->decls[i];

		if (d->kind == DECL_ENUM && sqlgen_is_stored(w->b, d->name))
			for (size_t j = 0; j < d->in.n; j++)
				sqlgen_names_put_row(w, d->name, (int)j,
						     d->in.items[j]->name);
	}
}

/* --- reading ---------------------------------------------------------------------- */

/* Stores the number of each value in `numbers`. `values` holds the names of the values, with
 * blanks between the names. Returns the count of the values. */
static int numbers_of(struct names *w, const struct decl *list, char *values,
		      int *numbers)
{
	char *rest = NULL;
	int n = 0;

	for (char *v = strtok_r(values, " ", &rest); v; v = strtok_r(NULL, " ", &rest)) {
		if (n == NAMES_MOST) {
			sqlgen_refuse(w->b, &w->at, "more than %d values stand there",
				      NAMES_MOST);
			break;
		}
		numbers[n++] = sqlgen_names_number_of(w, list, v);
	}
	return n;
}

static void sqlgen_names_put_values(struct names *w, const char *list, char *values)
{
	const struct decl *d = enum_named(w->b, list);
	const char *set = sqlgen_set_find(w->b, list, values);
	char *named = set ? sqlgen_copy(set, strlen(set)) : values;
	int numbers[NAMES_MOST], n = 0;

	if (!d && strcmp(list, "event") != 0)
		refuse_list(w, list);
	else
		n = numbers_of(w, d, named, numbers);
	if (n == 1 && !set)
		put_number(w, "", numbers[0]);
	else if (n > 0)
		put_set(w, d, numbers, n);
}

/* Writes the number, or the numbers, for the name between two braces. */
static void sqlgen_names_put_named(struct names *w, char *inside)
{
	char *dot = strchr(inside, '.');

	if (strcmp(inside, "words") == 0) {
		put_words(w);
		return;
	}
	if (!dot || !dot[1]) {
		sqlgen_refuse(w->b, &w->at,
			      "{%s}: a name is {ENUM.VALUE}, {event.NOUN_PAST}, "
			      "{events.NOUN}, {most.TYPE} or {words}",
			      inside);
		return;
	}
	*dot = '\0';
	if (strcmp(inside, "events") == 0)
		sqlgen_names_put_events(w, dot + 1);
	else if (strcmp(inside, "most") == 0)
		put_most(w, dot + 1);
	else
		sqlgen_names_put_values(w, inside, dot + 1);
}

char *sqlgen_put_numbers(struct sqlgen_build *b, const char *file, int line,
			 const char *text, size_t len)
{
	struct names w = { .b = b, .at = { .file = file, .line = line } };
	const char *end = text + len;

	sqlgen_append(&w.out, "", 0);
	while (text < end) {
		size_t n = strcspn(text, "{\n");

		n = n < (size_t)(end - text) ? n : (size_t)(end - text);
		sqlgen_append(&w.out, text, n);
		text += n;
		if (text < end && *text == '\n') {
			sqlgen_append(&w.out, text++, 1);
			w.at.line++;
		} else if (text < end) {
			size_t name = strcspn(++text, "}\n");
			char *inside = sqlgen_copy(text, name);

			if (text[name] != '}')
				sqlgen_refuse(b, &w.at, "a { is not closed in its line");
			else
				sqlgen_names_put_named(&w, inside);
			text += name + (text[name] == '}');
		}
	}
	return w.out;
}
