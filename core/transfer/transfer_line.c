/* transfer_line - reads an export line by line, and trusts nothing in the export. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/transfer/transfer_inside.h"

void transfer_reader_init(struct transfer_reader *r, FILE *in, int64_t now)
{
	*r = (struct transfer_reader){ .in = in, .now = now };
	SHA256Init(&r->sum);
	rewind(in);
}

void transfer_reader_release(struct transfer_reader *r)
{
	json_decref(r->line.json);
	free(r->bytes);
	*r = (struct transfer_reader){ 0 };
}

void transfer_sum(SHA2_CTX *sum, char hex[2 * SHA256_DIGEST_LENGTH + 1])
{
	uint8_t bytes[SHA256_DIGEST_LENGTH];

	SHA256Final(bytes, sum);
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

int transfer_column(int table, const char *name)
{
	int column = 0;

	while (strcmp(transfer_table[table].columns[column].name, name) != 0)
		column++;
	return column;
}

int transfer_at(int64_t line, struct fault *f)
{
	struct fault in_it = *f;

	if (f->code)
		snprintf(f->text, sizeof(f->text), "line %" PRId64 ": %.220s", line,
			 in_it.text);
	return f->code;
}

static int transfer_line_refuse(struct fault *f, const char *what)
{
	return fault_set(f, FAULT_INVALID, "/file", "%s", what);
}

/* --- bytes ------------------------------------------------------------------------ */

/* Reads a line, without the newline. Returns 1 if a line was read, 0 at the end of the file, or
 * a fault. */
static int read_bytes(struct transfer_reader *r, struct fault *f)
{
	int c;

	r->len = 0;
	while ((c = getc_unlocked(r->in)) != EOF && c != '\n') {
		if (r->len == TRANSFER_LINE)
			return transfer_line_refuse(f, "it is longer than a line may be");
		if (r->len == r->room) {
			r->room = r->room ? 2 * r->room : 4096;
			r->bytes = xreallocarray(r->bytes, r->room, 1);
		}
		r->bytes[r->len++] = (char)c;
	}
	if (ferror(r->in))
		return fault_set(f, FAULT_IO, "/file", "cannot read it: %s",
				 strerror(errno));
	if (c == EOF && r->len)
		return transfer_line_refuse(f, "the file is cut: this line has no end");
	return c != EOF;
}

/* --- the kinds of lines -------------------------------------------------------------- */

/* Refuses fields that are not in the list `known`, which ends with NULL. */
static int transfer_line_check_fields(const json_t *json, const char *const *known,
				      struct fault *f)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)json, key, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key) != 0)
			i++;
		if (!known[i])
			return fault_set(f, FAULT_INVALID, "/file",
					 "there is no field %.64s", key);
	}
	return 0;
}

static bool transfer_line_number_in(const json_t *json, int64_t most)
{
	return json_is_integer(json) && json_integer_value(json) >= 0 &&
	       json_integer_value(json) <= most;
}

static int transfer_line_check_version(const json_t *json, struct fault *f)
{
	const char *format = json_find_text(json, "format");
	const json_t *version = json_object_get(json, "version");

	if (!format || strcmp(format, TRANSFER_FORMAT) != 0)
		return transfer_line_refuse(f, "the file does not begin like an export");
	if (!json_is_integer(version))
		return transfer_line_refuse(f, "version has to be a whole number");
	if (json_integer_value(version) == TRANSFER_VERSION)
		return 0;
	fault_set(f, FAULT_INVALID, "/file",
		  "the export is of version %" JSON_INTEGER_FORMAT
		  ", this program knows version %d",
		  json_integer_value(version), TRANSFER_VERSION);
	if (json_integer_value(version) > TRANSFER_VERSION)
		return fault_hint(f, "update cadre: a newer cadre wrote the export");
	return fault_hint(f, "import the file with the version of cadre that wrote "
			     "it, back up, and restore the backup with this version");
}

static int transfer_line_read_header(struct transfer_line *line, int64_t now,
				     struct fault *f)
{
	static const char *const known[] = { "format",      "version",    "schema",
					     "cadre",       "made_at",    "from",
					     "team",        "created_at", "ids",
					     "counts_from", "counts",     NULL };
	static const int64_t most[] = { 4095, 1023, (INT64_C(1) << 48) - 1 };
	const json_t *ids = json_object_get(line->json, "ids");
	const json_t *team = json_object_get(line->json, "team");
	const json_t *counts = json_object_get(line->json, "counts");

	line->kind = LINE_HEADER;
	if (transfer_line_check_version(line->json, f) < 0 ||
	    transfer_line_check_fields(line->json, known, f) < 0)
		return f->code;
	if (team && !json_is_string(team))
		return transfer_line_refuse(f, "team has to be a text");
	if (counts && !json_is_object(counts))
		return transfer_line_refuse(f, "counts has to be an object");
	if (!transfer_line_number_in(json_object_get(line->json, "created_at"),
				     transfer_time_most(now)) ||
	    !transfer_line_number_in(json_object_get(line->json, "counts_from"),
				     transfer_count_most(now)))
		return transfer_line_refuse(
			f, "created_at and counts_from have to be whole numbers");
	for (size_t i = 0; i < 3; i++)
		if (json_array_size(ids) != 3 ||
		    !transfer_line_number_in(json_array_get(ids, i), most[i]))
			return transfer_line_refuse(
				f, "ids has to be three numbers in their ranges");
	return 0;
}

static int transfer_line_read_note(struct transfer_line *line, struct fault *f)
{
	static const char *const known[] = { "row", "path", "text", "base64", NULL };
	const json_t *path = json_object_get(line->json, "path");
	const json_t *text = json_object_get(line->json, "text");
	const json_t *base64 = json_object_get(line->json, "base64");
	const json_t *value = text ? text : base64;

	line->kind = LINE_NOTE;
	line->path = json_string_value(path);
	line->text = json_string_value(text);
	line->base64 = json_string_value(base64);
	line->size = json_string_length(value);
	if (transfer_line_check_fields(line->json, known, f) < 0)
		return f->code;
	if (!line->path || !*line->path)
		return transfer_line_refuse(f, "path has to be a text");
	if (!line->text == !line->base64)
		return transfer_line_refuse(f, "a note needs a text or base64, not both");
	return 0;
}

/* Reads a row. A file has rows in the order of their tables, so that a row comes after the rows
 * to which it refers. */
static int read_row(struct transfer_reader *r, const char *name, struct fault *f)
{
	struct transfer_line *line = &r->line;
	const struct transfer_table *t;
	size_t n = 1; /* number of known fields, the field with the table's name
			 included */

	line->kind = LINE_ROW;
	line->table = transfer_find(name);
	if (line->table < 0)
		return fault_set(f, FAULT_INVALID, "/file", "there are no rows of %.64s",
				 name);
	if (line->table < r->table)
		return fault_set(f, FAULT_INVALID, "/file",
				 "a row of %s comes after the rows of %s", name,
				 transfer_table[r->table].name);
	r->table = line->table;
	t = &transfer_table[line->table];
	for (int i = 0; i < t->n_columns; i++) {
		const json_t *value = json_object_get(line->json, t->columns[i].name);

		if (transfer_take(&t->columns[i], value, r->now, &line->values[i], f) < 0)
			return f->code;
		n += value != NULL;
	}
	if (json_object_size(line->json) == n)
		return 0;
	for (void *it = json_object_iter(line->json); it;
	     it = json_object_iter_next(line->json, it)) {
		const char *key = json_object_iter_key(it);
		int i = 0;

		while (i < t->n_columns && strcmp(t->columns[i].name, key) != 0)
			i++;
		if (i == t->n_columns && strcmp(key, "row") != 0)
			return fault_set(f, FAULT_INVALID, "/file",
					 "a row of %s has the unknown field %.64s", name,
					 key);
	}
	return transfer_line_refuse(f, "a field comes twice");
}

static int transfer_line_read_end(struct transfer_reader *r, struct fault *f)
{
	static const char *const known[] = { "end", "sum", NULL };
	const json_t *json = r->line.json, *end = json_object_get(json, "end");
	const char *said = json_find_text(json, "sum");
	char hex[2 * SHA256_DIGEST_LENGTH + 1];
	SHA2_CTX all = r->sum;

	r->line.kind = LINE_END;
	r->ended = true;
	if (transfer_line_check_fields(json, known, f) < 0)
		return f->code;
	transfer_sum(&all, hex);
	if (!json_is_integer(end) || json_integer_value(end) != r->n - 1)
		return transfer_line_refuse(
			f, "lines are missing: the last line gives another number "
			   "of lines");
	if (!said || strcmp(said, hex) != 0)
		return transfer_line_refuse(
			f, "the file was changed: its checksum differs from the "
			   "checksum in the last line");
	return 0;
}

static int read_object(struct transfer_reader *r, struct fault *f)
{
	const json_t *row = json_object_get(r->line.json, "row");

	if (r->n == 1)
		return transfer_line_read_header(&r->line, r->now, f);
	if (json_object_get(r->line.json, "end"))
		return transfer_line_read_end(r, f);
	if (!json_is_string(row))
		return transfer_line_refuse(f,
					    "row has to be the name of a table, or note");
	if (!strcmp(json_string_value(row), "note")) {
		r->table = transfer_count;
		return transfer_line_read_note(&r->line, f);
	}
	if (r->table == transfer_count)
		return transfer_line_refuse(f, "a row comes after the notes");
	return read_row(r, json_string_value(row), f);
}

static int transfer_line_parse(struct transfer_reader *r, struct fault *f)
{
	json_error_t error;

	json_decref(r->line.json);
	r->line = (struct transfer_line){ 0 };
	r->line.json = json_take(r->bytes ? r->bytes : "", r->len, JSON_REJECT_DUPLICATES,
				 &error);
	if (!r->line.json)
		return fault_set(f, FAULT_INVALID, "/file", "it is not JSON: %.120s",
				 error.text);
	if (!json_is_object(r->line.json))
		return transfer_line_refuse(f, "it is not a JSON object");
	return read_object(r, f);
}

int transfer_read(struct transfer_reader *r, struct fault *f)
{
	bool behind = r->ended;
	int rc;

	if (r->n)
		SHA256Update(&r->sum, (const uint8_t *)r->bytes, r->len);
	if (r->n)
		SHA256Update(&r->sum, (const uint8_t *)"\n", 1);
	rc = read_bytes(r, f);
	if (rc == 0) {
		if (behind)
			return 0;
		r->n++;
		transfer_line_refuse(f, "the file is cut: its end is missing");
	} else {
		r->n++;
		if (rc > 0 && behind)
			transfer_line_refuse(f, "more text comes after the end");
		else if (rc > 0)
			rc = transfer_line_parse(r, f);
	}
	if (!f->code)
		return 1;
	transfer_at(r->n, f);
	if (f->code == FAULT_INVALID && r->n > 1)
		fault_hint(f, "nothing was imported; use the file exactly as `cadre "
			      "export` wrote it");
	return f->code;
}
