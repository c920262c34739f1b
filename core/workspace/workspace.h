/*
 * workspace - stores as rows the places where agents work. The host makes the workspaces that
 * the rows describe.
 */
#ifndef CORE_WORKSPACE_WORKSPACE_H
#define CORE_WORKSPACE_WORKSPACE_H

#include "core/event/event.h"

/* The maximum number of rows that a host reads at once. A host that gets the maximum must read
 * again, since more rows may follow. */
enum { WORKSPACE_ROWS = 1000 };

/* Finds the workspace `name` of the call's team. `name` is an id, the beginning of an id, a
 * workspace's name, an agent's name, or TEAM/AGENT. If an operator names no team, the
 * workspace's team becomes the call's team. Returns 0, or a negative fault code with
 * call->fault filled. */
int workspace_find(struct call *call, const char *team, const char *name,
		   struct workspace_row *w);

/* Finds a workspace of any team, for an operator. `name` is as in workspace_find(). */
int workspace_find_any(struct call *call, const char *name, struct workspace_row *w);

/* Ends a workspace. The agent's running assignments are interrupted. The agent is set to
 * offline, unless its status is `done` or `failed`. Returns 0 or a negative fault code. */
int workspace_end(struct call *call, const struct workspace_row *w);

/* Changes the state of a workspace. `fault` is the reason if the workspace has failed. Returns
 * 1 if the state has changed, 0 if not, or a negative fault code. */
int workspace_change(struct call *call, int64_t row, int64_t state, const char *fault,
		     bool again);

/* Returns 0, or the fault `conflict` if the workspace is destroyed. */
int workspace_is_over(struct call *call, const struct workspace_row *w);

/* Returns 0, or the fault `unavailable` at `where` if another host runs the workspace. The
 * files and processes of a workspace are on the machine of the workspace's host. */
int workspace_is_here(struct call *call, const struct workspace_row *w,
		      const char *where);

/* Fills `out` from a row that was read, for an answer. */
void workspace_tell_row(struct call *call, const struct workspace_row *w,
			struct workspace *out);
/* Fills `out` from the workspace's row, for an answer. Returns 0 or a negative fault code. */
int workspace_tell(struct call *call, int64_t row, struct workspace *out);

/* A workspace that is to be made. */
struct new_workspace {
	const char *member; /* the member's name, which the workspace's name contains */
	int64_t agent; /* agent of the workspace, or 0 */
	int64_t backend;
	const char *source; /* directory that is copied, or NULL */
	int64_t parent; /* workspace that is copied, or 0 */
	int64_t snapshot; /* copied snapshot, or 0 for the present files of `parent` */
	const char *address, *link_token; /* address and token of a guest on another
					     machine; NULL: no such guest */
	const char *
		folder; /* folder of the guest if the backend is BACKEND_KIND_FOLDER, else NULL */
	const char *image; /* image of a VM, or NULL */
	int64_t vcpus, memory_mb, disk_gb;
};

/* The resources that a caller wants for a VM; a member is 0 or NULL if the caller gave no
 * value. */
struct vm_wishes {
	const char *image;
	int64_t vcpus, memory_mb, disk_gb;
};

/* Sets the resources of `n`, if `n` is a VM. Resources for which `w` has no value get their
 * defaults. If `n` is not a VM but `w` has a value, returns the fault `invalid` below `where`. */
int workspace_set_vm(struct call *call, const struct vm_wishes *w, const char *where,
		     struct new_workspace *n);

/* Makes `n` a copy of `golden`, which is a directory, a workspace, or NULL for no copy. With
 * `snapshot`, `n` becomes a copy of this snapshot of the workspace. Faults are at /golden and
 * /snapshot. */
int workspace_set_golden(struct call *call, const char *golden, const char *snapshot,
			 struct new_workspace *n);

/* Returns 0 if the call's team and this host have room for `want` more workspaces, else the
 * fault `exhausted` at `where`. */
int workspace_check_room(struct call *call, int64_t want, const char *where);

/* Adds the workspace in the state `creating`. Unless `id` is NULL, `*id` is set to the row
 * number. Returns 0 or a negative fault code. */
int workspace_add(struct call *call, const struct new_workspace *n, int64_t *id);

/*
 * Snapshots of workspaces are stored as rows. The host stores the files of the snapshots.
 */

/* Finds a snapshot of a workspace. If the snapshot is not complete, returns the fault
 * `conflict`. */
int snapshot_ready(struct call *call, const struct workspace_row *w, const char *name,
		   struct snapshot_row *s);

#endif
