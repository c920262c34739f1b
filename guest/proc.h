/*
 * proc - runs a command as a process group of its own.
 *
 * proc_new() makes the process, which waits at a gate. So the caller can write to the disk
 * before the command runs. proc_go() opens the gate. If the guest dies before the gate is open,
 * the process ends without running the command. The output is read while the command runs.
 * After timeout_ms, or after proc_end(), the process group gets SIGTERM and, 2 s later,
 * SIGKILL.
 *
 *     held --go--> running --exit--> over
 *                     |                ^
 *              timeout, end -> ending -+  exited, and its group gone or killed
 *
 * The event loop calls `done` once, when the command is over. After this call the owner must
 * call proc_free().
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
	size_t seen; /* number of bytes that the reader has received */
};

struct proc {
	uv_loop_t *loop;
	pid_t pid; /* process number; 0: the process is reaped */
	pid_t group;
	int gate;
	struct proc_stream streams[2]; /* stdout and stderr of the command */
	uv_timer_t timer;
	int64_t timeout_ms; /* 0: the command has no timeout */
	int64_t killed_at; /* loop time at which the ending began; 0: the command is not
			      ending */
	uint64_t started; /* loop time of proc_go() */
	int handles; /* open handles of libuv; when the last handle closes, the struct is
			freed */
	bool waits; /* unread output is kept, and the command waits for the reader */
	bool halted;
	uint64_t left_ms; /* rest of the timeout while the command is stopped; 0: no
			     timeout */
	bool exited, timed_out, over, freed;
	bool signalled; /* proc_kill() was called */
	int status; /* status from waitpid() */
	int start_errno; /* errno if the command could not be executed, else 0 */
	void (*done)(struct proc *run);
	void (*printed)(struct proc *run); /* called after new output; may be NULL */
	struct follower *followers; /* requests that wait for output; see guest_exec.c */
	void *owner;
	struct proc *next, **place; /* list of all commands, for proc_reap() */
};

/* Describes how to start a command. `folder` is borrowed until proc_free(). The other members
 * are borrowed until proc_new() returns. */
struct proc_spec {
	const char *const *argv;
	char **envp;
	int dir; /* descriptor of the working directory */
	bool waits; /* the value of `waits` in struct proc */
	int input; /* descriptor of the command's input; 0: no input */
	int64_t timeout_ms;
	const char *folder; /* folder for the files of long output */
};

/* Makes a process that waits at its gate, sets `*out`, and adds `*out` to `list`. Returns 0 or
 * FAULT_UNAVAILABLE. The caller sets (*out)->done before proc_go(), and frees `*out` by
 * proc_free(). */
int proc_new(struct proc **out, struct proc **list, uv_loop_t *loop,
	     const struct proc_spec *spec, struct fault *f);
/* Opens the gate. The command starts, and the time of its timeout begins. */
void proc_go(struct proc *run);

/* Ends the command by SIGTERM and, 2 s later, SIGKILL. When the command is over, `done` is
 * called. */
void proc_end(struct proc *run);

/* If `on` is true, stops the whole process group and its timeout. If `on` is false, continues
 * the process group and its timeout. */
void proc_halt(struct proc *run, bool on);

/* Called when the reader of the output has received all bytes of the stream before `offset`. */
void proc_seen(struct proc *run, int stream, size_t offset);

/* Sends a signal to the whole process group. If run->waits is false, sends no signal after the
 * command's exit. If run->waits is true, sends signals until the command is over. If run->waits
 * is true, processes that the killed command leaves behind get SIGKILL 2 s after the command's
 * exit. */
void proc_kill(struct proc *run, int signal);

/* Returns the status that a shell would report. The status is the exit code, or 128 + the
 * signal that killed the command. */
int proc_exit_code(const struct proc *run);

/* Reaps ended children. The caller calls this function on SIGCHLD. Returns true if one of the
 * ended children was a command in `list`. */
bool proc_reap(struct proc **list);

/* Frees `run`. Kills the command's process group if the command has not exited. `done` is not
 * called after proc_free(). */
void proc_free(struct proc *run);

#endif
