#include "tests/lib/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tests/lib/place.h"

void child_adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Sets descriptors and environment of the child, and starts its program. */
static void become(const struct child *c, pid_t parent)
{
	int in = c->in >= 0 ? c->in : open("/dev/null", O_RDONLY);
	int log = c->log ? open(c->log, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	dup2(in, 0);
	if (log >= 0) {
		dup2(log, 1);
		dup2(log, 2);
	}
	if (c->fd3 == 3)
		fcntl(3, F_SETFD, 0);
	else if (c->fd3 >= 0)
		dup2(c->fd3, 3);
	close_range(c->fd3 >= 0 ? 4 : 3, ~0U, 0);
	for (size_t i = 0; c->env && c->env[i]; i++)
		putenv((char *)(uintptr_t)c->env[i]);
	execv(c->argv[0], (char *const *)(uintptr_t)c->argv);
	perror(c->argv[0]);
	_exit(127);
}

pid_t child_start(const struct child *c)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become(c, parent);
	return pid;
}

long long child_born(pid_t pid)
{
	char path[40], line[1024] = "";
	FILE *in;
	char *s;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	in = fopen(path, "re");
	if (!in)
		return 0;
	s = fgets(line, sizeof(line), in) ? strrchr(line, ')') : NULL;
	fclose(in);
	/* The process state is field 3, and the start time is field 22. */
	for (int field = 2; field < 22 && s; field++)
		s = strchr(s + 1, ' ');
	return s ? strtoll(s, NULL, 10) : 0;
}

int child_wait(pid_t pid, int ms)
{
	int64_t until = clock_steady_ms() + patience_ms(ms);
	int status;

	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return status;
		if ((got < 0 && errno != EINTR) || clock_steady_ms() >= until)
			return -1;
		pause_for(2);
	}
}

int child_end(pid_t pid, int ms)
{
	int status;

	kill(pid, SIGTERM);
	status = child_wait(pid, ms);
	if (status >= 0)
		return status;
	kill(pid, SIGKILL);
	return child_wait(pid, 10000);
}

/* Returns the pid of the first child that the kernel lists, or 0 if there is no child. */
static pid_t any_child(void)
{
	char path[64], word[16] = "";
	FILE *in;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	in = fopen(path, "re");
	if (!in)
		return 0;
	if (fscanf(in, "%15s", word) != 1)
		word[0] = '\0';
	fclose(in);
	return (pid_t)strtol(word, NULL, 10);
}

int child_end_all(void)
{
	pid_t pid;
	int n = 0;

	/* The children of a killed process become children of this process, and are killed
	 * next. */
	while ((pid = any_child()) > 0 && n < 10000) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		n++;
	}
	return n;
}

/* --- the host --------------------------------------------------------------------- */

const char *cadre_path(void)
{
	const char *path = getenv("CADRE");

	return path && *path ? path : "build/cadre";
}

void cadre_path_with_disk(void)
{
	const char *path = cadre_path(), *end = strrchr(path, '/');
	char other[4096];

	snprintf(other, sizeof(other), "%.*s/tests/cadre", (int)(end - path), path);
	setenv("CADRE", other, 1);
}

static bool says_ready(int fd, int ms)
{
	int64_t until = clock_steady_ms() + patience_ms(ms);
	char line[600] = "";
	size_t len = 0;

	while (!strchr(line, '\n') && len < sizeof(line) - 1) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = until - clock_steady_ms();
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			break;
		n = read(fd, line + len, sizeof(line) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (!strcmp(line, "ready\n"))
		return true;
	fprintf(stderr, "the host is not ready: %s\n", line);
	return false;
}

pid_t host_start(const char *home, const char *const *env, const char *log, int ms)
{
	const char *const argv[] = { cadre_path(), "--home",     home, "--create",
				     "serve",      "--ready-fd", "3",  NULL };
	struct child c = { .argv = argv, .env = env, .log = log, .in = -1 };
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	c.fd3 = ends[1];
	pid = child_start(&c);
	close(ends[1]);
	if (pid > 0 && !says_ready(ends[0], ms)) {
		child_end(pid, 0);
		pid = -1;
	}
	close(ends[0]);
	return pid;
}
