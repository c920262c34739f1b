/*
 * journal - records in order which files a program syncs, moves and removes, and which folders
 * the program makes.
 *
 * The test program replaces the C library's functions for these acts. Each replacement makes
 * the system call, and also records the call while the journal is open. The paths in a step are
 * absolute. journal_move() and journal_removal() take the part of a path behind `base`.
 */
#ifndef TESTS_UNIT_TEST_DURABLE_JOURNAL_H
#define TESTS_UNIT_TEST_DURABLE_JOURNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum step_kind { SYNC, SYNC_ALL, MOVE, MAKE, REMOVE };

struct step {
	enum step_kind kind;
	char path[PATH_MAX], to[PATH_MAX]; /* only MOVE uses `to` */
};

extern struct journal {
	struct step *steps; /* NULL: the journal is closed */
	size_t n;
	char base[64]; /* the test's folder */
	void (*before)(void); /* if not NULL, called before the next rename */
} journal;

void journal_begin(void);
void journal_end(void);

/* Whether one of the steps `first` to `last` - 1 has this kind and this path. If `path` is
 * NULL, any path will do. */
bool journal_has(enum step_kind kind, const char *path, size_t first, size_t last);
/* Whether one of the steps `first` to `last` - 1 synced `path`, either alone or with the whole
 * file system. */
bool journal_synced(const char *path, size_t first, size_t last);

/* journal_move() returns the step that moved `from` to `to`, and journal_removal() the step
 * that removed `path`. The arguments are the parts of the paths behind `base`. The test fails
 * if there is no such step. */
size_t journal_move(const char *from, const char *to);
size_t journal_removal(const char *path);

/* Checks that, after the last step, each new folder and each new name is on the disk. */
void journal_check_names(void);

const char *journal_below(const char *path);

#endif
