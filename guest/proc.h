/*
 * proc - a command as a process group.
 *
 * proc_new() makes the process but holds it at a gate, so that what must be on
 * the disk first can be; proc_go() opens the gate; if the guest dies before, the
 * process ends without having run anything.  Output is read while it runs.
 * After timeout_ms, or by proc_end(), the group gets SIGTERM, 2 s later SIGKILL.
 *
 *     held --go--> running --exit--> over
 *                     |                ^
 *              timeout, end -> ending -+  exited, and its group gone or killed
 *
 * `done` is called once, from the loop, when it is over; its owner then calls
 * proc_free().
 */
#ifndef GUEST_PROC_H
#define GUEST_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "core/base/fault.h"
#include "guest/outbuf.h"

struct proc_stream {
	struct proc *run;
	uv_poll_t poll;
	int fd; /* -1: ended */
	struct outbuf kept;
	size_t seen; /* bytes that the reader has taken */
};

struct proc {
	uv_loop_t *loop;
	pid_t pid; /* and process group; 0 once reaped */
	pid_t group;
	int gate;
	struct proc_stream streams[2]; /* stdout, stderr */
	uv_timer_t timer;
	int64_t timeout_ms; /* 0: none */
	int64_t killed_at; /* loop time of SIGTERM by proc_end(); 0: none */
	uint64_t started; /* loop time */
	int handles; /* that are not closed yet */
	bool waits; /* for the reader of the output: unread output is not dropped */
	bool halted;
	uint64_t left_ms; /* of the timeout, while it is halted; 0: none */
	bool exited, timed_out, over, freed;
	bool signalled; /* by proc_kill(): a run that `waits` ends with its group */
	int status; /* as waitpid gave it */
	int start_errno; /* why the command could not be executed, or 0 */
	void (*done)(struct proc *run);
	void (*printed)(struct proc *run); /* called when output came, or NULL */
	struct follower *followers; /* guest_exec.c */
	void *owner;
	struct proc *next, **place; /* list of all, for reaping */
};

/* How to start a command; all of it is borrowed, `folder` until proc_free(). */
struct proc_spec {
	const char *const *argv;
	char **envp;
	int dir; /* descriptor of the working directory */
	bool waits; /* as in struct proc */
	int input; /* descriptor of the command's input; 0: no input */
	int64_t timeout_ms;
	const char *folder; /* for long output */
};

/* Makes a process that waits at its gate, in `*out` and in `list`; 0 or
 * FAULT_UNAVAILABLE.  The caller sets `done` before proc_go(), and frees it by
 * proc_free(). */
int proc_new(struct proc **out, struct proc **list, uv_loop_t *loop,
	     const struct proc_spec *spec, struct fault *f);
/* Opens the gate: the command starts, and its timeout begins. */
void proc_go(struct proc *run);

/* Ends it as a timeout does: SIGTERM, then SIGKILL; `done` is called as ever. */
void proc_end(struct proc *run);

/* Stops the whole group, whose timeout stands still meanwhile; or lets it go on. */
void proc_halt(struct proc *run, bool on);

/* The reader of a stream of the run has its bytes before `offset`. */
void proc_seen(struct proc *run, int stream, size_t offset);

/* Sends a signal to the whole group; does nothing once the command is over.  Of one that `waits`
 * and is signalled, what its command leaves behind gets SIGKILL 2 s after the command's end. */
void proc_kill(struct proc *run, int signal);

/* Returns the status that a shell would give: the exit code, or 128 + signal. */
int proc_exit_code(const struct proc *run);

/* Reaps ended children; called on SIGCHLD.  True: a command was among the children. */
bool proc_reap(struct proc **list);

/* Kills the group if it still runs; `done` is not called any more. */
void proc_free(struct proc *run);

#endif
