#include "core/machine/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"

extern char **environ;

enum { GRACE_MS = 10000 };

/* A running child. The child writes its output to files, so this process need not read while
 * the child runs. */
struct child {
	int out, err; /* files for stdout and stderr; -1: the output is dropped */
	pid_t pid;
};

int child_spawn(pid_t *pid, const char *program, const char *const *words,
		char *const *env, posix_spawn_file_actions_t *files, bool outlives)
{
	posix_spawnattr_t attr;
	sigset_t none, all;
	int rc;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						(outlives ? POSIX_SPAWN_SETSID : 0));
	rc = posix_spawnp(pid, program, files, &attr, (char *const *)words, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(files);
	return rc;
}

int child_detach(pid_t *pid, const char *program, const char *const *words,
		 char *const *env, const char *dir, const char *log, int how)
{
	posix_spawn_file_actions_t files;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, 2, log, O_WRONLY | O_CREAT | how, 0600);
	if (dir)
		posix_spawn_file_actions_addchdir_np(&files, dir);
	return child_spawn(pid, program, words, env, &files, true);
}

static int child_start(struct child *c, const char *const *words, const char *dir,
		       int held)
{
	posix_spawn_file_actions_t files;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, c->out, 1);
	posix_spawn_file_actions_adddup2(&files, c->err, 2);
	if (held >= 0) /* dup2() to the same number keeps `held` open */
		posix_spawn_file_actions_adddup2(&files, held, held);
	if (dir)
		posix_spawn_file_actions_addchdir_np(&files, dir);
	return child_spawn(&c->pid, words[0], words, environ, &files, false);
}

static char *child_read_all(int fd, struct arena *a)
{
	struct stat st;
	char *text;
	ssize_t n;

	if (fd < 0)
		return arena_strdup(a, "");
	if (fstat(fd, &st))
		st.st_size = 0;
	text = arena_alloc(a, (size_t)st.st_size + 1);
	n = pread(fd, text, (size_t)st.st_size, 0);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static const char *child_last_line(char *text)
{
	size_t n = strlen(text);
	char *start;

	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
		text[--n] = '\0';
	start = strrchr(text, '\n');
	return start ? start + 1 : text;
}

/* Waits for the end of the program. Returns false if the program did not end within `ms`
 * milliseconds. If `ms` is 0, there is no time limit. */
static bool child_ends(pid_t pid, int64_t ms, int *status)
{
	int fd = ms ? (int)syscall(SYS_pidfd_open, pid, 0) : -1, n = 0;
	struct pollfd end = { .fd = fd, .events = POLLIN };
	const int64_t until = clock_steady_ms() + ms;

	for (int64_t left = ms; fd >= 0 && n <= 0 && left > 0;
	     left = until - clock_steady_ms())
		n = poll(&end, 1, (int)left);
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && n <= 0)
		return false;
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return true;
}

static int child_await(const struct child *c, const char *name, int64_t ms, int *status,
		       struct fault *f)
{
	if (child_ends(c->pid, ms, status))
		return 0;
	kill(c->pid, SIGTERM);
	if (!child_ends(c->pid, GRACE_MS, status)) {
		kill(c->pid, SIGKILL);
		child_ends(c->pid, 0, status);
	}
	return fault_set(f, FAULT_TIMEOUT, "", "%s took more than %lld s", name,
			 (long long)(ms / 1000));
}

int child_hear(const char *const *words, const char *dir, int64_t ms, int held,
	       struct arena *a, struct child_end *end, struct fault *f)
{
	struct child c = { .out = memfd_create("stdout", MFD_CLOEXEC),
			   .err = memfd_create("stderr", MFD_CLOEXEC) };
	int rc = c.out < 0 || c.err < 0 ? errno : child_start(&c, words, dir, held);

	if (rc)
		rc = fault_set(f, FAULT_IO, "", "cannot run %s: %s", words[0],
			       strerror(rc));
	else
		rc = child_await(&c, words[0], ms, &end->status, f);
	end->out = child_read_all(c.out, a);
	end->err = child_read_all(c.err, a);
	if (c.out >= 0)
		close(c.out);
	if (c.err >= 0)
		close(c.err);
	return rc;
}

int child_judge(const struct child_end *end, const char *name, struct fault *f)
{
	if (WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0)
		return 0;
	if (WIFSIGNALED(end->status))
		return fault_set(f, FAULT_IO, "", "%s was ended by signal %d", name,
				 WTERMSIG(end->status));
	return fault_set(f, FAULT_IO, "", "%s: %.180s", name, child_last_line(end->err));
}

int child_read(const char *const *words, const char *dir, struct arena *a, char **out,
	       struct fault *f)
{
	struct child_end end;

	if (child_hear(words, dir, 0, -1, a, &end, f) || child_judge(&end, words[0], f))
		return f->code;
	*out = end.out;
	return 0;
}

int child_run(const char *const *words, const char *dir, struct fault *f)
{
	struct arena a = { 0 };
	char *ignored;
	int rc = child_read(words, dir, &a, &ignored, f);

	arena_release(&a);
	return rc;
}
