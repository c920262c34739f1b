/* Expressions of portable statements, and the kinds of their values: sqlgen_portable.h. */
#include "tools/build/sqlgen_portable.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- kinds ---------------------------------------------------------------------------- */

static struct sqlgen_value made(const struct sqlgen_reader *r, const char *from,
				enum sqlgen_kind kind)
{
	return (struct sqlgen_value){ kind, { from, (size_t)(r->read_to - from) } };
}

static bool is_number(enum sqlgen_kind kind)
{
	return kind == IS_NUMBER || kind == IS_SMALL;
}

static void refuse_truth(struct sqlgen_reader *r, struct sqlgen_value v)
{
	sqlgen_refuse_at(r, v.text.at,
			 "`%.*s` is true or false, and no number: write "
			 "CAST(… AS INTEGER), or CASE WHEN … THEN 1 ELSE 0 END",
			 (int)v.text.len, v.text.at);
}

void sqlgen_check_kinds(struct sqlgen_reader *r, struct sqlgen_value v,
			enum sqlgen_kind with)
{
	static const char *const names[] = {
		[IS_NUMBER] = "number",
		[IS_SMALL] = "number",
		[IS_TEXT] = "text",
		[IS_BYTES] = "blob",
	};

	if (v.kind == IS_ANY || with == IS_ANY || v.kind == with ||
	    (is_number(v.kind) && is_number(with)))
		return;
	if (v.kind == IS_TRUTH)
		refuse_truth(r, v);
	else if (with != IS_TRUTH)
		sqlgen_refuse_at(r, v.text.at,
				 "`%.*s` is a %s where a %s stands: only SQLite makes "
				 "one of the other, write CAST(… AS %s)",
				 (int)v.text.len, v.text.at, names[v.kind], names[with],
				 with == IS_TEXT    ? "TEXT"
				 : with == IS_BYTES ? "BLOB"
						    : "INTEGER");
}

/* Of two values that stand for one another. */
static void check_pair(struct sqlgen_reader *r, struct sqlgen_value a,
		       struct sqlgen_value b)
{
	sqlgen_check_kinds(r, a, b.kind);
	if (b.kind == IS_TRUTH)
		sqlgen_check_kinds(r, b, a.kind);
}

static void check_number(struct sqlgen_reader *r, struct sqlgen_value v)
{
	sqlgen_check_kinds(r, v, IS_NUMBER);
}

static void check_truth(struct sqlgen_reader *r, struct sqlgen_value v)
{
	if (v.kind != IS_TRUTH && v.kind != IS_ANY)
		sqlgen_refuse_at(r, v.text.at,
				 "`%.*s` is a number, and neither true nor false: "
				 "write … <> 0",
				 (int)v.text.len, v.text.at);
}

static enum sqlgen_kind kind_of(enum type type)
{
	return type == TYPE_INT    ? IS_NUMBER
	       : type == TYPE_TEXT ? IS_TEXT
	       : type == TYPE_BLOB ? IS_BYTES
				   : IS_ANY;
}

enum sqlgen_kind sqlgen_kind_of_column(struct sqlgen_reader *r, struct sqlgen_word name)
{
	char *copy = sqlgen_copy(name.at, name.len);
	enum type type = sqlgen_type_everywhere(r->b, copy);

	free(copy);
	return kind_of(type);
}

/* --- what stands by itself -------------------------------------------------------------- */

static struct sqlgen_value read_select_value(struct sqlgen_reader *r, const char *from)
{
	struct sqlgen_select select = { 0 };

	sqlgen_read_select(r, &select);
	sqlgen_expect(r, ")");
	return made(r, from, select.n_items == 1 ? select.items[0] : IS_ANY);
}

/* Behind its parenthesis: a SELECT, an expression, or several. */
static struct sqlgen_value read_inside(struct sqlgen_reader *r, const char *from)
{
	struct sqlgen_value v;

	if (sqlgen_word_is(r->w, "SELECT") || sqlgen_word_is(r->w, "WITH"))
		return read_select_value(r, from);
	v = sqlgen_read_value(r);
	while (sqlgen_take_if(r, ",")) {
		sqlgen_read_value(r);
		v.kind = IS_ANY;
	}
	sqlgen_expect(r, ")");
	return made(r, from, v.kind);
}

/* The kind of two branches of which either may be. */
static struct sqlgen_value either(struct sqlgen_reader *r, struct sqlgen_value a,
				  struct sqlgen_value b)
{
	check_pair(r, a, b);
	if (a.kind == IS_ANY || (a.kind == IS_SMALL && b.kind == IS_NUMBER))
		a.kind = b.kind;
	return a;
}

static struct sqlgen_value read_case(struct sqlgen_reader *r, const char *from)
{
	struct sqlgen_value v = { .kind = IS_ANY }, of = { .kind = IS_TRUTH };

	if (!sqlgen_word_is(r->w, "WHEN"))
		of = sqlgen_read_value(r);
	while (sqlgen_take_if(r, "WHEN")) {
		if (of.kind == IS_TRUTH)
			sqlgen_read_truth(r);
		else
			check_pair(r, sqlgen_read_value(r), of);
		sqlgen_expect(r, "THEN");
		v = either(r, v, sqlgen_read_value(r));
	}
	if (sqlgen_take_if(r, "ELSE"))
		v = either(r, v, sqlgen_read_value(r));
	sqlgen_expect(r, "END");
	return made(r, from, v.kind);
}

static struct sqlgen_value read_cast(struct sqlgen_reader *r, const char *from)
{
	enum sqlgen_kind kind = IS_ANY;

	sqlgen_expect(r, "(");
	sqlgen_read_value(r);
	sqlgen_expect(r, "AS");
	if (sqlgen_word_is(r->w, "INTEGER"))
		kind = IS_SMALL;
	else if (sqlgen_word_is(r->w, "TEXT"))
		kind = IS_TEXT;
	else if (sqlgen_word_is(r->w, "BLOB"))
		kind = IS_BYTES;
	else
		sqlgen_refuse_at(r, r->w.at,
				 "CAST makes INTEGER, TEXT or BLOB of a value");
	sqlgen_take(r);
	sqlgen_expect(r, ")");
	return made(r, from, kind);
}

/* The values that a function takes; how many. */
static int read_arguments(struct sqlgen_reader *r, struct sqlgen_value *first, bool known)
{
	int n = 0;

	sqlgen_take_if(r, "DISTINCT");
	if (sqlgen_take_if(r, "*"))
		n = 1;
	else if (!sqlgen_word_is(r->w, ")"))
		do {
			struct sqlgen_value v = sqlgen_read_value(r);

			if (known && v.kind == IS_TRUTH)
				refuse_truth(r, v);
			if (n++ == 0)
				*first = v;
			else if (first->kind == IS_ANY)
				first->kind = v.kind;
		} while (sqlgen_take_if(r, ","));
	sqlgen_expect(r, ")");
	return n;
}

static struct sqlgen_value read_call(struct sqlgen_reader *r, struct sqlgen_word name)
{
	const struct sqlgen_function *f = sqlgen_function_find(name);
	struct sqlgen_value first = { .kind = IS_ANY };
	bool sum = f && f->sum;
	int n;

	r->select->in_sum += sum;
	n = read_arguments(r, &first, f && f->most);
	r->select->in_sum -= sum;
	if (!f || !f->most || n < f->least || n > f->most) {
		sqlgen_refuse_at(r, name.at, "%.*s() with %d is SQLite's: write %s",
				 (int)name.len, name.at, n,
				 f && f->instead ? f->instead : "what both engines have");
		first.kind = IS_ANY;
	}
	if (sum && n == 1)
		r->select->sums = true;
	if (sqlgen_take_if(r, "FILTER")) {
		sqlgen_expect(r, "(");
		sqlgen_expect(r, "WHERE");
		r->select->in_sum++;
		sqlgen_read_truth(r);
		r->select->in_sum--;
		sqlgen_expect(r, ")");
	}
	return made(r, name.at,
		    f && f->most && f->gives != IS_ANY ? f->gives : first.kind);
}

static void note_bare(struct sqlgen_reader *r, struct sqlgen_column c)
{
	struct sqlgen_select *select = r->select;

	if (!select->done && !select->in_sum && select->n_bare < SQLGEN_ITEMS_MOST)
		select->bare[select->n_bare++] = c;
}

/* A column or a function. */
static struct sqlgen_value read_named(struct sqlgen_reader *r)
{
	struct sqlgen_column c = { .name = r->w };
	const char *from = r->w.at;

	if (sqlgen_word_next(r->w.at + r->w.len).at[0] == '(' &&
	    !sqlgen_is_clause(r->w)) {
		sqlgen_take(r);
		sqlgen_take(r);
		return read_call(r, c.name);
	}
	sqlgen_take_name(r);
	if (sqlgen_take_if(r, ".")) {
		c.table = c.name;
		c.name = sqlgen_take_name(r);
	}
	if (sqlgen_word_is(c.name, "rowid") || sqlgen_word_is(c.name, "oid") ||
	    sqlgen_word_is(c.name, "_rowid_"))
		sqlgen_refuse_at(r, c.name.at,
				 "%.*s is SQLite's: write the primary key's name",
				 (int)c.name.len, c.name.at);
	note_bare(r, c);
	return made(r, from, sqlgen_kind_of_column(r, c.name));
}

static struct sqlgen_value read_parameter(struct sqlgen_reader *r)
{
	char *name = sqlgen_copy(r->w.at + 1, r->w.len - 1);
	struct column *c = columns_find(&r->s->in, name);
	const char *from = r->w.at;

	free(name);
	sqlgen_take(r);
	return made(r, from, c ? kind_of(c->type) : IS_ANY);
}

static struct sqlgen_value read_literal(struct sqlgen_reader *r)
{
	const char *from = r->w.at;
	bool text = *from == '\'';

	if (isalpha((unsigned char)*from))
		sqlgen_refuse_at(r, from,
				 "a BLOB is a parameter: x'…' are bits elsewhere");
	else if (*from == '0' && r->w.len > 1 && (from[1] == 'x' || from[1] == 'X'))
		sqlgen_refuse_at(r, from, "only SQLite reads %.*s: write it in decimals",
				 (int)r->w.len, from);
	sqlgen_take(r);
	return made(r, from,
		    text                            ? IS_TEXT
		    : isalpha((unsigned char)*from) ? IS_BYTES
						    : IS_SMALL);
}

static struct sqlgen_value read_primary(struct sqlgen_reader *r)
{
	const char *from = r->w.at;

	if (isdigit((unsigned char)*from) || *from == '{' || *from == '\'' ||
	    ((*from == 'x' || *from == 'X') && from[1] == '\''))
		return read_literal(r);
	if (*from == ':')
		return read_parameter(r);
	if (sqlgen_take_if(r, "("))
		return read_inside(r, from);
	if (sqlgen_take_if(r, "CASE"))
		return read_case(r, from);
	if (sqlgen_take_if(r, "CAST"))
		return read_cast(r, from);
	if (sqlgen_take_if(r, "NULL"))
		return made(r, from, IS_ANY);
	if (sqlgen_take_if(r, "EXISTS")) {
		sqlgen_expect(r, "(");
		read_select_value(r, from);
		return made(r, from, IS_TRUTH);
	}
	if (*from == '"' || *from == '`' || *from == '[') {
		sqlgen_refuse_at(r, from,
				 "a name stands without quotes, a text in single ones");
		sqlgen_lose(r);
	}
	return read_named(r);
}

/* --- signs between two, by how close they bind --------------------------------------- */

static struct sqlgen_value read_signed(struct sqlgen_reader *r)
{
	const char *from = r->w.at;
	struct sqlgen_value v;

	if (!sqlgen_take_if(r, "-") && !sqlgen_take_if(r, "+") && !sqlgen_take_if(r, "~"))
		return read_primary(r);
	v = read_signed(r);
	check_number(r, v);
	return made(r, from, v.kind);
}

static struct sqlgen_value read_joined(struct sqlgen_reader *r)
{
	const char *from = r->w.at;
	struct sqlgen_value v = read_signed(r);

	while (sqlgen_word_is(r->w, "||") || sqlgen_word_is(r->w, "->") ||
	       sqlgen_word_is(r->w, "->>")) {
		if (!sqlgen_word_is(r->w, "||"))
			sqlgen_refuse_at(r, r->w.at,
					 "%.*s asks SQLite's JSON: take it apart in C",
					 (int)r->w.len, r->w.at);
		sqlgen_take(r);
		sqlgen_check_kinds(r, v, IS_TEXT);
		sqlgen_check_kinds(r, read_signed(r), IS_TEXT);
		v = made(r, from, IS_TEXT);
	}
	return v;
}

static bool is_sign(struct sqlgen_word w, const char *const *signs)
{
	for (; *signs; signs++)
		if (sqlgen_word_is(w, *signs))
			return true;
	return false;
}

static struct sqlgen_value read_numbers(struct sqlgen_reader *r, int closeness)
{
	static const char *const signs[][5] = {
		{ "&", "|", "<<", ">>", NULL },
		{ "+", "-", NULL },
		{ "*", "/", "%", NULL },
	};
	const char *from = r->w.at;
	struct sqlgen_value v;

	if (closeness == 3)
		return read_joined(r);
	v = read_numbers(r, closeness + 1);
	while (is_sign(r->w, signs[closeness])) {
		bool shift = r->w.len == 2;
		struct sqlgen_value by;

		check_number(r, v);
		sqlgen_take(r);
		by = read_numbers(r, closeness + 1);
		check_number(r, by);
		if (shift && by.kind != IS_SMALL)
			sqlgen_refuse_at(r, by.text.at,
					 "`%.*s` says how far to shift: write "
					 "CAST(… AS INTEGER)",
					 (int)by.text.len, by.text.at);
		v = made(r, from,
			 v.kind == IS_SMALL && by.kind == IS_SMALL ? IS_SMALL
								   : IS_NUMBER);
	}
	return v;
}

static struct sqlgen_value read_ordered(struct sqlgen_reader *r)
{
	static const char *const signs[] = { "<", "<=", ">", ">=", NULL };
	const char *from = r->w.at;
	struct sqlgen_value v = read_numbers(r, 0);

	while (is_sign(r->w, signs)) {
		sqlgen_take(r);
		check_pair(r, v, read_numbers(r, 0));
		v = made(r, from, IS_TRUTH);
	}
	return v;
}

/* Behind IS. */
static void read_is(struct sqlgen_reader *r, struct sqlgen_value v)
{
	const char *at = r->w.at;
	bool not = sqlgen_take_if(r, "NOT");

	if (sqlgen_take_if(r, "NULL"))
		return;
	if (sqlgen_take_if(r, "DISTINCT")) {
		sqlgen_expect(r, "FROM");
	} else {
		sqlgen_refuse_at(
			r, at,
			"IS %scompares values in SQLite only: write IS %sDISTINCT "
			"FROM",
			not ? "NOT " : "", not ? "" : "NOT ");
	}
	check_pair(r, v, read_ordered(r));
}

/* Behind IN or BETWEEN. */
static void read_range(struct sqlgen_reader *r, struct sqlgen_value v, bool between)
{
	if (*r->w.at == '{') {
		check_number(r, v);
		sqlgen_take(r);
	} else if (between) {
		check_pair(r, v, read_ordered(r));
		sqlgen_expect(r, "AND");
		check_pair(r, v, read_ordered(r));
	} else {
		sqlgen_expect(r, "(");
		check_pair(r, v, read_inside(r, r->w.at));
	}
}

/* Whether a word that asks a question of the value was taken. */
static bool read_question(struct sqlgen_reader *r, struct sqlgen_value v)
{
	static const char *const own[] = { "LIKE", "GLOB", "REGEXP", "MATCH", NULL };
	struct sqlgen_word w = r->w;

	if (sqlgen_take_if(r, "IS")) {
		read_is(r, v);
		return true;
	}
	if (sqlgen_word_is(w, "NOT"))
		w = sqlgen_word_next(w.at + w.len);
	if (is_sign(w, own)) {
		sqlgen_refuse_at(r, w.at,
				 "%.*s means something else elsewhere, or nothing: "
				 "compare substr(…), or in C",
				 (int)w.len, w.at);
		sqlgen_lose(r);
	}
	if (!sqlgen_word_is(w, "IN") && !sqlgen_word_is(w, "BETWEEN"))
		return false;
	sqlgen_take_if(r, "NOT");
	sqlgen_take(r);
	read_range(r, v, sqlgen_word_is(w, "BETWEEN"));
	return true;
}

static struct sqlgen_value read_compared(struct sqlgen_reader *r)
{
	static const char *const signs[] = { "=", "<>", "!=", "==", NULL };
	const char *from = r->w.at;
	struct sqlgen_value v = read_ordered(r);

	for (;;) {
		if (is_sign(r->w, signs)) {
			if (sqlgen_word_is(r->w, "=="))
				sqlgen_refuse_at(r, r->w.at, "== is SQLite's: write =");
			sqlgen_take(r);
			check_pair(r, v, read_ordered(r));
		} else if (!read_question(r, v)) {
			return v;
		}
		v = made(r, from, IS_TRUTH);
	}
}

static struct sqlgen_value read_not(struct sqlgen_reader *r)
{
	const char *from = r->w.at;

	if (!sqlgen_take_if(r, "NOT"))
		return read_compared(r);
	check_truth(r, read_not(r));
	return made(r, from, IS_TRUTH);
}

static struct sqlgen_value read_truths(struct sqlgen_reader *r, const char *sign)
{
	bool or = *sign == 'O';
	const char *from = r->w.at;
	struct sqlgen_value v = or ? read_truths(r, "AND") : read_not(r);

	while (sqlgen_take_if(r, sign)) {
		check_truth(r, v);
		check_truth(r, or ? read_truths(r, "AND") : read_not(r));
		v = made(r, from, IS_TRUTH);
	}
	return v;
}

struct sqlgen_value sqlgen_read_value(struct sqlgen_reader *r)
{
	return read_truths(r, "OR");
}

void sqlgen_read_truth(struct sqlgen_reader *r)
{
	check_truth(r, sqlgen_read_value(r));
}
