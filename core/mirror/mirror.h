/*
 * mirror - the follower that keeps the vault's `teams/` equal to the rows.
 *
 * It reads the event log from its own cursor, `.cadre-cursor` in the vault's root, and
 * shows every task, card and team that changed.  The cursor moves only when all files
 * that it covers are on the disk, so after a crash at any instant the next one finishes
 * the work; no file is written when nothing changed.  Without a cursor, or when it is
 * of another incarnation or the log no longer reaches back to it, everything is shown
 * anew, in slices whose place the cursor keeps.  One process at a time mirrors: it
 * holds a lock on `.cadre-mirror`.
 */
#ifndef CORE_MIRROR_MIRROR_H
#define CORE_MIRROR_MIRROR_H

#include "core/home/home.h"

struct mirror;

/* Opens the mirror of a home, which stays borrowed: 0 or a fault code. */
int mirror_open(struct mirror **out, const struct home *home, struct fault *f);
void mirror_close(struct mirror *m); /* NULL is fine */

/* Files that the mirror removes are moved to this folder, which is borrowed and on the same file
 * system, under the paths that they had. */
void mirror_keep(struct mirror *m, const char *folder);

/* Works for about budget_ms on `store` (best a read connection), outside a transaction.
 * *more: further work can be done at once.  0 or negative; a failure leaves the cursor
 * where it was, and the next step tries again. */
int mirror_step(struct mirror *m, struct store *store, int64_t budget_ms, bool *more,
		struct fault *f);

/* Milliseconds until the mirror wants another step although no event comes: summaries
 * (INDEX.md, TEAM.md) are written at most four times a second, and another process may be
 * mirroring.  -1: no step before the next event, or before the descriptor of
 * mirror_watch() is readable. */
int64_t mirror_due(const struct mirror *m);

/* Makes a host's mirror check files: from now on each step also checks some files.  Every
 * file is checked once, and again after a removal of any file.  Files that are missing or
 * out of date are written; a file that a person edited stays until its row changes.
 * Returns a descriptor (the mirror's own, or -1) that is readable when a step should be
 * taken. */
int mirror_watch(struct mirror *m);

/* A text that somebody saved as the file of an agent's card, which the mirror has not written. */
struct mirror_edit {
	struct mirror_edit *next; /* the holder's */
	char path[160]; /* "teams/TEAM/cards/AGENT.json" */
	char folder[160], name[80]; /* the two parts of the path */
	char team[72], agent[72];
	struct text text; /* ends with NUL */
	const char *unread; /* why the file was not read; NULL: `text` is what it holds */
	bool own; /* a text of the mirror, of whichever time and card, none or one that is being
		     written: nobody's yet */
	int code; /* the fault of a refused text, or 0 */
	int64_t agent_row; /* 0: there is no such agent */
};

/* The next such text that a step has found, or NULL; the caller's to give back. */
struct mirror_edit *mirror_next_edit(struct mirror *m);
/* Reports the verdict on `edit`, and releases `edit`: the next step shows the card again.  A
 * refused text is kept beside the card, as AGENT.conflict.json; the text of no agent is kept
 * only there. */
void mirror_edit_judged(struct mirror *m, struct mirror_edit *edit);
void mirror_edit_free(struct mirror_edit *edit);

/* Mirrors for about budget_ms, for a process that changed the state without a host.  If
 * another process is mirroring, that one shows the change too: the holder looks for new
 * events once more after it has unlocked.  0 or negative. */
int mirror_catch_up(const struct home *home, struct store *store, int64_t budget_ms,
		    struct fault *f);

/* Folders and files of a vault that its mirror has moved away from their places. */
struct mirror_aside {
	struct arena arena;
	const char **
		folders; /* of teams, in the archive: their paths from the vault's root */
	size_t n;
	int64_t conflicts; /* files of people that have `.conflict` in their names now */
};

/* mirror_catch_up(), also filling `aside`, whose arena is the caller's to release. */
int mirror_catch_up_telling(const struct home *home, struct store *store,
			    int64_t budget_ms, struct mirror_aside *aside,
			    struct fault *f);

/* Makes operations on notes look whose the folders of teams are, and let the mirror bring
 * them up to date: home->settings.folders. */
void mirror_attend(struct home *home);

/* Counts the events that the mirror has yet to read and shows; -1 when it has never run
 * on this state, or everything is to be shown anew. */
int mirror_lag(const struct home *home, struct store *store, int64_t *events,
	       struct fault *f);

/* The event up to which the mirror has read the log of this incarnation, which cleaning
 * must not pass; 0 when it has not run. */
int64_t mirror_cursor(const struct home *home, const char *incarnation);

/* Compares every file with its rows.  Each difference is a line of `report`;
 * returns how many there are, or negative.  *edited (or NULL): how many of these
 * are a person's. */
int mirror_verify(const struct home *home, struct store *store, struct text *report,
		  int *edited, struct fault *f);

#endif
