/*
 * Commands outlive a guest that is killed.  Their results are told as
 * interrupted, so they must not go on: before a new guest takes work it kills
 * them, and one that ends leaves none behind.  What a command has left behind
 * stands still with those that run.  A process is of a command when its environment
 * names the workspace that the spool is of and this guest by its folder, also in a
 * session of its own; one of a turn names that, too.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/inside.h"

static char *read_environment(const char *pid, size_t *len)
{
	char path[64], *buf = NULL;
	size_t room = 0;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	*len = 0;
	do {
		char *more = realloc(buf, room += 8192);

		if (!more)
			break;
		buf = more;
		n = read(fd, buf + *len, room - *len - 1);
		*len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	close(fd);
	if (buf)
		buf[*len] = '\0';
	return buf;
}

static const char *find(const char *environment, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = environment; p < environment + len; p += strlen(p) + 1)
		if (strncmp(p, name, n) == 0)
			return p + n;
	return NULL;
}

/* Whether `path` is this guest's own folder, or the place that it had in earlier
 * versions. */
static bool is_state(const struct guest *g, const char *path)
{
	size_t n = strlen(g->dir);

	return strcmp(path, g->state) == 0 ||
	       (strncmp(path, g->dir, n) == 0 && strcmp(path + n, "/.cadre") == 0);
}

/* Whether a process of this environment is of a command, or with `turn` of that turn's. */
static bool is_ours(const struct guest *g, const char *environment, size_t len,
		    int64_t turn)
{
	const char *workspace = find(environment, len, "CADRE_WORKSPACE=");
	const char *state = find(environment, len, "CADRE_GUEST=");
	const char *number = find(environment, len, "CADRE_TURN=");

	return workspace && strcmp(workspace, spool_owner(g->spool)) == 0 && state &&
	       is_state(g, state) &&
	       (!turn || (number && strtoll(number, NULL, 10) == turn));
}

/* Whether a command of that group has not ended yet. */
static bool runs(const struct guest *g, pid_t group)
{
	for (const struct proc *run = g->runs; run; run = run->next)
		if (run->group == group && !run->exited)
			return true;
	return false;
}

/* Sends the group of a process a signal if it is ours; a group of a command that runs yet gets
 * SIGKILL only.  Whether it is another one of ours. */
static bool look_at(const struct guest *g, const char *pid, int signal, int64_t turn)
{
	pid_t process = (pid_t)strtol(pid, NULL, 10), group = getpgid(process);
	char *environment;
	size_t len;
	bool ours;

	if (group <= 1 || group == getpgrp() || (signal != SIGKILL && runs(g, group)))
		return false;
	environment = read_environment(pid, &len);
	ours = environment && is_ours(g, environment, len, turn);
	if (ours)
		kill(-group, signal);
	free(environment);
	return ours;
}

/* Sends all of them a signal: whether there are any, as far as can be seen. */
static bool tell_orphans(const struct guest *g, int signal, int64_t turn)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	bool any = !proc;

	while (proc && (e = readdir(proc)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			any |= look_at(g, e->d_name, signal, turn);
	if (proc)
		closedir(proc);
	return any;
}

void guest_kill_orphans(const struct guest *g, int64_t turn)
{
	tell_orphans(g, SIGKILL, turn);
}

void guest_halt_orphans(struct guest *g, bool on)
{
	if (g->leaves || g->runs)
		g->leaves = tell_orphans(g, on ? SIGSTOP : SIGCONT, 0);
}
