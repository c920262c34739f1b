/*
 * many - a command that is run for each line of its standard input.
 *
 * `cadre task create -` makes a task of each line: of a title, or, where the first line
 * begins with `{`, of an object of the operation's arguments (JSON Lines).  All lines go to
 * the state in one call, of the operation that op->many names.  Options hold for all lines
 * that do not say else.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tools/cadre/cli.h"

bool many_asked(const struct op *op, const json_t *args)
{
	const char *first;

	if (!op->many)
		return false;
	first = json_string_value(json_object_get(args, op->cli_fields[0]));
	return first && strcmp(first, "-") == 0;
}

/* Whether an argument is of the whole call, not of a line. */
static bool many_is_common(const struct op *op, const char *name)
{
	return field_find(op->many->in, name) != NULL;
}

/* Refuses an object where titles stand: it would become one. */
static int check_title(const char *line, size_t number, struct fault *f)
{
	json_t *meant = json_loads(line, 0, NULL);
	bool is_object = json_is_object(meant);

	json_decref(meant);
	if (!is_object)
		return 0;
	fault_set(f, FAULT_INVALID, "", "line %zu: an object in JSON among titles",
		  number);
	return fault_hint(f, "Write an object on each line, or a text on each.");
}

/* Refuses an argument of the whole call in one line's object. */
static int check_object(const struct op *op, const json_t *item, size_t number,
			struct fault *f)
{
	char where[sizeof(f->where)];
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)item, name, value) {
		if (!many_is_common(op, name) || !strcmp(name, op->many_list->name))
			continue;
		snprintf(where, sizeof(where), "/%s", name);
		fault_set(f, FAULT_INVALID, where,
			  "line %zu: '%s' is of all lines, not of one", number, name);
		return fault_hint(f, "Give it once, as an option of the command.");
	}
	return 0;
}

/* An object, or the one text that stands for it. */
static json_t *many_read_line(const struct op *op, const char *line, bool objects,
			      size_t number, struct fault *f)
{
	json_error_t error = { 0 };
	json_t *item = objects ? json_loads(line, JSON_REJECT_DUPLICATES, &error)
			       : json_pack("{s:s}", op->cli_fields[0], line);

	if (json_is_object(item) && (objects ? check_object(op, item, number, f)
					     : check_title(line, number, f)) == 0)
		return item;
	json_decref(item);
	if (f->code)
		return NULL;
	fault_set(f, FAULT_INVALID, "", "line %zu: %.150s", number,
		  !objects      ? "not a text in UTF-8"
		  : *error.text ? error.text
				: "not an object in JSON");
	fault_hint(f,
		   "Write an object of its arguments on each line, or a text on each.");
	return NULL;
}

/* An option holds for each line, too, unless that says else. */
static void share(const struct op *op, json_t *args, json_t *list)
{
	const char *name;
	json_t *value, *item;
	size_t i;

	json_object_del(args, op->cli_fields[0]);
	json_object_foreach(args, name, value) {
		json_array_foreach(list, i, item) {
			if (!many_is_common(op, name) && !json_object_get(item, name))
				json_object_set(item, name, value);
		}
	}
}

/* The text behind a byte order mark, which some editors write. */
static char *many_begin(char *text)
{
	return text + (strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
}

/* Refuses a list in JSON, which would be taken for titles. */
static int check_list(const char *text, struct fault *f)
{
	const char *first = text + strspn(text, " \t\r\n");
	const char *next = *first == '[' ? first + 1 + strspn(first + 1, " \t\r\n") : "";

	/* A check list begins with `[ ]`, and any title may with a word in brackets. */
	if (*next != '{' && *next != '"')
		return 0;
	fault_set(f, FAULT_INVALID, "", "line 1: begins a list in JSON");
	return fault_hint(f,
			  "Write the objects alone, each on a line: {\"title\":\"…\"}.");
}

/* Reads the lines into `list`; `numbers` tells where each stands, since empty ones are
 * passed over.  0 or a fault. */
static int many_read_lines(const struct op *op, char *text, json_t *list, size_t *numbers,
			   struct fault *f)
{
	size_t number = 0, most = (size_t)op->many_list->most;
	bool objects = text[strspn(text, " \t\r\n")] == '{';

	for (char *line; (line = strsep(&text, "\n"));) {
		size_t n = strlen(line);
		json_t *item;

		number++;
		while (n > 0 && isspace((unsigned char)line[n - 1]))
			line[--n] = '\0';
		if (!*line)
			continue;
		if (json_array_size(list) == most)
			return fault_set(
				f, FAULT_INVALID, "",
				"line %zu: %zu tasks are as many as one call takes",
				number, most);
		numbers[json_array_size(list)] = number;
		item = many_read_line(op, line, objects, number, f);
		if (!item)
			return f->code;
		json_array_append_new(list, item);
	}
	if (json_array_size(list) > 0)
		return 0;
	return fault_set(f, FAULT_INVALID, "", "standard input holds no line");
}

/* Names the line that a fault of the call is about: /tasks/2/title is in the third one. */
static void name_line(const struct op *op, const size_t *numbers, size_t n,
		      struct fault *f)
{
	size_t len = strlen(op->many_list->name);
	char cause[sizeof(f->text)], rest[sizeof(f->where)], *end;
	unsigned long i;

	if (f->where[0] != '/' || strncmp(f->where + 1, op->many_list->name, len) != 0 ||
	    f->where[len + 1] != '/')
		return;
	i = strtoul(f->where + len + 2, &end, 10);
	if (i >= n)
		return;
	snprintf(rest, sizeof(rest), "%s", end);
	snprintf(cause, sizeof(cause), "%s", f->text);
	snprintf(f->where, sizeof(f->where), "%s", rest);
	snprintf(f->text, sizeof(f->text), "line %zu: %.200s", numbers[i], cause);
}

/* The call of op->many: the list, and the options that are of the whole.  A person's only
 * line is a call of the operation itself, which tells of it better; not under a key, which
 * belongs to one operation however many lines there are. */
static json_t *many_run_list(struct cli *cli, const struct op **called,
			     const json_t *args, json_t *list, struct fault *f)
{
	const struct op *op = *called, *runs;
	bool one = json_array_size(list) == 1 && !cli->json && !cli->key;
	json_t *all = one ? json_copy(json_array_get(list, 0)) : json_object();
	json_t *value, *answer;
	const char *name;

	json_object_foreach((json_t *)args, name, value) {
		if (many_is_common(op, name))
			json_object_set(all, name, value);
	}
	if (!one)
		json_object_set(all, op->many_list->name, list);
	runs = one ? op : op->many;
	if (cli->key)
		json_object_set_new(all, op_key(runs), json_string(cli->key));
	answer = run_op(cli, runs, all, f);
	json_decref(all);
	if (answer)
		*called = runs;
	return answer;
}

json_t *many_run(struct cli *cli, const struct op **called, json_t *args, struct fault *f)
{
	const struct op *op = *called;
	size_t *numbers = xcalloc((size_t)op->many_list->most, sizeof(*numbers));
	json_t *list = json_array(), *answer = NULL;
	struct text text = { 0 };

	if (fetch_input(&text, f) == 0 && check_list(many_begin(text.data), f) == 0 &&
	    many_read_lines(op, many_begin(text.data), list, numbers, f) == 0) {
		share(op, args, list);
		answer = many_run_list(cli, called, args, list, f);
	}
	if (!answer)
		name_line(op, numbers, json_array_size(list), f);
	text_release(&text);
	json_decref(list);
	free(numbers);
	return answer;
}
