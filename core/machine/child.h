/*
 * child - runs a program without a shell, and waits for its end.
 *
 * A program is found in PATH, gets no input, and inherits only descriptors that the caller
 * passes to it. If a program cannot be run, or ends with a status other than 0, the fault is
 * FAULT_IO, with the last line that the program wrote to stderr. All functions except
 * child_spawn() and child_detach() wait, so the thread of an event loop must not call them.
 */
#ifndef CORE_MACHINE_CHILD_H
#define CORE_MACHINE_CHILD_H

#include <spawn.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/arena.h"
#include "core/base/fault.h"

/* The status of an ended program, as from waitpid(), and its output, in the caller's arena. */
struct child_end {
	int status;
	char *out, *err;
};

/* Runs a program and waits for its end. Returns 0 for any exit status. The fault is FAULT_IO if
 * the program cannot be run. If the program runs longer than `ms` milliseconds, the function
 * ends the program and fails with FAULT_TIMEOUT. If `ms` is 0, there is no time limit. The
 * function ends the program by SIGTERM. If the program still runs ten seconds later, the
 * function sends SIGKILL. Children of the program may still run. The program and its children
 * keep the descriptor `held` open, unless `held` is -1. */
int child_hear(const char *const *words, const char *dir, int64_t ms, int held,
	       struct arena *a, struct child_end *end, struct fault *f);

/* Returns 0 if the program ended with status 0, else FAULT_IO with the last line of its stderr. */
int child_judge(const struct child_end *end, const char *name, struct fault *f);

/* Runs a program to its end. `words` is the program with its arguments, and ends with NULL.
 * `dir` is the program's working directory; NULL means the caller's directory. */
int child_run(const char *const *words, const char *dir, struct fault *f);

/* Runs a program as child_run() does, and stores the program's stdout in *out, in the arena. */
int child_read(const char *const *words, const char *dir, struct arena *a, char **out,
	       struct fault *f);

/* Starts a program and does not wait for its end. A name without `/` is searched in PATH. The
 * actions `files` set up the program's descriptors, and are then freed. The program starts with
 * no signal blocked or ignored. If `outlives` is set, the program gets its own session, so that
 * it can outlive this process. Returns 0 or an errno. */
int child_spawn(pid_t *pid, const char *program, const char *const *words,
		char *const *env, posix_spawn_file_actions_t *files, bool outlives);

/* Starts a program that outlives this process, in the folder `dir`; NULL means the caller's
 * folder. The program's stderr is written to the file `log`, which is opened with the flags
 * `how`. The program's stdout is discarded. Returns 0 or an errno. */
int child_detach(pid_t *pid, const char *program, const char *const *words,
		 char *const *env, const char *dir, const char *log, int how);

#endif
