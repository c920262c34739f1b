/*
 * mirror - writes the state's rows as files into the vault's folder `teams/`.
 *
 * The mirror reads the event log from the place in its cursor, which is the file
 * `.cadre-cursor` in the vault's root. The mirror shows every task, card and team that changed.
 * The cursor passes an event only when all files that show the event are on the disk. After a
 * crash at any instant, the next process finishes the work. No file is written if nothing
 * changed.
 *
 * The mirror shows everything anew if there is no cursor, or if the cursor belongs to another
 * incarnation of the state. The mirror also shows everything anew if the log no longer reaches
 * back to the cursor. Everything is shown in slices, and the cursor holds the end of the last
 * slice. One process at a time mirrors, and holds a lock on `.cadre-mirror`.
 */
#ifndef CORE_MIRROR_MIRROR_H
#define CORE_MIRROR_MIRROR_H

#include "core/home/home.h"

struct mirror;

/* Opens the mirror of `home`, which must outlive the mirror. Returns 0 or a fault code. */
int mirror_open(struct mirror **out, const struct home *home, struct fault *f);
void mirror_close(struct mirror *m); /* `m` may be NULL */

/* Makes the mirror move each file that it removes into `folder`, under the file's old path.
 * `folder` is borrowed, and must be on the vault's file system. */
void mirror_keep(struct mirror *m, const char *folder);

/* Mirrors for about budget_ms. `store` should be a read connection, and must have no open
 * transaction. Sets *more if work is left that can be done at once. Returns 0 or a negative
 * fault code. After a failure the saved cursor is unchanged, and the next step tries again. */
int mirror_step(struct mirror *m, struct store *store, int64_t budget_ms, bool *more,
		struct fault *f);

/* Returns the milliseconds until the mirror needs another step even without a new event. A step
 * may be needed later because summaries (INDEX.md, TEAM.md) are written at most four times a
 * second, or because another process holds the mirror's lock. Returns -1 if no step is needed
 * before the next event, or before the descriptor of mirror_watch() is readable. */
int64_t mirror_due(const struct mirror *m);

/* From now on, each step of a host's mirror also checks some files. Every file is checked once,
 * or every 10 minutes if some folders cannot be watched. After a removal, the files of the team
 * that lost the file are checked again. Files that are missing or out of date are written. A
 * file that a person edited stays until its row changes. Returns a descriptor that is readable
 * when a step should be taken, or -1. The descriptor belongs to the mirror. */
int mirror_watch(struct mirror *m);

/* A text that was saved as the file of an agent's card. Texts of the mirror itself are marked
 * as `own`. */
struct mirror_edit {
	struct mirror_edit *next; /* the next edit in the holder's list */
	char path[160]; /* "teams/TEAM/cards/AGENT.json" */
	char folder[160], name[80]; /* folder and file name of `path` */
	char team[72], agent[72];
	struct text text; /* the file's text, with a NUL behind the end */
	const char *unread; /* why the file was not read; NULL if the file was read */
	bool own; /* the mirror wrote the text (now or earlier), or the text is empty or
		     unfinished */
	int code; /* the fault code of a refused text, or 0 */
	int64_t agent_row; /* 0 if the agent does not exist */
};

/* Returns the next edit that a step has found, or NULL. The caller must hand the edit to
 * mirror_edit_judged(). */
struct mirror_edit *mirror_next_edit(struct mirror *m);
/* Takes over an edit after the caller has judged the edit and has stored the verdict in
 * edit->code. The next step shows the card again. A refused text is kept beside the card, as
 * AGENT.conflict.json. If the agent does not exist, the text is kept only as
 * AGENT.conflict.json. */
void mirror_edit_judged(struct mirror *m, struct mirror_edit *edit);
void mirror_edit_free(struct mirror_edit *edit);

/* Updates the mirror for about budget_ms, on behalf of a process that has changed the state
 * without a host. If another process holds the mirror's lock, that process shows the change.
 * The holder of the lock looks for new events once more after it has unlocked. Returns 0 or a
 * negative fault code. */
int mirror_catch_up(const struct home *home, struct store *store, int64_t budget_ms,
		    struct fault *f);

/* Folders and files that the mirror has moved away from their places in the vault. */
struct mirror_aside {
	struct arena arena;
	const char **folders; /* paths of teams' archived folders, from the vault's root */
	size_t n;
	int64_t conflicts; /* number of people's files that were renamed to `.conflict` names */
};

/* Works like mirror_catch_up(), and also fills `aside`. The caller releases the arena of
 * `aside`. */
int mirror_catch_up_telling(const struct home *home, struct store *store,
			    int64_t budget_ms, struct mirror_aside *aside,
			    struct fault *f);

/* Sets home->settings.folders, a table of functions. Operations on notes use the table to find
 * the team of a folder, and to bring the folder up to date. */
void mirror_attend(struct home *home);

/* Counts the events that the mirror has to show and has not read yet. Sets *events to -1 if the
 * mirror has never run on this state, or if everything is to be shown anew. */
int mirror_lag(const struct home *home, struct store *store, int64_t *events,
	       struct fault *f);

/* Returns the last event of this incarnation that the mirror has read, or 0 if the mirror has
 * not run. Cleaning must not delete events that the mirror has not read. */
int64_t mirror_cursor(const struct home *home, const char *incarnation);

/* Compares every file with its rows, and adds a line to `report` for each difference. Returns
 * the number of differences, or a negative fault code. If `edited` is not NULL, sets *edited to
 * the number of differences that a person's edit made. */
int mirror_verify(const struct home *home, struct store *store, struct text *report,
		  int *edited, struct fault *f);

#endif
