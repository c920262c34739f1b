/*
 * print - an answer as people read it, from what the schema says of it.
 *
 * The first list of an answer is a table; a single record is lines of key and
 * value with its own lists as tables below; messages are blocks with their
 * text.  Times are relative on a terminal and ISO elsewhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cadre/screen/screen.h"

/*~ The answer on a terminal.  Station 12 of 12.
 *
 * The answer came back as JSON, and the table of the operation tells how to show it: which
 * list is a table and with which columns, what is a time, what is a state.  So this file
 * knows as little of tasks as all the doors before it.  Texts are other people's: an agent
 * may have written them, so what would drive a terminal is shown as a question mark.
 *
 * When the last byte is written, and only then, the client tells the host that the claim
 * has arrived.  Had the shell been killed a moment earlier, the task would be pending again
 * now, and the next claim would find it.
 *
 * That was the way of every call.  Where to go from here: docs/state.md has the tables and
 * views, storage/message.sql decides about messages as storage/task.sql does about
 * tasks, core/host/guests/ has the guests of VMs, and tests/op/ tells most of what cadre
 * does as stories that can be run.  The first station is where it began.
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

/* --- tables --------------------------------------------------------------------- */

static bool any_has(const json_t *rows, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (!screen_is_empty(json_object_get(row, name)))
			return true;
	return false;
}

/* The columns that are said (before the |), else those of all fields that some row has; of
 * those that are said a screen leaves out (`spare`) the ones in which nothing stands. */
static size_t choose_columns(const struct record *r, const char *const *columns,
			     const json_t *rows, bool spare, const struct field **chosen,
			     size_t most)
{
	size_t n = 0;

	for (size_t i = 0; columns && columns[i] && *columns[i] != '|' && n < most; i++)
		if ((chosen[n] = field_find(r, columns[i])) &&
		    (!spare || any_has(rows, columns[i])))
			n++;
	for (size_t i = 0; !columns && i < r->n_fields && n < most; i++)
		if (!screen_is_hidden(&r->fields[i]) &&
		    !screen_is_number(&r->fields[i]) && any_has(rows, r->fields[i].name))
			chosen[n++] = &r->fields[i];
	return n;
}

/* Whether the schema names a column behind the |: it is left out last. */
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

static void print_add_heading(struct table *t, const struct field *field)
{
	char *text = arena_strdup(&t->arena, screen_label(&t->arena, field));

	for (char *s = text; *s; s++)
		*s = (char)(*s >= 'a' && *s <= 'z' ? *s - 32 : *s);
	table_cell(t, text);
}

static void print_table(const struct cli *cli, const struct record *r,
			const char *const *columns, const json_t *rows, bool head,
			int indent, struct layout *kept)
{
	const struct field *chosen[32];
	struct table t = { .kept = kept };
	const json_t *row;
	size_t i;

	t.n_columns =
		choose_columns(r, columns, rows, cli->terminal && !kept, chosen, 32);
	if (!t.n_columns)
		return;
	for (size_t k = 0; k < t.n_columns; k++) {
		enum kind kind = chosen[k]->type->kind;

		t.whole |= (uint64_t)(kind != KIND_TEXT && kind != KIND_RECORD) << k;
		t.words |= (uint64_t)(kind == KIND_ENUM) << k;
		t.stay |= (uint64_t)print_stays(columns, chosen[k]->name) << k;
	}
	for (size_t k = 0; head && k < t.n_columns; k++)
		print_add_heading(&t, chosen[k]);
	json_array_foreach(rows, i, row)
		for (size_t k = 0; k < t.n_columns; k++)
			table_cell(&t, screen_field(cli, &t.arena, r, chosen[k], row));
	table_print(cli, &t, head, indent);
}

void print_rows(const struct cli *cli, const struct record *r, const char *const *columns,
		const json_t *rows, bool head)
{
	print_table(cli, r, columns, rows, head, 0, NULL);
}

void print_more_rows(const struct cli *cli, const struct record *r,
		     const char *const *columns, const json_t *rows, struct layout *kept)
{
	print_table(cli, r, columns, rows, true, 0, kept);
}

/* --- messages -------------------------------------------------------------------- */

static const char *print_text_of(const json_t *json, const char *name)
{
	const char *s = json_string_value(json_object_get(json, name));

	return s ? s : "";
}

/* A thread that is called after its first message has the number of that one, where the list
 * has it. */
static const char *thread_of(struct arena *a, const json_t *rows, const json_t *m)
{
	const char *thread = print_text_of(m, "thread");
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (!strcmp(print_text_of(row, "message_id"), thread))
			return arena_printf(a, "#%lld",
					    (long long)json_integer_value(
						    json_object_get(row, "seq")));
	return cli_plain(a, thread, false);
}

static void print_message(const struct cli *cli, const struct record *r,
			  const json_t *rows, const json_t *m)
{
	struct arena a = { 0 };
	long long attempt = json_integer_value(json_object_get(m, "attempt"));

	printf("%s%s%s -> %s", cli->color ? "\033[1m" : "",
	       cli_plain(&a, print_text_of(m, "from"), false), screen_plain(cli),
	       cli_plain(&a, print_text_of(m, "to"), false));
	if (strcmp(print_text_of(m, "message_type"), "text"))
		printf("  %s", cli_plain(&a, print_text_of(m, "message_type"), false));
	if (!strcmp(print_text_of(m, "priority"), "urgent"))
		printf("  %surgent%s", cli->color ? "\033[31m" : "", screen_plain(cli));
	if (json_is_true(json_object_get(m, "ack_required")))
		printf("  wants an ack");
	if (attempt > 1)
		printf("  attempt %lld", attempt);
	if (*print_text_of(m, "thread"))
		printf("  thread %s", thread_of(&a, rows, m));
	printf("  %s%s  %s%s\n", screen_dim(cli),
	       screen_time(cli, &a, print_text_of(m, "timestamp")),
	       screen_field(cli, &a, r, &r->fields[0], m), screen_plain(cli));
	cli_prose(cli, cli_plain(&a, print_text_of(m, "content"), true), 2 * INDENT);
	arena_release(&a);
}

/* Prints the reply to a message that was sent; the reply's thread has the message's number. */
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

	if (field == op->prints) {
		json_array_foreach(rows, i, row) {
			if (i)
				putchar('\n');
			print_message(cli, field->type->record, rows, row);
		}
		return;
	}
	print_table(cli, field->type->record, first && !indent ? op->columns : NULL, rows,
		    true, indent, NULL);
}

/* --- records ---------------------------------------------------------------------- */

static bool is_long(const char *text)
{
	return strchr(text, '\n') || strlen(text) > VALUE_MOST;
}

/* Texts that are long get lines of their own, below their name. */
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
			columns = NULL; /* they were for the first list */
		} else {
			print_record(cli, field->type->record, NULL, value,
				     indent + INDENT);
		}
	}
}

/* --- answers ------------------------------------------------------------------------ */

/* Tells that a list is empty, and what to do next. */
static void print_empty(const struct cli *cli, const struct op *op)
{
	const char *what = op->out->fields[0].name, *by = cli->narrowed,
		   *hint = op->empty ? op->empty : "";
	struct arena a = { 0 };

	/* A call for some of a list alone is not told what is true of all of it. */
	if (by && *by)
		cli_prose(cli,
			  arena_printf(&a,
				       "no %s with %s: `cadre %s%s%s` without shows more",
				       what, by, op->cli[0], op->cli[1] ? " " : "",
				       op->cli[1] ? op->cli[1] : ""),
			  0);
	else
		cli_prose(cli,
			  arena_printf(&a, "no %s%s%s", what, *hint ? ": " : "", hint),
			  0);
	arena_release(&a);
}

/* A text, or texts in lines, of an answer whose lists are no tables. */
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

static void print_lists(const struct cli *cli, const struct op *op, const json_t *answer)
{
	const struct record *r = op->out;
	bool any = false;

	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *field = &r->fields[i];

		if (!screen_is_list(field) || !screen_is_shown(field, answer))
			continue;
		if (any)
			printf("\n%s%s%s\n", screen_dim(cli), field->name,
			       screen_plain(cli));
		print_list(cli, op, field, json_object_get(answer, field->name), 0);
		any = true;
	}
	if (!print_words(cli, op, answer) && !any)
		print_empty(cli, op);
	if (op->says)
		screen_says(cli, op, answer);
}

/* How to get what the answer had no room for, as options of the command, and whether
 * there may be more that nobody looked at. */
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
		printf("%sthere is more: --%s %s%s\n", screen_dim(cli), name,
		       cli_plain(&a, screen_value(cli, &a, page_argument(op), next),
				 false),
		       screen_plain(cli));
	} else if (json_is_true(json_object_get(answer, "more"))) {
		printf("%sthere is more%s\n", screen_dim(cli), screen_plain(cli));
	} else if (json_is_true(json_object_get(task, "more"))) {
		printf("%sthere is more: cadre task part %s%s\n", screen_dim(cli),
		       print_text_of(task, "id"), screen_plain(cli));
	}
	if (json_is_false(json_object_get(answer, "complete")))
		printf("%stime ran out: not all was looked at%s\n", screen_dim(cli),
		       screen_plain(cli));
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
		/* Prints fields beside the record, unless the record has a field of
		 * that name. */
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
