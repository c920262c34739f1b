/*
 * transfer - a state, or a team of it, as lines of JSON, and such lines as rows again.
 *
 * docs/export.md says what the lines are.  An export is one read transaction, so it shows
 * one moment even if others write meanwhile, and is written row by row.  An import reads the
 * file twice.  First the whole file is checked, line by line, with nothing open.  Then its
 * notes are staged and its rows added in one transaction: with the COMMIT all of them are
 * there.  storage/exports says which columns there are.
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
	bool whole; /* import: the state was empty, and goes on as the exported one */
	struct transfer_name {
		const char *was, *is;
	} * teams; /* import: the living ones */
	size_t n_teams;
};

/* Writes the state, or the living team of that name with those below it, to `out`. */
int transfer_export(struct call *call, const char *team, FILE *out,
		    struct transfer_report *report);

/* Adds what the file holds to the state of `call`, whose host does not run.  A team whose
 * name is taken gets another one; `as` (or NULL) names the only one that is below none.
 * Faults name the line.  Notes are in their places after vault_sweep(). */
int transfer_import(struct call *call, FILE *in, const char *as,
		    struct transfer_report *report);

#endif
