/*
 * screen_page - a record as a page: a heading, the few things that matter below it, its texts in
 * full, and all the rest as small print.
 *
 * Which field is which is the operation's, in the schema.
 */
#include <stdio.h>
#include <string.h>

#include "tools/cadre/screen/screen.h"

struct page {
	const struct cli *cli;
	const struct op *op;
	const struct record *r;
	const json_t *record;
	struct arena arena;
	int at; /* column at which the line of small things has come */
};

/* --- lines of small things ------------------------------------------------------------ */

static void screen_page_end_line(struct page *p)
{
	if (p->at)
		printf("%s\n", screen_plain(p->cli));
	p->at = 0;
}

/* Adds `name value` to the line, or begins another one where it would be too long. */
static void add_small(struct page *p, const struct field *field, bool small)
{
	const char *name = screen_label(&p->arena, field),
		   *value = cli_plain(&p->arena,
				      screen_field(p->cli, &p->arena, p->r, field,
						   p->record),
				      false);
	const int width = (int)(cli_width(name) + cli_width(value)) + 1;

	if (p->at && p->cli->width && p->at + 2 + width > p->cli->width)
		screen_page_end_line(p);
	printf("%s%s%s %s", p->at ? "  " : "", screen_dim(p->cli), name,
	       small ? "" : screen_plain(p->cli));
	printf("%s", small || field->type->kind != KIND_ENUM
			     ? value
			     : cli_colored(p->cli, &p->arena, value));
	p->at += width + (p->at ? 2 : 0);
}

/* --- texts and lists in full ------------------------------------------------------------ */

static const char *plain_value(struct page *p, const struct field *field,
			       const json_t *record)
{
	const json_t *value = json_object_get(record, field->name);

	return cli_plain(&p->arena, screen_value(p->cli, &p->arena, field, value), true);
}

/* Prints an entry of a list: its text, behind a tick box or below its author. */
static void print_entry(struct page *p, const struct record *r, const json_t *entry)
{
	const struct field *text = field_find(r, "text");
	bool box = false;

	printf("%*s%s", INDENT, "", screen_dim(p->cli));
	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *field = &r->fields[i];

		if (field->type->kind == KIND_BOOL) {
			box = true;
			printf("[%c] ", json_is_true(json_object_get(entry, field->name))
						? 'x'
						: ' ');
		} else if (field != text && field->type->kind != KIND_INT) {
			printf("%s  ", plain_value(p, field, entry));
		}
	}
	printf("%s", screen_plain(p->cli));
	if (box && text)
		printf("%s", plain_value(p, text, entry));
	putchar('\n');
	if (!box && text)
		cli_prose(p->cli, plain_value(p, text, entry), 2 * INDENT);
}

static void print_section(struct page *p, const struct field *field, bool named)
{
	const json_t *value = json_object_get(p->record, field->name), *entry;
	size_t i;

	if (screen_is_empty(value))
		return;
	putchar('\n');
	if (screen_is_list(field) && p->op->columns) {
		print_rows(p->cli, field->type->record, p->op->columns, value, true);
		return;
	}
	if (named)
		printf("%s%s%s\n", screen_dim(p->cli), screen_label(&p->arena, field),
		       screen_plain(p->cli));
	if (!screen_is_list(field)) {
		cli_prose(p->cli, plain_value(p, field, p->record), named ? INDENT : 0);
		return;
	}
	json_array_foreach(value, i, entry)
		print_entry(p, field->type->record, entry);
}

/* --- the page ----------------------------------------------------------------------------- */

/* The field of the schema's word, and whether the page shows it where this loop is. */
static const struct field *screen_page_take(struct page *p, const char *word)
{
	const struct field *field = field_find(p->r, word);

	return field && screen_is_shown(field, p->record) ? field : NULL;
}

static bool is_on_page(const struct op *op, const struct field *field)
{
	const size_t n = strlen(field->name);
	const char *at = op->says;

	/* The heading may tell it, as {FIELD} or {RECORD.FIELD}. */
	for (; at && (at = strstr(at, field->name)); at += n)
		if (at > op->says && strchr("{.", at[-1]) && at[n] == '}')
			return true;
	for (const char *const *word = op->page; *word; word++)
		if (!strcmp(*word, field->name))
			return true;
	return false;
}

static void print_rest(struct page *p, const struct op *op)
{
	bool any = false;

	for (size_t i = op->says ? 0 : 1; i < p->r->n_fields; i++) {
		const struct field *field = &p->r->fields[i];

		if (!is_on_page(op, field) && screen_is_shown(field, p->record) &&
		    !screen_is_hidden(field)) {
			if (!any)
				putchar('\n');
			any = true;
			add_small(p, field, true);
		}
	}
	screen_page_end_line(p);
}

/* A page begins with what its operation says, or with the record's first field and the first
 * one of the page. */
static void print_heading(struct page *p, const json_t *answer)
{
	fputs(p->cli->color ? "\033[1m" : "", stdout);
	if (p->op->says)
		screen_says(p->cli, p->op, answer);
	else
		cli_prose(p->cli,
			  arena_printf(&p->arena, "%s  %s",
				       plain_value(p, &p->r->fields[0], p->record),
				       plain_value(p, field_find(p->r, *p->op->page),
						   p->record)),
			  0);
	fputs(screen_plain(p->cli), stdout);
}

void screen_page(const struct cli *cli, const struct op *op, const json_t *answer)
{
	const struct field *first = &op->out->fields[0];
	const bool nested = screen_is_nested(first);
	struct page p = { .cli = cli,
			  .op = op,
			  .r = nested ? first->type->record : op->out,
			  .record = nested ? json_object_get(answer, first->name)
					   : answer };
	const char *const *word = op->page + !op->says;
	const struct field *field;

	print_heading(&p, answer);
	for (; *word && strcmp(*word, "|"); word++)
		if ((field = screen_page_take(&p, *word)))
			add_small(&p, field, false);
	screen_page_end_line(&p);
	for (word += *word != NULL; *word; word++)
		if ((field = screen_page_take(&p, *word)))
			print_section(&p, field,
				      !screen_is_list(field) ? word[-1][0] != '|' : true);
	print_rest(&p, op);
	arena_release(&p.arena);
}

/* --- overviews ------------------------------------------------------------------------------ */

/* Adds a single value, FIELD or FIELD.FIELD, that tells anything: nobody counts zeros. */
static void add_single(struct page *p, const struct op *op, const json_t *answer,
		       const char *word)
{
	const char *dot = strchr(word, '.');
	const struct field *field;
	const json_t *value;

	p->r = op->out;
	p->record = answer;
	if (dot) {
		const char *first = arena_strndup(&p->arena, word, (size_t)(dot - word));

		p->r = field_find(op->out, first)->type->record;
		p->record = json_object_get(answer, first);
		word = dot + 1;
	}
	field = screen_page_take(p, word);
	value = json_object_get(p->record, word);
	if (field && !(json_is_integer(value) && !json_integer_value(value)))
		add_small(p, field, false);
}

/* Sentences need no words above them, numbers do. */
static bool speaks_for_itself(const struct record *r, const char *const *columns)
{
	const struct field *field;

	for (; *columns; columns++)
		if ((field = field_find(r, *columns)) && field->type->kind == KIND_INT)
			return false;
	return true;
}

void screen_overview(const struct cli *cli, const struct op *op, const json_t *answer)
{
	struct page p = { .cli = cli };
	const char *const *word = op->overview;

	for (; *word && strcmp(*word, "|"); word++) {
		const struct field *field = field_find(op->out, *word);
		const json_t *rows = json_object_get(answer, *word);
		const bool first = word == op->overview, any = json_array_size(rows);

		if (!first && any)
			putchar('\n');
		if (first && !any)
			puts(op->empty);
		if (any)
			print_rows(cli, field->type->record, op->columns, rows,
				   !first || !speaks_for_itself(field->type->record,
								op->columns));
	}
	if (*word && word[1])
		putchar('\n');
	for (word += *word != NULL; *word; word++) {
		add_single(&p, op, answer, *word);
		if (!cli->terminal)
			screen_page_end_line(&p); /* for who looks for one */
	}
	screen_page_end_line(&p);
	arena_release(&p.arena);
}
