/*
 * workspace_loss - an operation that removes workspaces tells what work would go with them.
 *
 * An operation that `needs folders` runs in steps: its handler plans and names the
 * workspaces (loss_add()), their folders are looked at outside of any transaction, and
 * where somebody worked in one the call is refused unless it says `confirm`.
 */
#ifndef CORE_WORKSPACE_LOSS_H
#define CORE_WORKSPACE_LOSS_H

#include "core/call.h"

/* The folders that a call would remove; of the call. */
struct losing {
	struct folder {
		const char *name,
			*path; /* path NULL: a VM's disk, which nobody looks into */
		int64_t made_at;
	} * folders;
	size_t n;
};

/* For a handler that plans (call->plans): names one workspace. */
void loss_add(struct call *call, const struct workspace_row *w);
/* The same for all living workspaces of a team. */
int loss_add_team(struct call *call, int64_t team);

/* Runs an operation that `needs folders`, as its op->steps: 0 or a fault. */
int loss_run(struct call *call);

#endif
