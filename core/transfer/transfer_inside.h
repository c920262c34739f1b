/*
 * transfer_inside - declarations that the files which read an export share.
 */
#ifndef CORE_TRANSFER_TRANSFER_INSIDE_H
#define CORE_TRANSFER_TRANSFER_INSIDE_H

#include <sha2.h>

#include "core/op/op.h"
#include "core/transfer/transfer.h"
#include "storage/store_transfer.h"

/* --- transfer_line.c: a line, believed in nothing ------------------------------------ */

enum transfer_line_kind { LINE_HEADER, LINE_ROW, LINE_NOTE, LINE_END };

struct transfer_line {
	enum transfer_line_kind kind;
	json_t *json; /* until the next line; texts below are its */
	int table; /* of a row */
	struct transfer_value values[TRANSFER_COLUMNS];
	const char *path; /* of a note */
	const char *text, *base64; /* one of them */
	size_t size; /* of that */
};

struct transfer_reader {
	FILE *in;
	int64_t n; /* number of the line, from 1 */
	char *bytes; /* of the line */
	size_t len, room;
	SHA2_CTX sum; /* of all earlier lines */
	struct transfer_line line;
	int table; /* of the last row */
	int64_t now; /* numbers are held against it */
	bool ended; /* the last line was read */
};

/* Starts at the beginning of the file. */
void transfer_reader_init(struct transfer_reader *r, FILE *in, int64_t now);
void transfer_reader_release(struct transfer_reader *r);
/* Reads and checks the next line: 1, 0 behind the last one, or a fault, which names it. */
int transfer_read(struct transfer_reader *r, struct fault *f);
/* Writes the sum as an export tells it. */
void transfer_sum(SHA2_CTX *sum, char hex[2 * SHA256_DIGEST_LENGTH + 1]);
/* The place of the column of that name, which the table has. */
int transfer_column(int table, const char *name);
/* Puts the number of the line in front of a fault. */
int transfer_at(int64_t line, struct fault *f);

/* --- transfer_value.c ------------------------------------------------------------------ */

/* The highest number of a row that is believed at a time, the highest count, and the highest
 * time.  These bounds grow faster than a state can count, so rows written after an import
 * can be exported and read again. */
int64_t transfer_key_most(int64_t now);
int64_t transfer_count_most(int64_t now);
int64_t transfer_time_most(int64_t now);
/* Takes a value from what a row says under the column's name; NULL: nothing. */
int transfer_take(const struct transfer_column *c, const json_t *json, int64_t now,
		  struct transfer_value *v, struct fault *f);

/* --- transfer_note.c: notes on their way in ---------------------------------------------- */

struct transfer_notes {
	/* Paths that the file names and those that notes get: true, and the folders above them:
	 * false. */
	json_t *asked, *staged;
	struct note_move *moves;
	size_t n_moves;
	int *locks;
	size_t n_locks;
};

/* Whether an import may write a note at this path: 0 or a fault. */
int transfer_note_check(struct call *call, const char *path);
/* Stages the note of a line, at `path`, under a lock that is kept; a note at `path` with
 * another text stays, and the staged note goes beside that note. */
int transfer_note_stage(struct call *call, struct transfer_notes *n,
			const struct transfer_line *line, const char *path);
/* Removes what is staged, of an import that comes to nothing. */
void transfer_note_drop(struct call *call, struct transfer_notes *n);
/* Decides that the staged notes go into place, in a transaction that writes. */
int transfer_note_decide(struct call *call, const struct transfer_notes *n);
/* Lets the locks go. */
void transfer_note_end(struct call *call, struct transfer_notes *n);

/* --- an import under way -------------------------------------------------------------------- */

struct import {
	struct call *call;
	struct transfer_reader reader;
	const char *as;
	struct transfer_report *report;
	/* Names of living teams in the file, and those they get. */
	struct transfer_name *names;
	size_t n_names;
	size_t root, n_roots; /* first team without a parent; number of such teams */
	json_t *counts; /* of rows, as the header tells them; NULL: it does not */
	int64_t *found; /* rows of each table, and behind them notes */
	bool has_state; /* the header is of a whole state */
	int64_t created_at, ids[3], counts_from;
	int64_t *from; /* of each table: the highest key before the import */
	struct transfer *rows;
	struct transfer_notes notes;
};

#endif
