/*
 * workspace - the places where agents work, stored as rows. The host makes the workspaces that
 * the rows describe.
 */
#ifndef CORE_WORKSPACE_WORKSPACE_H
#define CORE_WORKSPACE_WORKSPACE_H

#include "core/event/event.h"

/* The most rows that a host reads at once. If it gets so many rows, there may be more. */
enum { WORKSPACE_ROWS = 1000 };

/* Finds the workspace `name` of the call's team. `name` is the id, the beginning of the id, the
 * name or team/agent. If an operator names no team, the workspace's team is used. Returns 0, or
 * negative with call->fault filled. */
int workspace_find(struct call *call, const char *team, const char *name,
		   struct workspace_row *w);

/* Like workspace_find(), but in all teams, for operators. */
int workspace_find_any(struct call *call, const char *name, struct workspace_row *w);

/* Ends a workspace: its agent is set to offline, and the commands of its daemon are
 * interrupted. Returns 0 or negative. */
int workspace_end(struct call *call, const struct workspace_row *w);

/* Changes the state of a workspace. `fault` is the reason if the workspace has failed. Returns
 * 1, 0 if the state does not change, or negative. */
int workspace_change(struct call *call, int64_t row, int64_t state, const char *fault,
		     bool again);

/* Returns 0, or `conflict` if the workspace is destroyed. */
int workspace_is_over(struct call *call, const struct workspace_row *w);

/* Returns 0, or `unavailable` at `where` if another host runs the workspace. The workspace's
 * files and processes are then on that host's machine. */
int workspace_is_here(struct call *call, const struct workspace_row *w,
		      const char *where);

/* Fills `out` from the workspace's row, for an answer. Returns 0 or negative. */
int workspace_tell(struct call *call, int64_t row, struct workspace *out);

/* A workspace to make. */
struct new_workspace {
	const char *member; /* the member's name, which the workspace's name contains */
	int64_t agent; /* the agent that works in it; 0: no agent */
	int64_t backend;
	const char *source; /* directory to copy; NULL: no directory */
	int64_t parent; /* workspace to copy; 0: no workspace */
	int64_t snapshot; /* the parent's snapshot to copy; 0: copy the parent's present
			     files */
	const char *address, *link_token; /* address and token of a guest elsewhere;
					     else NULL */
	const char *
		folder; /* folder of the guest if `backend` is a folder; else it is NULL */
	const char *image; /* this and the next three are for a VM; NULL: no VM */
	int64_t vcpus, memory_mb, disk_gb;
};

/* Wishes for a VM; 0 and NULL: the caller gave no wish. */
struct vm_wishes {
	const char *image;
	int64_t vcpus, memory_mb, disk_gb;
};

/* Makes `n` a VM with the wished resources. Resources without a wish get the usual values.
 * Returns `invalid` below `where` if the wishes are for a workspace that is no VM. */
int workspace_set_vm(struct call *call, const struct vm_wishes *w, const char *where,
		     struct new_workspace *n);

/* Makes `n` a copy of a directory or of a workspace (NULL: of nothing), or of a snapshot of the
 * workspace. Faults are at /golden and /snapshot. */
int workspace_set_golden(struct call *call, const char *golden, const char *snapshot,
			 struct new_workspace *n);

/* Returns 0 if the call's team and this host have room for `want` more workspaces, else
 * `exhausted` at `where`. */
int workspace_check_room(struct call *call, int64_t want, const char *where);

/* Adds the workspace in the state `creating`. `*id` (unless NULL) gets its row. Returns 0 or
 * negative. */
int workspace_add(struct call *call, const struct new_workspace *n, int64_t *id);

/*
 * Saved contents of workspaces, stored as rows. The host keeps the contents themselves.
 */

/* Finds a snapshot whose contents are to be used: the snapshot must be complete. */
int snapshot_ready(struct call *call, const struct workspace_row *w, const char *name,
		   struct snapshot_row *s);

#endif
