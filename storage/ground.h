/*
 * ground - checks that the files which a store has open are still the files at their paths.
 *
 * While a process has a file open, the file's folder can be removed, moved or made anew, and
 * the file can be replaced or written over. Without a check, the process would go on to write
 * to a file that nobody finds. A WAL that is applied to the file of another database damages
 * that file. So a store remembers the device and inode of state.db, -wal and -shm. Before each
 * transaction, the store checks that the paths still lead to the files that it has open. After
 * each COMMIT, the store checks the path of state.db once more. The header of state.db shows if
 * a copy was written over the file, and the size shows if the file was cut off. For -wal, the
 * last valid frame shows if a copy was written over -wal, and if -wal was cut off.
 *
 * Each file of a state has a mark: 31 random bits in the application id of the header. A file
 * gets its mark when the file is made, and each backup gets another mark. The WAL itself says
 * to which file the WAL belongs, and which contents of that file the WAL continues (see
 * `generation` below). Headers are read through SQLite's own descriptor, since opening and
 * closing state.db by hand would drop the locks of the process.
 */
#ifndef STORAGE_GROUND_H
#define STORAGE_GROUND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/fault.h"

/*
 * generation - checks whether a WAL was written for the present contents of state.db.
 *
 * When all frames of a WAL have been copied into the file, the WAL begins anew from its start,
 * with other salts. The frames after a new start are the next generation of the WAL. The frames
 * of a generation are valid only for the contents that the file had when the generation began.
 * So the first transaction of each generation writes page 1, with the file's change counter
 * raised. A WAL may hold several copies of page 1. The WAL belongs to a file if the file's
 * counter is one below the counter of the first copy. If the file has the counter of any copy,
 * the WAL also belongs to the file, and some frames are in the file already. A file with another
 * counter is not the WAL's file.
 *
 * An attacker can plant a WAL, for example in a git branch or an archive that the user unpacks,
 * and can guess counters. So each page 1 in the WAL also contains the file's mark (see above),
 * which is secret. A WAL that has committed frames but no page 1 belongs to no file.
 *
 * The formats of the WAL and of its index in shared memory are described in "WAL-mode File
 * Format" in SQLite's documentation.
 */

struct store;

/* The valid part of the WAL, as the WAL's index describes it. A page size of 0 means that the
 * valid part is unknown. */
struct generation_extent {
	uint32_t frames, page;
	unsigned char salts[8];
};

/* How many frames of the WAL are in the file already; 0 if the number is unknown. */
int generation_copied(const struct store *s);

/* Raises the change counter if the transaction may be the first of a generation. Called right
 * after BEGIN IMMEDIATE. */
int generation_begin(struct store *s, struct fault *f);

/* The depth of a check. Each deeper check costs one or two more system calls. */
enum ground_look {
	GROUND_PLACE, /* state.db is in its place */
	GROUND_READ, /* in addition, the header belongs to this file, not to an older
			copy */
	GROUND_WRITE, /* in addition, -wal and -shm are in their places, and -wal is
			 whole */
};

struct ground {
	dev_t dev; /* device of all three files; inodes are 0 until ground_note() */
	ino_t db, wal, shm;
	uint32_t mark, changes; /* mark and change counter, as last read from the
				   header */
	off_t size; /* size of state.db when the file was last seen whole */
	struct generation_extent extent; /* valid part of -wal when -wal was last seen
					    whole */
	char *wal_path, *shm_path;
	bool lost; /* the store never reads or writes again */
	struct fault why;
};

/* Called before SQLite looks at the WAL, while the caller holds the lock WRITER_QUEUE_OPEN of
 * the state. Refuses a WAL that belongs to another file. Also refuses a rollback journal, which
 * a state in WAL mode never has. */
int ground_admit(struct store *s, struct fault *f);
/* Refuses to make state.db beside the WAL of a state.db that was removed. */
int ground_vacant(const struct store *s, struct fault *f);
/* Makes SQLite open the WAL, remembers the three files, and checks that state.db was not moved.
 * Writes into state.lock that a state exists. */
int ground_note(struct store *s, struct fault *f);
/* Checks that state.db, -wal and -shm are still the files that ground_note() remembered. After
 * a check has failed, every later check fails. */
int ground_check(struct store *s, enum ground_look look, struct fault *f);
/* Called after a COMMIT. Checks that the written data is kept: state.db must be in its place,
 * and neither state.db nor -wal may have been cut off or overwritten. A -wal that was removed
 * is left to the next check, since the data of an open -wal is not lost yet. */
int ground_kept(struct store *s, struct fault *f);
/* Called before the connection is closed. Whether the store's WAL holds data that may be copied
 * into state.db. The data may be copied only if state.db is still the file that the store has
 * opened. */
bool ground_owes(struct store *s);
void ground_release(struct ground *g);

#endif
