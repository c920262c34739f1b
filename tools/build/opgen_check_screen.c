/* Words for what people see: columns, pages, lines and overviews name what the answer has. */
#include "tools/build/opgen.h"

#include <string.h>

static bool is_records(const struct member *m)
{
	return m->type && m->type->kind == DECL_RECORD;
}

/* Whether a word, FIELD or FIELD.FIELD, is a part of the answer. */
static bool is_part(const struct decl *d, const char *word)
{
	size_t n = strcspn(word, ".");

	for (size_t i = 0; i < d->out.n; i++) {
		const struct member *m = d->out.items[i];

		if (strncmp(m->name, word, n) != 0 || m->name[n])
			continue;
		return !word[n] || (m->type && m->type->kind == DECL_RECORD &&
				    member_find(&m->type->in, word + n + 1));
	}
	return false;
}

/* The members that columns name: of the answer's first list of records, else of the answer. */
static const struct members *columns_of(const struct decl *d)
{
	for (size_t i = 0; i < d->out.n; i++) {
		const struct member *m = d->out.items[i];

		if (is_records(m) && m->list)
			return &m->type->in;
	}
	return &d->out;
}

/* Whether one of the lists of an overview has such a column. */
static bool is_in_lists(const struct decl *d, const char *column)
{
	for (size_t i = 0; i < d->overview.n; i++) {
		const struct member *m = member_find(&d->out, d->overview.items[i]);

		if (m && is_records(m) && member_find(&m->type->in, column))
			return true;
	}
	return false;
}

static bool is_column(const struct decl *d, const char *word)
{
	return d->overview.n ? is_in_lists(d, word)
			     : member_find(columns_of(d), word) != NULL;
}

/* Checks the columns of a list; behind a | some columns are named again. */
static void opgen_check_screen_check_columns(struct schema *s, const struct decl *d)
{
	size_t end = d->columns.n, k;

	for (size_t i = 0; i < d->columns.n; i++) {
		const char *word = d->columns.items[i];

		if (!strcmp(word, "|") && end == d->columns.n) {
			end = i;
			continue;
		}
		for (k = 0; i > end && k < end; k++)
			if (!strcmp(d->columns.items[k], word))
				break;
		if (!is_column(d, word) || (i > end && k == end))
			schema_refuse(s, d->place,
				      "%s: the answer's list has no column '%s'%s",
				      d->name, word, i > end ? " before the |" : "");
	}
}

/* Lists of the answer, then single values of it. */
static void check_overview(struct schema *s, const struct decl *d)
{
	bool lists = true;

	if (d->empty && strchr(d->empty, '{'))
		schema_refuse(s, d->place,
			      "%s: `empty` is shown as it is, braces too: name a command",
			      d->name);
	if (d->overview.n && !d->empty)
		schema_refuse(s, d->place,
			      "%s: an overview says what stands where it is "
			      "`empty`",
			      d->name);
	for (size_t i = 0; i < d->overview.n; i++) {
		const char *word = d->overview.items[i];
		const struct member *m = member_find(&d->out, word);

		if (!strcmp(word, "|")) {
			lists = false;
			continue;
		}
		if (lists ? !m || !m->list || !is_records(m) : !is_part(d, word))
			schema_refuse(s, d->place, "%s: the answer has no %s '%s'",
				      d->name, lists ? "list of records" : "part", word);
	}
}

static void check_brief(struct schema *s, const struct decl *d)
{
	for (size_t i = 0; i < d->brief.n; i++)
		if (!is_part(d, d->brief.items[i]))
			schema_refuse(s, d->place, "%s: the answer has no part '%s'",
				      d->name, d->brief.items[i]);
}

/* A page shows a record, the answer's first part, or the answer itself, whose heading is
 * what the operation `says`. */
static void opgen_check_screen_check_page(struct schema *s, const struct decl *d)
{
	const struct member *m = d->out.n ? d->out.items[0] : NULL;
	const struct members *r = m && is_records(m) && !m->list ? &m->type->in : &d->out;

	if (d->page.n && r == &d->out && !d->says)
		schema_refuse(s, d->place,
			      "%s: a page of an answer that is no record needs what it "
			      "`says`",
			      d->name);
	for (size_t i = 0; i < d->page.n; i++)
		if (strcmp(d->page.items[i], "|") != 0 &&
		    !member_find(r, d->page.items[i]))
			schema_refuse(s, d->place, "%s: the answer's record has no '%s'",
				      d->name, d->page.items[i]);
}

/* A line that a command says names parts of the answer in braces, and its brackets
 * close. */
static void opgen_check_screen_check_line(struct schema *s, const struct decl *d,
					  const char *line)
{
	int open = 0;

	for (const char *at = line ? line : ""; *at; at++) {
		size_t n = *at == '{' ? strcspn(at, "}") : 0;

		open += *at == '[' ? 1 : *at == ']' ? -1 : 0;
		if (open < 0 || open > 1 || (*at == '{' && !at[n]))
			break;
		if (!n)
			continue;
		at += at[1] == '?';
		n = strcspn(at, "}");
		if (!is_part(d, arena_strndup(&s->arena, at + 1, n - 1)))
			schema_refuse(s, d->place, "%s: the answer has no part '%.*s'",
				      d->name, (int)n - 1, at + 1);
	}
	if (open)
		schema_refuse(s, d->place, "%s: a bracket is not closed", d->name);
}

/* Whether it may be a text of any kind, such as a person's or a model's words. */
static bool is_words(const struct member *m)
{
	const char *type = m->type && m->type->kind == DECL_TYPE ? m->type->name : "";

	if (is_records(m)) {
		for (size_t i = 0; !m->list && i < m->type->in.n; i++)
			if (is_words(m->type->in.items[i]))
				return true;
	}
	return !strcmp(type, "text") || !strcmp(type, "json") || !strcmp(type, "object");
}

static bool is_in_line(const char *line, const char *name)
{
	const size_t n = strlen(name);
	const char *at = line ? strchr(line, '{') : NULL;

	for (; at; at = strchr(at, '{')) {
		at += 1 + (at[1] == '?');
		if (!strncmp(at, name, n) && strchr(".}", at[n]))
			return true;
	}
	return false;
}

static bool opgen_check_screen_is_named(const struct list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->items[i], name))
			return true;
	return false;
}

/* Words that an answer has and no form of the command shows were never read.  A page is shown
 * whole, and so is an answer that says nothing, less what is beside a table or a text. */
static void check_shown(struct schema *s, const struct decl *d)
{
	const struct member *first = d->out.n ? d->out.items[0] : NULL;
	const bool table = first && first->list && is_records(first) && d->columns.n;
	const struct member *text = d->prints ? member_find(&d->out, d->prints) : NULL;
	const bool whole = d->page.n || (text && !is_records(text)) ||
			   (!d->says && !d->overview.n && !table);

	for (size_t i = 0; d->cli.n && !whole && i < d->out.n; i++) {
		const struct member *m = d->out.items[i];

		if (is_words(m) && !is_in_line(d->says, m->name) &&
		    !is_in_line(d->next, m->name) &&
		    !opgen_check_screen_is_named(&d->overview, m->name) &&
		    (!d->prints || strcmp(d->prints, m->name) != 0))
			schema_refuse(s, d->place,
				      "%s: nothing that the command prints shows '%s'",
				      d->name, m->name);
	}
}

/* An example begins with the words of the command. */
static void check_example(struct schema *s, const struct decl *d)
{
	const char *at = d->example;
	bool same = at && d->cli.n;

	for (size_t i = 0; same && i < d->cli.n; i++) {
		const size_t n = strlen(d->cli.items[i]);

		same = strncmp(at, d->cli.items[i], n) == 0 && (!at[n] || at[n] == ' ');
		at += same ? n + (at[n] == ' ') : 0;
	}
	if (d->example && !same)
		schema_refuse(s, d->place, "%s: the example is not of its command",
			      d->name);
}

void screen_check_event(struct schema *s, const struct decl *d)
{
	for (const char *at = d->says; at && (at = strchr(at, '{')); at++)
		if (!strchr(at, '}'))
			schema_refuse(s, d->place, "%s: a brace is not closed", d->name);
}

void screen_check_record(struct schema *s, const struct decl *d)
{
	for (size_t i = 0; i < d->in.n; i++) {
		const struct member *m = d->in.items[i];

		if (m->type && m->type->given && !strcmp(m->type->given, "event") &&
		    !member_find(&d->in, "event"))
			schema_refuse(s, d->place, "%s: '%s' needs a field 'event'",
				      d->name, m->name);
	}
}

void screen_check(struct schema *s, const struct decl *d)
{
	opgen_check_screen_check_columns(s, d);
	check_brief(s, d);
	opgen_check_screen_check_page(s, d);
	check_overview(s, d);
	opgen_check_screen_check_line(s, d, d->says);
	opgen_check_screen_check_line(s, d, d->next);
	check_shown(s, d);
	check_example(s, d);
}
