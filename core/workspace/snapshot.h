/*
 * snapshot - saved contents of workspaces, as rows; the host keeps the bytes.
 */
#ifndef CORE_WORKSPACE_SNAPSHOT_H
#define CORE_WORKSPACE_SNAPSHOT_H

#include "core/workspace/workspace.h"

/* The snapshot `name` (name or id) of a workspace; 0, or negative with
 * call->fault filled, at /snapshot. */
int snapshot_find(struct call *call, const struct workspace_row *w, const char *name,
		  struct snapshot_row *s);

/* snapshot_find() for a use of its contents: the snapshot must be complete. */
int snapshot_ready(struct call *call, const struct workspace_row *w, const char *name,
		   struct snapshot_row *s);

#endif
