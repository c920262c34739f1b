/*
 * journal - which files a program syncs, names and removes, in order.
 *
 * The calls that matter are the test's own here: each is done, and while the journal
 * is open noted in it.  Paths are absolute; `below` stands for what is behind base.
 */
#ifndef TESTS_UNIT_TEST_DURABLE_JOURNAL_H
#define TESTS_UNIT_TEST_DURABLE_JOURNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum step_kind { SYNC, SYNC_ALL, MOVE, MAKE, REMOVE };

struct step {
	enum step_kind kind;
	char path[PATH_MAX], to[PATH_MAX]; /* to: of MOVE */
};

extern struct journal {
	struct step *steps; /* NULL: nothing is noted */
	size_t n;
	char base[64]; /* folder of the test */
	void (*before)(void); /* called before the next rename; NULL: nothing is */
} journal;

void journal_begin(void);
void journal_end(void);

/* Whether a step from `first` up to `last` is of this kind, and about `path` (NULL: about
 * any). */
bool journal_has(enum step_kind kind, const char *path, size_t first, size_t last);
/* Whether one has synced `path`, by itself or with all of the file system. */
bool journal_synced(const char *path, size_t first, size_t last);

/* The step that moved `from` to `to`, or removed `path`, all below; the test fails
 * without. */
size_t journal_move(const char *from, const char *to);
size_t journal_removal(const char *path);

/* Every folder that was made, and every name that was given, is on the disk in the end. */
void journal_check_names(void);

const char *journal_below(const char *path);

#endif
