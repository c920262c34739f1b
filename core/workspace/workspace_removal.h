/*
 * workspace_removal - finds the work that would be lost when an operation removes workspaces.
 *
 * An operation that `needs folders` runs in steps. In the first step the operation's handler
 * adds the workspaces to a plan (removal_add()). In the second step the files in the
 * workspaces' folders are checked, outside of any transaction. If somebody worked in a folder,
 * the call is refused unless the argument `confirm` is true. The fault gives the number of
 * files that somebody created or changed, and names the first few of these files.
 */
#ifndef CORE_WORKSPACE_WORKSPACE_REMOVAL_H
#define CORE_WORKSPACE_WORKSPACE_REMOVAL_H

#include "core/call/call.h"

/* Adds a workspace to the plan. A handler calls this function while call->plans is true.
 * Returns a number of 0 or more, or a negative fault code. */
int removal_add(struct call *call, const struct workspace_row *w);
/* Adds all living workspaces of a team that ends, the caller's team; teams below come before the
 * teams above them. Also counts the members, the open tasks, and the messages that the operator has
 * not read. `purged` is the name of the team's folder in the
 * vault if the folder is removed, too, else NULL. */
int removal_add_team(struct call *call, int64_t team, const char *purged);

/* Adds a workspace that the call would restore to a snapshot. Work that is newer than the
 * workspace's last snapshot would be lost. */
int removal_add_restore(struct call *call, const struct workspace_row *w);
/* Adds a snapshot that the call would remove. If the workspace was changed after the snapshot,
 * the snapshot is the only copy of earlier work. */
void removal_add_snapshot(struct call *call, const struct workspace_row *w,
			  const struct snapshot_row *s);

/* Returns a text that says what happens to the removed files, or NULL. A handler calls this
 * function in the step that removes the workspaces. */
const char *removal_tell(struct call *call);

/* Runs an operation that `needs folders`; op->steps points to this function. Returns 0 or a
 * fault. */
int removal_run(struct call *call);

#endif
