/*
 * transfer_inside - declarations for the files that read an export.
 */
#ifndef CORE_TRANSFER_TRANSFER_INSIDE_H
#define CORE_TRANSFER_TRANSFER_INSIDE_H

#include <sha2.h>

#include "core/op/op.h"
#include "core/transfer/transfer.h"
#include "storage/store_transfer.h"

/* --- transfer_line.c: a line, fully checked ------------------------------------------ */

enum transfer_line_kind { LINE_HEADER, LINE_ROW, LINE_NOTE, LINE_END };

struct transfer_line {
	enum transfer_line_kind kind;
	json_t *json; /* the line's JSON, which owns the texts below until the next line is read */
	int table; /* table of a row */
	struct transfer_value values[TRANSFER_COLUMNS];
	const char *path; /* path of a note */
	const char *text, *base64; /* content of a note, as text or in base64 */
	size_t size; /* size of the content */
};

struct transfer_reader {
	FILE *in;
	int64_t n; /* number of the line, from 1 */
	char *bytes; /* bytes of the line */
	size_t len, room;
	SHA2_CTX sum; /* sum of all earlier lines */
	struct transfer_line line;
	int table; /* table of the last row */
	int64_t now; /* present time, for the bounds of numbers */
	bool ended; /* the last line was read */
};

/* Sets the reader to the beginning of the file `in`. */
void transfer_reader_init(struct transfer_reader *r, FILE *in, int64_t now);
void transfer_reader_release(struct transfer_reader *r);
/* Reads and checks the next line. Returns 1 if a line was read, 0 after the last line, or a
 * fault that names the line. */
int transfer_read(struct transfer_reader *r, struct fault *f);
/* Writes the sum in hexadecimal digits, as the last line of an export has it. */
void transfer_sum(SHA2_CTX *sum, char hex[2 * SHA256_DIGEST_LENGTH + 1]);
/* Returns the index of the column `name`, which the table must have. */
int transfer_column(int table, const char *name);
/* Puts the number of the line in front of the fault's text. */
int transfer_at(int64_t line, struct fault *f);

/* --- transfer_value.c ------------------------------------------------------------------ */

/* Return the highest number of a row, the highest count and the highest time that a file may
 * have at the time `now`. The bounds grow faster than the numbers of a state. So rows written
 * after an import can be exported and read again. */
int64_t transfer_key_most(int64_t now);
int64_t transfer_count_most(int64_t now);
int64_t transfer_time_most(int64_t now);
/* Takes the value of a column from `json`, which is the row's field with the column's name. If
 * `json` is NULL, the row has no field with this name. */
int transfer_take(const struct transfer_column *c, const json_t *json, int64_t now,
		  struct transfer_value *v, struct fault *f);

/* --- transfer_note.c: notes of an import ------------------------------------------------- */

struct transfer_notes {
	/* Objects whose keys are paths. `asked` has the paths that the file names. `staged` has
	 * the paths for which notes are staged. A key's value is true for the path of a note,
	 * and false for a folder above a note. */
	json_t *asked, *staged;
	struct note_move *moves;
	size_t n_moves;
	int *locks;
	size_t n_locks;
};

/* Checks that an import may write a note at this path. Returns 0 or a fault. */
int transfer_note_check(struct call *call, const char *path);
/* Stages a line's note for the path `path`, and locks the path until transfer_note_end(). If a
 * note with another text is already at `path`, the staged note gets a path beside `path`. If
 * the same note is already there, stages nothing. */
int transfer_note_stage(struct call *call, struct transfer_notes *n,
			const struct transfer_line *line, const char *path);
/* Removes the staged notes of an import that failed. */
void transfer_note_drop(struct call *call, struct transfer_notes *n);
/* Stores the decision to move the staged notes into place. Must be called in a write
 * transaction. */
int transfer_note_decide(struct call *call, const struct transfer_notes *n);
/* Releases the locks of the notes' paths. */
void transfer_note_end(struct call *call, struct transfer_notes *n);

/* --- a running import ----------------------------------------------------------------------- */

struct import {
	struct call *call;
	struct transfer_reader reader;
	const char *as;
	struct transfer_report *report;
	/* Names of living teams in the file, and the names of these teams after the import. */
	struct transfer_name *names;
	size_t n_names;
	size_t root, n_roots; /* first team without a parent; number of such teams */
	json_t *counts; /* counts of rows in the header; NULL: not given */
	int64_t *found; /* numbers of rows read, one for each table, and last the number
			   of notes */
	bool has_state; /* the export is of a whole state */
	int64_t created_at, ids[3], counts_from;
	int64_t *from; /* highest key of each table before the import */
	struct transfer *rows;
	struct transfer_notes notes;
};

#endif
