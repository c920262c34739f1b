/*
 * task - the board: claiming, holding and finishing work.
 *
 * A claim is a lease under an epoch.  The statements of storage/task.sql decide which
 * caller wins; this file explains to the others why they did not.
 */
#ifndef CORE_TASK_TASK_H
#define CORE_TASK_TASK_H

#include "core/access/who.h"
#include "core/event/event.h"
#include "core/team/team.h"

/* The task `id` of the call's team, as a row with its lapsed lease written down:
 * 0 or a fault at /task. */
int task_find(struct call *call, const char *id, struct task_row *t);
/* task_find(), or without an `id` the only task that the caller holds. */
int task_mine(struct call *call, const char *id, struct task_row *t);
/* task_find() without a fault: 1, or 0 when there is no such task. */
int task_find_maybe(struct call *call, const char *id, struct task_row *t);

/* The change that a handler makes to the task that it names: 0 or a fault. */
typedef int task_change(struct call *call, const void *in, const struct task_row *t);

/* Runs such a handler: finds team and task, calls `change` unless the call made it
 * before, and tells the task as it stands then. 0 or a fault. */
int task_once(struct call *call, const char *team, const char *task, task_change *change,
	      const void *in, struct task *out);

/* Adds a hint for the state of a task that nobody holds; returns the fault's code. */
int task_hint(struct fault *f, enum task_state state);

/* task.parts: which other tables hold more of a task. */
enum {
	TASK_HAS_TAGS = 1,
	TASK_HAS_CRITERIA = 2,
	TASK_HAS_NOTES = 4,
	TASK_HAS_DEPS = 8,
};

/* Makes a task of the call's team, which becomes what the call made.  0, or a fault at the
 * argument. */
int task_make(struct call *call, const struct task_create_in *in);

/* Writes a note on a task by the caller, which changes the task. */
int task_add_note(struct call *call, int64_t task, const char *text);

/* The whole of a task, or its line in lists. */
int task_tell(struct call *call, int64_t id, struct task *out);
int task_tell_line(struct call *call, const struct task_line_row *r,
		   struct task_line *out);

/* `001`, in the call's arena. */
const char *task_name(struct call *call, int64_t number);

/* Puts a failed task back on the board: 1, or 0 where it is not failed. */
int task_put_back(struct call *call, int64_t task);

/* Claims a task for the recipient of an assignment; t->epoch is the new one. */
int task_dispatch(struct call *call, struct task_row *t, const struct agent_row *to,
		  int64_t lease_ms);
/* Completes or fails the task of an assignment under the epoch of its dispatch; a
 * claim that is over is left alone. */
int task_finish_assigned(struct call *call, const struct assignment_row *x, bool success,
			 const char *result);
int task_renew_assigned(struct call *call, const struct assignment_row *x,
			int64_t *renewed);

/* Counts in its team's board a task that goes from one state to another. 0 or negative. */
int task_moved(struct call *call, int64_t team, int64_t from, int64_t to);

/* Writes down leases that ran out: of one task, or (0) of up to `limit` of all. */
int task_settle(struct call *call, int64_t id, int64_t limit, int64_t *ended);

/* Says how many tasks of the call's team wait, themselves or through others, for one that failed
 * or was called off, and which; NULL: none does.  0 or negative. */
int task_stuck(struct call *call, const char **says);
/* Which pending tasks wait for a task, themselves or through others: `002, 003 wait for it`;
 * NULL where none does, or with a fault set. */
const char *task_behind(struct call *call, int64_t task);
/* Tells the lead of a team of a task that failed, or was called off, while others wait for
 * it.  0 or negative. */
int task_tell_stuck(struct call *call, int64_t team, int64_t task, int64_t number,
		    bool failed);

/* Ends the claims of an agent whose generation is over: the tasks go back to the board.
 * A claim whose lease is over already ends as that lease does. */
int task_give_back(struct call *call, int64_t agent, const char *why);

#endif
