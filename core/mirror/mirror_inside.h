/*
 * mirror_inside - the mirror's own state, shared by the files of the mirror.
 */
#ifndef CORE_MIRROR_MIRROR_INSIDE_H
#define CORE_MIRROR_MIRROR_INSIDE_H

#include "core/mirror/mirror_mail.h"
#include "core/mirror/mirror_show.h"

/*
 * How far the mirror has come, as a line of text.
 *
 *   {incarnation}.{seq}                 all up to event seq is shown
 *   {incarnation}.{seq} {stage} {row}   all is being shown as of seq: the stage
 *                                       is done up to this row
 */

/* The stages of showing everything, in order. */
enum mirror_stage {
	STAGE_FOLLOW, /* everything is shown: follow the log */
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

enum {
	SUMMARY_MS = 250
}; /* between two writes of the same INDEX.md or page of messages */

struct home;

struct mirror {
	struct mirror_show show;
	struct mirror_mail mail;
	int lock; /* descriptor */
	bool locked, known; /* it holds the lock; `at` was read */
	bool direct; /* for a process that ends soon: does all work at once */
	int64_t batch; /* rows or relevant events in one slice */
	struct mirror_cursor at, saved; /* the place that files show; the place in the
					   cursor's file */
	struct ids stale; /* teams whose summary does not yet show ... */
	int64_t stale_after; /* ... events behind this one, nor do pages of mail.days */
	int64_t summaries_at, saved_at; /* monotonic ms of the last writes */
	struct losses losses; /* of a host; losses.fd is -1 in other processes */
	bool watching;
	struct mirror_edit *judged; /* texts of cards whose agents are to be shown
				       again */
	struct mirror_cursor check; /* place of the check of all files; STAGE_FOLLOW:
				       no check runs */
	int64_t check_at, lost_at; /* monotonic ms: the check's next slice; when a file
				      was lost, or 0 */
};

/* Writes the cursor. `worth`: files were written, so the cursor should be written at once. With
 * the older cursor, a new process would compare all these files again. 0 or negative. */
int mirror_save(struct mirror *m, bool worth);

/* Shows a slice of everything from `at` on, and moves `at` to the end of the slice. After the
 * last slice, `at` is at STAGE_FOLLOW. 0 or negative. */
int slice_pass(struct mirror *m, struct mirror_cursor *at);

/* Shows a slice of everything and moves the cursor. 1 if more is to do, else 0, or negative. */
int slice_everything(struct mirror *m);

/* Shows a slice of the log: 1 if more of the log is to be shown, else 0, or negative. */
int slice_log(struct mirror *m, int64_t newest);

/* Whether a summary or a page of messages does not show all events up to `at`. */
bool slice_owes(const struct mirror *m);

/* Writes the summaries and pages of messages that are out of date, and places all that is
 * staged. 1 if more is to do, else 0, or negative. */
int slice_finish(struct mirror *m);

/* Shows the cards whose files somebody wrote: 0 or negative. */
int mirror_show_again(struct mirror *m);
void mirror_forget_edits(struct mirror *m);

#endif
