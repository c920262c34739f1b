/*
 * trash - folders and disks of removed workspaces, kept for a while in HOME/trash.
 *
 * An entry is a folder whose name says when it was removed, how large it was and what it
 * was: 20261121-080000.123456.shop-coder-1a2b.  It holds what the workspace held, less its
 * guest's own `.cadre`.  An entry whose name ends with .vm leads to the disk of a VM; the
 * disk stays in its place (core/machine/vm/disk.h).  The trash and its entries are
 * folders of the state's owner: anything else with such a name, as a link, is neither
 * followed nor listed.
 */
#ifndef CORE_MACHINE_TRASH_H
#define CORE_MACHINE_TRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/fault.h"

/* The mark in the name of a snapshot's entry, between its workspace's and the end of its id. */
#define TRASH_SNAPSHOT "-snapshot-"
enum { TRASH_ID_SHOWN = 8 };

enum trash_kind { TRASH_FOLDER, TRASH_VM };

struct trash_entry {
	enum trash_kind kind;
	const char *name; /* of the workspace */
	const char *path; /* of the folder, absolute */
	int64_t removed_at; /* milliseconds since 1970, whole seconds */
	int64_t moved_ns; /* orders those that were removed in the same second */
	int64_t bytes;
};

/* Bounds of what the trash holds. */
struct trash_bounds {
	int64_t keep_ms; /* 0: nothing */
	int64_t bytes; /* of all entries together; the oldest go first */
};

enum trash_taken {
	TRASH_NOTHING, /* there is no folder, or it is empty, or nothing is to be kept */
	TRASH_TAKEN,
	TRASH_TOO_LARGE, /* for the bounds: it stays where it is */
};

/* Moves a workspace's folder into the trash: an enum trash_taken, or negative with `f`
 * filled when it cannot be moved. */
int trash_take(const char *home, const char *path, const char *name, int64_t now_ms,
	       const struct trash_bounds *bounds, struct fault *f);

/* Moves the snapshots of a workspace into the trash: each folder in `folder` becomes an entry
 * of its own, under the workspace's name and the end of the snapshot's id.  The snapshots
 * count as removed before the workspace.  So the workspace's name brings back its last
 * content, and that content is the first to get room in the trash.  0, also where there
 * are none, or negative with `f` filled. */
int trash_take_snapshots(const char *home, const char *folder, const char *workspace,
			 int64_t now_ms, const struct trash_bounds *bounds,
			 struct fault *f);

/* Moves a folder into the trash that was made to be the entry `as`, whose path is not looked
 * at: TRASH_TAKEN, or negative with `f` filled. */
int trash_put(const char *home, const char *path, const struct trash_entry *as,
	      struct fault *f);

/* The length of the name that a folder had before a host that clears it away renamed it to
 * `NAME.gone`, perhaps more than once; 0: it is a copy that was never whole. */
size_t trash_called(const char *folder);

/* Whether an absolute path is that of an entry which is there. */
bool trash_is_entry(const char *home, const char *path);

/* Keeps an entry from being removed by trash_trim(), in this process and in others: a
 * descriptor, which the caller closes when the entry is needed no more.  -1 with errno:
 * `path` is the path of no entry (ENOENT), or it is being removed (EWOULDBLOCK). */
int trash_hold(const char *home, const char *path);

/* Removes what is older than the bounds, and the oldest of what is too much, but nothing that
 * is held; true if disks of VMs are to be swept for it. */
bool trash_trim(const char *home, int64_t now_ms, const struct trash_bounds *bounds);

/* The entries, newest first; how many.  In memory of `a`. */
size_t trash_list(const char *home, struct arena *a, struct trash_entry **entries);

/* Says of a workspace in use that its folder or disk, `what`, is gone, and how it comes back:
 * negative with `f` filled. */
int trash_lost(const char *home, const char *name, const char *what, struct fault *f);

#endif
