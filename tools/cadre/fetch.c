/*
 * fetch - texts that are elsewhere: on standard input or in a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cadre/cli.h"

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

int fetch_input(struct text *out, struct fault *f)
{
	int rc = fetch_read_all(STDIN_FILENO, out, INPUT_MAX, "", f);

	text_add(out, "", 0);
	if (rc == 0 && strlen(out->data) != out->len)
		rc = fault_set(f, FAULT_INVALID, "", "standard input is no text");
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
		fault_set(f, FAULT_INVALID, "", "%.150s is no text in UTF-8", path);
		rc = fault_hint(f, "Write it in UTF-8.");
	}
	json_decref(json);
	return rc;
}

/* Replaces `-`, `@file` and `@@text` by the text that they stand for; any other value
 * is itself. */
static int fetch_rest(const char *value, size_t most, struct text *out, const char *where,
		      struct fault *f)
{
	bool named = value[0] == '@' && value[1] != '@';
	int fd = 0, rc;

	if (named)
		fd = open(value + 1, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && !strchr(value, ' ')) {
		fault_set(f, FAULT_NOT_FOUND, where, "cannot open %.150s: %m", value + 1);
		return fault_hint(f, "for a text that begins with @ write @@");
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

/* Texts of any length may be elsewhere; names and numbers are what they are. */
static bool is_fetched(const struct op *op, const struct field *field)
{
	return field->type->given == GIVEN_FILE || field == op->bytes_in;
}

/* Bytes that may be given; decoding refuses what is over the type's own bound. */
static size_t fetch_most_of(const struct field *field)
{
	return field->type->max > CONTENT_MAX ? (size_t)field->type->max : CONTENT_MAX;
}

/* Secrets are never words of a command, which other users see in the list of
 * processes. */
static int fetch_secret(const char *value, json_t *args, const char *name,
			const char *where, struct fault *f)
{
	const char *said = getenv("CADRE_LINK_TOKEN");
	const char *address = json_string_value(json_object_get(args, "address"));
	struct text out = { 0 };
	int rc;

	if (!value) {
		if (said && *said && address && !strncmp(address, "tcp:", 4))
			json_object_set_new(args, name, json_string(said));
		return 0;
	}
	if (value[0] != '@' && strcmp(value, "-")) {
		fault_set(f, FAULT_INVALID, where, "others see the words of a command");
		return fault_hint(f, "Write @FILE, or say it in CADRE_LINK_TOKEN.");
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
		const char *value = json_string_value(json_object_get(args, field->name));
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
