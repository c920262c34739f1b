/*
 * Columns that hold an enum: a statement that sets one to a number, or compares it with
 * one, is refused, since the number is the place of a line in schema/; so is one that
 * names a value of another enum.
 *
 * It looks at words and signs only: COLUMN, or ALIAS.COLUMN of a table that storage/enums
 * names, a comparison, and the numbers that may be the value behind that: in the list of
 * an IN, behind a THEN or ELSE of a CASE, among what a function takes.  The same of each
 * value that an INSERT gives such a column.  Behind a column that stands in a SELECT of
 * its own, it does not see.
 */
#include "tools/build/sqlgen.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/build/opgen.h"

/* --- storage/enums ------------------------------------------------------------------- */

static bool is_list(const struct sqlgen_build *b, const char *name)
{
	const struct decl *d = schema_find(b->schema, DECL_ENUM, name);

	return strcmp(name, "event") == 0 || (d && d->kind == DECL_ENUM);
}

/* `TABLE.COLUMN LIST [ordered]`, or `LIST.NAME = VALUE...` */
static void read_line(struct sqlgen_build *b, struct sqlgen_statement *at, char *line)
{
	char *dot = strchr(line, '.'), *blank = strchr(line, ' '), *ordered;
	struct held *h;
	struct set *set;

	if (!*line || *line == '#')
		return;
	if (!dot || !blank || dot > blank) {
		sqlgen_refuse(
			b, at,
			"expected: TABLE.COLUMN ENUM [ordered], or ENUM.NAME = VALUE...");
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
		read_line(b, &at, line);
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

/* --- words of a statement ------------------------------------------------------------- */

struct word {
	const char *at;
	size_t len;
};

static size_t skip_text(const char *s)
{
	size_t n;

	if (strncmp(s, "--", 2) == 0)
		return strcspn(s, "\n");
	if (*s != '\'')
		return 0;
	n = 1 + strcspn(s + 1, "'");
	return n + (s[n] != '\0');
}

/* The next name, number, sign or what is in braces; comments and texts are passed over. */
static struct word next_word(const char *s)
{
	struct word w = { s, 0 };
	size_t n;

	while (*w.at && (isspace((unsigned char)*w.at) || (n = skip_text(w.at))))
		w.at += isspace((unsigned char)*w.at) ? 1 : n;
	if (*w.at == '{') {
		w.len = strcspn(w.at, "}");
		w.len += w.at[w.len] == '}';
		return w;
	}
	while (isalnum((unsigned char)w.at[w.len]) || w.at[w.len] == '_')
		w.len++;
	if (!w.len)
		w.len = *w.at && strchr("<>=!", *w.at) ? strspn(w.at, "<>=!")
						       : *w.at != '\0';
	return w;
}

static bool is(struct word w, const char *s)
{
	return w.len == strlen(s) && strncasecmp(w.at, s, w.len) == 0;
}

static bool same(struct word a, struct word b)
{
	return a.len == b.len && strncmp(a.at, b.at, a.len) == 0;
}

static struct word after(struct word w)
{
	return next_word(w.at + w.len);
}

/* A number, or a name in braces that stands for one. */
static bool is_number(struct word w)
{
	return isdigit((unsigned char)*w.at) || *w.at == '{' ||
	       (*w.at == '-' && isdigit((unsigned char)w.at[1]));
}

/* Whether `{list.value}`, or `{events.noun}`, is of the list. */
static bool is_of(struct word number, const char *list)
{
	size_t n = strcspn(number.at, ".");

	return *number.at == '{' && n > 1 &&
	       (strncmp(number.at + 1, list, n - 1) == 0 ||
		strncmp(number.at + 1, "events", n - 1) == 0) &&
	       (strlen(list) == n - 1 || strcmp(list, "event") == 0);
}

/* --- what is compared ------------------------------------------------------------------- */

/* Whether the statement names the table, under this alias if it has one. */
static bool names_table(const char *sql, const char *table, struct word alias)
{
	static const char *const in_front[] = { "FROM", "JOIN",   "UPDATE",
						"INTO", "IGNORE", "ON" };
	struct word before = { "", 0 };

	for (struct word w = next_word(sql); w.len; before = w, w = after(w)) {
		bool named = false;
		struct word next;

		for (size_t i = 0; i < sizeof(in_front) / sizeof(in_front[0]); i++)
			named |= is(before, in_front[i]);
		if (!named || !is(w, table))
			continue;
		next = after(w);
		if (!alias.len || same(w, alias) ||
		    same(is(next, "AS") ? after(next) : next, alias))
			return true;
	}
	return false;
}

/* Finds the enum that the column holds; NULL if it holds none, or the one of this very
 * number. */
static const struct held *held_by(const struct sqlgen_build *b, const char *sql,
				  struct word alias, struct word column,
				  struct word number)
{
	const struct held *found = NULL;

	for (int i = 0; i < b->n_held; i++) {
		const struct held *h = &b->held[i];

		if (!is(column, h->column) || !names_table(sql, h->table, alias))
			continue;
		if (is_of(number, h->list))
			return NULL;
		found = h;
	}
	return found;
}

/* Where numbers are looked for: a column of some table that the statement names, or of
 * the one that rows are put into. */
struct place {
	struct sqlgen_build *b;
	struct sqlgen_statement *s;
	struct word alias, column;
	const struct held *held;
};

static void check_number(const struct place *p, struct word number)
{
	const struct held *h = p->held;

	if (!h)
		h = held_by(p->b, p->s->written, p->alias, p->column, number);
	if (h && !is_of(number, h->list))
		sqlgen_refuse(p->b, p->s, "%.*s holds %s: write {%s.…} in place of %.*s",
			      (int)p->column.len, p->column.at, h->list, h->list,
			      (int)number.len, number.at);
}

/* The word that ends an expression: a comma, the parenthesis around it, or a clause. */
static struct word value_end(struct word w)
{
	static const char *const clauses[] = { "FROM",  "WHERE",     "UNION", "ORDER",
					       "GROUP", "RETURNING", "LIMIT", "ON" };

	for (int depth = 0; w.len; w = after(w)) {
		bool end = is(w, ",") || is(w, ")") || is(w, ";");

		for (size_t i = 0; i < sizeof(clauses) / sizeof(clauses[0]); i++)
			end |= is(w, clauses[i]);
		if (end && !depth)
			break;
		depth += is(w, "(") - is(w, ")");
	}
	return w;
}

static void check_value(const struct place *p, struct word w);

/* Behind a CASE: each THEN and ELSE of its own has a value that it gives, or (`when`) each
 * WHEN one that the column is compared with. */
static void check_case(const struct place *p, struct word w, bool when)
{
	int depth = 1;

	for (; w.len && depth; w = after(w)) {
		bool value = when ? is(w, "WHEN") : is(w, "THEN") || is(w, "ELSE");

		if (depth == 1 && value)
			check_value(p, after(w));
		depth += is(w, "CASE") || is(w, "(");
		depth -= is(w, "END") || is(w, ")");
	}
}

/* Checks each number that a value may be. */
static void check_value(const struct place *p, struct word w)
{
	if (is_number(w))
		check_number(p, w);
	if (is(w, "CASE"))
		check_case(p, after(w), false);
	if (isalpha((unsigned char)*w.at) && is(after(w), "("))
		w = after(w); /* what coalesce and the like take */
	if (!is(w, "(") || is(after(w), "SELECT"))
		return;
	do
		check_value(p, after(w));
	while (is(w = value_end(after(w)), ","));
}

/* Checks what stands behind a comparison or an assignment. */
static void check_compared(const struct place *p, struct word w)
{
	bool sign;

	if (is(w, "IS"))
		w = after(w);
	if (is(w, "NOT"))
		w = after(w);
	if (is(w, "WHEN"))
		check_case(p, w, true);
	sign = *w.at && strchr("<>=!", *w.at);
	if (!sign && !is(w, "IN") && !is(w, "BETWEEN"))
		return;
	check_value(p, after(w));
	if (is(w, "BETWEEN") && is(after(after(w)), "AND"))
		check_value(p, after(after(after(w))));
}

/* --- rows that are put in ----------------------------------------------------------------- */

static const struct held *held_in(const struct sqlgen_build *b, struct word table,
				  struct word column)
{
	for (int i = 0; i < b->n_held; i++)
		if (is(table, b->held[i].table) && is(column, b->held[i].column))
			return &b->held[i];
	return NULL;
}

/* The values of one row, the first of them `w`; returns the word behind them. */
static struct word check_row(struct place *p, struct word table, struct word column,
			     struct word w)
{
	for (;;) {
		p->column = column;
		p->held = held_in(p->b, table, column);
		if (p->held)
			check_value(p, w);
		w = value_end(w);
		column = after(column);
		if (!is(column, ",") || !is(w, ","))
			return w;
		column = after(column);
		w = after(w);
	}
}

/* The SELECT that stands in the same parentheses as `w`, or the end. */
static struct word next_select(struct word w)
{
	for (int depth = 0; w.len && (depth || !is(w, "SELECT")); w = after(w))
		depth += is(w, "(") - is(w, ")");
	return w;
}

/* From the INTO of an INSERT on: each of its rows, whether VALUES or SELECT gives it. */
static void check_insert(struct sqlgen_build *b, struct sqlgen_statement *s,
			 struct word into)
{
	struct place p = { .b = b, .s = s };
	struct word table = after(into), columns = after(after(table)), w = columns;

	while (w.len && !is(w, ")"))
		w = after(w);
	w = after(w);
	if (is(w, "VALUES"))
		do
			w = after(check_row(&p, table, columns, after(after(w))));
		while (is(w, ","));
	for (w = next_select(w); w.len; w = next_select(w)) {
		w = after(w);
		w = check_row(&p, table, columns, is(w, "DISTINCT") ? after(w) : w);
	}
}

void sqlgen_check_literals(struct sqlgen_build *b, struct sqlgen_statement *s)
{
	struct word table = { "", 0 }, none = { "", 0 }, before = none;

	for (struct word w = next_word(s->written); w.len; before = w, w = after(w)) {
		struct place p = {
			.b = b,
			.s = s,
			.alias = is(before, ".") ? table : none,
			.column = w,
		};

		/* `:state < 0` asks whether the parameter is a value at all. */
		if (!(is(before, ":") && is(after(w), "<")))
			check_compared(&p, after(w));
		if (is(before, "INSERT") && is(w, "INTO"))
			check_insert(b, s, w);
		if (!is(w, "."))
			table = w;
	}
}
