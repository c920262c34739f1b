/*
 * workspace_removal - finds the work that would be lost when an operation removes workspaces.
 *
 * An operation that `needs folders` runs in steps. Its handler plans, and names the workspaces
 * (removal_add()). Then the files in their folders are checked, outside of any transaction. If
 * somebody worked in a folder, the call is refused unless it has `confirm`. The fault gives the
 * number of files that somebody typed or changed, and names the first of them.
 */
#ifndef CORE_WORKSPACE_WORKSPACE_REMOVAL_H
#define CORE_WORKSPACE_WORKSPACE_REMOVAL_H

#include "core/call/call.h"

/* For a handler that plans (call->plans): adds a workspace to the plan. Returns 0 or more, or a
 * fault. */
int removal_add(struct call *call, const struct workspace_row *w);
/* Like removal_add(), for all living workspaces of a team that ends, and for its held tasks and
 * unread mail. `purged` names the team's folder of the vault if the folder is removed, too;
 * else NULL. */
int removal_add_team(struct call *call, int64_t team, const char *purged);

/* Adds a workspace that is restored to a snapshot: work that is newer than the workspace's last
 * snapshot is lost. */
int removal_add_restore(struct call *call, const struct workspace_row *w);
/* Adds a snapshot that is removed: its work is lost if the workspace was changed since. */
void removal_add_snapshot(struct call *call, const struct workspace_row *w,
			  const struct snapshot_row *s);

/* For the run that removes: a text that says what happens to the removed files; NULL: no text. */
const char *removal_tell(struct call *call);

/* Runs an operation that `needs folders`; it is the operation's op->steps. Returns 0 or a
 * fault. */
int removal_run(struct call *call);

#endif
