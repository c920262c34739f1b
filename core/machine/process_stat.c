#include "core/machine/process_stat.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The usage is added of at most USAGE_MOST processes, down to this generation of children. */
enum { USAGE_MOST = 1000, USAGE_DEPTH = 20 };

bool process_read_stat(int64_t pid, struct process_stat *p)
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

struct process_usage {
	int64_t cpu_ms, memory;
	int processes;
};

static void process_add_usage(int64_t pid, int depth, struct process_usage *u);

/* Adds what the children of one thread use. */
static void process_add_children(int64_t pid, const char *thread, int depth,
				 struct process_usage *u)
{
	char path[300];
	long long child;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%lld/task/%s/children", (long long)pid,
		 thread);
	in = fopen(path, "re");
	while (in && fscanf(in, "%lld", &child) == 1)
		process_add_usage(child, depth + 1, u);
	if (in)
		fclose(in);
}

static void process_add_usage(int64_t pid, int depth, struct process_usage *u)
{
	struct process_stat p;
	struct dirent *thread;
	char path[64];
	DIR *threads;

	if (depth > USAGE_DEPTH || u->processes == USAGE_MOST ||
	    !process_read_stat(pid, &p))
		return;
	u->processes++;
	u->cpu_ms += (p.user + p.system + p.children_user + p.children_system) * 1000 /
		     sysconf(_SC_CLK_TCK);
	u->memory += p.pages * sysconf(_SC_PAGESIZE);
	snprintf(path, sizeof(path), "/proc/%lld/task", (long long)pid);
	threads = opendir(path);
	while (threads && (thread = readdir(threads)))
		if (*thread->d_name != '.')
			process_add_children(pid, thread->d_name, depth, u);
	if (threads)
		closedir(threads);
}

bool process_find_usage(int64_t pid, int64_t *cpu_ms, int64_t *memory)
{
	struct process_usage u = { 0 };

	process_add_usage(pid, 0, &u);
	*cpu_ms = u.cpu_ms;
	*memory = u.memory;
	return u.processes > 0;
}
