/*
 * workspace_removal - an operation that removes workspaces tells what work would go with them.
 *
 * An operation that `needs folders` runs in steps.  Its handler plans, and names the
 * workspaces (removal_add()).  Then their folders are looked at, outside of any
 * transaction.  If somebody worked in a folder, the call is refused unless the call says
 * `confirm`: the fault names how many files somebody typed or changed, and the first of
 * them.
 */
#ifndef CORE_WORKSPACE_WORKSPACE_REMOVAL_H
#define CORE_WORKSPACE_WORKSPACE_REMOVAL_H

#include "core/call/call.h"

/* For a handler that plans (call->plans): names one workspace: 0 or more, or a fault. */
int removal_add(struct call *call, const struct workspace_row *w);
/* The same for all living workspaces of a team that ends, and for the tasks and mail in hand
 * there.  `purged` names the team's folder of the vault, if the folder goes too; or NULL. */
int removal_add_team(struct call *call, int64_t team, const char *purged);

/* Names a workspace that is put back to a snapshot: work that is newer than the
 * workspace's last snapshot goes. */
int removal_add_restore(struct call *call, const struct workspace_row *w);
/* Names a snapshot that goes: its work is lost where the workspace was changed since. */
void removal_add_snapshot(struct call *call, const struct workspace_row *w,
			  const struct snapshot_row *s);

/* For its other run: says what becomes of what was removed; NULL: there is nothing to say. */
const char *removal_tell(struct call *call);

/* Runs an operation that `needs folders`, as its op->steps: 0 or a fault. */
int removal_run(struct call *call);

#endif
