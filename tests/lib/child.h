/*
 * child - processes that a test starts, and their orphans.
 *
 * A child dies with its test. After child_adopt() the children of a killed child become
 * children of the test, so that no process is left running.
 */
#ifndef TESTS_LIB_CHILD_H
#define TESTS_LIB_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	const char *const *argv; /* ends with NULL; argv[0] is a path */
	const char *const *env; /* variables to add, up to a NULL; NULL: no variables */
	const char *log; /* file that gets the output; NULL: same output as the test */
	int in; /* the child's standard input; -1: /dev/null */
	int fd3; /* the child's descriptor 3; -1: the child has no descriptor 3 */
};

void child_adopt(void);
/* Starts the process and returns its pid, or -1. */
pid_t child_start(const struct child *c);
/* The time when a process started, in ticks after boot; 0: there is no such process. */
long long child_born(pid_t pid);
/* Waits up to `ms` for the end of a child, and returns its status. Returns -1 if the child runs
 * on. */
int child_wait(pid_t pid, int ms);
/* Sends SIGTERM to the child, and SIGKILL if the child still runs after `ms`. Returns the
 * child's status. */
int child_end(pid_t pid, int ms);
/* Kills the children of this process, and all their descendants. Returns the number of killed
 * processes. */
int child_end_all(void);

/* The command to test: $CADRE, else build/cadre. */
const char *cadre_path(void);
/* Changes the result of cadre_path() to tests/cadre, in the folder of the command to test. A
 * test can make the disk of tests/cadre fail. */
void cadre_path_with_disk(void);
/* Starts `cadre serve` for a state, and waits until the host is ready. Returns the host's pid.
 * On failure prints a line on stderr and returns -1. */
pid_t host_start(const char *home, const char *const *env, const char *log, int ms);

#endif
