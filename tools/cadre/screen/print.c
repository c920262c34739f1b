/*
 * print - prints an answer for people, in the form that the schema describes.
 *
 * The first list of an answer becomes a table. A single record becomes lines of key and value,
 * with the record's lists as tables below. Each message becomes a block with the message's
 * text. A time is relative on a terminal, and has the ISO form elsewhere. In a pipe a table is
 * for programs: see screen_table.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cadre/screen/screen.h"

static void print_table(const struct cli *cli, const struct record *r,
			const char *const *columns, const json_t *rows, bool head,
			int indent, struct layout *kept);

/*
 * A page shows one record. The page has a heading, a few important values, the long texts, and
 * all other fields as small print.
 *
 * The operation's definition in the schema assigns the fields to these parts.
 */

struct page {
	const struct cli *cli;
	const struct op *op;
	const struct record *r;
	const json_t *record;
	struct arena arena;
	int at; /* columns printed so far in the current line of values */
};

/* --- lines of short values ------------------------------------------------------------ */

static void screen_page_end_line(struct page *p)
{
	if (p->at)
		printf("%s\n", screen_plain(p->cli));
	p->at = 0;
}

/* Adds `name value` to the current line of values. If this line would become too long, begins a
 * new line. */
static void add_small(struct page *p, const struct field *field, bool small)
{
	const char *name = screen_label(&p->arena, field),
		   *value = cli_plain(&p->arena,
				      screen_field(p->cli, &p->arena, p->r, field,
						   p->record),
				      false);
	int width = (int)(cli_width(name) + cli_width(value)) + 1;

	/* A person reads `host` or `no host` faster than a name with yes or no. */
	if (p->cli->people && field->type->kind == KIND_BOOL) {
		value = arena_printf(&p->arena, "%s%s", *value == 'y' ? "" : "no ", name);
		name = "";
		width = (int)cli_width(value);
	}
	if (p->at && p->cli->width && p->at + 2 + width > p->cli->width)
		screen_page_end_line(p);
	printf("%s%s%s%s%s", p->at ? "  " : "", screen_dim(p->cli), name,
	       *name ? " " : "", small ? "" : screen_plain(p->cli));
	if (!p->at && p->cli->width && width > p->cli->width) {
		cli_item(p->cli, value, *name ? (int)cli_width(name) + 1 : 0);
		fputs(screen_plain(p->cli), stdout);
		return;
	}
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

/* Prints an entry of a list. The entry's text is printed behind a tick box, or below the
 * author's name. */
static void print_entry(struct page *p, const struct record *r, const json_t *entry)
{
	const struct field *text = field_find(r, "text");
	const char *gap = "";
	bool box = false;

	printf("%*s%s", INDENT, "", screen_dim(p->cli));
	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *field = &r->fields[i];

		if (field->type->kind == KIND_BOOL) {
			box = true;
			printf("[%c] ", json_is_true(json_object_get(entry, field->name))
						? 'x'
						: ' ');
		} else if (field != text && field->type->kind != KIND_INT &&
			   json_object_get(entry, field->name)) {
			printf("%s%s", gap, plain_value(p, field, entry));
			gap = "  ";
		}
	}
	printf("%s", screen_plain(p->cli));
	if (box && text)
		printf("%s", plain_value(p, text, entry));
	putchar('\n');
	if (!box && text)
		cli_prose(p->cli, plain_value(p, text, entry), 2 * INDENT);
}

/* The result of a task that has failed says why; a retry keeps this result. */
static const char *section_heading(struct page *p, const struct field *field)
{
	const char *status = json_text_at(p->record, "status");

	if (strcmp(field->name, "result") || !*status || !strcmp(status, "completed"))
		return screen_label(&p->arena, field);
	return !strcmp(status, "failed")      ? "failed"
	       : !strcmp(status, "cancelled") ? "called off"
					      : "failed before";
}

/* Whether an entry is a note that only repeats why the task is blocked: another section says
 * this. Only notes have an author. */
static bool section_is_told(const struct page *p, const json_t *entry)
{
	const char *why = json_text_at(p->record, "blocked");

	return *why && json_object_get(entry, "by") &&
	       !strcmp(why, json_text_at(entry, "text"));
}

static bool section_is_all_told(const struct page *p, const json_t *notes)
{
	const size_t n = json_array_size(notes);
	size_t i = 0;

	while (i < n && section_is_told(p, json_array_get(notes, i)))
		i++;
	return n && i == n;
}

static void print_section(struct page *p, const struct field *field, bool named)
{
	const json_t *value = json_object_get(p->record, field->name), *entry;
	size_t i;

	if (screen_is_empty(value) || section_is_all_told(p, value))
		return;
	putchar('\n');
	if (screen_is_list(field) && p->op->columns) {
		print_more_rows(p->cli, p->op, field->type->record, value, NULL);
		return;
	}
	if (named)
		printf("%s%s%s\n", screen_dim(p->cli), section_heading(p, field),
		       screen_plain(p->cli));
	if (!screen_is_list(field)) {
		cli_prose(p->cli, plain_value(p, field, p->record), named ? INDENT : 0);
		return;
	}
	json_array_foreach(value, i, entry)
		if (!section_is_told(p, entry))
			print_entry(p, field->type->record, entry);
}

/* --- the page ----------------------------------------------------------------------------- */

/* Finds the field that a word in op->page names, of the record or else of the answer. p->record
 * becomes the object with the field. NULL: there is no such field, or the field has no value to
 * show. */
static const struct field *screen_page_take(struct page *p, const char *word,
					    const json_t *record, const json_t *answer)
{
	const struct field *field = field_find(p->r, word);

	p->record = field ? record : answer;
	if (!field)
		field = field_find(p->op->out, word);
	return field && screen_is_shown(field, p->record) ? field : NULL;
}

/* Whether a template uses the field, as {FIELD}, {RECORD.FIELD} or {?FIELD}. */
static bool page_tells(const char *said, const struct field *field)
{
	const size_t n = strlen(field->name);

	for (const char *at = said; at && (at = strstr(at, field->name)); at += n)
		if (at > said && strchr("{.?", at[-1]) && at[n] == '}')
			return true;
	return false;
}

static bool is_on_page(const struct op *op, const struct field *field)
{
	if (page_tells(op->says, field) || page_tells(op->next, field))
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

/* Prints a line of a heading. If the line begins with a name in a column of its own, the line is
 * wrapped behind this column. */
static void print_heading_line(struct page *p, const char *line, size_t n)
{
	enum { NAMES = 10 };
	const bool named = n > NAMES && line[NAMES - 1] == ' ' && line[NAMES] != ' ' &&
			   strcspn(line, " ") < NAMES;

	if (named)
		printf("%.*s", NAMES, line);
	cli_wrap(p->cli->width, arena_strndup(&p->arena, line, n) + (named ? NAMES : 0),
		 named ? NAMES : 0);
}

/* Prints the heading. The heading is the first line that the operation defines (op->says), and
 * the other lines follow. If the operation defines no line, the heading has the values of the
 * record's first field and of the first field in op->page. */
static void print_heading(struct page *p, const json_t *answer)
{
	char *own = p->op->says ? screen_line(p->cli, p->op, answer) : NULL;
	const char *text = own;
	size_t first;

	if (!own)
		text = arena_printf(
			&p->arena, "%s  %s", plain_value(p, &p->r->fields[0], p->record),
			plain_value(p, field_find(p->r, *p->op->page), p->record));
	first = strcspn(text, "\n");
	fputs(p->cli->color ? "\033[1m" : "", stdout);
	cli_prose(p->cli, arena_strndup(&p->arena, text, first), 0);
	fputs(screen_plain(p->cli), stdout);
	for (text += first + (text[first] == '\n'); *text; text += first + 1) {
		first = strcspn(text, "\n");
		print_heading_line(p, text, first);
	}
	free(own);
}

/* Whether a value only repeats the name of the record, as an agent's role often does. */
static bool is_named_so(const struct page *p, const struct field *field,
			const json_t *record)
{
	const char *name = record ? json_find_text(record, "name") : NULL;

	return name && field_find(p->r, "name") != field &&
	       !strcmp(json_text_at(p->record, field->name), name);
}

/* Prints an answer as a page. If the answer's first field is a record, prints that record as
 * the page. */
static void screen_page(const struct cli *cli, const struct op *op, const json_t *answer)
{
	const struct field *first = &op->out->fields[0];
	const bool nested = screen_is_nested(first);
	struct page p = { .cli = cli,
			  .op = op,
			  .r = nested ? first->type->record : op->out,
			  .record = nested ? json_object_get(answer, first->name)
					   : answer };
	const json_t *const record = p.record;
	const char *const *word = op->page + !op->says;
	const struct field *field;

	print_heading(&p, answer);
	for (; *word && strcmp(*word, "|"); word++)
		if ((field = screen_page_take(&p, *word, record, answer)) &&
		    !is_named_so(&p, field, nested ? record : NULL))
			add_small(&p, field, false);
	screen_page_end_line(&p);
	for (word += *word != NULL; *word; word++)
		if ((field = screen_page_take(&p, *word, record, answer)))
			print_section(&p, field,
				      !screen_is_list(field) ? word[-1][0] != '|' : true);
	p.record = record;
	print_rest(&p, op);
	arena_release(&p.arena);
}

/* --- overviews ------------------------------------------------------------------------------ */

/* Adds a single value, FIELD or FIELD.FIELD, to the line. An empty value or a zero is left out. */
static void add_single(struct page *p, const struct op *op, const json_t *answer,
		       const char *word)
{
	const struct field *field;

	p->r = op->out;
	p->record = answer;
	field = screen_part(&p->arena, word, &p->r, &p->record);
	if (field && screen_is_shown(field, p->record) &&
	    (!json_is_integer(json_object_get(p->record, field->name)) ||
	     json_integer_value(json_object_get(p->record, field->name))))
		add_small(p, field, false);
}

/* Prints a list of an overview. The first list shows the things that need the person's
 * attention. */
static void print_overview_part(const struct cli *cli, const struct op *op,
				const json_t *rows, const struct record *r, bool first)
{
	if (first && screen_is_needs(r) && cli->people)
		screen_needs(cli, rows);
	else
		print_table(cli, r, op->columns, rows, true, 0, NULL);
}

/* Prints that nothing needs the person. */
static void print_settled(const struct cli *cli, const char *text)
{
	if (cli->people)
		printf("%s%s%s\n", cli->color ? "\033[32m" : "", text, screen_plain(cli));
	else
		cli_tell("%s", text);
}

/* Prints an overview of an answer that has several lists. If the operation defines a line, a
 * person sees the line as the heading, in place of the single values. */
static void screen_overview(const struct cli *cli, const struct op *op,
			    const json_t *answer)
{
	const bool headed = cli->people && op->says;
	struct page p = { .cli = cli, .op = op };
	const char *const *word = op->overview;

	if (headed) {
		print_heading(&p, answer);
		putchar('\n');
	}
	for (; *word && strcmp(*word, "|"); word++) {
		const struct field *field = field_find(op->out, *word);
		const json_t *rows = json_object_get(answer, *word);
		const bool first = word == op->overview, any = json_array_size(rows);

		if (!first && (any || !cli->people))
			putchar('\n');
		if (first && !any)
			print_settled(cli, op->empty);
		if (any || !cli->people)
			print_overview_part(cli, op, rows, field->type->record, first);
	}
	if (*word && word[1] && !headed)
		putchar('\n');
	for (word += *word != NULL; *word && !headed; word++) {
		add_single(&p, op, answer, *word);
		if (!cli->people)
			screen_page_end_line(&p); /* one value per line, for searches */
	}
	screen_page_end_line(&p);
	arena_release(&p.arena);
}

/*~ The answer on a terminal.  Station 12 of 12.
 *
 * The answer came back as JSON. In the table of operations, the row of `claim` says how to show
 * the answer. The row names the list that becomes a table, the columns of this table, and the
 * fields that are times or states. Like the doors of the earlier stations, this file has almost
 * no code about tasks. An agent may have written the texts of an answer, so characters that
 * would control the terminal are shown as question marks.
 *
 * When the last byte is written, and only then, the client tells the host that the claim has
 * arrived. Had the shell been killed a moment earlier, the task would be pending again now, and
 * the next claim would find the task.
 *
 * Every write through a host goes the same way, with its own handler and its own statements.
 * You can read on in docs/state.md, which has the tables and views. storage/message.sql decides
 * about messages, as storage/task.sql decides about tasks. core/host/guests/ has the guests of
 * VMs. tests/op/ shows most acts of cadre, as stories that can be run. The tour began at the
 * first station.
 *
 * Next: tools/cadre/main.c
 */
enum { VALUE_MOST = 60 };

json_t *json_text(const char *s)
{
	struct text quoted = { 0 };
	json_t *out;

	text_add_json(&quoted, s);
	out = json_loads(quoted.data, JSON_DECODE_ANY, NULL);
	text_release(&quoted);
	return out;
}

void print_json(const json_t *json)
{
	json_dumpf(json, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
	putchar('\n');
}

void print_json_new(json_t *json)
{
	print_json(json);
	json_decref(json);
}

/* --- tables --------------------------------------------------------------------- */

bool screen_any_has(const json_t *rows, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (!screen_is_empty(json_object_get(row, name)))
			return true;
	return false;
}

/* Chooses the columns that the operation names before the |. If the operation names no columns,
 * chooses all fields except secrets and numbers that replace an id. `spare`: columns that are
 * empty in all rows are left out, as on a terminal. */
static size_t choose_columns(const struct record *r, const char *const *columns,
			     const json_t *rows, bool spare, const struct field **chosen,
			     size_t most)
{
	size_t n = 0;

	for (size_t i = 0; columns && columns[i] && *columns[i] != '|' && n < most; i++)
		if ((chosen[n] = field_find(r, columns[i])) &&
		    !screen_is_hidden(chosen[n]) &&
		    (!spare || screen_any_has(rows, columns[i])))
			n++;
	for (size_t i = 0; !columns && i < r->n_fields && n < most; i++)
		if (!screen_is_hidden(&r->fields[i]) &&
		    !screen_is_number(&r->fields[i]) &&
		    (!spare || screen_any_has(rows, r->fields[i].name)))
			chosen[n++] = &r->fields[i];
	return n;
}

/* Whether the schema names the column behind the |. If a table is too wide, a column behind the
 * | is left out last. */
static bool print_stays(const char *const *columns, const char *name)
{
	bool behind = false;

	for (; columns && *columns; columns++) {
		if (behind && !strcmp(*columns, name))
			return true;
		behind |= **columns == '|';
	}
	return false;
}

static void print_add_heading(const struct cli *cli, struct table *t,
			      const struct field *field)
{
	table_cell(t, cli->people
			      ? screen_heading(&t->arena, screen_label(&t->arena, field))
			      : field->name);
}

/* Prints a list of records as a table, with or without a heading. */
static void print_table(const struct cli *cli, const struct record *r,
			const char *const *columns, const json_t *rows, bool head,
			int indent, struct layout *kept)
{
	const struct field *chosen[32];
	const struct field *tree = cli->columns ? NULL : rows_tree(cli, r, rows);
	struct table t = { .kept = kept };
	json_t *sorted, *row;
	size_t i;

	columns = cli->columns ? cli->columns : columns;
	head |= !cli->people || cli->columns;
	t.n_columns = choose_columns(r, columns, rows,
				     cli->people && !kept && !cli->columns, chosen, 32);
	if (tree)
		t.n_columns = rows_tree_columns(chosen, t.n_columns, tree);
	if (!t.n_columns)
		return;
	for (size_t k = 0; k < t.n_columns; k++) {
		enum kind kind = chosen[k]->type->kind;

		t.whole |= (uint64_t)(kind != KIND_TEXT && kind != KIND_RECORD) << k;
		t.words |= (uint64_t)(kind == KIND_ENUM) << k;
		t.zeros |= (uint64_t)(chosen[k]->type->max > 0) << k; /* has a range */
		t.stay |= (uint64_t)print_stays(columns, chosen[k]->name) << k;
	}
	for (size_t k = 0; head && k < t.n_columns; k++)
		print_add_heading(cli, &t, chosen[k]);
	sorted = rows_in_order(rows, chosen[0]);
	json_array_foreach(sorted, i, row)
		for (size_t k = 0; k < t.n_columns; k++) {
			const char *text = screen_field(cli, &t.arena, r, chosen[k], row);

			table_cell(&t, k || !tree ? text
						  : rows_tree_text(&t.arena, sorted, i,
								   tree, text));
		}
	json_decref(sorted);
	table_print(cli, &t, head, indent);
}

void print_beside(const struct cli *cli, const char *text)
{
	if (cli->people)
		cli_prose(cli, text, 0);
	else
		cli_tell("%s", text);
}

void print_more_rows(const struct cli *cli, const struct op *op, const struct record *r,
		     const json_t *rows, struct layout *kept)
{
	if (cli->people && op->lines)
		screen_lines(cli, op, r, rows, kept);
	else
		print_table(cli, r, op->columns, rows, true, 0, kept);
}

/* --- messages -------------------------------------------------------------------- */

/* The text for a message's thread. If the thread's name is the id of a message in the list, or of
 * the message that this one answers, the text is that message's number. In all other cases the
 * text is the thread's name. */
static const char *thread_of(struct arena *a, const json_t *rows, const json_t *m)
{
	const char *thread = json_text_at(m, "thread");
	const json_t *row;
	size_t i;

	if (!strcmp(json_text_at(m, "reply_to"), thread))
		return arena_printf(a, "#%lld", json_int_at(m, "answers"));
	json_array_foreach(rows, i, row)
		if (!strcmp(json_text_at(row, "message_id"), thread))
			return arena_printf(a, "#%lld", json_int_at(row, "seq"));
	return cli_plain(a, thread, false);
}

/* Whether a received message is a request, wants an acknowledgement, or asks the person. Lists of
 * messages that were sent have the member `read`. */
static bool wants_answer(const struct cli *cli, const json_t *m)
{
	const char *type = json_text_at(m, "message_type");

	return !*json_text_at(m, "read") &&
	       (json_is_true(json_object_get(m, "ack_required")) ||
		!strcmp(type, "request") ||
		(cli->people && !strcmp(type, "text") &&
		 !strcmp(json_text_at(m, "to"), "operator")));
}

static void print_message(const struct cli *cli, const struct record *r,
			  const json_t *rows, const json_t *m)
{
	struct arena a = { 0 };
	long long attempt = json_int_at(m, "attempt");

	printf("%s%s%s -> %s", cli->color ? "\033[1m" : "",
	       cli_plain(&a, screen_field(cli, &a, r, field_find(r, "from"), m), false),
	       screen_plain(cli), cli_plain(&a, json_text_at(m, "to"), false));
	if (*json_text_at(m, "read"))
		printf("  %s",
		       cli_colored(cli, &a,
				   screen_field(cli, &a, r, field_find(r, "read"), m)));
	if (strcmp(json_text_at(m, "message_type"), "text"))
		printf("  %s", cli_plain(&a, json_text_at(m, "message_type"), false));
	if (!strcmp(json_text_at(m, "priority"), "urgent"))
		printf("  %surgent%s", cli->color ? "\033[31m" : "", screen_plain(cli));
	if (json_is_true(json_object_get(m, "ack_required")))
		printf("  wants an ack");
	if (attempt > 1)
		printf("  attempt %lld", attempt);
	if (*json_text_at(m, "thread"))
		printf("  thread %s", thread_of(&a, rows, m));
	printf("  %s%s  %s%s\n", screen_dim(cli),
	       screen_time(cli, &a, json_text_at(m, "timestamp")),
	       screen_field(cli, &a, r, &r->fields[0], m), screen_plain(cli));
	cli_prose(cli, cli_plain(&a, json_text_at(m, "content"), true), 2 * INDENT);
	if (wants_answer(cli, m))
		printf("%*s-> cadre%s%s reply %lld TEXT\n", INDENT, "",
		       cli->as ? " --as " : "", cli->as ? cli->as : "",
		       json_int_at(m, "seq"));
	arena_release(&a);
}

/* Prints the reply to a sent message. The reply's thread is shown as the number of the sent
 * message. */
static void print_reply(const struct cli *cli, const struct op *op, const json_t *answer)
{
	const json_t *reply = op->prints ? json_object_get(answer, op->prints->name)
					 : NULL;
	json_t *rows = reply ? json_pack("[O]", (json_t *)answer) : NULL;

	if (reply)
		print_message(cli, op->prints->type->record, rows, reply);
	json_decref(rows);
}

static void print_list(const struct cli *cli, const struct op *op,
		       const struct field *field, const json_t *rows, int indent)
{
	bool first = screen_is_list(&op->out->fields[0]) ? field == &op->out->fields[0]
							 : true;
	const json_t *row;
	size_t i;

	if (field == op->prints && !cli->columns) {
		json_array_foreach(rows, i, row) {
			if (i)
				putchar('\n');
			print_message(cli, field->type->record, rows, row);
		}
		return;
	}
	if (first && !indent)
		print_more_rows(cli, op, field->type->record, rows, NULL);
	else
		print_table(cli, field->type->record, NULL, rows, true, indent, NULL);
}

/* --- records ---------------------------------------------------------------------- */

static bool is_long(const char *text)
{
	return strchr(text, '\n') || strlen(text) > VALUE_MOST;
}

/* Prints a field's name and value. A long text is printed on its own lines, below the name. */
static void print_value(const struct cli *cli, const struct record *r,
			const struct field *field, const json_t *record, int indent,
			int width)
{
	struct arena a = { 0 };
	const json_t *value = json_object_get(record, field->name);
	const char *text = screen_field(cli, &a, r, field, record);

	printf("%*s%s%-*s%s", indent, "", screen_dim(cli), width, field->name,
	       screen_plain(cli));
	if (json_is_string(value) && is_long(text)) {
		putchar('\n');
		cli_prose(cli, cli_plain(&a, text, true), indent + INDENT);
	} else {
		printf("  %s\n", cli_plain(&a, text, false));
	}
	arena_release(&a);
}

static int names_width(const struct record *r, const json_t *record)
{
	size_t width = 0;

	for (size_t i = 0; i < r->n_fields; i++)
		if (!screen_is_nested(&r->fields[i]) &&
		    screen_is_shown(&r->fields[i], record) &&
		    strlen(r->fields[i].name) > width)
			width = strlen(r->fields[i].name);
	return (int)width;
}

static void print_record(const struct cli *cli, const struct record *r,
			 const char *const *columns, const json_t *record, int indent)
{
	int width = names_width(r, record);

	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *field = &r->fields[i];
		const json_t *value = json_object_get(record, field->name);

		if (!screen_is_shown(field, record) || screen_is_hidden(field))
			continue;
		if (!screen_is_nested(field)) {
			print_value(cli, r, field, record, indent, width);
			continue;
		}
		printf("%*s%s%s%s\n", indent, "", screen_dim(cli), field->name,
		       screen_plain(cli));
		if (field->flags & FIELD_LIST) {
			print_table(cli, field->type->record, columns, value, true,
				    indent + INDENT, NULL);
			columns = NULL; /* the columns apply only to the first list */
		} else {
			print_record(cli, field->type->record, NULL, value,
				     indent + INDENT);
		}
	}
}

/* --- answers ------------------------------------------------------------------------ */

/* Whether a list is printed as a table for programs, which has a heading even without rows. */
static bool print_is_table(const struct cli *cli, const struct op *op,
			   const struct field *list)
{
	return !cli->people && screen_is_list(list) &&
	       (cli->columns || (op->columns && list != op->prints));
}

/* Prints that a list is empty, and a hint for the next step. */
static void print_empty(const struct cli *cli, const struct op *op)
{
	const char *what = op->out->fields[0].name, *by = cli->narrowed,
		   *hint = op->empty ? op->empty : "";
	struct arena a = { 0 };

	/* If only a part of the list was asked for, the hint is not printed, because the hint
	 * is about the whole list. */
	if (by && *by)
		hint = arena_printf(&a, "no %s with %s: `cadre %s%s%s` shows more", what,
				    by, op->cli[0], op->cli[1] ? " " : "",
				    op->cli[1] ? op->cli[1] : "");
	else if (strncmp(hint, "no ", 3) != 0)
		hint = arena_printf(&a, "no %s%s%s", what, *hint ? ": " : "", hint);
	if (print_is_table(cli, op, &op->out->fields[0]))
		print_beside(cli, hint);
	else
		cli_prose(cli, hint, 0);
	arena_release(&a);
}

/* Prints the texts of an answer whose operation names no columns. Returns whether the answer
 * has texts. */
static bool print_words(const struct cli *cli, const struct op *op, const json_t *answer)
{
	struct arena a = { 0 };
	bool any = false;

	for (size_t i = 0; i < op->out->n_fields && !op->columns; i++) {
		const json_t *value = json_object_get(answer, op->out->fields[i].name),
			     *item;
		size_t k;

		if (op->out->fields[i].type->kind != KIND_TEXT || screen_is_empty(value))
			continue;
		any = true;
		if (json_is_string(value))
			cli_prose(cli, cli_plain(&a, json_string_value(value), true), 0);
		json_array_foreach(value, k, item)
			cli_prose(cli, cli_plain(&a, json_string_value(item), false), 0);
	}
	arena_release(&a);
	return any;
}

/* Prints the line that the operation defines for its table. */
static void print_says(const struct cli *cli, const struct op *op, const json_t *answer)
{
	char *line = screen_line(cli, op, answer);

	if (*line)
		print_beside(cli, line);
	free(line);
}

/* Prints the numbers of a record beside a list, such as the counts of a board, without zeros.
 * Pending tasks are counted as ready or waiting, as the rows call them. */
static void print_counts(const struct cli *cli, const struct op *op, const json_t *answer)
{
	struct page p = { .cli = cli };

	for (size_t i = 0; i < op->out->n_fields; i++) {
		const struct field *field = &op->out->fields[i];
		const struct record *r = field->type->record;

		if (!screen_is_nested(field) || field->flags & FIELD_LIST)
			continue;
		p.r = r;
		p.record = json_object_get(answer, field->name);
		for (size_t k = 0; k < r->n_fields; k++)
			if (json_int_at(p.record, r->fields[k].name) &&
			    strcmp(r->fields[k].name, "pending") != 0)
				add_small(&p, &r->fields[k], true);
		screen_page_end_line(&p);
	}
	arena_release(&p.arena);
}

static void print_lists(const struct cli *cli, const struct op *op, const json_t *answer)
{
	const struct record *r = op->out;
	bool any = false, begun = false;

	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *field = &r->fields[i];
		const bool shown = screen_is_shown(field, answer);

		if (!screen_is_list(field) ||
		    (!shown && (i || !print_is_table(cli, op, field))))
			continue;
		if (begun)
			printf("\n%s%s%s\n", screen_dim(cli), field->name,
			       screen_plain(cli));
		print_list(cli, op, field, json_object_get(answer, field->name), 0);
		any |= shown;
		begun = true;
	}
	if (!print_words(cli, op, answer) && !any)
		print_empty(cli, op);
	if (cli->people)
		print_counts(cli, op, answer);
	if (op->says)
		print_says(cli, op, answer);
}

/* Prints a sentence in small print, or for programs on stderr. */
static void print_small(const struct cli *cli, const char *text)
{
	if (cli->people)
		printf("%s%s%s\n", screen_dim(cli), text, screen_plain(cli));
	else
		cli_tell("%s", text);
}

/* If the answer is incomplete, prints the option or the command that gets the rest. Also prints
 * a line if the operation did not look at everything, for example because its time ran out. */
static void print_more(const struct cli *cli, const struct op *op, const json_t *answer)
{
	const json_t *next = page_next(op, answer),
		     *task = json_object_get(answer, "task");
	struct arena a = { 0 };
	char *name;

	if (next) {
		name = arena_strdup(&a, page_argument(op)->name);
		for (char *s = name; *s; s++)
			*s = (char)(*s == '_' ? '-' : *s);
		print_small(cli,
			    arena_printf(&a, "there is more: --%s %s", name,
					 cli_plain(&a,
						   screen_value(cli, &a,
								page_argument(op), next),
						   false)));
	} else if (json_is_true(json_object_get(answer, "more"))) {
		print_small(cli, "there is more");
	} else if (json_is_true(json_object_get(task, "more"))) {
		print_small(cli, arena_printf(&a, "there is more: cadre task part %s",
					      json_text_at(task, "id")));
	}
	if (json_is_false(json_object_get(answer, "complete")))
		print_small(cli, "not all files were searched: time ran out, or a folder "
				 "could not be read");
	arena_release(&a);
}

void print_answer(const struct cli *cli, const struct op *op, const json_t *answer)
{
	const struct record *r = op->out;
	const struct field *first = r->n_fields ? &r->fields[0] : NULL;

	if (!first)
		return;
	if (op->overview) {
		screen_overview(cli, op, answer);
	} else if (screen_is_list(first)) {
		print_lists(cli, op, answer);
	} else if (op->says && !op->page) {
		screen_says(cli, op, answer);
		print_reply(cli, op, answer);
	} else if (screen_is_nested(first) && !screen_is_shown(first, answer)) {
		printf("no %s\n", first->name);
		print_words(cli, op, answer);
	} else if (op->page) {
		screen_page(cli, op, answer);
	} else if (screen_is_nested(first)) {
		print_record(cli, first->type->record, NULL,
			     json_object_get(answer, first->name), 0);
		/* Besides the record, prints the answer's other fields, except a field that has
		 * the same name as a field of the record. */
		for (size_t i = 1; i < r->n_fields; i++)
			if (screen_is_shown(&r->fields[i], answer) &&
			    !screen_is_nested(&r->fields[i]) &&
			    !field_find(first->type->record, r->fields[i].name))
				print_value(cli, r, &r->fields[i], answer, 0, 0);
	} else {
		print_record(cli, r, op->columns, answer, 0);
	}
	print_more(cli, op, answer);
}

void cli_text(const struct cli *cli, const char *s)
{
	struct text t = { 0 };

	text_add(&t, s, strlen(s));
	if (cli->terminal)
		text_mask(&t, 0);
	fwrite(t.data ? t.data : "", 1, t.len, stdout);
	text_release(&t);
}
