/*
 * workspace - where agents work, as rows; the host makes them true.
 */
#ifndef WORKSPACE_H
#define WORKSPACE_H

#include "core/event.h"

/* Workspace `name` (id, name or team/agent) of the call's team.  For an operator
 * who names no team, the workspace says which.  0, or negative with call->fault
 * filled. */
int workspace_find(struct call *call, const char *team, const char *name,
		   struct workspace_row *w);

/* Adds a workspace in state creating, for an agent (0: for nobody), as a copy of
 * the directory `source` or of workspace `parent`; its row is put into `*id`. */
int workspace_add(struct call *call, const char *member, const char *source,
		  int64_t parent, int64_t agent, int64_t *id);

#endif
