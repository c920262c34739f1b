/* Expressions of portable statements, and the kinds of their values: sqlgen_portable.h. */
#include "tools/build/sqlgen_portable.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- kinds ---------------------------------------------------------------------------- */

static bool is_sign(struct sqlgen_word w, const char *const *signs)
{
	for (; *signs; signs++)
		if (sqlgen_word_is(w, *signs))
			return true;
	return false;
}

static struct sqlgen_value sqlgen_value_made(const struct sqlgen_reader *r,
					     const char *from, enum sqlgen_kind kind,
					     sqlgen_lists lists)
{
	return (struct sqlgen_value){ kind,
				      lists,
				      { from, (size_t)(r->read_to - from) } };
}

/* The value of a comparison. */
static struct sqlgen_value made_truth(const struct sqlgen_reader *r, const char *from)
{
	return sqlgen_value_made(r, from, IS_TRUTH, SQLGEN_NONE);
}

static bool sqlgen_value_is_number(enum sqlgen_kind kind)
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

static void check_kinds(struct sqlgen_reader *r, struct sqlgen_value v,
			enum sqlgen_kind with)
{
	static const char *const names[] = {
		[IS_NUMBER] = "number",
		[IS_SMALL] = "number",
		[IS_TEXT] = "text",
		[IS_BYTES] = "blob",
	};

	if (v.kind == IS_ANY || with == IS_ANY || v.kind == with ||
	    (sqlgen_value_is_number(v.kind) && sqlgen_value_is_number(with)))
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

/* Refuses two values of which one is of an enum and the other one is not of it. */
static void sqlgen_value_check_lists(struct sqlgen_reader *r, struct sqlgen_value a,
				     struct sqlgen_value b)
{
	struct sqlgen_value held = a, other = b;
	const char *list;

	if (a.lists & b.lists)
		return;
	if (!(b.lists & SQLGEN_NONE) && (*b.text.at != '{' || a.lists & SQLGEN_NONE)) {
		held = b;
		other = a;
	}
	list = sqlgen_list_name(r->b, held.lists);
	sqlgen_refuse_number(r, other.text.at,
			     "%.*s %s %s: write {%s.…} in place of %.*s",
			     (int)held.text.len, held.text.at,
			     *held.text.at == '{' ? "is of" : "holds", list, list,
			     (int)other.text.len, other.text.at);
}

/* Refuses the number of an enum's value where a number is counted with. */
static void check_plain(struct sqlgen_reader *r, struct sqlgen_value v)
{
	if (!(v.lists & SQLGEN_NONE))
		sqlgen_refuse_number(
			r, v.text.at,
			"%.*s holds %s, whose numbers are not counted with: compare it "
			"with {%s.…}",
			(int)v.text.len, v.text.at, sqlgen_list_name(r->b, v.lists),
			sqlgen_list_name(r->b, v.lists));
}

void sqlgen_check_fit(struct sqlgen_reader *r, struct sqlgen_value v,
		      struct sqlgen_value with)
{
	check_kinds(r, v, with.kind);
	sqlgen_value_check_lists(r, v, with);
}

/* Checks two values that stand for one another. */
static void check_pair(struct sqlgen_reader *r, struct sqlgen_value a,
		       struct sqlgen_value b)
{
	sqlgen_check_fit(r, a, b);
	if (b.kind == IS_TRUTH)
		check_kinds(r, b, a.kind);
}

static void check_truth(struct sqlgen_reader *r, struct sqlgen_value v)
{
	if (v.kind != IS_TRUTH && v.kind != IS_ANY)
		sqlgen_refuse_at(r, v.text.at,
				 "`%.*s` is a number, and neither true nor false: "
				 "write … <> 0",
				 (int)v.text.len, v.text.at);
}

static enum sqlgen_kind sqlgen_value_kind_of(enum type type)
{
	return type == TYPE_INT    ? IS_NUMBER
	       : type == TYPE_TEXT ? IS_TEXT
	       : type == TYPE_BLOB ? IS_BYTES
				   : IS_ANY;
}

/* The lists of a column that is called so by the statement itself. */
static sqlgen_lists lists_renamed(const struct sqlgen_reader *r, struct sqlgen_word name)
{
	for (int i = 0; i < r->n_renamed; i++)
		if (sqlgen_word_same(r->renamed[i].name, name))
			return r->renamed[i].lists;
	return SQLGEN_NONE;
}

void sqlgen_rename(struct sqlgen_reader *r, struct sqlgen_word name, sqlgen_lists lists)
{
	struct sqlgen_renamed *at = r->renamed;

	while (at < r->renamed + r->n_renamed && !sqlgen_word_same(at->name, name))
		at++;
	if (!r->collects || (lists & SQLGEN_NONE && !r->plain) ||
	    at == r->renamed + SQLGEN_NAMES_MOST)
		return;
	if (at == r->renamed + r->n_renamed)
		r->renamed[r->n_renamed++] = (struct sqlgen_renamed){ name, 0 };
	r->collected |= (at->lists | lists) != at->lists;
	at->lists |= lists;
}

static enum type sqlgen_value_type_of(struct sqlgen_reader *r, struct sqlgen_word column)
{
	char *name = sqlgen_copy(column.at, column.len);
	enum type type = sqlgen_type_everywhere(r->b, name);

	free(name);
	return type;
}

struct sqlgen_value sqlgen_column_value(struct sqlgen_reader *r, struct sqlgen_column c)
{
	sqlgen_lists lists = sqlgen_lists_held(r->b, r->text, c);
	/* Migrations are read before all tables are there. */
	enum sqlgen_kind kind =
		r->shared ? sqlgen_value_kind_of(sqlgen_value_type_of(r, c.name))
			  : IS_ANY;

	return (struct sqlgen_value){ kind, lists ? lists : lists_renamed(r, c.name),
				      c.name };
}

/* --- what stands by itself -------------------------------------------------------------- */

static struct sqlgen_value read_select_value(struct sqlgen_reader *r, const char *from)
{
	struct sqlgen_select select = { 0 };

	sqlgen_read_select(r, &select);
	sqlgen_expect(r, ")");
	return select.n_items == 1 ? sqlgen_value_made(r, from, select.items[0].kind,
						       select.items[0].lists)
				   : sqlgen_value_made(r, from, IS_ANY, SQLGEN_ALL);
}

/* Behind its parenthesis: a SELECT, an expression, or several. */
static struct sqlgen_value read_inside(struct sqlgen_reader *r, const char *from)
{
	struct sqlgen_value v;

	if (sqlgen_word_is(r->w, "SELECT") || sqlgen_word_is(r->w, "WITH"))
		return read_select_value(r, from);
	v = sqlgen_read_value(r);
	while (sqlgen_take_if(r, ",")) {
		struct sqlgen_value next = sqlgen_read_value(r);

		sqlgen_value_check_lists(r, next, v);
		v.lists &= next.lists;
		v.kind = IS_ANY;
	}
	sqlgen_expect(r, ")");
	return sqlgen_value_made(r, from, v.kind, v.lists ? v.lists : SQLGEN_ALL);
}

/* The kind of two branches of which either may be. */
static struct sqlgen_value either(struct sqlgen_reader *r, struct sqlgen_value a,
				  struct sqlgen_value b)
{
	check_pair(r, a, b);
	if (a.kind == IS_ANY || (a.kind == IS_SMALL && b.kind == IS_NUMBER))
		a.kind = b.kind;
	a.lists = a.lists & b.lists ? a.lists & b.lists : SQLGEN_ALL;
	if (!a.text.len)
		a.text = b.text;
	return a;
}

static struct sqlgen_value read_case(struct sqlgen_reader *r, const char *from)
{
	struct sqlgen_value v = { .kind = IS_ANY, .lists = SQLGEN_ALL };
	struct sqlgen_value of = { .kind = IS_TRUTH };

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
	return sqlgen_value_made(r, from, v.kind, v.lists);
}

static struct sqlgen_value read_cast(struct sqlgen_reader *r, const char *from)
{
	enum sqlgen_kind kind = IS_ANY;

	sqlgen_expect(r, "(");
	check_plain(r, sqlgen_read_value(r));
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
	return sqlgen_value_made(r, from, kind, SQLGEN_NONE);
}

/* The values that a function takes; how many. */
static int read_arguments(struct sqlgen_reader *r, struct sqlgen_word name, bool known,
			  struct sqlgen_value *first)
{
	bool alike = sqlgen_takes_alike(name);
	int n = 0;

	sqlgen_take_if(r, "DISTINCT");
	if (sqlgen_take_if(r, "*"))
		n = 1;
	else if (!sqlgen_word_is(r->w, ")"))
		do {
			struct sqlgen_value v = sqlgen_read_value(r);

			if (known && v.kind == IS_TRUTH)
				refuse_truth(r, v);
			if (!alike)
				check_plain(r, v);
			if (n++ == 0)
				*first = v;
			else if (alike)
				*first = either(r, *first, v);
		} while (sqlgen_take_if(r, ","));
	sqlgen_expect(r, ")");
	return n;
}

static struct sqlgen_value read_call(struct sqlgen_reader *r, struct sqlgen_word name)
{
	const struct sqlgen_function *f = sqlgen_function_find(name);
	struct sqlgen_value first = { .kind = IS_ANY, .lists = SQLGEN_NONE };
	bool sum = f && f->sum, given;
	int n;

	r->select->in_sum += sum;
	n = read_arguments(r, name, f && f->most, &first);
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
	if (sqlgen_take_if(r, "OVER")) {
		sqlgen_expect(r, "(");
		if (sqlgen_take_if(r, "ORDER")) {
			sqlgen_expect(r, "BY");
			sqlgen_read_order(r);
		}
		sqlgen_expect(r, ")");
	}
	given = f && f->most && f->gives != IS_ANY;
	return sqlgen_value_made(r, name.at, given ? f->gives : first.kind,
				 given ? SQLGEN_NONE : first.lists);
}

static void note_bare(struct sqlgen_reader *r, struct sqlgen_column c)
{
	struct sqlgen_select *select = r->select;

	if (!select->done && !select->in_sum && select->n_bare < SQLGEN_ITEMS_MOST)
		select->bare[select->n_bare++] = c;
}

/* Refuses names that the second engine reads otherwise, or in one of two ways. */
static void sqlgen_value_check_name(struct sqlgen_reader *r, struct sqlgen_column c)
{
	static const char *const clocks[] = { "current_timestamp", "current_date",
					      "current_time", NULL };
	const struct sqlgen_select *select = r->select;

	if (c.table.len)
		return;
	if (is_sign(c.name, clocks))
		sqlgen_refuse_at(r, c.name.at,
				 "%.*s is of another kind elsewhere: write the time of "
				 "the call, :now",
				 (int)c.name.len, c.name.at);
	if (r->conflict)
		sqlgen_refuse_at(r, c.name.at,
				 "%.*s may be the old row's or the new one's: write "
				 "TABLE.%.*s, or excluded.%.*s",
				 (int)c.name.len, c.name.at, (int)c.name.len, c.name.at,
				 (int)c.name.len, c.name.at);
	for (int i = 0; select->done && !select->by_name && i < select->n_items; i++)
		if (sqlgen_word_same(select->names[i], c.name) &&
		    sqlgen_value_type_of(r, c.name) == TYPE_UNSAID)
			sqlgen_refuse_at(
				r, c.name.at,
				"%.*s is the name of a result, which only SQLite "
				"knows here: write the expression again",
				(int)c.name.len, c.name.at);
}

/* A column or a function. */
static struct sqlgen_value read_named(struct sqlgen_reader *r)
{
	struct sqlgen_column c = { .name = r->w };
	const char *from = r->w.at;
	struct sqlgen_value v;

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
	sqlgen_value_check_name(r, c);
	if (sqlgen_word_is(c.name, "rowid") || sqlgen_word_is(c.name, "oid") ||
	    sqlgen_word_is(c.name, "_rowid_"))
		sqlgen_refuse_at(r, c.name.at,
				 "%.*s is SQLite's: write the primary key's name",
				 (int)c.name.len, c.name.at);
	note_bare(r, c);
	v = sqlgen_column_value(r, c);
	return sqlgen_value_made(r, from, v.kind, v.lists);
}

static struct sqlgen_value read_parameter(struct sqlgen_reader *r)
{
	char *name = sqlgen_copy(r->w.at + 1, r->w.len - 1);
	struct column *c = columns_find(&r->s->in, name);
	const char *from = r->w.at;

	free(name);
	sqlgen_take(r);
	return sqlgen_value_made(r, from, c ? sqlgen_value_kind_of(c->type) : IS_ANY,
				 SQLGEN_ALL);
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
	return sqlgen_value_made(r, from,
				 text                            ? IS_TEXT
				 : isalpha((unsigned char)*from) ? IS_BYTES
								 : IS_SMALL,
				 *from == '{' ? sqlgen_lists_named(r->b, from)
					      : SQLGEN_NONE);
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
		return sqlgen_value_made(r, from, IS_ANY, SQLGEN_ALL);
	if (sqlgen_take_if(r, "TRUE") || sqlgen_take_if(r, "FALSE"))
		return made_truth(r, from);
	if (sqlgen_take_if(r, "EXISTS")) {
		sqlgen_expect(r, "(");
		read_select_value(r, from);
		return made_truth(r, from);
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

	/* A + in front of a column keeps its index out, and changes nothing else. */
	if (sqlgen_take_if(r, "+")) {
		v = read_signed(r);
		return sqlgen_value_made(r, from, v.kind, v.lists);
	}
	if (!sqlgen_take_if(r, "-") && !sqlgen_take_if(r, "~"))
		return read_primary(r);
	v = read_signed(r);
	check_kinds(r, v, IS_NUMBER);
	check_plain(r, v);
	return sqlgen_value_made(r, from, v.kind, SQLGEN_NONE);
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
		check_kinds(r, v, IS_TEXT);
		check_kinds(r, read_signed(r), IS_TEXT);
		v = sqlgen_value_made(r, from, IS_TEXT, SQLGEN_NONE);
	}
	return v;
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
		bool shift = r->w.len == 2, minus = *r->w.at == '-';
		struct sqlgen_value by;

		check_kinds(r, v, IS_NUMBER);
		sqlgen_take(r);
		by = read_numbers(r, closeness + 1);
		check_kinds(r, by, IS_NUMBER);
		/* How far one value of an enum is behind another one is a number. */
		if (minus && !(v.lists & SQLGEN_NONE)) {
			sqlgen_value_check_lists(r, v, by);
		} else {
			check_plain(r, v);
			check_plain(r, by);
		}
		if (shift && by.kind != IS_SMALL)
			sqlgen_refuse_at(r, by.text.at,
					 "`%.*s` says how far to shift: write "
					 "CAST(… AS INTEGER)",
					 (int)by.text.len, by.text.at);
		v = sqlgen_value_made(
			r, from,
			v.kind == IS_SMALL && by.kind == IS_SMALL ? IS_SMALL : IS_NUMBER,
			SQLGEN_NONE);
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
		v = made_truth(r, from);
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

/* Whether it names several values, and not one. */
static bool sqlgen_value_is_set(const struct sqlgen_build *b, struct sqlgen_word w)
{
	size_t n = strcspn(w.at + 1, ".}");
	char *list = sqlgen_copy(w.at + 1, n), *name = NULL;
	bool set = memchr(w.at, ' ', w.len) || strcmp(list, "events") == 0;

	if (!set && n + 3 < w.len) {
		name = sqlgen_copy(w.at + n + 2, w.len - n - 3);
		set = sqlgen_set_find(b, list, name) != NULL;
	}
	free(list);
	free(name);
	return set;
}

/* Behind IN or BETWEEN. */
static void sqlgen_value_read_range(struct sqlgen_reader *r, struct sqlgen_value v,
				    bool between)
{
	if (*r->w.at == '{' && (!between || sqlgen_value_is_set(r->b, r->w))) {
		check_pair(r, v, read_literal(r));
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
	sqlgen_value_read_range(r, v, sqlgen_word_is(w, "BETWEEN"));
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
		v = made_truth(r, from);
	}
}

static struct sqlgen_value read_not(struct sqlgen_reader *r)
{
	const char *from = r->w.at;

	if (!sqlgen_take_if(r, "NOT"))
		return read_compared(r);
	check_truth(r, read_not(r));
	return made_truth(r, from);
}

static struct sqlgen_value read_truths(struct sqlgen_reader *r, const char *sign)
{
	bool or = *sign == 'O';
	const char *from = r->w.at;
	struct sqlgen_value v = or ? read_truths(r, "AND") : read_not(r);

	while (sqlgen_take_if(r, sign)) {
		check_truth(r, v);
		check_truth(r, or ? read_truths(r, "AND") : read_not(r));
		v = made_truth(r, from);
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
