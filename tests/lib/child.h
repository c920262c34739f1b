/*
 * child - processes that a test starts, and their orphans.
 *
 * A child dies with its test.  After child_adopt() what a killed child had
 * started becomes a child of the test, so that nothing is left running.
 */
#ifndef TESTS_LIB_CHILD_H
#define TESTS_LIB_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	const char *const *argv; /* ends with NULL; argv[0] is a path */
	const char *const *env; /* NAME=VALUE to add, ends with NULL; or NULL */
	const char *log; /* file that its output is appended to; NULL: our output */
	int in; /* its standard input; -1: /dev/null */
	int fd3; /* its descriptor 3; -1: none */
};

void child_adopt(void);
/* The new process, or -1. */
pid_t child_start(const struct child *c);
/* When a process started, in ticks after boot; 0 when there is none. */
long long child_born(pid_t pid);
/* Waits up to `ms` for the end of a child and gives its status, else -1. */
int child_wait(pid_t pid, int ms);
/* SIGTERM, then after `ms` SIGKILL; its status. */
int child_end(pid_t pid, int ms);
/* Kills all children there still are, and theirs; how many there were. */
int child_end_all(void);

/* The command to test: $CADRE, else build/cadre. */
const char *cadre_path(void);
/* From now on the command is the one beside it whose disk a test sets: tests/cadre. */
void cadre_path_with_disk(void);
/* `cadre serve` of a state, once it says that it is ready; its pid, or -1 with a
 * line on stderr. */
pid_t host_start(const char *home, const char *const *env, const char *log, int ms);

#endif
