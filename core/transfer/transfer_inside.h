/*
 * transfer_inside - declarations that the files which read an export share.
 */
#ifndef CORE_TRANSFER_TRANSFER_INSIDE_H
#define CORE_TRANSFER_TRANSFER_INSIDE_H

#include <sha2.h>

#include "core/op/op.h"
#include "core/transfer/transfer.h"
#include "storage/transfer.h"

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
	SHA2_CTX sum; /* of all lines before this one */
	struct transfer_line line;
	int table; /* of the last row */
	bool ended; /* the last line was read */
};

/* Starts at the beginning of the file. */
void transfer_reader_init(struct transfer_reader *r, FILE *in);
void transfer_reader_release(struct transfer_reader *r);
/* Reads and checks the next line: 1, 0 behind the last one, or a fault, which names it. */
int transfer_read(struct transfer_reader *r, struct fault *f);
/* Puts the number of the line in front of a fault. */
int transfer_at(int64_t line, struct fault *f);

/* --- transfer_value.c ------------------------------------------------------------------ */

/* Takes a value from what a row says under the column's name; NULL: nothing. */
int transfer_take(const struct transfer_column *c, const json_t *json,
		  struct transfer_value *v, struct fault *f);

/* --- transfer_note.c: notes on their way in ---------------------------------------------- */

struct transfer_notes {
	struct note_move *moves;
	size_t n_moves;
	int *locks;
	size_t n_locks;
};

/* Whether an import may write a note at this path: 0 or a fault. */
int transfer_note_check(struct call *call, const char *path);
/* Stages the note of a line, at `path`, under a lock that is kept; one that is there with
 * another text stays, and this one goes beside it. */
int transfer_note_stage(struct call *call, struct transfer_notes *n,
			const struct transfer_line *line, const char *path);
/* Decides that the staged notes go into place, in a transaction that writes. */
int transfer_note_decide(struct call *call, const struct transfer_notes *n);
/* Lets the locks go. */
void transfer_note_end(struct call *call, struct transfer_notes *n);

#endif
