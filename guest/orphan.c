/*
 * Commands outlive a killed guest.  The host takes such commands for interrupted, so they
 * must not go on: a new guest kills them before it takes work, and a guest that ends in order
 * kills its commands first.  Processes that a command has left behind are halted together with
 * running commands.  A process belongs to a
 * command when its environment names the spool's workspace and this guest's folder, also
 * in a session of its own; a process of a turn names the turn, too.
 *
 * A killed process has not ended yet: until the kernel has closed its files, it holds locks
 * and ports.  Its descriptor tells its end, since its number may be another's by then.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "guest/guest_inside.h"

struct groups {
	pid_t *all;
	size_t n;
};

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

static const char *orphan_find(const char *environment, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = environment; p < environment + len; p += strlen(p) + 1)
		if (strncmp(p, name, n) == 0)
			return p + n;
	return NULL;
}

/* Whether `path` is this guest's own folder, or the place that it had in earlier
 * versions. */
static bool orphan_is_state(const struct guest *g, const char *path)
{
	size_t n = strlen(g->dir);

	return strcmp(path, g->state) == 0 ||
	       (strncmp(path, g->dir, n) == 0 && strcmp(path + n, "/.cadre") == 0);
}

/* Whether a process of this environment is of a command, or with `turn` of that turn's. */
static bool orphan_is_ours(const struct guest *g, const char *environment, size_t len,
			   int64_t turn)
{
	const char *workspace = orphan_find(environment, len, "CADRE_WORKSPACE=");
	const char *state = orphan_find(environment, len, "CADRE_GUEST=");
	const char *number = orphan_find(environment, len, "CADRE_TURN=");

	return workspace && strcmp(workspace, spool_owner(g->spool)) == 0 && state &&
	       orphan_is_state(g, state) &&
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

static bool orphan_has_group(const struct groups *in, pid_t group)
{
	for (size_t i = 0; i < in->n; i++)
		if (in->all[i] == group)
			return true;
	return false;
}

static void orphan_add_group(struct groups *to, pid_t group)
{
	if (orphan_has_group(to, group))
		return;
	to->all = xreallocarray(to->all, to->n + 1, sizeof(*to->all));
	to->all[to->n++] = group;
}

/* Sends the group of a process a signal if it is another one of ours; a group of a command that
 * still runs gets SIGKILL only. */
static void orphan_look_at(const struct guest *g, const char *pid, int signal,
			   int64_t turn, struct groups *told)
{
	pid_t process = (pid_t)strtol(pid, NULL, 10), group = getpgid(process);
	char *environment;
	size_t len;

	if (group <= 1 || group == getpgrp() || (signal != SIGKILL && runs(g, group)))
		return;
	environment = read_environment(pid, &len);
	if (environment && orphan_is_ours(g, environment, len, turn)) {
		kill(-group, signal);
		orphan_add_group(told, group);
	}
	free(environment);
}

/* Sends a signal to the orphans.  False: some processes were not looked at. */
static bool tell_orphans(const struct guest *g, int signal, int64_t turn,
			 struct groups *told)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	while (proc && (e = readdir(proc)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			orphan_look_at(g, e->d_name, signal, turn, told);
	return proc && closedir(proc) == 0;
}

static void keep_process(struct guest *g, pid_t process)
{
	int fd = pidfd_open(process, 0);

	if (fd < 0)
		return;
	g->dying = xreallocarray(g->dying, g->n_dying + 1, sizeof(*g->dying));
	g->dying[g->n_dying++] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

/* Keeps the processes of these groups.  The environment cannot tell them: a dying process has
 * none any more. */
static void keep_dying(struct guest *g, const struct groups *of)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	while (proc && (e = readdir(proc))) {
		pid_t process = (pid_t)strtol(e->d_name, NULL, 10);

		if (process > 0 && orphan_has_group(of, getpgid(process)))
			keep_process(g, process);
	}
	if (proc)
		closedir(proc);
}

void guest_kill_orphans(struct guest *g, int64_t turn, pid_t group)
{
	struct groups killed = { 0 };

	if (group)
		orphan_add_group(&killed, group);
	tell_orphans(g, SIGKILL, turn, &killed);
	if (killed.n)
		keep_dying(g, &killed);
	free(killed.all);
}

/* Forgets those that have ended, of which poll() has told. */
static void forget_ended(struct guest *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_dying; i++)
		if (g->dying[i].revents)
			close(g->dying[i].fd);
		else
			g->dying[n++] = g->dying[i];
	g->n_dying = n;
}

bool guest_orphans_ended(struct guest *g, int64_t ms)
{
	const int64_t until = clock_boot_ms() + ms;
	int64_t left;

	do {
		left = until - clock_boot_ms();
		if (g->n_dying &&
		    poll(g->dying, g->n_dying, left > 0 ? (int)left : 0) > 0)
			forget_ended(g);
	} while (g->n_dying && left > 0);
	return !g->n_dying;
}

void guest_halt_orphans(struct guest *g, bool on)
{
	struct groups told = { 0 };

	if (!g->leaves && !g->runs)
		return;
	g->leaves = !tell_orphans(g, on ? SIGSTOP : SIGCONT, 0, &told) || told.n;
	free(told.all);
}
