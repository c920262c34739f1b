/*
 * task - the board, on which agents claim, hold and finish tasks.
 *
 * A claim is a lease under an epoch. The statements of storage/task.sql decide which caller
 * wins a task. The C code explains to the other callers why they did not win.
 */
#ifndef CORE_TASK_TASK_H
#define CORE_TASK_TASK_H

#include "core/access/who.h"
#include "core/event/event.h"
#include "core/team/team.h"

/* Finds the task `id` of the call's team. If the task's lease has run out, a writing operation
 * ends the claim first. Returns 0 or a fault at /task. */
int task_find(struct call *call, const char *id, struct task_row *t);
/* Like task_find(), but if `id` is NULL, finds the only task that the caller holds. */
int task_mine(struct call *call, const char *id, struct task_row *t);
/* Like task_find(), but sets no fault if the task does not exist. Returns 1 if the task exists,
 * 0 if the task does not exist, or a negative fault code. */
int task_find_maybe(struct call *call, const char *id, struct task_row *t);

/* A function that changes the task for a handler. Returns 0 or a fault. */
typedef int task_change(struct call *call, const void *in, const struct task_row *t);

/* Runs a handler that changes one task. Finds the team and the task, and calls `change`. If an
 * earlier run of this call has made the change, `change` is not called. Fills `out` with the
 * task after the change. Returns 0 or a fault. */
int task_once(struct call *call, const char *team, const char *task, task_change *change,
	      const void *in, struct task *out);

/* Adds a hint for a caller who must hold a task, but nobody holds the task. `state` is the
 * state of the task. Returns the fault's code. */
int task_hint(struct call *call, int64_t number, enum task_state state);

/* Bits of the column task.parts. Each bit names another table that has rows for the task. */
enum {
	TASK_HAS_TAGS = 1,
	TASK_HAS_CRITERIA = 2,
	TASK_HAS_NOTES = 4,
	TASK_HAS_DEPS = 8,
};

/* Makes a task in the call's team, and sets call->made to the task's row. Returns 0, or a fault
 * at the argument. */
int task_make(struct call *call, const struct task_create_in *in);

/* Adds a note by an agent to a task. The task counts as changed. */
int task_add_note(struct call *call, int64_t agent, int64_t task, const char *text);

/* The criteria of a task: the numbers of the ticked ones, and the others with their numbers,
 * such as `2 no warning`. */
struct task_ticks {
	int64_t *ticked;
	const char **left;
	size_t n_ticked, n_left;
};

/* Fills `t`, which must be empty. Returns 0 or negative. */
int task_ticks(struct call *call, int64_t task, struct task_ticks *t);
/* Joins texts with `; `. Texts that do not fit into `most` bytes are counted. */
const char *task_join(struct call *call, const char *const *texts, size_t n, size_t most);

/* task_tell() fills a whole task, and task_tell_line() fills the line of a task in a list. */
int task_tell(struct call *call, int64_t id, struct task *out);
int task_tell_line(struct call *call, const struct task_line_row *r,
		   struct task_line *out);

/* Returns the name of the task with this number, such as `001`, in the call's arena. */
const char *task_name(struct call *call, int64_t number);
/* Returns a command about the task, for a hint, in the form of the caller's door. `op` is the
 * name of an operation with the argument `task`. */
const char *task_command(struct call *call, const char *op, int64_t number);

/* The state by which lists of a board choose the task: a pending task is ready or waiting. */
enum board_state task_board_state(int64_t state, int64_t open_deps);

/* The word of the board for a task's state. A pending task is `ready`, or is `waiting` for other
 * tasks. */
const char *task_word(int64_t state, int64_t open_deps);

/* Puts a failed task back on the board. Returns 1 if the task was put back, 0 if the task has
 * not failed, or a negative fault code. */
int task_put_back(struct call *call, int64_t task);

/* Claims a task for the recipient of an assignment. t->epoch becomes the new epoch. */
int task_dispatch(struct call *call, struct task_row *t, const struct agent_row *to,
		  int64_t lease_ms);
/* Completes or fails the task of an assignment, under the epoch with which the task was
 * dispatched. A task whose claim has ended is not changed. */
int task_finish_assigned(struct call *call, const struct assignment_row *x, bool success,
			 const char *result);
int task_renew_assigned(struct call *call, const struct assignment_row *x,
			int64_t *renewed);

/* Updates the counts of the team's board for a task that changes from one state to another.
 * `open_deps` is the number of the task's dependencies that are not completed. Returns 0 or
 * negative. */
int task_moved(struct call *call, int64_t team, int64_t from, int64_t to,
	       int64_t open_deps);

/* Ends the claim of the task `id` if the claim's lease has run out. If `id` is 0, ends at most
 * `limit` claims whose leases have run out. */
int task_settle(struct call *call, int64_t id, int64_t limit, int64_t *ended);

/* Describes the pending tasks of the call's team that wait, directly or through other tasks,
 * for a failed or cancelled task. `*says` is NULL if no task waits. Returns 0 or negative. */
int task_stuck(struct call *call, const char **says);
/* Names the pending tasks that wait for a task, directly or through other tasks, as in `002,
 * 003 wait for it`. Returns NULL if no task waits. Also returns NULL after a failure, with a
 * fault set. */
const char *task_behind(struct call *call, int64_t task);
/* Tells the lead of a team and the operator that a task failed or was cancelled while other
 * tasks wait for this task. Returns 0 or negative. */
int task_tell_stuck(struct call *call, int64_t team, int64_t task, int64_t number,
		    bool failed);

/* Ends the claims of an agent whose generation has ended. The tasks return to the board. A
 * claim whose lease has already run out ends as a lapse. */
int task_give_back(struct call *call, int64_t agent, const char *why);

#endif
