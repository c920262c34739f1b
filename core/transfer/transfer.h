/*
 * transfer - export of a state, or of one team, as lines of JSON, and import of these lines as
 * rows.
 *
 * docs/export.md defines the lines. All rows of an export are read in one read transaction. So
 * the rows belong to one moment, even if other processes write meanwhile. An export is written
 * row by row. An import reads the file twice. The first reading checks the whole file, line by
 * line, with no transaction open. The second reading stages the notes and adds the rows in one
 * transaction. So the COMMIT makes all notes and rows of the import valid at once.
 * storage/exports lists the columns.
 */
#ifndef CORE_TRANSFER_TRANSFER_H
#define CORE_TRANSFER_TRANSFER_H

#include <stdio.h>

#include "core/call/call.h"

#define TRANSFER_FORMAT "cadre-export"
enum {
	TRANSFER_VERSION = 1,
	TRANSFER_LINE = 64 << 20, /* maximum number of bytes in a line */
};

struct transfer_report {
	int64_t rows, notes;
	int64_t ended; /* import: number of interrupted commands */
	bool whole; /* import: this state was empty, and continues the exported state */
	struct transfer_name {
		const char *was, *is;
	} * teams; /* import: the living teams */
	size_t n_teams;
};

/* Writes the state to `out`. If `team` is not NULL, writes only the living team of this name
 * and the teams below this team. */
int transfer_export(struct call *call, const char *team, FILE *out,
		    struct transfer_report *report);

/* Adds the file's rows and notes to the state of `call`. No host may run for this state. A team
 * whose name is taken gets another name. `as` is a new name for the file's team without a
 * parent, or NULL. With `as`, the file must have exactly one such team. A fault names the line
 * of the file. The notes have their final paths only after vault_sweep(). */
int transfer_import(struct call *call, FILE *in, const char *as,
		    struct transfer_report *report);

#endif
