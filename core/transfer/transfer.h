/*
 * transfer - export of a state, or of one team, as lines of JSON, and import of these lines as
 * rows.
 *
 * docs/export.md defines the lines. An export is one read transaction, so it shows one moment
 * even if others write meanwhile, and is written row by row. An import reads the file twice.
 * First the whole file is checked, line by line, with no transaction open. Then its notes are
 * staged and its rows are added in one transaction, so the COMMIT makes all of them visible at
 * once. storage/exports lists the columns.
 */
#ifndef CORE_TRANSFER_TRANSFER_H
#define CORE_TRANSFER_TRANSFER_H

#include <stdio.h>

#include "core/call/call.h"

#define TRANSFER_FORMAT "cadre-export"
enum {
	TRANSFER_VERSION = 1,
	TRANSFER_LINE = 64 << 20, /* most bytes of a line */
};

struct transfer_report {
	int64_t rows, notes;
	int64_t ended; /* import: commands that waited or ran, and are interrupted */
	bool whole; /* import: the state was empty, and continues the exported state */
	struct transfer_name {
		const char *was, *is;
	} * teams; /* import: the living teams */
	size_t n_teams;
};

/* Writes the state, or the living team of this name with the teams below, to `out`. */
int transfer_export(struct call *call, const char *team, FILE *out,
		    struct transfer_report *report);

/* Adds the file's rows and notes to the state of `call`. No host may run for this state. A team
 * with a taken name gets another name. `as` (or NULL) is a name for the only team without a
 * parent. A fault names the line. Notes are in their places after vault_sweep(). */
int transfer_import(struct call *call, FILE *in, const char *as,
		    struct transfer_report *report);

#endif
