/*
 * notes - the notes of a vault in memory, for tests that touch no file.
 *
 * A struct fake_notes may be copied. After a call of notes_point(), the copy is a separate
 * vault.
 */
#ifndef TESTS_LIB_NOTES_H
#define TESTS_LIB_NOTES_H

#include "core/vault/notes.h"

enum { FAKE_NOTES = 24, FAKE_PATH = 160, FAKE_BYTES = 2048 };

struct fake_note {
	char path[FAKE_PATH]; /* "": this array element holds no note */
	char data[FAKE_BYTES];
	struct note_stamp stamp;
};

struct fake_notes {
	struct notes notes; /* the functions for the code under test */
	struct fake_note files[FAKE_NOTES];
	int64_t now; /* the time in ms */
	int64_t last_ino;
	int fail_make; /* how many of the next calls of make() fail */
};

/* Makes `f->notes` refer to `f`. */
void notes_point(struct fake_notes *f);

#endif
