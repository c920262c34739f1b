/*
 * workspace_removal - an operation that removes workspaces tells what work would go with them.
 *
 * An operation that `needs folders` runs in steps.  Its handler plans, and names the
 * workspaces (removal_add()).  Then their folders are looked at, outside of any
 * transaction.  If somebody worked in a folder, the call is refused unless the call says
 * `confirm`.
 */
#ifndef CORE_WORKSPACE_WORKSPACE_REMOVAL_H
#define CORE_WORKSPACE_WORKSPACE_REMOVAL_H

#include "core/call/call.h"

/* The folders that a call would remove; of the call. */
struct removal {
	struct folder {
		const char *name, *path;
		const char *stamp; /* see core/machine/work.h; or NULL */
		const char *kept; /* the folder that goes, where it is not `path` */
		const char *snapshots; /* folder of those that go as well; or NULL */
		int64_t since, bytes;
		int64_t parent; /* the workspace that it is a fork of, or 0 */
		bool brought_back; /* from the trash */
		const char *git; /* git's words about the work in the folder; or NULL */
		bool is_vm, worked, too_large; /* for the trash */
	} * folders;
	size_t n, worked, kept; /* kept: folders that the trash takes, of `bytes` */
	size_t told; /* folders with work that git tells something about */
	int64_t bytes;
	bool hostless; /* nothing goes before the next host comes up */
	const char *says; /* what goes; NULL: the workspaces */
	/* Folders of the vault that go too, the last one around or beside the others. */
	const char **purged;
	size_t n_purged;
	size_t notes; /* files with a person's words in them */
	const char *note_names; /* of the first few; NULL: none */
	bool notes_more; /* it ends with `…` */
	int64_t note_bytes; /* of them */
	const char **losers; /* older entries that the trash loses for good, to make room */
	size_t n_losers;
	/* Tasks that agents hold, and messages that the operator has not read, where a team
	 * ends. */
	int64_t held, mail;
};

/* For a handler that plans (call->plans): names one workspace: 0 or more, or a fault. */
int removal_add(struct call *call, const struct workspace_row *w);
/* The same for all living workspaces of a team. */
int removal_add_team(struct call *call, int64_t team);

/* Names a workspace that is put back to a snapshot: work that is newer than the
 * workspace's last snapshot goes. */
int removal_add_restore(struct call *call, const struct workspace_row *w);
/* Names a snapshot that goes: its work is lost where the workspace was changed since. */
void removal_add_snapshot(struct call *call, const struct workspace_row *w,
			  const struct snapshot_row *s);

/* For a handler that plans: a team ends, with what is in hand there. */
int removal_add_hands(struct call *call, int64_t team);

/* For a handler that plans: the team's folder in the vault goes too. */
void removal_add_notes(struct call *call, const char *team);

/* For its other run: says what becomes of what was removed; NULL: there is nothing to say. */
const char *removal_tell(struct call *call);

/* Runs an operation that `needs folders`, as its op->steps: 0 or a fault. */
int removal_run(struct call *call);

#endif
