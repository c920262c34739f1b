/*
 * trash - folders and disks of removed workspaces, kept for a while in HOME/trash.
 *
 * An entry of the trash is a folder. The folder's name contains the time of the removal, the
 * size, and the workspace's name, as in 20261121-080000.123456.shop-coder-1a2b. The folder
 * contains the workspace's content, without the guest's own folder `.cadre`. An entry whose
 * name ends with .vm leads to the disk of a VM; the disk itself is not moved
 * (core/machine/vm/disk.h).
 *
 * The trash and its entries are folders that belong to the state's owner. Files that are no
 * such folders, for example links, are ignored, even if they have the name of an entry.
 */
#ifndef CORE_MACHINE_TRASH_H
#define CORE_MACHINE_TRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/fault.h"

/* Part of the name of each snapshot's entry. The workspace's name is before TRASH_SNAPSHOT, and
 * the end of the snapshot's id is after TRASH_SNAPSHOT. */
#define TRASH_SNAPSHOT "-snapshot-"
enum { TRASH_ID_SHOWN = 8 };

enum trash_kind { TRASH_FOLDER, TRASH_VM };

struct trash_entry {
	enum trash_kind kind;
	const char *name; /* name of the workspace, or of a workspace's snapshot */
	const char *path; /* absolute path of the entry's folder */
	int64_t removed_at; /* time of the removal in ms since 1970, rounded down to a
			       second */
	int64_t moved_ns; /* time of the move, which orders entries with the same
			     removed_at */
	int64_t bytes;
};

/* Bounds of the trash's content. */
struct trash_bounds {
	int64_t keep_ms; /* time for which an entry is kept; 0: the trash keeps nothing */
	int64_t bytes; /* maximum bytes of all entries together */
};

enum trash_taken {
	TRASH_NOTHING, /* the folder is missing or empty, or the trash keeps nothing */
	TRASH_TAKEN,
	TRASH_TOO_LARGE, /* the folder is larger than the whole trash may be */
};

/* Moves a workspace's folder into the trash. Returns an enum trash_taken, or a negative fault
 * if the folder cannot be moved. */
int trash_take(const char *home, const char *path, const char *name, int64_t now_ms,
	       const struct trash_bounds *bounds, struct fault *f);

/* Moves the snapshots of a workspace into the trash. Each complete snapshot in `folder` becomes
 * an entry, unless it is empty or too large. The entry's name contains the workspace's name and
 * the end of the snapshot's id. The entries of the snapshots get an earlier time than the entry
 * of the workspace. So the trash drops the snapshots before the workspace's last content.
 * Returns 0, even if there are no snapshots, or a negative fault. */
int trash_take_snapshots(const char *home, const char *folder, const char *workspace,
			 int64_t now_ms, const struct trash_bounds *bounds,
			 struct fault *f);

/* Moves the folder `path` into the trash as the entry `as`; as->path is not used. Returns
 * TRASH_TAKEN or a negative fault. */
int trash_put(const char *home, const char *path, const struct trash_entry *as,
	      struct fault *f);

/* Returns the length of NAME if `folder` is `NAME` or `NAME.gone`. A host renames a folder to
 * `NAME.gone` before it removes the folder, and may have added `.gone` more than once. Returns
 * 0 if `folder` has another ending, for example the ending of an incomplete copy. */
size_t trash_called(const char *folder);

/* Whether `path`, an absolute path, is the path of an existing entry. */
bool trash_is_entry(const char *home, const char *path);

/* Locks an entry, so that no process removes the entry by trash_trim(). Returns a descriptor,
 * which the caller closes when the entry is no longer needed. Returns -1 with errno on failure:
 * ENOENT if `path` is not an entry, EWOULDBLOCK if the entry is being removed. */
int trash_hold(const char *home, const char *path);

/* Removes the entries that are too old. Also removes the oldest entries until the remaining
 * entries fit the bounds. Does not remove an entry that a process has locked. Returns true if
 * the caller must sweep the disks of VMs. */
bool trash_trim(const char *home, int64_t now_ms, const struct trash_bounds *bounds);

/* Lists the entries in the arena `a`, the newest entry first. Returns the number of entries. */
size_t trash_list(const char *home, struct arena *a, struct trash_entry **entries);

/* Fills a fault that says that the folder or disk of a workspace is missing, and how to restore
 * the workspace. `what` is "folder" or "disk". Returns the negative fault. */
int trash_lost(const char *home, const char *name, const char *what, struct fault *f);

#endif
