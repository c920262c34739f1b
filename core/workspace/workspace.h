/*
 * workspace - where agents work, as rows; the host makes them true.
 */
#ifndef CORE_WORKSPACE_WORKSPACE_H
#define CORE_WORKSPACE_WORKSPACE_H

#include "core/event/event.h"

/* Most rows of a single reading by a host: if it gets so many, there may be more. */
enum { WORKSPACE_ROWS = 1000 };

/* Workspace `name` (id, its beginning, name or team/agent) of the call's team.  For an operator
 * who names no team, the workspace says which.  0, or negative with call->fault
 * filled. */
int workspace_find(struct call *call, const char *team, const char *name,
		   struct workspace_row *w);

/* workspace_find() in any team, for operators. */
int workspace_find_any(struct call *call, const char *name, struct workspace_row *w);

/* Ends a workspace: its agent is away, what its daemon had is interrupted.  0 or negative. */
int workspace_end(struct call *call, const struct workspace_row *w);

/* Brings a workspace into a state (`fault` says why it failed): 1, 0 where it stays as it is, or
 * negative. */
int workspace_change(struct call *call, int64_t row, int64_t state, const char *fault,
		     bool again);

/* 0, or `conflict` when the workspace is destroyed. */
int workspace_is_over(struct call *call, const struct workspace_row *w);

/* 0, or `unavailable` at `where` when another host runs the workspace: its files and its
 * processes are on that host's machine. */
int workspace_is_here(struct call *call, const struct workspace_row *w,
		      const char *where);

/* Fills `out` with the workspace as its row stands, for an answer; 0 or negative. */
int workspace_tell(struct call *call, int64_t row, struct workspace *out);

/* A workspace that is to be made. */
struct new_workspace {
	const char *member; /* in its name */
	int64_t agent; /* works in the workspace; 0: none */
	int64_t backend;
	const char *source; /* directory to copy; NULL: none */
	int64_t parent; /* workspace that it is a copy of; 0: none */
	int64_t snapshot; /* the parent's snapshot that is copied; 0: the parent as it
			     is now */
	const char *address, *link_token; /* address and token of a guest elsewhere;
					     else NULL */
	const char *
		folder; /* in which its guest works, where backend is folder; else NULL */
	const char *image; /* of a VM, as are the next three; NULL: no VM */
	int64_t vcpus, memory_mb, disk_gb;
};

/* Wishes for a VM; 0 and NULL: the caller did not say. */
struct vm_wishes {
	const char *image;
	int64_t vcpus, memory_mb, disk_gb;
};

/* Makes `n` a VM as wished, with the usual values where nothing is said; `invalid` below
 * `where` when the wishes are for a workspace that is no VM. */
int workspace_set_vm(struct call *call, const struct vm_wishes *w, const char *where,
		     struct new_workspace *n);

/* Makes `n` a copy of a directory or a workspace (NULL: of nothing), or of a
 * snapshot of the latter.  Faults are at /golden and /snapshot. */
int workspace_set_golden(struct call *call, const char *golden, const char *snapshot,
			 struct new_workspace *n);

/* 0, or `exhausted` at `where` unless the call's team and this host have room for `want` more
 * workspaces. */
int workspace_check_room(struct call *call, int64_t want, const char *where);

/* Adds the workspace in state `creating`; `*id` (unless NULL) gets its row. 0 or
 * negative. */
int workspace_add(struct call *call, const struct new_workspace *n, int64_t *id);

/*
 * Saved contents of workspaces, as rows; the host keeps the bytes.
 */

/* snapshot_find() for a use of its contents: the snapshot must be complete. */
int snapshot_ready(struct call *call, const struct workspace_row *w, const char *name,
		   struct snapshot_row *s);

#endif
