/* transfer_export - writes the lines of an export. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/version.h"
#include "core/transfer/transfer_inside.h"
#include "core/vault/vault.h"
#include "core/wire/base64.h"

struct export
{
	struct call *call;
	FILE *out;
	SHA2_CTX sum; /* sum of all bytes written so far */
	int64_t lines;
	int64_t team; /* row of the team; 0: the whole state */
	int table; /* the table that is being written */
	const char **paths; /* paths of the notes to export */
	size_t n_paths;
	const char **teams; /* names of the living teams, for the export of a team */
	size_t n_teams;
	struct transfer_report *report;
};

/* --- lines ------------------------------------------------------------------------- */

static int transfer_export_failed(struct call *call)
{
	return fault_set(&call->fault, errno == ENOSPC ? FAULT_UNAVAILABLE : FAULT_IO, "",
			 "cannot write the export: %s", strerror(errno));
}

static int transfer_export_put_text(struct export *x, const char *text, size_t n)
{
	SHA256Update(&x->sum, (const uint8_t *)text, n);
	return fwrite(text, 1, n, x->out) == n ? 0 : transfer_export_failed(x->call);
}

/* Writes an object as one line, and frees the object. */
static int transfer_export_put_line(struct export *x, json_t *line)
{
	char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	int rc = text ? transfer_export_put_text(x, text, strlen(text)) : -1;

	json_decref(line);
	if (!text)
		fault_set(&x->call->fault, FAULT_UNAVAILABLE, "", "no memory");
	free(text);
	if (rc == 0)
		rc = transfer_export_put_text(x, "\n", 1);
	x->lines++;
	return rc < 0 ? -1 : 0;
}

static int transfer_export_put_row(void *with, const struct transfer_value *values,
				   struct fault *f)
{
	struct export *x = with;
	const struct transfer_table *t = &transfer_table[x->table];
	json_t *line = json_pack("{ss}", "row", t->name);

	for (int i = 0; i < t->n_columns; i++) {
		const struct transfer_value *v = &values[i];
		const char *name = t->columns[i].name;
		json_t *value;

		if (v->null)
			continue;
		value = v->text ? json_stringn(v->text, v->size) : json_integer(v->n);
		if (json_object_set_new(line, name, value) == 0)
			continue;
		json_decref(line);
		return fault_set(f, FAULT_IO, "", "%s of a row of %s is not UTF-8 text",
				 name, t->name);
	}
	x->report->rows++;
	return transfer_export_put_line(x, line);
}

/* --- notes -------------------------------------------------------------------------- */

static bool transfer_export_is_told(const struct export *x, const char *path)
{
	if (vault_is_mirrored(path) || !vault_is_note(x->call, path))
		return false;
	if (!x->team)
		return true;
	for (size_t i = 0; i < x->n_teams; i++) {
		size_t n = strlen(x->teams[i]);

		if (!strncmp(path, "teams/", 6) && !strncmp(path + 6, x->teams[i], n) &&
		    path[6 + n] == '/')
			return true;
	}
	return false;
}

static int transfer_export_gather(void *with, const struct note_entry *entry,
				  struct fault *f)
{
	struct export *x = with;
	struct arena *a = &x->call->arena;

	if (entry->closed)
		return fault_set(f, FAULT_IO, "", "cannot open %.180s of the vault: %s",
				 entry->path, strerror(entry->closed));
	if (entry->folder)
		return NOTES_ENTER;
	if (transfer_export_is_told(x, entry->path))
		arena_add(a, x->paths, x->n_paths, arena_strdup(a, entry->path));
	return NOTES_PASS;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int transfer_export_find_notes(struct export *x)
{
	const struct notes *notes = x->call->settings->notes;
	struct fault *f = &x->call->fault;

	if (notes && notes->walk(notes->self, "", NULL, transfer_export_gather, x, f) < 0)
		return -1;
	if (x->n_paths)
		qsort(x->paths, x->n_paths, sizeof(*x->paths), by_text);
	return 0;
}

/* Makes the line of a note. A text that is not UTF-8, or holds a NUL, is written in base64. */
static json_t *note_line(const char *path, const struct text *text)
{
	const char *data = text->data ? text->data : "";
	json_t *line = json_pack("{ss,ss}", "row", "note", "path", path);
	json_t *value = memchr(data, 0, text->len) ? NULL : json_stringn(data, text->len);
	char *coded;

	if (value) {
		json_object_set_new(line, "text", value);
		return line;
	}
	coded = malloc(base64_size(text->len) + 1);
	if (coded) {
		base64_encode(coded, data, text->len);
		json_object_set_new(line, "base64", json_string(coded));
	}
	free(coded);
	return line;
}

/* Writes a note. If the note was removed meanwhile, nothing is written. */
static int put_note(struct export *x, const char *path)
{
	const struct notes *notes = x->call->settings->notes;
	const struct note_part all = { .most = NOTE_MOST + 1 };
	struct text text = { 0 };
	struct note_stamp stamp;
	int rc = notes->read(notes->self, path, all, &text, &stamp, &x->call->fault);

	if (rc > 0 && text.len > NOTE_MOST) {
		rc = fault_set(&x->call->fault, FAULT_EXHAUSTED, "/file",
			       "the note %.150s is over %d MiB", path, NOTE_MOST >> 20);
		fault_hint(&x->call->fault,
			   "Take it out of the vault, and export again.");
	} else if (rc > 0) {
		rc = transfer_export_put_line(x, note_line(path, &text));
		x->report->notes++;
	}
	text_release(&text);
	return rc < 0 ? -1 : 0;
}

/* --- the whole ------------------------------------------------------------------------ */

static int transfer_export_find_team(struct export *x, const char *team)
{
	struct vault_team_row row;
	int rc = team ? sql_row(x->call, vault_team, &row, .name = team) : 1;

	if (rc == 0) {
		fault_set(&x->call->fault, FAULT_NOT_FOUND, "/team",
			  "there is no team %.64s", team);
		return fault_hint(&x->call->fault, "see `cadre team list`");
	}
	if (rc > 0 && team)
		x->team = row.id;
	return rc < 0 ? -1 : 0;
}

/* Collects the name of a living team of the export, because the notes in the team's folder are
 * exported, too. */
static int note_team(void *with, const struct transfer_value *values, struct fault *f)
{
	struct export *x = with;
	struct arena *a = &x->call->arena;

	(void)f;
	if (values[transfer_column(x->table, "destroyed_at")].null)
		arena_add(a, x->teams, x->n_teams,
			  arena_strdup(a,
				       values[transfer_column(x->table, "name")].text));
	return 0;
}

static int transfer_export_put_header(struct export *x, const char *team)
{
	struct call *call = x->call;
	struct transfer_state_row state;
	json_t *counts = json_object(), *header;
	char at[25];
	int rc = sql_row(call, transfer_state, &state);

	for (int i = 0; i < transfer_count && rc >= 0; i++) {
		int64_t n;

		rc = transfer_number(call->store, i, x->team, &n, &call->fault);
		json_object_set_new(counts, transfer_table[i].name, json_integer(n));
	}
	json_object_set_new(counts, "note", json_integer((json_int_t)x->n_paths));
	time_format(call->now, at);
	header = json_pack("{ss,si,sI,ss,ss,ss,ss*,sI,s[III],sI,so}", "format",
			   TRANSFER_FORMAT, "version", TRANSFER_VERSION, "schema",
			   (json_int_t)store_schema_version(call->store, &call->fault),
			   "cadre", CADRE_VERSION, "made_at", at, "from",
			   state.incarnation, "team", team, "created_at",
			   (json_int_t)state.created_at, "ids", (json_int_t)state.id_a,
			   (json_int_t)state.id_b, (json_int_t)state.id_c, "counts_from",
			   (json_int_t)state.counts_from, "counts", counts);
	if (rc < 0 || call->fault.code) {
		json_decref(header);
		return -1;
	}
	return transfer_export_put_line(x, header);
}

static int transfer_export_put_rows(struct export *x, const char *team)
{
	struct call *call = x->call;
	int rc = transfer_export_find_team(x, team);

	x->table = transfer_find("team");
	if (rc == 0 && x->team)
		rc = transfer_rows(call->store, x->table, x->team, note_team, x,
				   &call->fault);
	if (rc < 0 || transfer_export_find_notes(x) < 0 ||
	    transfer_export_put_header(x, team) < 0)
		return -1;
	for (x->table = 0; x->table < transfer_count && rc >= 0; x->table++)
		rc = transfer_rows(call->store, x->table, x->team,
				   transfer_export_put_row, x, &call->fault);
	return rc;
}

/* Writes the last line. This line shows a reader that no line is missing and no line was
 * changed. */
static int transfer_export_put_end(struct export *x)
{
	char hex[2 * SHA256_DIGEST_LENGTH + 1];

	transfer_sum(&x->sum, hex);
	return transfer_export_put_line(x, json_pack("{sI,ss}", "end",
						     (json_int_t)x->lines, "sum", hex));
}

int transfer_export(struct call *call, const char *team, FILE *out,
		    struct transfer_report *report)
{
	struct export x = { .call = call, .out = out, .report = report };
	int rc = call_begin(call, false);

	SHA256Init(&x.sum);
	*report = (struct transfer_report){ 0 };
	if (rc < 0)
		return rc;
	rc = transfer_export_put_rows(&x, team);
	store_rollback(call->store);
	for (size_t i = 0; i < x.n_paths && rc >= 0; i++)
		rc = put_note(&x, x.paths[i]);
	if (rc < 0 || transfer_export_put_end(&x) < 0)
		return call->fault.code;
	return fflush(out) == 0 ? 0 : transfer_export_failed(call);
}
