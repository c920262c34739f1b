/*
 * notes - the notes of a vault in memory, for tests that touch no file.
 *
 * The struct may be copied: the copy is another vault, once notes_point() has
 * been called for it.
 */
#ifndef TESTS_LIB_NOTES_H
#define TESTS_LIB_NOTES_H

#include "core/vault/notes.h"

enum { FAKE_NOTES = 24, FAKE_PATH = 160, FAKE_BYTES = 2048 };

struct fake_note {
	char path[FAKE_PATH]; /* "": none */
	char data[FAKE_BYTES];
	struct note_stamp stamp;
};

struct fake_notes {
	struct notes notes; /* to be given to the code under test */
	struct fake_note files[FAKE_NOTES];
	int64_t now; /* ms */
	int64_t last_ino;
	int fail_make; /* so many times nothing is made */
};

/* Makes `f->notes` speak of `f`. */
void notes_point(struct fake_notes *f);

#endif
