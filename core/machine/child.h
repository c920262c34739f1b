/*
 * child - programs that are run to their end, without a shell.
 *
 * Programs are found in PATH, get no input, and inherit no descriptor. If a program cannot be
 * run, or ends with a status other than 0, the result is FAULT_IO with the program's last line
 * on stderr. The functions block, so an event loop must not call them.
 */
#ifndef CORE_MACHINE_CHILD_H
#define CORE_MACHINE_CHILD_H

#include <spawn.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/arena.h"
#include "core/base/fault.h"

/* How a program ended (the status of waitpid()), and its output in the caller's arena. */
struct child_end {
	int status;
	char *out, *err;
};

/* Runs a program and waits for its end. The exit status does not matter. FAULT_IO: the program
 * cannot be run. FAULT_TIMEOUT: the program ran longer than `ms` milliseconds (0: no limit).
 * The program was ended by SIGTERM, or ten seconds later by SIGKILL; its children may still
 * run. The program and its children keep the descriptor `held` open; -1: no descriptor. */
int child_hear(const char *const *words, const char *dir, int64_t ms, int held,
	       struct arena *a, struct child_end *end, struct fault *f);

/* Returns 0 if the program ended with status 0, else FAULT_IO with the last line of its stderr. */
int child_judge(const struct child_end *end, const char *name, struct fault *f);

/* Runs a program to its end. `words` end with NULL. `dir` is the program's working directory;
 * NULL: the present directory. */
int child_run(const char *const *words, const char *dir, struct fault *f);

/* Like child_run(); also stores the child's stdout in *out, in the arena. */
int child_read(const char *const *words, const char *dir, struct arena *a, char **out,
	       struct fault *f);

/* Starts a program and does not wait for its end. A name without `/` is searched in PATH. The
 * program gets `files`, which are released. No signal is blocked or ignored in the program. A
 * program that must outlive this process gets its own session. Returns 0 or an errno. */
int child_spawn(pid_t *pid, const char *program, const char *const *words,
		char *const *env, posix_spawn_file_actions_t *files, bool outlives);

/* Spawns a program that outlives this process, in the folder `dir` (NULL: the present folder).
 * The program's stderr goes to the file `log`, which is opened with `how`; other output is
 * discarded. Returns 0 or an errno. */
int child_detach(pid_t *pid, const char *program, const char *const *words,
		 char *const *env, const char *dir, const char *log, int how);

#endif
