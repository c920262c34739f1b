/*
 * ground - whether the files that a store has open are those that a person finds.
 *
 * A folder can be removed, moved or made anew, and a file replaced or written
 * over, while processes have it open.  What they wrote then would be kept where
 * nobody looks, and a WAL applied to another database's file damages it.  So a
 * store remembers the device and inode of state.db, -wal and -shm, and looks at
 * them by their paths before each transaction and once more behind each COMMIT.
 * That a copy was written into state.db is seen by its header, and that it was cut
 * off, by its size; both of -wal, by the last frame that counts.
 *
 * Each file of a state has a mark: 31 random bits in the header's application
 * id, made with the file, and another one in each backup.  state.lock keeps the
 * mark to whose file the WAL beside it belongs, noted while there was no WAL.  Which
 * contents of that file the WAL goes on from, it says itself: see generation.h.
 * Headers are read through SQLite's own descriptor, since opening and closing
 * state.db by hand would drop the locks of the process.
 */
#ifndef STORAGE_GROUND_H
#define STORAGE_GROUND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/fault.h"
#include "storage/generation.h"

struct store;

/* How much is checked: each costs a system call or two more. */
enum ground_look {
	GROUND_PLACE, /* that state.db is where it was */
	GROUND_READ, /* and that its header is of the same file, not of an older copy */
	GROUND_WRITE, /* and that -wal and -shm are where they were, and -wal is whole */
};

struct ground {
	dev_t dev; /* of all three; the inodes are 0 until they are noted */
	ino_t db, wal, shm;
	uint32_t mark, changes; /* as the header said last */
	off_t size; /* of state.db when it was last seen whole */
	struct generation_extent extent; /* of -wal when it was last seen whole */
	char *wal_path, *shm_path;
	bool lost; /* for good: this store writes and reads nothing more */
	struct fault why;
};

/* Before SQLite looks at the WAL, with the state's TURN_OPEN held: refuses a WAL
 * and a rollback journal of another file's, and notes in state.lock whose the next one will be. */
int ground_admit(struct store *s, struct fault *f);
/* Refuses to make state.db beside the WAL of one that was taken away. */
int ground_vacant(const struct store *s, struct fault *f);
/* Remembers the files, and sees that all three are open. */
int ground_note(struct store *s, struct fault *f);
/* Whether they are still those.  Once they are not, it stays so. */
int ground_check(struct store *s, enum ground_look look, struct fault *f);
/* Behind a COMMIT: whether state.db is where it was, and what was written is kept: neither
 * state.db nor -wal was cut off or written over meanwhile.  A -wal that was removed is
 * found by the next look: what it holds is not lost yet. */
int ground_kept(struct store *s, struct fault *f);
/* Before the connection is closed: whether its WAL holds something, and may be applied
 * to the file, which is not another one by now. */
bool ground_owes(struct store *s);
void ground_release(struct ground *g);

#endif
