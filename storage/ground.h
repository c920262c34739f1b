/*
 * ground - checks that the files which a store has open are still those at their paths.
 *
 * A folder can be removed, moved or made anew, and a file replaced or written over,
 * while processes have it open.  Their writes would then go to files that nobody finds,
 * and a WAL that is applied to another database's file damages it.  So a store
 * remembers the device and inode of state.db, -wal and -shm, and looks at them by their
 * paths before each transaction and once more behind each COMMIT. The header of
 * state.db shows that a copy was written over it, and its size that it was cut off; the
 * last frame that counts shows both of -wal.
 *
 * Each file of a state has a mark: 31 random bits in the header's application id, made
 * with the file, and another one in each backup.  state.lock keeps the mark of the file
 * to which the WAL belongs, noted while there was no WAL.  The WAL itself says which
 * contents of that file it continues: see generation.h. Headers are read through
 * SQLite's own descriptor, since opening and closing state.db by hand would drop the
 * locks of the process.
 */
#ifndef STORAGE_GROUND_H
#define STORAGE_GROUND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/fault.h"
#include "storage/generation.h"

struct store;

/* Depth of a check: each further step costs a system call or two more. */
enum ground_look {
	GROUND_PLACE, /* state.db is in its place */
	GROUND_READ, /* and its header is of the same file, not of an older copy */
	GROUND_WRITE, /* and -wal and -shm are in their places, and -wal is whole */
};

struct ground {
	dev_t dev; /* device of all three files; inodes are 0 until they are noted */
	ino_t db, wal, shm;
	uint32_t mark, changes; /* as the header said last */
	off_t size; /* of state.db when it was last seen whole */
	struct generation_extent extent; /* of -wal when it was last seen whole */
	char *wal_path, *shm_path;
	bool lost; /* for good: this store writes and reads no more */
	struct fault why;
};

/* Called before SQLite looks at the WAL, with the state's WRITER_QUEUE_OPEN held: refuses a WAL
 * or a rollback journal that belongs to another file, and notes in state.lock the file to
 * which the next WAL will belong. */
int ground_admit(struct store *s, struct fault *f);
/* Refuses to make state.db beside the WAL of one that was removed. */
int ground_vacant(const struct store *s, struct fault *f);
/* Remembers the three files, and checks that SQLite has opened all of them. */
int ground_note(struct store *s, struct fault *f);
/* Checks that they are still the same files; once they are not, every check fails. */
int ground_check(struct store *s, enum ground_look look, struct fault *f);
/* Called after a COMMIT: checks that state.db is in its place and that the written data
 * is kept, so neither state.db nor -wal was cut off or overwritten meanwhile.  A -wal
 * that was removed is found by the next check: its data is not lost yet. */
int ground_kept(struct store *s, struct fault *f);
/* Called before the connection is closed: whether its WAL holds data that may be copied
 * into the file, which must not have become another one. */
bool ground_owes(struct store *s);
void ground_release(struct ground *g);

#endif
