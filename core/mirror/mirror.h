/*
 * mirror - the follower that keeps the vault's `teams/` equal to the rows.
 *
 * The mirror reads the event log from its own cursor, `.cadre-cursor` in the vault's root, and
 * shows every task, card and team that changed. The cursor passes an event only when all files
 * that show the event are on the disk. So after a crash at any instant the next process
 * finishes the work. No file is written when nothing changed. The mirror shows everything anew
 * if there is no cursor, if the cursor is of another incarnation, or if the log no longer
 * reaches back to the cursor. This work is done in slices, and the cursor holds the place of
 * the last slice. One process at a time mirrors, and holds a lock on `.cadre-mirror`.
 */
#ifndef CORE_MIRROR_MIRROR_H
#define CORE_MIRROR_MIRROR_H

#include "core/home/home.h"

struct mirror;

/* Opens the mirror of `home`, which must outlive the mirror: 0 or a fault code. */
int mirror_open(struct mirror **out, const struct home *home, struct fault *f);
void mirror_close(struct mirror *m); /* NULL is fine */

/* Makes the mirror move each file that it removes into `folder`, under the file's old path.
 * `folder` is borrowed, and on the same file system. */
void mirror_keep(struct mirror *m, const char *folder);

/* Works for about budget_ms on `store` (best a read connection), outside a transaction. *more:
 * further work can be done at once. 0 or negative; after a failure the cursor is unchanged, and
 * the next step tries again. */
int mirror_step(struct mirror *m, struct store *store, int64_t budget_ms, bool *more,
		struct fault *f);

/* Milliseconds until the mirror needs another step even without a new event: summaries
 * (INDEX.md, TEAM.md) are written at most four times a second, and another process may be
 * mirroring.  -1: no step is needed before the next event, or before the descriptor of
 * mirror_watch() is readable. */
int64_t mirror_due(const struct mirror *m);

/* Makes a host's mirror check files: from now on each step also checks some files.  Every
 * file is checked once, and again after a removal of any file.  Files that are missing or
 * out of date are written; a file that a person edited stays until its row changes.
 * Returns a descriptor (the mirror's own, or -1) that is readable when a step should be
 * taken. */
int mirror_watch(struct mirror *m);

/* A text that somebody other than the mirror saved as the file of an agent's card. */
struct mirror_edit {
	struct mirror_edit *next; /* for a list of the holder */
	char path[160]; /* "teams/TEAM/cards/AGENT.json" */
	char folder[160], name[80]; /* the two parts of the path */
	char team[72], agent[72];
	struct text text; /* ends with NUL */
	const char *unread; /* why the file was not read; NULL: `text` holds the file */
	bool own; /* no person's text: the mirror's (old ones too), empty, or still
		     being written */
	int code; /* the fault of a refused text, or 0 */
	int64_t agent_row; /* 0: there is no such agent */
};

/* The next edit that a step has found, or NULL. The caller must hand the edit to
 * mirror_edit_judged(). */
struct mirror_edit *mirror_next_edit(struct mirror *m);
/* Reports the verdict on `edit`, and releases `edit`: the next step shows the card again. A
 * refused text is kept beside the card, as AGENT.conflict.json; a text for an agent that does
 * not exist is kept only under this name. */
void mirror_edit_judged(struct mirror *m, struct mirror_edit *edit);
void mirror_edit_free(struct mirror_edit *edit);

/* Mirrors for about budget_ms, for a process that changed the state without a host. If another
 * process is mirroring, that process shows the change too: after it has unlocked, it looks for
 * new events once more. 0 or negative. */
int mirror_catch_up(const struct home *home, struct store *store, int64_t budget_ms,
		    struct fault *f);

/* Folders and files of a vault that its mirror has moved away from their places. */
struct mirror_aside {
	struct arena arena;
	const char **folders; /* archived folders of teams: paths from the vault's root */
	size_t n;
	int64_t conflicts; /* people's files that were renamed to `.conflict` names */
};

/* As mirror_catch_up(), and fills `aside`. The caller releases the arena of `aside`. */
int mirror_catch_up_telling(const struct home *home, struct store *store,
			    int64_t budget_ms, struct mirror_aside *aside,
			    struct fault *f);

/* Sets home->settings.folders. With this table, operations on notes find the team of a folder,
 * and let the mirror bring the folder up to date. */
void mirror_attend(struct home *home);

/* Counts the events that the mirror shows and has not read yet. -1 if the mirror has never run
 * on this state, or if everything is to be shown anew. */
int mirror_lag(const struct home *home, struct store *store, int64_t *events,
	       struct fault *f);

/* The event up to which the mirror has read the log of this incarnation, 0 if the mirror has
 * not run. Cleaning must not delete events behind this one. */
int64_t mirror_cursor(const struct home *home, const char *incarnation);

/* Compares every file with its rows. Each difference is a line of `report`; returns the number
 * of differences, or negative. *edited (or NULL): the number of differences that a person's
 * edit made. */
int mirror_verify(const struct home *home, struct store *store, struct text *report,
		  int *edited, struct fault *f);

#endif
