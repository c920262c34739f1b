/*
 * fetch - reads arguments from standard input or from files, and sends and prints the bytes of
 * files.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/wire/base64.h"
#include "tools/cadre/cli.h"

/*
 * Files of a workspace. The command reads and writes raw bytes, but the call contains these
 * bytes in base64.
 */

enum { PART = 3 << 19 /* number of bytes in one part of a large file */ };

static json_t *bytes_wrap(const char *data, size_t len)
{
	char *text = xmalloc(base64_size(len) + 1);
	json_t *json;

	base64_encode(text, data, len);
	json = json_string(text);
	free(text);
	return json;
}

static int print_part(const struct op *op, const json_t *answer, int64_t *size)
{
	const json_t *content = json_object_get(answer, op->bytes_out->name);
	size_t len = json_string_length(content);
	char *data = xmalloc(len + 1);
	ssize_t n;

	n = base64_decode(data, len ? json_string_value(content) : "", len);
	if (n > 0)
		fwrite(data, 1, (size_t)n, stdout);
	*size = n;
	free(data);
	return n < 0;
}

int fetch_print_bytes(struct cli *cli, const struct op *op, json_t *args,
		      const json_t *answer)
{
	bool all = !json_object_get(args, "length");
	int64_t at = json_int_at(args, "offset"), size = 0;
	const json_t *part = answer;
	struct fault f = { 0 };
	json_t *own = NULL;
	int rc = 0;

	while (part && !(rc = print_part(op, part, &size))) {
		if (!all || size == 0 || !json_is_true(json_object_get(part, "more")))
			break;
		json_object_set_new(args, "offset", json_integer(at += size));
		json_decref(own);
		part = own = run_op(cli, op, args, &f);
	}
	json_decref(own);
	return f.code ? cli_fault(cli, &f) : rc;
}

/* --- large files ------------------------------------------------------------------ */

/* Reads a file's bytes from `fd`, and sends the bytes in parts. Returns the last answer. */
static json_t *send_parts(struct cli *cli, const struct op *op, json_t *args, int fd,
			  int64_t size, struct fault *f)
{
	char *data = xmalloc(PART), name[40];
	json_t *answer = NULL;

	snprintf(name, sizeof(name), "%llx", (unsigned long long)home_random());
	json_object_set_new(args, "upload", json_string(name));
	for (int64_t at = 0; at < size; at += PART) {
		ssize_t n = pread(fd, data, PART, at);

		if (n <= 0) {
			fault_set(f, FAULT_IO, "/content", "the file became shorter");
			break;
		}
		json_decref(answer);
		json_object_set_new(args, "offset", json_integer(at));
		json_object_set_new(args, op->bytes_in->name,
				    bytes_wrap(data, (size_t)n));
		if (at + n >= size)
			json_object_set_new(args, "size", json_integer(at + n));
		if (!(answer = run_op(cli, op, args, f)))
			break;
	}
	free(data);
	if (f->code) {
		json_decref(answer);
		return NULL;
	}
	return answer;
}

json_t *fetch_send_bytes(struct cli *cli, const struct op *op, json_t *args,
			 struct fault *f)
{
	const char *path = NULL;
	json_t *answer = NULL;
	struct stat st;
	int fd;

	if (op->bytes_in && field_find(op->in, "upload"))
		path = json_find_text(args, op->bytes_in->name);
	if (!path || path[0] != '@' || path[1] == '@' ||
	    json_object_get(args, "upload") || json_object_get(args, "offset"))
		return NULL;
	fd = open(path + 1, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL; /* fetch_texts() reports the reason */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > PART)
		answer = send_parts(cli, op, args, fd, st.st_size, f);
	close(fd);
	return answer;
}

enum { SECRET_MAX = 4096, CONTENT_MAX = 4 << 20, INPUT_MAX = 2 << 20 };

static int fetch_read_all(int fd, struct text *out, size_t most, const char *name,
			  struct fault *f)
{
	char data[65536];
	ssize_t n;

	while ((n = read(fd, data, sizeof(data))) > 0 || (n < 0 && errno == EINTR)) {
		if (n > 0)
			text_add(out, data, (size_t)n);
		if (out->len > most)
			return fault_set(f, FAULT_INVALID, name, "more than %zu MiB",
					 most >> 20);
	}
	return n < 0 ? fault_set(f, FAULT_IO, name, "cannot be read: %m") : 0;
}

/* Reads standard input to its end. A NUL byte is a fault, and so is an input of more than 2
 * MiB. */
static int fetch_input(struct text *out, struct fault *f)
{
	int rc = fetch_read_all(STDIN_FILENO, out, INPUT_MAX, "", f);

	text_add(out, "", 0);
	if (rc == 0 && strlen(out->data) != out->len)
		rc = fault_set(f, FAULT_INVALID, "", "standard input is not a text");
	return rc;
}

int fetch_file(const char *path, struct text *out, struct fault *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
	json_t *json;

	if (fd < 0)
		return fault_set(f, FAULT_IO, "", "cannot open %.150s: %m", path);
	rc = fetch_read_all(fd, out, CONTENT_MAX, "", f);
	close(fd);
	text_add(out, "", 0);
	json = rc == 0 ? json_stringn(out->data, out->len) : NULL;
	if (rc == 0 && (!json || strlen(out->data) != out->len)) {
		fault_set(f, FAULT_INVALID, "", "%.150s is not a text in UTF-8", path);
		rc = fault_hint(f, "Write it in UTF-8.");
	}
	json_decref(json);
	return rc;
}

/* Gets the text for an argument's value. `-` stands for standard input, `@file` for the text of
 * the file, and `@@text` for `@text`. Any other value is used unchanged. */
static int fetch_rest(const char *value, size_t most, struct text *out, const char *where,
		      struct fault *f)
{
	bool named = value[0] == '@' && value[1] != '@';
	int fd = 0, rc;

	if (named)
		fd = open(value + 1, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && !strchr(value, ' ')) {
		fault_set(f, FAULT_NOT_FOUND, where, "cannot open %.150s: %m", value + 1);
		return fault_hint(f, "write @@ for a text that begins with @");
	}
	if (fd < 0 || (!named && strcmp(value, "-"))) {
		value += value[0] == '@' && value[1] == '@';
		text_add(out, value, strlen(value));
		return 0;
	}
	rc = fetch_read_all(fd, out, most, where, f);
	if (named)
		close(fd);
	return rc;
}

static json_t *fetch_json(bool bytes, const char *value, size_t most, const char *where,
			  struct fault *f)
{
	struct text out = { 0 };
	json_t *json = NULL;

	if (fetch_rest(value, most, &out, where, f) == 0) {
		text_add(&out, "", 0);
		json = bytes ? bytes_wrap(out.data, out.len)
			     : json_stringn(out.data, out.len);
		if (!json)
			fault_set(f, FAULT_INVALID, where, "not a text in UTF-8");
	}
	text_release(&out);
	return json;
}

/* Whether an argument's value may be read from a file or standard input, like a text of any
 * length. Names and numbers may not be read from a file or standard input. */
static bool is_fetched(const struct op *op, const struct field *field)
{
	return field->type->given == GIVEN_FILE || field == op->bytes_in;
}

/* The maximum number of bytes that are read for a field. The bound of the field's type is
 * checked later, when the argument is decoded. */
static size_t fetch_most_of(const struct field *field)
{
	return field->type->max > CONTENT_MAX ? (size_t)field->type->max : CONTENT_MAX;
}

/* Takes a secret from a file, standard input or the environment. A secret in the words of the
 * command is refused, because other users see these words in the list of processes. */
static int fetch_secret(const char *value, json_t *args, const char *name,
			const char *where, struct fault *f)
{
	const char *said = getenv("CADRE_LINK_TOKEN");
	const char *address = json_find_text(args, "address");
	struct text out = { 0 };
	int rc;

	if (!value) {
		if (said && *said && address && !strncmp(address, "tcp:", 4))
			json_object_set_new(args, name, json_string(said));
		return 0;
	}
	if (value[0] != '@' && strcmp(value, "-")) {
		fault_set(f, FAULT_INVALID, where,
			  "other users can see the words of a command");
		return fault_hint(f, "Write @FILE, or set CADRE_LINK_TOKEN.");
	}
	rc = fetch_rest(value, SECRET_MAX, &out, where, f);
	if (!rc) {
		text_add(&out, "", 0);
		out.data[strcspn(out.data, "\r\n")] = '\0';
		json_object_set_new(args, name, json_string(out.data));
	}
	text_release(&out);
	return rc;
}

int fetch_texts(const struct op *op, json_t *args, struct fault *f)
{
	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *field = &op->in->fields[i];
		const char *value = json_find_text(args, field->name);
		char where[64];
		json_t *json;

		snprintf(where, sizeof(where), "/%s", field->name);
		if (field->type->given == GIVEN_SECRET &&
		    fetch_secret(value, args, field->name, where, f))
			return f->code;
		if (!value || !is_fetched(op, field))
			continue;
		json = fetch_json(field == op->bytes_in, value, fetch_most_of(field),
				  where, f);
		if (!json)
			return f->code;
		json_object_set_new(args, field->name, json);
	}
	return 0;
}

/*
 * Commands that do their work for each line of standard input.
 *
 * `cadre task create -` makes a task from each line. A line is a title. If the first line
 * begins with `{`, each line is an object of the operation's arguments (JSON Lines). All lines
 * are sent to the state in one call of the operation op->many. A single line from a person is
 * sent in a call of the operation itself. An option of the command holds for every line that
 * does not give the option's argument itself.
 */

bool fetch_many_asked(const struct op *op, const json_t *args)
{
	const char *first;

	if (!op->many)
		return false;
	first = json_find_text(args, op->cli_fields[0]);
	return first && strcmp(first, "-") == 0;
}

/* Whether an argument belongs to the whole call, not to a single line. */
static bool many_is_common(const struct op *op, const char *name)
{
	return field_find(op->many->in, name) != NULL;
}

/* Refuses a JSON object among titles, because the whole object would become a title. */
static int check_title(const char *line, size_t number, struct fault *f)
{
	json_t *meant = json_loads(line, 0, NULL);
	bool is_object = json_is_object(meant);

	json_decref(meant);
	if (!is_object)
		return 0;
	fault_set(f, FAULT_INVALID, "", "line %zu: a JSON object among titles", number);
	return fault_hint(f, "Write a JSON object on each line, or a title on each.");
}

/* Refuses a line whose object sets an argument that may be given only once, for all lines. */
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
			  "line %zu: '%s' belongs to the whole call, not to one line",
			  number, name);
		return fault_hint(f, "Give the argument once, as an option of the "
				     "command.");
	}
	return 0;
}

/* Reads a line as an object of arguments, or as a text that becomes the item's only argument. */
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
				: "not a JSON object");
	fault_hint(f, "Write a JSON object with a task's arguments on each "
		      "line, or a title on each.");
	return NULL;
}

/* Copies each option into every line that does not give the option's argument itself. */
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

/* Returns the text behind the byte order mark, which some editors write at the beginning of a
 * file. */
static char *many_begin(char *text)
{
	return text + (strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
}

/* Refuses a list in JSON, because the lines of the list would become titles. */
static int check_list(const char *text, struct fault *f)
{
	const char *first = text + strspn(text, " \t\r\n");
	const char *next = *first == '[' ? first + 1 + strspn(first + 1, " \t\r\n") : "";

	/* A title may begin with the `[ ]` of a check list, or with a word in brackets. */
	if (*next != '{' && *next != '"')
		return 0;
	fault_set(f, FAULT_INVALID, "", "line 1: a JSON list begins here");
	return fault_hint(f, "Write the objects without the list, one on each line: "
			     "{\"title\":\"…\"}.");
}

/* Reads the lines into `list`. `numbers` gets the line number of each item, since empty lines
 * are skipped. Returns 0 or a fault. */
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
			return fault_set(f, FAULT_INVALID, "",
					 "line %zu: one call takes at most %zu tasks",
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

/* Adds the line's number to the text of a fault. For example, a fault at /tasks/2/title is
 * about the line of the third item. */
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

/* Calls op->many with the list and the options of the whole call. If a person gives only one
 * line, the operation itself is called, because the answer of this operation is more detailed.
 * With --key, op->many is called even for one line, because the same key must always belong to
 * the same operation. */
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

json_t *fetch_many(struct cli *cli, const struct op **called, json_t *args,
		   struct fault *f)
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
