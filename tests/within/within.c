/*
 * within - runs one test, and ends all processes that the test has started.
 *
 *	within SECONDS GRACE FILE COMMAND [ARGUMENT...]
 *
 * The command may run for SECONDS. Then the command gets SIGTERM, and SIGKILL ten seconds
 * later. Processes that the command leaves running may run for GRACE seconds. `within` finds
 * all of these processes, since a process whose parent ended becomes a child of `within`
 * (PR_SET_CHILD_SUBREAPER). Each process that still runs after GRACE seconds is named on stdout
 * and killed. The user and system CPU time of all processes is written to FILE in milliseconds.
 *
 * The exit status is the command's status, with these exceptions: 124 if SECONDS passed, 128 +
 * N if signal N ended the command or interrupted `within`, and 125 for faults of `within`. If
 * the status would be 0, but a process still ran after GRACE seconds, the exit status is 99.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

/* Reaps all children that have ended, and stores the status of `command` in *status. Returns
 * false if no child is left. */
static bool reap(pid_t command, int *status)
{
	int one;
	pid_t pid;

	while ((pid = waitpid(-1, &one, WNOHANG)) > 0)
		if (pid == command)
			*status = one;
	return pid == 0;
}

/* Kills the children of this process, which the command has left running. If `say` is true,
 * prints the children's command lines. */
static void kill_left(bool say)
{
	char name[64], line[4096];
	FILE *list = fopen("/proc/thread-self/children", "r");
	int pid;

	while (list && fscanf(list, "%d", &pid) == 1) {
		snprintf(name, sizeof name, "/proc/%d/cmdline", pid);
		FILE *f = say ? fopen(name, "r") : NULL;
		size_t n = f ? fread(line, 1, sizeof line - 1, f) : 0;

		for (size_t i = 0; i < n; i++)
			if (!line[i])
				line[i] = ' ';
		line[n] = 0;
		if (n)
			printf("left running: %d %s\n", pid, line);
		if (f)
			fclose(f);
		kill(pid, SIGKILL);
	}
	if (list)
		fclose(list);
	fflush(stdout);
}

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

/* Waits until the command ends, the command's time is over, or this process gets a signal to
 * end. A command that still runs is ended. */
static int await(pid_t command, long seconds)
{
	int status = -1;
	double until = now() + (double)seconds;

	while (reap(command, &status) && status < 0 && now() < until && !interrupted)
		nap();
	if (status >= 0)
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	kill(-command, SIGTERM);
	for (until = now() + 10; status < 0 && now() < until; nap())
		reap(command, &status);
	kill(-command, SIGKILL);
	return interrupted ? 128 + interrupted : 124;
}

int main(int argc, char **argv)
{
	struct rusage used;
	int code, ignored = 0;
	double until;
	pid_t command;

	if (argc < 5) {
		fprintf(stderr,
			"usage: within SECONDS GRACE FILE COMMAND [ARGUMENT...]\n");
		return 125;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	command = fork();
	if (!command) {
		setpgid(0, 0);
		signal(SIGTERM, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		prctl(PR_SET_CHILD_SUBREAPER, 0);
		execvp(argv[4], argv + 4);
		fprintf(stderr, "within: %s: %s\n", argv[4], strerror(errno));
		_exit(125);
	}
	if (command < 0) {
		perror("within");
		return 125;
	}
	setpgid(command, command);
	code = await(command, strtol(argv[1], NULL, 10));
	until = now() + (double)strtol(argv[2], NULL, 10);
	while (reap(command, &ignored) && now() < until && !interrupted)
		nap();
	if (reap(command, &ignored) && !interrupted)
		code = code ? code : 99;
	for (bool say = !interrupted; reap(command, &ignored); say = false, nap())
		kill_left(say);
	getrusage(RUSAGE_CHILDREN, &used);
	FILE *f = fopen(argv[3], "w");
	if (f) {
		fprintf(f, "%ld\n",
			(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
				(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000);
		fclose(f);
	}
	return code;
}
