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
 * secret.  A WAL that was committed to without a page 1 belongs to no file that has a
 * mark.
 *
 * The formats of the WAL and of its index in shared memory are those of
 * "WAL-mode File Format" in SQLite's documentation.
 */
#ifndef STORAGE_GENERATION_H
#define STORAGE_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/fault.h"

struct store;

struct generation {
	int fd; /* of the WAL, or -1 */
	unsigned char header[32];
};

/* Two numbers in the header of state.db, by which a WAL is matched to it. */
struct generation_file {
	uint32_t mark, changes; /* mark 0: a file of an older version */
};

enum generation_of {
	GENERATION_UNKNOWN, /* the WAL holds no evidence of its file, and no frame that
			       counts */
	GENERATION_OF_FILE,
	GENERATION_OF_OTHER,
	GENERATION_GONE, /* another generation has begun meanwhile: look again */
};

/* Opens the WAL, before the change counter of its file is read. */
void generation_open(struct generation *g, const char *wal_path);
/* Judges whether the WAL belongs to this file.  Reads the beginning of each frame, and
 * whole frames only where something seems wrong. */
enum generation_of generation_judge(const struct generation *g,
				    const struct generation_file *file);
void generation_close(struct generation *g);

/* The part of the WAL that counts, by its index; a page size of 0 where that is
 * unknown. */
struct generation_extent {
	uint32_t frames, page;
	unsigned char salts[8];
};

/* Whether the open WAL still holds all frames that count: it was not cut off, and no
 * other file was copied over it.  `before` holds the extent at the last look, and gets
 * that of now: a WAL that was cut off before its newest frames were written has a hole
 * there.  Costs a short read; after a commit, two. */
bool generation_holds(const struct store *s, struct generation_extent *before);

/* How many frames of the WAL a checkpoint has begun to copy into the file, and how many
 * it has copied. */
struct generation_copied {
	uint32_t begun, done;
};

/* Whether no checkpoint is under way or has died halfway: only then the file has all
 * pages that its header counts. */
bool generation_rests(const struct store *s, struct generation_copied *c);

/* How many frames of the WAL are in the file already; 0 where that is unknown. */
int generation_copied(const struct store *s);

/* How many frames are yet to be copied; 0 where that is unknown. */
int generation_waiting(const struct store *s);

/* Raises the change counter if the transaction may be the first of a generation; called
 * right after BEGIN IMMEDIATE. */
int generation_begin(struct store *s, struct fault *f);

#endif
