#include "core/host/notifier_run.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/machine/child.h"

enum { PATIENCE_S = 30 };

extern char **environ;

static void notifier_run_add(struct arena *a, char ***env, size_t *n, char *line)
{
	*(char **)arena_push(a, env, n, sizeof(line)) = line;
}

/* CADRE_EVENT=task.failed */
static char *variable(struct arena *a, const char *name, const json_t *value)
{
	char *line =
		json_is_string(value)
			? arena_printf(a, "CADRE_%s=%s", name, json_string_value(value))
			: arena_printf(a, "CADRE_%s=%lld", name,
				       (long long)json_integer_value(value));

	for (char *p = line; *p && *p != '='; p++)
		*p = (char)toupper((unsigned char)*p);
	return line;
}

/* The host's environment, but for who the host is and how it was configured. */
static char **environment(struct arena *a, const struct home *home, json_t *notice)
{
	char **env = NULL;
	size_t n = 0;
	const char *name;
	json_t *value;

	for (char **e = environ; *e; e++)
		if (strncmp(*e, "CADRE_", 6) != 0)
			notifier_run_add(a, &env, &n, *e);
	notifier_run_add(a, &env, &n, arena_printf(a, "CADRE_HOME=%s", home->dir));
	json_object_foreach(notice, name, value) {
		notifier_run_add(a, &env, &n, variable(a, name, value));
	}
	notifier_run_add(a, &env, &n, NULL);
	return env;
}

/* A file in memory that holds the line; nobody has to write while the command reads. */
static int line_file(const struct text *line)
{
	int fd = memfd_create("notice", MFD_CLOEXEC);

	if (fd >= 0 && (write(fd, line->data, line->len) != (ssize_t)line->len ||
			lseek(fd, 0, SEEK_SET) != 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Starts the command under `timeout`, in a process group of its own.  If the host is killed,
 * `timeout` ends the group, provided that the command itself still runs. */
static int notifier_run_start(pid_t *pid, const struct home *home, struct arena *a,
			      const struct text *line)
{
	const char *seconds = arena_printf(a, "%d", PATIENCE_S + 1);
	const char *words[] = { "timeout",
				"-s",
				"KILL",
				seconds,
				"sh",
				"-c",
				home->settings.config.notify_command,
				NULL };
	json_t *notice = json_loadb(line->data, line->len, 0, NULL);
	int rc, in = line_file(line);
	posix_spawn_file_actions_t files;

	if (in < 0) {
		json_decref(notice);
		return EIO;
	}
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addchdir_np(&files, home->dir);
	rc = child_spawn(pid, "timeout", words, environment(a, home, notice), &files,
			 true);
	json_decref(notice);
	close(in);
	return rc;
}

/* Waits for the end of the command, its time, or the host's end; then kills all of its
 * group, which is there until its first process is waited for.  The status, or -1 where
 * the command was killed. */
static int notifier_run_await(pid_t pid, struct sleeper *sleeper)
{
	int fd = pidfd_open(pid, 0), status = 0;
	struct pollfd ended = { .fd = fd, .events = POLLIN };
	int64_t until = clock_steady_ms() + PATIENCE_S * 1000, left;
	bool late;

	/* A signal of the host's ends a sleep early. */
	while ((late = poll(&ended, 1, 0) <= 0) && !sleeper_ends(sleeper) &&
	       (left = until - clock_steady_ms()) > 0)
		sleeper_rest(sleeper, fd, (int)left);
	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (fd >= 0)
		close(fd);
	return late ? -1 : status;
}

bool notifier_run(const struct home *home, const struct notice *notice,
		  struct sleeper *sleeper, struct log *log, struct log_pause *failed)
{
	struct arena a = { 0 };
	struct text line = { 0 };
	int rc, status = 0;
	pid_t pid = 0;

	op_encode(&record_notice, notice, &line);
	text_add(&line, "\n", 1);
	rc = notifier_run_start(&pid, home, &a, &line);
	text_release(&line);
	arena_release(&a);
	if (rc == 0)
		status = notifier_run_await(pid, sleeper);
	if (rc)
		log_seldom(log, failed, LOG_LEVEL_WARN, "notify.command cannot be run",
			   LOG_TEXT("error", strerror(rc)));
	else if (status == -1 && sleeper_ends(sleeper))
		return false;
	else if (status == -1)
		log_seldom(log, failed, LOG_LEVEL_WARN,
			   "notify.command took too long and was ended",
			   LOG_NUMBER("seconds", PATIENCE_S));
	else if (status)
		log_seldom(log, failed, LOG_LEVEL_WARN, "notify.command failed",
			   LOG_NUMBER("status", WIFSIGNALED(status)
							? 128 + WTERMSIG(status)
							: WEXITSTATUS(status)));
	return true;
}
