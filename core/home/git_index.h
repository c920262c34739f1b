/*
 * git_index - reads git's index: which files git tracks, in all or in one folder.
 *
 * Files that git tracks come with a clone and are replaced by a pull, also in a folder
 * that ignores itself.  `git` is not run, since the repository's own configuration would
 * choose what that runs, and git need not be there.
 *
 * Versions 2 to 4, with names of objects of SHA-1 and SHA-256.  A split index is read with
 * the shared one that it names, and with no other one that git has left.  Entries are
 * sorted, so that the reading ends soon.  A file of more than 512 MiB or four million
 * entries is not read.  Every byte may be an enemy's: all is checked and bounded.
 */
#ifndef CORE_HOME_GIT_INDEX_H
#define CORE_HOME_GIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tracked { TRACKED_NOTHING, TRACKED_SOME, TRACKED_UNREADABLE };

/* Whether git tracks files in `folder`, which is absolute and without links above its
 * last name.  The indexes of all repositories around the folder are read. */
enum tracked tracked_look(const char *folder);

/* Whether any repository is around the folder, so that git may write there. */
bool git_may_track(const char *folder);

enum { TRACKED_SUM = 64 }; /* digits */

/* Computes the sum of the folder's settings (`cadre.toml`) and, with `files`, of the files
 * that git tracks in the folder (the entries of the indexes).  For an index that cannot be
 * read, its inode, size and times are used: each change is seen. */
void git_tracked_sum(const char *folder, bool files, char sum[TRACKED_SUM + 1]);

/* --- all entries ---------------------------------------------------------------------- */

enum { GIT_NAME_MAX = 4096 };

/* An index says of a file how git saw it last (seconds, and the low 32 bits of the size),
 * and whether it is left out of the tree on purpose. */
struct git_entry {
	const char *name;
	uint32_t mode, size, mtime, mtime_ns;
	bool is_skipped;
};

/* Calls `each` for the entries of an open index whose objects have names of `hash` bytes (20
 * or 32), until it returns false.  True if `each` got every entry and the index holds no
 * more.  A split index, or an index with a mandatory extension, gives false. */
bool git_reader_each(int fd, size_t hash,
		     bool (*each)(void *with, const struct git_entry *entry), void *with);

#endif
