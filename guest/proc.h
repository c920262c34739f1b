/*
 * proc - a command as a process group.
 *
 * proc_new() makes the process but holds it at a gate, so that the caller can write to the disk
 * before the command runs. proc_go() opens the gate. If the guest dies before the gate is open,
 * the process ends without running the command. Output is read while the command runs. After
 * timeout_ms, or after proc_end(), the group gets SIGTERM and, 2 s later, SIGKILL.
 *
 *     held --go--> running --exit--> over
 *                     |                ^
 *              timeout, end -> ending -+  exited, and its group gone or killed
 *
 * `done` is called once, from the loop, when the run is over. The owner then calls proc_free().
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
	int fd; /* descriptor of the pipe; -1: the stream has ended */
	struct outbuf kept;
	size_t seen; /* bytes that the reader has taken */
};

struct proc {
	uv_loop_t *loop;
	pid_t pid; /* 0 once the process is reaped */
	pid_t group;
	int gate;
	struct proc_stream streams[2]; /* stdout and stderr of the command */
	uv_timer_t timer;
	int64_t timeout_ms; /* 0: no timeout */
	int64_t killed_at; /* loop time of proc_end(); 0: not called */
	uint64_t started; /* loop time of proc_go() */
	int handles; /* number of open handles; closing the last handle frees the run */
	bool waits; /* unread output is not dropped: the run waits for the reader */
	bool halted;
	uint64_t left_ms; /* rest of the timeout while halted; 0: no timeout */
	bool exited, timed_out, over, freed;
	bool signalled; /* proc_kill() was called */
	int status; /* status from waitpid() */
	int start_errno; /* why the command could not be executed, or 0 */
	void (*done)(struct proc *run);
	void (*printed)(struct proc *run); /* called after new output; or NULL */
	struct follower *followers; /* guest_exec.c */
	void *owner;
	struct proc *next, **place; /* list of all runs, for reaping */
};

/* How to start a command. All members are borrowed: `folder` until proc_free(), the others for
 * the call. */
struct proc_spec {
	const char *const *argv;
	char **envp;
	int dir; /* descriptor of the working directory */
	bool waits; /* value for `waits` of struct proc */
	int input; /* descriptor of the command's input; 0: no input */
	int64_t timeout_ms;
	const char *folder; /* folder for the files of long output */
};

/* Makes a process that waits at its gate, sets `*out`, and adds the run to `list`. Returns 0 or
 * FAULT_UNAVAILABLE. The caller sets (*out)->done before proc_go(), and frees the run by
 * proc_free(). */
int proc_new(struct proc **out, struct proc **list, uv_loop_t *loop,
	     const struct proc_spec *spec, struct fault *f);
/* Opens the gate: the command starts, and its timeout begins. */
void proc_go(struct proc *run);

/* Ends the run as a timeout does: by SIGTERM, then SIGKILL. `done` is called as usual. */
void proc_end(struct proc *run);

/* If `on` is true, stops the whole process group and its timeout. If `on` is false, continues
 * both. */
void proc_halt(struct proc *run, bool on);

/* Called when the reader of the output has received all bytes of the stream before `offset`. */
void proc_seen(struct proc *run, int stream, size_t offset);

/* Sends a signal to the whole process group. Does nothing once the command has ended. If
 * `waits` of the run is true, processes that the command leaves behind get SIGKILL 2 s after
 * the command's end. */
void proc_kill(struct proc *run, int signal);

/* Returns the status that a shell would give: the exit code, or 128 + signal. */
int proc_exit_code(const struct proc *run);

/* Reaps ended children; called on SIGCHLD. Returns true if one of these children was a command. */
bool proc_reap(struct proc **list);

/* Frees a run. Kills its process group if the group still runs. `done` is not called any more. */
void proc_free(struct proc *run);

#endif
