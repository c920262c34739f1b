/*
 * Commands outlive a guest that is killed.  Their results are told as
 * interrupted, so they must not go on: before a new guest takes work it kills
 * them, and one that ends leaves none behind.  A process belongs to such a group
 * when its environment names the workspace that the spool is of, this guest by its
 * folder and, as CADRE_GROUP, the process group that it is in; a number used again
 * by somebody else is never taken for it.
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

static bool is_ours(const struct guest *g, const char *environment, size_t len,
		    pid_t group)
{
	const char *workspace = find(environment, len, "CADRE_WORKSPACE=");
	const char *state = find(environment, len, "CADRE_GUEST=");
	const char *number = find(environment, len, "CADRE_GROUP=");

	return workspace && strcmp(workspace, spool_owner(g->spool)) == 0 && state &&
	       is_state(g, state) && number && strtol(number, NULL, 10) == group;
}

static void look_at(const struct guest *g, const char *pid)
{
	pid_t group = getpgid((pid_t)strtol(pid, NULL, 10));
	char *environment;
	size_t len;

	if (group <= 1 || group == getpgrp())
		return;
	environment = read_environment(pid, &len);
	if (environment && is_ours(g, environment, len, group))
		kill(-group, SIGKILL);
	free(environment);
}

void guest_kill_orphans(const struct guest *g)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	while (proc && (e = readdir(proc)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			look_at(g, e->d_name);
	if (proc)
		closedir(proc);
}
