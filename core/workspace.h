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

/* A workspace that is to be made. */
struct new_workspace {
	const char *member; /* in its name */
	int64_t agent; /* that works in it; 0: nobody */
	int64_t backend;
	const char *source; /* directory to copy; NULL: none */
	int64_t parent; /* workspace that source is of; 0: none */
	const char *address, *link_token; /* of a guest elsewhere; else NULL */
};

/* Adds it in state creating; its row is put into `*id` unless that is NULL. */
int workspace_add(struct call *call, const struct new_workspace *n, int64_t *id);

#endif
