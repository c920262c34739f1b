/*
 * workspace - where agents work, as rows; the host makes them true.
 */
#ifndef WORKSPACE_H
#define WORKSPACE_H

#include "core/event.h"

/* Adds a workspace in state creating, for an agent (0: for nobody), as a copy of
 * the directory `source` or of workspace `parent`; its row is put into `*id`. */
int workspace_add(struct call *call, const char *member, const char *source,
		  int64_t parent, int64_t agent, int64_t *id);

#endif
