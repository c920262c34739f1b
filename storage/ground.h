/*
 * ground - checks that the files which a store has open are still those at their paths.
 *
 * A folder can be removed, moved or made anew, and a file replaced or written over,
 * while processes have it open.  Their writes would then go to files that nobody finds,
 * and a WAL that is applied to another database's file damages it.  So a store
 * remembers the device and inode of state.db, -wal and -shm, and looks at them by their
 * paths before each transaction and once more behind each COMMIT. The header of
 * state.db shows if a copy was written over the file, and the size shows if the file was
 * cut off.  For -wal, the last frame that counts shows both.
 *
 * Each file of a state has a mark: 31 random bits in the header's application id, made
 * with the file, and another one in each backup.  The WAL itself says to which file it
 * belongs, and which contents of that file it continues: see below. Headers are read through
 * SQLite's own descriptor, since opening and closing state.db by hand would drop the
 * locks of the process.
 */
#ifndef STORAGE_GROUND_H
#define STORAGE_GROUND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/fault.h"

/*
 * generation - checks which contents of state.db a WAL continues.
 *
 * A WAL whose frames have all been copied into the file begins anew from its start,
 * with other salts: its next generation.  Frames mean something only over the contents
 * that the file had then.  So the first transaction of each generation writes page 1,
 * with the file's change counter raised.  A file with the counter before is the file that
 * the WAL continues.  A file with the counter of any page 1 in the WAL is the same file,
 * with some frames already copied into it.  A file with another counter is not the WAL's
 * file.
 *
 * An attacker who plants a WAL, as by a checkout of a strange branch or an archive, can
 * guess counters.  So each page 1 in the WAL has the file's mark (ground.h), which is
 * secret.  A WAL that was committed to without a page 1 belongs to no file.
 *
 * The formats of the WAL and of its index in shared memory are those of
 * "WAL-mode File Format" in SQLite's documentation.
 */

struct store;

/* The part of the WAL that counts, by its index; a page size of 0 where that is
 * unknown. */
struct generation_extent {
	uint32_t frames, page;
	unsigned char salts[8];
};

/* How many frames of the WAL are in the file already; 0 where that is unknown. */
int generation_copied(const struct store *s);

/* Raises the change counter if the transaction may be the first of a generation; called
 * right after BEGIN IMMEDIATE. */
int generation_begin(struct store *s, struct fault *f);

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
 * that belongs to another file, and a rollback journal, which a state in WAL mode has not. */
int ground_admit(struct store *s, struct fault *f);
/* Refuses to make state.db beside the WAL of one that was removed. */
int ground_vacant(const struct store *s, struct fault *f);
/* Remembers the three files, and checks that SQLite has opened all of them.  Signs state.lock. */
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
