/* Words of portable statements, and what is said of them: sqlgen_portable.h. */
#include "tools/build/sqlgen_portable.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* --- words ---------------------------------------------------------------------------- */

bool sqlgen_word_is(struct sqlgen_word w, const char *s)
{
	return w.len && tolower((unsigned char)*w.at) == tolower((unsigned char)*s) &&
	       strncasecmp(w.at, s, w.len) == 0 && !s[w.len];
}

bool sqlgen_word_same(struct sqlgen_word a, struct sqlgen_word b)
{
	return a.len == b.len && strncasecmp(a.at, b.at, a.len) == 0;
}

static size_t text_length(const char *s)
{
	size_t n = 1;

	while (s[n] && (s[n] != '\'' || s[n + 1] == '\''))
		n += s[n] == '\'' ? 2 : 1;
	return n + (s[n] != '\0');
}

static size_t sign_length(const char *s)
{
	static const char *const signs[] = {
		"->>", "->", "||", "<<", ">>", "<=", ">=", "<>", "!=", "==",
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (strncmp(s, signs[i], strlen(signs[i])) == 0)
			return strlen(signs[i]);
	return *s != '\0';
}

static size_t name_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

struct sqlgen_word sqlgen_word_next(const char *s)
{
	struct sqlgen_word w;

	for (;;) {
		s += strspn(s, " \t\r\n");
		if (strncmp(s, "--", 2) != 0)
			break;
		s += strcspn(s, "\n");
	}
	w = (struct sqlgen_word){ s, name_length(s) };
	if (w.len == 1 && (*s == 'x' || *s == 'X') && s[1] == '\'')
		w.len += text_length(s + 1);
	else if (w.len)
		w.len += isdigit((unsigned char)*s) && s[w.len] == '.'
				 ? 1 + name_length(s + w.len + 1)
				 : 0;
	else if (*s == '\'')
		w.len = text_length(s);
	else if (*s == ':')
		w.len = 1 + name_length(s + 1);
	else if (*s == '{')
		w.len = strcspn(s, "}") + 1;
	else
		w.len = sign_length(s);
	return w;
}

void sqlgen_take(struct sqlgen_reader *r)
{
	r->read_to = r->w.at + r->w.len;
	r->w = sqlgen_word_next(r->read_to);
}

bool sqlgen_take_if(struct sqlgen_reader *r, const char *word)
{
	if (!sqlgen_word_is(r->w, word))
		return false;
	sqlgen_take(r);
	return true;
}

void sqlgen_expect(struct sqlgen_reader *r, const char *word)
{
	if (!sqlgen_take_if(r, word))
		sqlgen_lose(r);
}

struct sqlgen_word sqlgen_take_name(struct sqlgen_reader *r)
{
	struct sqlgen_word w = r->w;

	if (sqlgen_is_clause(w) || !(isalpha((unsigned char)*w.at) || *w.at == '_'))
		sqlgen_lose(r);
	else if (sqlgen_is_reserved(w))
		sqlgen_refuse_at(r, w.at,
				 "%.*s is a word of PostgreSQL's: choose another name",
				 (int)w.len, w.at);
	sqlgen_take(r);
	return w;
}

/* --- refusing ------------------------------------------------------------------------- */

static void sqlgen_words_refuse(struct sqlgen_reader *r, const char *at, const char *fmt,
				va_list ap)
{
	struct sqlgen_statement place = *r->s;
	char text[512];

	if (r->lost || r->collects)
		return;
	place.line = r->line;
	for (const char *c = r->text; c < at; c++)
		place.line += *c == '\n';
	vsnprintf(text, sizeof(text), fmt, ap);
	sqlgen_refuse(r->b, &place, "%s", text);
}

void sqlgen_refuse_at(struct sqlgen_reader *r, const char *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (r->shared)
		sqlgen_words_refuse(r, at, fmt, ap);
	va_end(ap);
}

void sqlgen_refuse_number(struct sqlgen_reader *r, const char *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (r->named)
		sqlgen_words_refuse(r, at, fmt, ap);
	va_end(ap);
}

/* Refuses an enum's column in what is not read of a statement of SQLite's own. */
static void sqlgen_words_refuse_unread(struct sqlgen_reader *r)
{
	for (struct sqlgen_word w = r->w; w.len; w = sqlgen_word_next(w.at + w.len)) {
		struct sqlgen_column c = { .name = w };

		if (!sqlgen_lists_held(r->b, r->text, c))
			continue;
		sqlgen_refuse_number(r, w.at,
				     "%.*s stands behind `%.*s`, from where on the "
				     "statement is not read: write it in the common SQL",
				     (int)w.len, w.at, (int)r->w.len, r->w.at);
		return;
	}
}

void sqlgen_lose(struct sqlgen_reader *r)
{
	if (!r->lost)
		sqlgen_refuse_at(
			r, r->w.at,
			"`%.*s` is not of the SQL that SQLite and PostgreSQL share",
			(int)r->w.len, r->w.at);
	if (!r->lost && !r->shared)
		sqlgen_words_refuse_unread(r);
	r->lost = true;
	r->w = (struct sqlgen_word){ r->w.at + strlen(r->w.at), 0 };
}

/* --- tables --------------------------------------------------------------------------- */

static const char instead_clock[] = "the time of the call, :now";
static const char instead_case[] = "CASE WHEN … THEN … ELSE … END";
static const char instead_c[] = "a parameter that C has made";

/* printf, group_concat and json_each, and CAST(… AS BLOB) of a text, have no form that
 * both know: an engine that lacks them is given functions of that name. */
static const struct sqlgen_function functions[] = {
	{ "count", 1, 1, IS_NUMBER, true, NULL },
	{ "sum", 1, 1, IS_NUMBER, true, NULL },
	{ "min", 1, 1, IS_ANY, true, instead_case },
	{ "max", 1, 1, IS_ANY, true, instead_case },
	{ "group_concat", 2, 2, IS_TEXT, true, "group_concat(text, separator)" },
	{ "row_number", 0, 1, IS_NUMBER, false, "row_number() OVER (…)" },
	{ "coalesce", 2, 9, IS_ANY, false, "coalesce of two values or more" },
	{ "nullif", 2, 2, IS_ANY, false, NULL },
	{ "abs", 1, 1, IS_NUMBER, false, NULL },
	{ "length", 1, 1, IS_NUMBER, false, NULL },
	{ "substr", 2, 3, IS_ANY, false, NULL },
	{ "replace", 3, 3, IS_TEXT, false, NULL },
	{ "printf", 2, 2, IS_TEXT, false, "printf('%03d', number)" },
	{ "json_each", 1, 1, IS_ANY, false, NULL },
	{ "ifnull", 0, 0, IS_ANY, false, "coalesce(…)" },
	{ "iif", 0, 0, IS_ANY, false, instead_case },
	{ "char", 0, 0, IS_ANY, false, "the character itself, in quotes" },
	{ "total", 0, 0, IS_ANY, false, "coalesce(sum(…), 0)" },
	{ "instr", 0, 0, IS_ANY, false, instead_c },
	{ "lower", 0, 0, IS_ANY, false, instead_c },
	{ "upper", 0, 0, IS_ANY, false, instead_c },
	{ "hex", 0, 0, IS_ANY, false, instead_c },
	{ "random", 0, 0, IS_ANY, false, instead_c },
	{ "randomblob", 0, 0, IS_ANY, false, instead_c },
	{ "unixepoch", 0, 0, IS_ANY, false, instead_clock },
	{ "strftime", 0, 0, IS_ANY, false, instead_clock },
	{ "julianday", 0, 0, IS_ANY, false, instead_clock },
	{ "date", 0, 0, IS_ANY, false, instead_clock },
	{ "time", 0, 0, IS_ANY, false, instead_clock },
	{ "datetime", 0, 0, IS_ANY, false, instead_clock },
	{ "last_insert_rowid", 0, 0, IS_ANY, false, "RETURNING id" },
	{ "changes", 0, 0, IS_ANY, false, "RETURNING, or the number that C is told" },
};

const struct sqlgen_function *sqlgen_function_find(struct sqlgen_word name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (sqlgen_word_is(name, functions[i].name))
			return &functions[i];
	return NULL;
}

static bool sqlgen_words_is_one_of(struct sqlgen_word w, const char *const *words)
{
	for (; *words; words++)
		if (sqlgen_word_is(w, *words))
			return true;
	return false;
}

bool sqlgen_takes_alike(struct sqlgen_word name)
{
	static const char *const names[] = {
		"count", "min", "max", "coalesce", "nullif", NULL,
	};

	return sqlgen_words_is_one_of(name, names);
}

bool sqlgen_is_reserved(struct sqlgen_word w)
{
	static const char *const words[] = {
		"analyse",   "any",         "array",        "asymmetric",   "both",
		"column",    "desc",        "do",           "end",          "fetch",
		"for",       "freeze",      "grant",        "ilike",        "initially",
		"lateral",   "leading",     "limit",        "localtime",    "offset",
		"only",      "overlaps",    "placing",      "similar",      "some",
		"symmetric", "tablesample", "trailing",     "user",         "variadic",
		"verbose",   "window",      "current_user", "session_user", NULL,
	};

	return sqlgen_words_is_one_of(w, words);
}

bool sqlgen_is_clause(struct sqlgen_word w)
{
	static const char *const words[] = {
		"select",  "from",    "where",    "group",     "having",    "order",
		"limit",   "offset",  "union",    "intersect", "except",    "join",
		"left",    "right",   "full",     "inner",     "cross",     "natural",
		"on",      "using",   "set",      "values",    "returning", "as",
		"and",     "or",      "not",      "is",        "in",        "between",
		"like",    "glob",    "regexp",   "match",     "isnull",    "notnull",
		"when",    "then",    "else",     "end",       "asc",       "desc",
		"collate", "indexed", "distinct", "with",      "default",   "outer",
		NULL,
	};

	return sqlgen_words_is_one_of(w, words);
}
