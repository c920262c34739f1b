/*
 * guest_state - the folder of a process guest's own files: its accepted commands, its
 * variables, its lock.
 *
 * HOME/guests/ID, beside the workspaces and out of reach of what is done in them:
 * git, copies, snapshots, file operations.  Earlier versions had the folder in the
 * workspace as `.cadre`; an old folder found there is moved.
 */
#ifndef CORE_MACHINE_GUEST_STATE_H
#define CORE_MACHINE_GUEST_STATE_H

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "core/machine/backend.h"

const char *guest_state_path(struct arena *a, const struct workspace_spec *spec);

/* Makes the folder of the guest's files for a workspace that is about to be made, before
 * it has files that could be taken for an earlier version's. */
int guest_state_make(const struct workspace_spec *spec, struct fault *f);

/* Sees before the guest starts that its folder is there, and makes it anew if it was
 * lost.  An older one is moved out of the workspace as a whole or not at all, whenever
 * that is broken off. */
int guest_state_settle(const struct workspace_spec *spec, struct fault *f);

/* Writes the stamp of a workspace that is whole: later changes there are work (see
 * core/machine/work.h).  An existing stamp stays, unless `anew`. */
int guest_state_stamp(const struct workspace_spec *spec, bool anew, struct fault *f);

int guest_state_remove(const struct workspace_spec *spec, struct fault *f);

#endif
