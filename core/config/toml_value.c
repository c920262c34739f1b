#include <ctype.h>
#include <string.h>

#include "core/config/toml_inside.h"

/* The bytes up to the end of a word without quotes. */
static size_t word_size(const char *s)
{
	return strcspn(s, " \t\r\n,]}#=");
}

static int no_value(struct toml_reader *r)
{
	size_t n = word_size(r->s);

	if (!n)
		return toml_wrong(r, "here a value is missing");
	return toml_wrong(r, "'%.*s' is no value; a text stands in quotes",
			  (int)(n < 40 ? n : 40), r->s);
}

/* --- arrays and inline tables ------------------------------------------------------- */

static int toml_value_go_down(struct toml_reader *r)
{
	if (r->depth >= TOML_DEPTH)
		return toml_wrong(r, "more than %d tables and arrays in each other",
				  TOML_DEPTH);
	r->depth++;
	r->s++;
	return 0;
}

static int read_array(struct toml_reader *r, struct toml_value *v)
{
	struct toml_value item;

	v->kind = TOML_ARRAY;
	v->array = arena_alloc(r->arena, sizeof(*v->array));
	if (toml_value_go_down(r) < 0)
		return r->fault->code;
	for (toml_skip_lines(r); *r->s != ']'; toml_skip_lines(r)) {
		if (toml_read_value(r, &item) < 0)
			return r->fault->code;
		*toml_push(r->arena, v->array) = item;
		toml_skip_lines(r);
		if (*r->s == ',')
			r->s++;
		else if (*r->s != ']')
			return toml_wrong(r, "an array goes on with , or ends with ]");
	}
	r->s++;
	r->depth--;
	return 0;
}

/* Reads an inline table: it is on one line, and has no comma before the closing brace. */
static int read_braces(struct toml_reader *r, struct toml_value *v)
{
	if (toml_value_go_down(r) < 0)
		return r->fault->code;
	v->kind = TOML_TABLE;
	v->table = toml_table_new(r->arena, TOML_MADE_INLINE, r->depth);
	toml_skip_blanks(r);
	while (*r->s != '}' || v->table->n) {
		if (toml_read_pair(r, v->table) < 0)
			return r->fault->code;
		toml_skip_blanks(r);
		if (*r->s == '}')
			break;
		if (*r->s != ',')
			return toml_wrong(r, "an inline table goes on with , or ends "
					     "with }, on one line");
		r->s++;
		toml_skip_blanks(r);
	}
	r->s++;
	r->depth--;
	return 0;
}

/* --- words ---------------------------------------------------------------------------- */

static int toml_value_read_word(struct toml_reader *r, struct toml_value *v)
{
	size_t n = word_size(r->s);

	v->kind = TOML_BOOL;
	v->boolean = n == 4;
	if (!(n == 4 && !memcmp(r->s, "true", n)) &&
	    !(n == 5 && !memcmp(r->s, "false", n)))
		return no_value(r);
	r->s += n;
	return 0;
}

static bool is_time(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return (n == 4 && s[n] == '-') || (n == 2 && s[n] == ':');
}

int toml_read_value(struct toml_reader *r, struct toml_value *v)
{
	*v = (struct toml_value){ .at = toml_here(r) };
	switch (*r->s) {
	case '"':
	case '\'':
		v->kind = TOML_TEXT;
		return toml_read_text(r, true, &v->text);
	case '[':
		return read_array(r, v);
	case '{':
		return read_braces(r, v);
	default:
		break;
	}
	if (is_time(r->s))
		return toml_read_time(r, v);
	if (isdigit((unsigned char)*r->s) || *r->s == '+' || *r->s == '-' ||
	    !strncmp(r->s, "inf", 3) || !strncmp(r->s, "nan", 3))
		return toml_read_number(r, v);
	return toml_value_read_word(r, v);
}
