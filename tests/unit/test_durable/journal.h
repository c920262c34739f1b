/*
 * journal - records which files a program syncs, names and removes, in order.
 *
 * The test program replaces those system calls. Each replacement performs the call, and records
 * it while the journal is open. Paths are absolute; `below` means the part of a path behind
 * base.
 */
#ifndef TESTS_UNIT_TEST_DURABLE_JOURNAL_H
#define TESTS_UNIT_TEST_DURABLE_JOURNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum step_kind { SYNC, SYNC_ALL, MOVE, MAKE, REMOVE };

struct step {
	enum step_kind kind;
	char path[PATH_MAX], to[PATH_MAX]; /* `to` is for MOVE */
};

extern struct journal {
	struct step *steps; /* NULL: the journal is closed */
	size_t n;
	char base[64]; /* the test's folder */
	void (*before)(void); /* called before the next rename; NULL: no call */
} journal;

void journal_begin(void);
void journal_end(void);

/* Whether a step has this kind and this path (NULL: any path). `first` is the first step to
 * check, and `last` is the step behind the last one. */
bool journal_has(enum step_kind kind, const char *path, size_t first, size_t last);
/* Whether such a step has synced `path`, by itself or with the whole file system. */
bool journal_synced(const char *path, size_t first, size_t last);

/* The step that moved `from` to `to`, or that removed `path`; the paths are below base. The
 * test fails if there is no such step. */
size_t journal_move(const char *from, const char *to);
size_t journal_removal(const char *path);

/* Checks that at the end each new folder and each new name is on the disk. */
void journal_check_names(void);

const char *journal_below(const char *path);

#endif
