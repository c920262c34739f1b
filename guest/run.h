/*
 * run - a command as a process group.
 *
 * run_new() makes the process but holds it at a gate, so that what must be on
 * the disk first can be; run_go() opens the gate; if the guest dies before, the
 * process ends without having run anything.  Output is read while it runs.
 * After timeout_ms the group gets SIGTERM, 2 s later SIGKILL.
 *
 *     held --go--> running --exit--> over
 *                     |                ^
 *                  timeout -> ending --+  exited, and its group gone or killed
 *
 * `done` is called once, from the loop, when it is over; its owner then calls
 * run_free().
 */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "core/fault.h"
#include "guest/output.h"

struct run_stream {
	struct run *run;
	uv_poll_t poll;
	int fd; /* -1: ended */
	struct output kept;
};

struct run {
	uv_loop_t *loop;
	pid_t pid;  /* and process group; 0 once reaped */
	pid_t group;
	int gate;
	struct run_stream streams[2]; /* stdout, stderr */
	uv_timer_t timer;
	int64_t timeout_ms; /* 0: none */
	int64_t killed_at;  /* loop time of SIGTERM after a timeout; 0: none */
	uint64_t started;   /* loop time */
	int handles;        /* that are not closed yet */
	bool exited, timed_out, over, freed;
	int status;      /* as waitpid gave it */
	int start_errno; /* why the command could not be executed, or 0 */
	void (*done)(struct run *run);
	void *owner;
	struct run *next, **place; /* list of all, for reaping */
};

struct run_spec {
	const char *const *argv;
	char **envp;
	int dir; /* descriptor of the working directory */
	int64_t timeout_ms;
	const char *folder; /* for long output */
};

int run_new(struct run **out, struct run **list, uv_loop_t *loop,
	    const struct run_spec *spec, struct fault *f);
void run_go(struct run *run);

/* A signal to its whole group; nothing once the command has ended. */
void run_kill(struct run *run, int signal);

/* What a shell would say: the exit code, or 128 + signal. */
int run_exit_code(const struct run *run);

/* Takes care of all children that have ended. */
void run_reap(struct run *list);

/* Kills the group if it still runs; `done` is not called any more. */
void run_free(struct run *run);

#endif
