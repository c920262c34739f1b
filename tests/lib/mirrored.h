/*
 * mirrored - a state whose rows the test writes itself, without the operations' handlers, and
 * the vault that mirrors the state.
 *
 * The tests of the mirror share these functions. A function that cannot do its work makes the
 * running test fail. Paths are relative to the vault's root.
 */
#ifndef TESTS_LIB_MIRRORED_H
#define TESTS_LIB_MIRRORED_H

#include <sqlite3.h>
#include <sys/types.h>

#include "core/mirror/mirror.h"

struct mirrored {
	char dir[100];
	struct home home;
	struct store *store;
	sqlite3 *db; /* writes rows without the handlers */
	struct mirror *mirror; /* NULL: the mirror is not open */
};

struct mirrored *mirrored_open(void);
void mirrored_close(struct mirrored *w);

/* --- writing a row with its event ----------------------------------------- */

void run(struct mirrored *w, const char *sql);
void runf(struct mirrored *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void event(struct mirrored *w, int kind, int team, int subject, const char *detail);
void add_team(struct mirrored *w, int id, const char *name);
void add_agent(struct mirrored *w, int id, int team, const char *name);
void add_task(struct mirrored *w, int id, int team, int number, const char *title);
/* Makes the team demo with the agents ada and bob. Task 2 waits for task 1. */
void small_team(struct mirrored *w);
/* Makes the team demo with `n` tasks. */
void many(struct mirrored *w, int n);
/* Changes the priority of task 1. */
void touch_first(struct mirrored *w, int priority);

/* --- the mirror ---------------------------------------------------------------- */

void open_mirror(struct mirrored *w);
void close_mirror(struct mirrored *w);
/* Runs the mirror until no work is left, and also waits for summaries that the mirror delays. */
void settle(struct mirrored *w);
/* Checks that each file has the content of its rows. */
void equal(struct mirrored *w);

/* --- files ---------------------------------------------------------------------- */

/* Returns `path` as an absolute path. The fourth later call of at() overwrites the result. */
const char *at(struct mirrored *w, const char *path);
char *slurp(const char *path); /* the caller frees the text; NULL: there is no file */
void spit(const char *path, const char *text);
void holds(struct mirrored *w, const char *path, const char *needle);
bool there(struct mirrored *w, const char *path);
ino_t inode(struct mirrored *w, const char *path);

#endif
