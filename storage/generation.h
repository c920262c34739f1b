/*
 * generation - from which contents of state.db a WAL goes on.
 *
 * A WAL whose frames have all been copied into the file begins anew from its start,
 * with other salts: its next generation.  Frames mean something only over the contents
 * that the file had then.  So the first transaction of each generation writes page 1,
 * with the file's change counter raised: a file with the counter before is the one
 * that the WAL goes on from, one with the counter of any page 1 in the WAL is the same
 * with some frames copied into it already, and any other file is another one.
 *
 * Counters can be guessed by whoever leaves a WAL there on purpose, as a checkout of a
 * strange branch or an archive may.  So each page 1 in the WAL has the mark of the file
 * (ground.h), which is told to nobody, and a WAL that was committed to without a page 1
 * is of no file that has a mark.
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

/* Two numbers of the header of state.db. */
struct generation_file {
	uint32_t mark, changes; /* mark 0: of an older version */
};

enum generation_of {
	GENERATION_UNKNOWN, /* it holds nothing that tells, and nothing that counts */
	GENERATION_OF_FILE,
	GENERATION_OF_OTHER,
	GENERATION_GONE, /* another one has begun meanwhile: look again */
};

/* Opens the WAL, before the change counter of its file is read. */
void generation_open(struct generation *g, const char *wal_path);
/* Whether it is of this file.  Reads the beginning of each frame, and all of them only
 * where something seems wrong. */
enum generation_of generation_judge(const struct generation *g,
				    const struct generation_file *file);
void generation_close(struct generation *g);

/* How much of the WAL counts, by its index; a page of no bytes where that is not known. */
struct generation_extent {
	uint32_t frames, page;
	unsigned char salts[8];
};

/* Whether the WAL that is open still holds all that counts: it was not cut off, nor was
 * another file copied into it.  `before` is what counted at the last look, and becomes
 * what counts now: a WAL that was cut off before the newest frames were written has a
 * hole there.  Costs a short read, behind a commit two. */
bool generation_holds(const struct store *s, struct generation_extent *before);

/* How many frames of the WAL a checkpoint began to copy into the file, and has copied. */
struct generation_copied {
	uint32_t begun, done;
};

/* Whether no checkpoint is under way, nor has died in the middle: then the file has all
 * pages that its header says. */
bool generation_rests(const struct store *s, struct generation_copied *c);

/* How many frames of the WAL are in the file already; 0 where that is not known. */
int generation_copied(const struct store *s);

/* Behind BEGIN IMMEDIATE: raises the change counter if the transaction may be the first
 * of a generation. */
int generation_begin(struct store *s, struct fault *f);

#endif
