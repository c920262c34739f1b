#include "core/machine/pid.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

static void pid_read_boot(char boot[40])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, boot, 36);

	boot[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Reads a process's start time, its state as a letter, and the pid of its parent. Returns the
 * start time, or 0 if the process does not exist or is a zombie. */
static int64_t read_stat(int64_t pid, char *letter, int64_t *parent)
{
	char path[64], stat[1024];
	const char *s;
	long long start = 0, above = 0;
	char state = 'Z';
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	stat[n > 0 ? n : 0] = '\0';
	s = strrchr(stat, ')'); /* the name before `)` may contain any bytes */
	if (!s ||
	    sscanf(s + 1,
		   " %c %lld %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u "
		   "%*d %*d %*d %*d %*d %*d %lld",
		   &state, &above, &start) != 3 ||
	    state == 'Z' || state == 'X')
		return 0;
	*letter = state;
	*parent = above;
	return start;
}

static int64_t read_start(int64_t pid)
{
	int64_t parent;
	char ignored;

	return read_stat(pid, &ignored, &parent);
}

int64_t pid_parent(int64_t pid)
{
	int64_t parent = 0;
	char ignored;

	return read_stat(pid, &ignored, &parent) ? parent : 0;
}

void pid_find(int64_t pid, struct process *process)
{
	process->pid = pid;
	process->start = read_start(pid);
	pid_read_boot(process->boot);
}

bool pid_alive(const struct process *p)
{
	char boot[40];
	int status;

	if (p->pid <= 0)
		return false;
	waitpid((pid_t)p->pid, &status, WNOHANG); /* reaps a zombie child of this
						     process */
	pid_read_boot(boot);
	return !strcmp(boot, p->boot) && p->start && read_start(p->pid) == p->start;
}

bool pid_stopped(const struct process *p)
{
	char state = ' ';
	int64_t parent;

	return pid_alive(p) && read_stat(p->pid, &state, &parent) && state == 'T';
}

bool pid_rebooted(const struct process *p)
{
	char boot[40];

	pid_read_boot(boot);
	return p->boot[0] && strcmp(boot, p->boot) != 0;
}

int pid_send(const struct process *p, int number, struct fault *f)
{
	int fd = p->pid > 0 ? pidfd_open((pid_t)p->pid, 0) : -1;
	int rc = 0;

	if (fd < 0)
		return 0;
	if (pid_alive(p) && pidfd_send_signal(fd, number, NULL, 0) && errno != ESRCH)
		rc = fault_set(f, FAULT_IO, "", "cannot signal process %lld: %s",
			       (long long)p->pid, strerror(errno));
	close(fd);
	return rc;
}

int pid_stop(const struct process *p, bool now, struct fault *f)
{
	return pid_send(p, now ? SIGKILL : SIGTERM, f);
}
