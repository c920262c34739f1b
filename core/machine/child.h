/*
 * child - programs that are run to their end, without a shell.
 *
 * They are found in PATH, read nothing, and inherit no descriptor.  A program that cannot
 * be run, or ends with a status other than 0, is FAULT_IO with the program's last line on
 * stderr.  Blocking: never from a loop.
 */
#ifndef CORE_MACHINE_CHILD_H
#define CORE_MACHINE_CHILD_H

#include <spawn.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/arena.h"
#include "core/base/fault.h"

/* How a program ended, as waitpid() tells it, and what it wrote, in the caller's arena. */
struct child_end {
	int status;
	char *out, *err;
};

/* Runs a program to its end, however it ends.  FAULT_IO: it cannot be run.  FAULT_TIMEOUT:
 * it took over `ms` (0: no bound) and was ended, by SIGTERM or ten seconds later by SIGKILL;
 * its children may run on.  The program and its children keep the descriptor `held` open;
 * -1: none. */
int child_hear(const char *const *words, const char *dir, int64_t ms, int held,
	       struct arena *a, struct child_end *end, struct fault *f);

/* 0 where the program ended with status 0, else FAULT_IO with the last line of its stderr. */
int child_judge(const struct child_end *end, const char *name, struct fault *f);

/* `words` end with NULL; `dir` is where it runs, NULL: here. */
int child_run(const char *const *words, const char *dir, struct fault *f);

/* child_run() that gives what the child wrote to stdout in *out, in the arena. */
int child_read(const char *const *words, const char *dir, struct arena *a, char **out,
	       struct fault *f);

/* Starts a program (found in PATH without a `/`) with `files`, which are released,
 * and no signal blocked or ignored; in a session of its own if it is to outlive
 * this process.  Does not wait; 0 or an errno. */
int child_spawn(pid_t *pid, const char *program, const char *const *words,
		char *const *env, posix_spawn_file_actions_t *files, bool outlives);

/* Spawns a program that outlives this process, in `dir` (NULL: the present one).  Its errors
 * go to the file `log`, which is opened with `how`, and all else nowhere.  0 or an errno. */
int child_detach(pid_t *pid, const char *program, const char *const *words,
		 char *const *env, const char *dir, const char *log, int how);

#endif
