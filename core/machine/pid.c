#include "core/machine/pid.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/machine/process_stat.h"

static void pid_read_boot(char boot[40])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, boot, 36);

	boot[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static int64_t read_start(int64_t pid)
{
	struct process_stat p;

	return process_read_stat(pid, &p) ? p.start : 0;
}

int64_t pid_parent(int64_t pid)
{
	struct process_stat p;

	return process_read_stat(pid, &p) ? p.parent : 0;
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
	struct process_stat stat;

	return pid_alive(p) && process_read_stat(p->pid, &stat) && stat.state == 'T';
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
