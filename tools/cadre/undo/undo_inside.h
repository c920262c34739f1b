/*
 * undo_inside - the parts of `cadre undo`, which lists and brings back what was removed.
 *
 * The folders and disks of removed workspaces are in the state's trash
 * (core/machine/trash.h), deleted notes in the vault's.
 */
#ifndef TOOLS_CADRE_UNDO_UNDO_INSIDE_H
#define TOOLS_CADRE_UNDO_UNDO_INSIDE_H

#include <jansson.h>
#include <stdbool.h>

#include "core/machine/trash.h"
#include "tools/cadre/cli.h"

/* The living workspaces, as objects under their names; NULL where that cannot be read. */
json_t *undo_living(struct cli *cli);

/* The workspace in `living` that was made of an entry, or NULL. */
const json_t *undo_made_of(const json_t *living, const struct trash_entry *entry);

/* The names of workspaces that are removed, and whose folders a host is still to move into
 * the trash.  In memory of `a`; how many. */
size_t undo_moving(const struct cli *cli, const json_t *living, struct arena *a,
		   const char ***names);

/* Whether the folders of workspaces that the state has no row for stay in their place, since
 * the state that was replaced has. */
bool undo_stay(struct cli *cli);
#define UNDO_STAY                                                                           \
	"What only the former state knows stays while it is kept: remove replaced/ in the " \
	"state's folder when all is as it should be, then: cadre restart."

/* A removed workspace, and the team in which it comes back; NULL: it is to be said. */
struct undo_found {
	const struct trash_entry *entry;
	const char *team;
};

/* Finds the removed workspace of that name, or the beginning of one, of team/agent, or of an
 * agent in the call's team: 0, or negative with the fault filled.  In memory of `a`. */
int undo_find(struct cli *cli, const char *name, struct arena *a,
	      struct undo_found *found, struct fault *f);

/* The fault of a workspace that the trash does not hold. */
int undo_not_found(const char *name, struct fault *f);

/* Makes a workspace from the contents of the removed workspace of that name, or of team/agent, or
 * of that agent in the call's team: the exit status.  `again`: even if an earlier copy lives. */
int undo_workspace(struct cli *cli, const char *name, const char *agent, bool again);

/* Runs an operation that brings something back, and frees `args`; *status is the exit status.
 * The answer that is to be told in words, or NULL where a fault or JSON was printed. */
json_t *undo_run(struct cli *cli, const struct op *op, json_t *args, int *status);

/* Whether a name is the path of a note, or of a folder of notes, which ends with a slash.
 * Neither the name nor the address of a workspace has a dot. */
bool undo_is_note(const char *name);

/* Brings back a note, at the path `to` (NULL: at its old path), or all notes of a folder: the exit
 * status. */
int undo_note(struct cli *cli, const char *name, const char *to);

#endif
