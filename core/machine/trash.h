/*
 * trash - folders and disks of removed workspaces, kept for a while in HOME/trash.
 *
 * An entry is a folder. Its name contains the time of the removal, the size, and the
 * workspace's name: 20261121-080000.123456.shop-coder-1a2b. The folder holds the workspace's
 * content, without the guest's own `.cadre`. An entry whose name ends with .vm leads to the
 * disk of a VM; the disk itself is not moved (core/machine/vm/disk.h).
 *
 * The trash and its entries are folders of the state's owner. Anything else with such a name,
 * for example a link, is neither followed nor listed.
 */
#ifndef CORE_MACHINE_TRASH_H
#define CORE_MACHINE_TRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/fault.h"

/* The mark in the name of a snapshot's entry. The workspace's name is before the mark, and the
 * end of the snapshot's id is after the mark. */
#define TRASH_SNAPSHOT "-snapshot-"
enum { TRASH_ID_SHOWN = 8 };

enum trash_kind { TRASH_FOLDER, TRASH_VM };

struct trash_entry {
	enum trash_kind kind;
	const char *name; /* name of the workspace */
	const char *path; /* absolute path of the folder */
	int64_t removed_at; /* milliseconds since 1970, whole seconds */
	int64_t moved_ns; /* orders entries of the same second */
	int64_t bytes;
};

/* Bounds of the trash's content. */
struct trash_bounds {
	int64_t keep_ms; /* time that an entry is kept; 0: the trash keeps nothing */
	int64_t bytes; /* bytes of all entries together; the oldest are removed first */
};

enum trash_taken {
	TRASH_NOTHING, /* the folder is missing or empty, or the trash keeps nothing */
	TRASH_TAKEN,
	TRASH_TOO_LARGE, /* the folder exceeds the bounds and is not moved */
};

/* Moves a workspace's folder into the trash. Returns an enum trash_taken, or a negative number
 * with `f` filled if the folder cannot be moved. */
int trash_take(const char *home, const char *path, const char *name, int64_t now_ms,
	       const struct trash_bounds *bounds, struct fault *f);

/* Moves the snapshots of a workspace into the trash. Each folder in `folder` becomes an entry,
 * whose name has the workspace's name and the end of the snapshot's id. The snapshots count as
 * removed before the workspace. So the workspace's name restores the workspace's last content,
 * and the last content gets room in the trash before the snapshots. Returns 0, even if there
 * are no snapshots, or a negative number with `f` filled. */
int trash_take_snapshots(const char *home, const char *folder, const char *workspace,
			 int64_t now_ms, const struct trash_bounds *bounds,
			 struct fault *f);

/* Moves a folder that was made to be the entry `as` into the trash; as->path is not used.
 * Returns TRASH_TAKEN, or a negative number with `f` filled. */
int trash_put(const char *home, const char *path, const struct trash_entry *as,
	      struct fault *f);

/* Returns the length of NAME in `NAME.gone`, the name of a folder that a host removes; 0: the
 * folder is an incomplete copy. A host may have added `.gone` more than once. */
size_t trash_called(const char *folder);

/* Whether an absolute path is the path of an existing entry. */
bool trash_is_entry(const char *home, const char *path);

/* Keeps an entry, so that trash_trim() of this process or another process does not remove the
 * entry. Returns a descriptor, which the caller closes when the entry is no longer needed. -1
 * with errno: `path` is no entry (ENOENT), or the entry is being removed (EWOULDBLOCK). */
int trash_hold(const char *home, const char *path);

/* Removes entries that are too old, and then the oldest entries until the rest fits the bounds.
 * Entries that a process holds are not removed. True: the caller must sweep the disks of VMs. */
bool trash_trim(const char *home, int64_t now_ms, const struct trash_bounds *bounds);

/* Lists the entries, newest first, in memory of `a`. Returns the number of entries. */
size_t trash_list(const char *home, struct arena *a, struct trash_entry **entries);

/* Fills the fault that the folder or disk (`what`) of a workspace in use is missing, and how to
 * restore it. Returns a negative number. */
int trash_lost(const char *home, const char *name, const char *what, struct fault *f);

#endif
