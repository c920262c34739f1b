/*
 * mirrored - a state whose rows are written past the handlers, and the vault
 * that mirrors it.
 *
 * Functions that the tests of the mirror share.  A function that cannot do its
 * work fails the running test.  Paths are below the vault's root.
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
	sqlite3 *db; /* rows are written past the handlers */
	struct mirror *mirror; /* NULL when nobody holds it */
};

struct mirrored *mirrored_open(void);
void mirrored_close(struct mirrored *w);

/* --- rows, each with its event ---------------------------------------------- */

void run(struct mirrored *w, const char *sql);
void runf(struct mirrored *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void event(struct mirrored *w, int kind, int team, int subject, const char *detail);
void add_team(struct mirrored *w, int id, const char *name);
void add_agent(struct mirrored *w, int id, int team, const char *name);
void add_task(struct mirrored *w, int id, int team, int number, const char *title);
/* Team demo with ada and bob; task 2 waits for task 1. */
void small_team(struct mirrored *w);
/* Team demo with so many tasks. */
void many(struct mirrored *w, int n);
/* Task 1 changes. */
void touch_first(struct mirrored *w, int priority);

/* --- the mirror ---------------------------------------------------------------- */

void open_mirror(struct mirrored *w);
void close_mirror(struct mirrored *w);
/* Mirrors until there is nothing more to do, waits for summaries included. */
void settle(struct mirrored *w);
/* Each file shows its rows. */
void equal(struct mirrored *w);

/* --- files ---------------------------------------------------------------------- */

/* The whole path; the next four calls leave it alone. */
const char *at(struct mirrored *w, const char *path);
char *slurp(const char *path); /* to be freed; NULL when it is not there */
void spit(const char *path, const char *text);
void holds(struct mirrored *w, const char *path, const char *needle);
bool there(struct mirrored *w, const char *path);
ino_t inode(struct mirrored *w, const char *path);

#endif
