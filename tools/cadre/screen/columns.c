/*
 * columns - the columns and members of rows that a command line chooses by --columns and
 * --json=NAMES.
 */
#include <stdio.h>
#include <string.h>

#include "tools/cadre/screen/screen.h"

/* --- names ------------------------------------------------------------------------- */

static bool columns_has_list(const struct op *op)
{
	for (size_t i = 0; i < op->out->n_fields; i++)
		if (screen_is_list(&op->out->fields[i]))
			return true;
	return false;
}

/* Whether the answer has a table. A page, or a line, of an answer is no table. */
static bool columns_is_table(const struct op *op)
{
	if (op->page ? !op->columns
		     : op->says && !op->overview && !screen_is_list(&op->out->fields[0]))
		return false;
	return columns_has_list(op);
}

/* Whether a field of the answer holds rows. The rows of an answer are those of its lists. The
 * rows of an answer without lists are its records. */
static bool columns_holds(const struct op *op, const struct field *field)
{
	return columns_has_list(op) ? screen_is_list(field) : screen_is_nested(field);
}

/* Calls `visit` with the record of each kind of rows. An answer without records is itself a row. */
static void columns_each(const struct op *op,
			 void (*visit)(const struct record *r, void *with), void *with)
{
	bool any = false;

	for (size_t i = 0; i < op->out->n_fields; i++)
		if (columns_holds(op, &op->out->fields[i])) {
			visit(op->out->fields[i].type->record, with);
			any = true;
		}
	if (!any)
		visit(op->out, with);
}

struct columns_name {
	const char *name;
	bool found;
};

static void columns_seek(const struct record *r, void *with)
{
	struct columns_name *n = with;

	n->found |= field_find(r, n->name) != NULL;
}

/* Appends the names of a record's fields to a text, except names that the text has. */
static void columns_gather(const struct record *r, void *with)
{
	struct text *all = with;

	for (size_t i = 0; i < r->n_fields; i++) {
		const char *name = r->fields[i].name;
		const size_t n = strlen(name);
		const char *at = all->data;

		while (at && (at = strstr(at, name)) &&
		       !((at == all->data || at[-1] == ' ') && (at[n] == ',' || !at[n])))
			at += n;
		if (!at)
			text_addf(all, "%s%s", all->len ? ", " : "", name);
	}
}

/* The names of the columns that a table has without --columns. */
static const char *columns_usual(const struct op *op, struct text *all)
{
	all->len = 0;
	for (size_t i = 0; op->columns[i] && *op->columns[i] != '|'; i++)
		text_addf(all, "%s%s", i ? ", " : "", op->columns[i]);
	return all->data;
}

static int columns_refuse(const struct cli *cli, const struct op *op, bool lists,
			  const char *name)
{
	struct fault f = { 0 };
	struct text all = { 0 };
	int status;

	fault_set(&f, FAULT_INVALID, lists ? "/columns" : "/json",
		  "there is no %s `%.60s`", lists ? "column" : "member", name);
	fault_hint(&f, "The line `%s: …` on stderr has all names.",
		   lists ? "columns" : "members");
	status = cli_fault(cli, &f);
	columns_each(op, columns_gather, &all);
	cli_tell("%s: %s", lists ? "columns" : "members", all.data);
	if (lists && op->columns)
		cli_tell("without --columns: %s", columns_usual(op, &all));
	text_release(&all);
	return status;
}

static int columns_check_names(const struct cli *cli, const struct op *op, bool lists,
			       const char *const *names)
{
	for (; names && *names; names++) {
		struct columns_name n = { .name = *names };

		columns_each(op, columns_seek, &n);
		if (!n.found)
			return columns_refuse(cli, op, lists, *names);
	}
	return 0;
}

int columns_check(const struct cli *cli, const struct op *op)
{
	struct fault f = { 0 };
	int status;

	if (cli->columns && !columns_is_table(op))
		fault_set(&f, FAULT_INVALID, "/columns", "this command prints no table");
	else if (cli->members && op->follows)
		fault_set(&f, FAULT_INVALID, "/json", "this command prints no rows");
	if (f.code) {
		fault_hint(&f, "see `cadre %s%s%s --help`", op->cli[0],
			   op->cli[1] ? " " : "", op->cli[1] ? op->cli[1] : "");
		return cli_fault(cli, &f);
	}
	status = columns_check_names(cli, op, true, cli->columns);
	return status ? status : columns_check_names(cli, op, false, cli->members);
}

/* --- members ------------------------------------------------------------------------ */

void columns_trim_one(const struct cli *cli, json_t *row)
{
	const char *name;
	json_t *value;
	void *next;

	if (!cli->members)
		return;
	json_object_foreach_safe(row, next, name, value)
	{
		const char *const *kept = cli->members;

		while (*kept && strcmp(*kept, name))
			kept++;
		if (!*kept)
			json_object_del(row, name);
	}
}

static void columns_trim(const struct cli *cli, const struct op *op, json_t *answer)
{
	bool any = false;
	json_t *row;
	size_t k;

	for (size_t i = 0; i < op->out->n_fields; i++) {
		const struct field *field = &op->out->fields[i];
		json_t *value = json_object_get(answer, field->name);

		if (!columns_holds(op, field))
			continue;
		any = true;
		if (json_is_object(value))
			columns_trim_one(cli, value);
		json_array_foreach(value, k, row)
			columns_trim_one(cli, row);
	}
	if (!any)
		columns_trim_one(cli, answer);
}

void columns_print(const struct cli *cli, const struct op *op, const json_t *answer)
{
	json_t *own = cli->members ? json_deep_copy(answer) : NULL;

	if (own)
		columns_trim(cli, op, own);
	print_json(own ? own : answer);
	json_decref(own);
}

/* --- tables of other rows --------------------------------------------------------------- */

int table_begin(const struct cli *cli, struct table *t, const char *const *names,
		size_t n, struct fault *f)
{
	t->names = names;
	t->n_columns = n;
	for (const char *const *wanted = cli->columns; wanted && *wanted; wanted++) {
		const char *all = "";
		size_t i = 0;

		for (; i < n && strcmp(names[i], *wanted); i++)
			all = arena_printf(&t->arena, "%s%s%s", all, *all ? ", " : "",
					   names[i]);
		if (i < n)
			continue;
		fault_set(f, FAULT_INVALID, "/columns", "there is no column `%.60s`",
			  *wanted);
		return fault_hint(f, "The columns are %s.", all);
	}
	for (size_t i = 0; i < n; i++)
		table_cell(t,
			   cli->people ? screen_heading(&t->arena, names[i]) : names[i]);
	return 0;
}
