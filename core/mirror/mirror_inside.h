/*
 * mirror_inside - the mirror's own state, shared by the source files of the mirror.
 */
#ifndef CORE_MIRROR_MIRROR_INSIDE_H
#define CORE_MIRROR_MIRROR_INSIDE_H

#include "core/mirror/mirror_mail.h"
#include "core/mirror/mirror_show.h"

/*
 * A line of text in the cursor's file says how far the mirror has come.
 *
 *   {incarnation}.{seq}                 all events up to `seq` are shown
 *   {incarnation}.{seq} {stage} {row}   everything is being shown as of event `seq`,
 *                                       and the stage is done up to `row`
 */

/* The stages in which the mirror shows everything, in order. */
enum mirror_stage {
	STAGE_FOLLOW, /* everything is shown, and the mirror follows the log */
	STAGE_TEAMS,
	STAGE_AGENTS,
	STAGE_TASKS,
	STAGE_SUMMARIES,
	STAGE_SWEEP,
	STAGE_FOLDERS,
	STAGE_MAIL,
};
enum { LAST_STAGE = STAGE_MAIL };

struct mirror_cursor {
	char incarnation[40];
	int64_t seq;
	enum mirror_stage stage;
	int64_t row;
};

/* Time between two writes of the same INDEX.md or page of messages. */
enum { SUMMARY_MS = 250 };

struct home;

struct mirror {
	struct mirror_show show;
	struct mirror_mail mail;
	int lock; /* descriptor of `.cadre-mirror` */
	bool locked, known; /* this mirror holds the lock; `at` was read */
	bool direct; /* the process ends soon, so all work is done at once */
	int64_t batch; /* maximum number of rows, or of relevant events, in a slice */
	struct mirror_cursor at, saved; /* the place that files show; the place in the
					   cursor's file */
	struct ids stale; /* teams whose summaries must be written again */
	int64_t stale_after; /* the last event that all summaries and pages of messages
				show */
	int64_t summaries_at, saved_at; /* monotonic ms of the last writes of summaries,
					   and of the cursor */
	struct losses losses; /* removed and saved files, only if `watching` is set */
	bool watching;
	struct mirror_edit *judged; /* edits whose cards are to be shown again */
	struct mirror_cursor check; /* place of the check of all files; at STAGE_FOLLOW no
				       check runs */
	int64_t check_at, lost_at; /* monotonic ms of the check's next slice, and of a
				      file's loss (or 0) */
};

/* Writes the cursor if a write is due, or at once if `worth` is set. `worth` says that files
 * were written. If the older cursor stayed, a new process would compare these files again.
 * Returns 0 or a negative fault code. */
int mirror_save(struct mirror *m, bool worth);

/* Shows the rows of the next slice from `at` on, and moves `at` to the end of the slice. After
 * the last slice, at->stage is STAGE_FOLLOW. Returns 0 or a negative fault code. */
int slice_pass(struct mirror *m, struct mirror_cursor *at);

/* Shows the rows of the next slice, and moves the cursor. Returns 1 or a negative fault code. */
int slice_everything(struct mirror *m);

/* Shows the rows that a slice of the log changed. Returns 1 if more work is left, 0 if no work
 * is left, or a fault code. */
int slice_log(struct mirror *m, int64_t newest);

/* Whether a summary or a page of messages does not show all events up to `at`. */
bool slice_owes(const struct mirror *m);

/* Writes the summaries and pages of messages that are out of date, and places all staged files.
 * Returns 1 if more work is left, 0 if no work is left, or a fault code. */
int slice_finish(struct mirror *m);

/* Shows the cards whose files somebody saved. Returns 0 or a negative fault code. */
int mirror_show_again(struct mirror *m);
void mirror_forget_edits(struct mirror *m);

#endif
