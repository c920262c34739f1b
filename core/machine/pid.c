#include "core/machine/pid.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* The usage is added of at most PID_MOST processes, down to this generation of children. */
enum { PID_MOST = 1000, PID_DEPTH = 20 };

static void pid_read_boot(char boot[40])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, boot, 36);

	boot[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/* The members of /proc/PID/stat that cadre reads. */
struct pid_stat {
	char state; /* a letter, such as T for a stopped process */
	long long parent; /* a pid */
	long long start; /* in clock ticks after boot */
	/* Clock ticks of the processor: of the process, and of its children that have ended. */
	long long user, system, children_user, children_system;
	long long pages; /* of memory */
};

/* Returns false if the process does not exist or is a zombie. */
static bool pid_read_stat(int64_t pid, struct pid_stat *p)
{
	char path[64], stat[1024];
	const char *s;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	stat[n > 0 ? n : 0] = '\0';
	s = strrchr(stat, ')'); /* the name before `)` may contain any bytes */
	return s &&
	       sscanf(s + 1,
		      " %c %lld %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld "
		      "%*d %*d %*d %*d %lld %*u %lld",
		      &p->state, &p->parent, &p->user, &p->system, &p->children_user,
		      &p->children_system, &p->start, &p->pages) == 8 &&
	       p->state != 'Z' && p->state != 'X';
}

static int64_t read_start(int64_t pid)
{
	struct pid_stat p;

	return pid_read_stat(pid, &p) ? p.start : 0;
}

int64_t pid_parent(int64_t pid)
{
	struct pid_stat p;

	return pid_read_stat(pid, &p) ? p.parent : 0;
}

static void pid_add_usage(int64_t pid, int depth, struct pid_usage *u);

/* Adds what the children of one thread use. */
static void pid_add_children(int64_t pid, const char *thread, int depth,
			     struct pid_usage *u)
{
	char path[300];
	long long child;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%lld/task/%s/children", (long long)pid,
		 thread);
	in = fopen(path, "re");
	while (in && fscanf(in, "%lld", &child) == 1)
		pid_add_usage(child, depth + 1, u);
	if (in)
		fclose(in);
}

static void pid_add_usage(int64_t pid, int depth, struct pid_usage *u)
{
	struct pid_stat p;
	struct dirent *thread;
	char path[64];
	DIR *threads;

	if (depth > PID_DEPTH || u->processes == PID_MOST || !pid_read_stat(pid, &p))
		return;
	u->processes++;
	u->cpu_ms += (p.user + p.system + p.children_user + p.children_system) * 1000 /
		     sysconf(_SC_CLK_TCK);
	u->memory += p.pages * sysconf(_SC_PAGESIZE);
	snprintf(path, sizeof(path), "/proc/%lld/task", (long long)pid);
	threads = opendir(path);
	while (threads && (thread = readdir(threads)))
		if (*thread->d_name != '.')
			pid_add_children(pid, thread->d_name, depth, u);
	if (threads)
		closedir(threads);
}

void pid_find_usage(int64_t pid, struct pid_usage *out)
{
	*out = (struct pid_usage){ 0 };
	pid_add_usage(pid, 0, out);
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
	struct pid_stat stat;

	return pid_alive(p) && pid_read_stat(p->pid, &stat) && stat.state == 'T';
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
