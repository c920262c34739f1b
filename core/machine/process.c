/*
 * process - workspaces that are directories, with a guest as a process.
 *
 * A copy is made under another name and renamed when it is whole, so that a
 * directory that is there is a whole one.  The guest gets a session of its own
 * and outlives the host.  A pid is believed only together with the time at
 * which its process started and the boot of the machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/machine/backend.h"
#include "core/machine/copy.h"

extern char **environ;

/* --- directories ------------------------------------------------------------------ */

static int make_parent(const char *path, struct fault *f)
{
	char parent[4096];
	char *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (slash)
		*slash = '\0';
	if (mkdir(parent, 0700) && errno != EEXIST)
		return fault_set(f, FAULT_IO, "", "cannot make %s: %s", parent,
				 strerror(errno));
	return 0;
}

static bool is_there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int process_fork(void *self, const struct spot *spot, struct fault *f)
{
	char half[4096];
	int n = snprintf(half, sizeof(half), "%s.half", spot->path);
	int rc;

	(void)self;
	if (is_there(spot->path))
		return 0;
	if (n >= (int)sizeof(half))
		return fault_set(f, FAULT_INVALID, "", "%s is too long", spot->path);
	if ((rc = make_parent(spot->path, f)) || (rc = tree_remove(half, f)))
		return rc;
	rc = tree_copy(spot->source, half, ".cadre", f);
	if (rc == 0 && rename(half, spot->path))
		rc = fault_set(f, FAULT_IO, "", "cannot make %s: %s", spot->path,
			       strerror(errno));
	if (rc) {
		struct fault ignored = { 0 };

		tree_remove(half, &ignored);
	}
	return rc;
}

static int process_make(void *self, const struct spot *spot, struct fault *f)
{
	int rc;

	if (spot->source)
		return process_fork(self, spot, f);
	rc = make_parent(spot->path, f);
	if (rc == 0 && mkdir(spot->path, 0700) && errno != EEXIST)
		rc = fault_set(f, FAULT_IO, "", "cannot make %s: %s", spot->path,
			       strerror(errno));
	return rc;
}

/* Only what the host made below its own folder is removed. */
static int process_destroy(void *self, const struct spot *spot, struct fault *f)
{
	size_t n = strlen(spot->home);
	int rc;

	(void)self;
	if (strncmp(spot->path, spot->home, n) ||
	    strncmp(spot->path + n, "/workspaces/", 12) || strstr(spot->path, "/../"))
		return fault_set(f, FAULT_DENIED, "", "%s is not the host's", spot->path);
	rc = tree_remove(spot->path, f);
	return rc ? rc : tree_remove(spot->sockets, f);
}

/* --- processes --------------------------------------------------------------------- */

static void read_boot(char boot[40])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, boot, 36);

	boot[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Start time of a living process; 0 when there is none, or a dead one that
 * its parent has not noticed. */
static int64_t read_start(int64_t pid)
{
	char path[64], stat[1024];
	const char *s;
	long long start = 0;
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
	s = strrchr(stat, ')'); /* a name may hold anything */
	if (!s ||
	    sscanf(s + 1,
		   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u "
		   "%*d %*d %*d %*d %*d %*d %lld",
		   &state, &start) != 2 ||
	    state == 'Z' || state == 'X')
		return 0;
	return start;
}

static void process_find(void *self, int64_t pid, struct process *process)
{
	(void)self;
	process->pid = pid;
	process->start = read_start(pid);
	read_boot(process->boot);
}

static bool process_alive(void *self, const struct process *p)
{
	char boot[40];
	int status;

	(void)self;
	if (p->pid <= 0)
		return false;
	waitpid((pid_t)p->pid, &status, WNOHANG); /* if it is our own child */
	read_boot(boot);
	return !strcmp(boot, p->boot) && p->start && read_start(p->pid) == p->start;
}

/* The descriptor pins the process, so that what is signalled is what was
 * looked at. */
static int process_stop(void *self, const struct process *p, bool now, struct fault *f)
{
	int fd = p->pid > 0 ? pidfd_open((pid_t)p->pid, 0) : -1;
	int rc = 0;

	if (fd < 0)
		return 0;
	if (process_alive(self, p) &&
	    pidfd_send_signal(fd, now ? SIGKILL : SIGTERM, NULL, 0) && errno != ESRCH)
		rc = fault_set(f, FAULT_IO, "", "cannot stop process %lld: %s",
			       (long long)p->pid, strerror(errno));
	close(fd);
	return rc;
}

/* The host's own environment, less what says which cadre it is, plus the
 * workspace's own door. */
static char **make_env(const struct spot *spot, struct arena *a)
{
	char **env = NULL;
	size_t n = 0;

	for (char **e = environ; *e; e++)
		if (strncmp(*e, "CADRE_", 6) && strncmp(*e, "NOTIFY_SOCKET=", 14))
			*(char **)arena_push(a, &env, &n, sizeof(*env)) = *e;
	*(char **)arena_push(a, &env, &n, sizeof(*env)) =
		arena_printf(a, "CADRE_SOCKET=%s", spot->door);
	*(char **)arena_push(a, &env, &n, sizeof(*env)) =
		arena_printf(a, "CADRE_TEAM=%s", spot->team);
	if (spot->agent) {
		*(char **)arena_push(a, &env, &n, sizeof(*env)) =
			arena_printf(a, "CADRE_AGENT=%s", spot->agent);
		*(char **)arena_push(a, &env, &n, sizeof(*env)) =
			arena_printf(a, "CADRE_TOKEN=%s", spot->token);
	}
	*(char **)arena_push(a, &env, &n, sizeof(*env)) = NULL;
	return env;
}

static char **make_words(const struct spot *spot, struct arena *a)
{
	const char *words[] = { "cadre",
				"guest",
				"--workspace",
				spot->id,
				"--name",
				spot->name,
				"--dir",
				spot->path,
				"--state",
				arena_printf(a, "%s/.cadre", spot->path),
				"--listen",
				arena_printf(a, "unix:%s", spot->sockets),
				"--team",
				spot->team,
				spot->agent ? "--agent" : NULL,
				spot->agent,
				NULL };
	char **copy = arena_alloc(a, sizeof(words));

	memcpy(copy, words, sizeof(words));
	return copy;
}

/* The guest stands alone: its own session, nothing of ours open. */
static int spawn(const struct spot *spot, struct arena *a, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	const char *log = arena_printf(a, "%s/log/guests.log", spot->home);
	int rc;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, 2, log, O_WRONLY | O_CREAT | O_APPEND,
					 0600);
	posix_spawn_file_actions_addchdir_np(&files, spot->path);
	rc = posix_spawn(pid, spot->program ? spot->program : "/proc/self/exe", &files,
			 &attr, make_words(spot, a), make_env(spot, a));
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

static int process_start(void *self, const struct spot *spot, struct process *process,
			 struct fault *f)
{
	struct arena a = { 0 };
	pid_t pid = 0;
	int rc;

	if (mkdir(spot->sockets, 0700) && errno != EEXIST)
		return fault_set(f, FAULT_IO, "", "cannot make %s: %s", spot->sockets,
				 strerror(errno));
	rc = spawn(spot, &a, &pid);
	arena_release(&a);
	if (rc)
		return fault_set(f, FAULT_IO, "", "cannot start a guest: %s",
				 strerror(rc));
	process_find(self, pid, process);
	return 0;
}

const struct machine machine_process = {
	.name = "process",
	.make = process_make,
	.fork = process_fork,
	.start = process_start,
	.stop = process_stop,
	.alive = process_alive,
	.find = process_find,
	.destroy = process_destroy,
};
