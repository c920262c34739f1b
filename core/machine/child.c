#include "core/machine/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The output goes to files, since then nothing has to be read while the child runs. */
struct child {
	int out, err; /* -1: none */
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

static int spawn(struct child *c, const char *const *words, const char *dir)
{
	posix_spawn_file_actions_t files;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, c->out, 1);
	posix_spawn_file_actions_adddup2(&files, c->err, 2);
	if (dir)
		posix_spawn_file_actions_addchdir_np(&files, dir);
	return child_spawn(&c->pid, words[0], words, environ, &files, false);
}

static char *read_all(int fd, struct arena *a)
{
	struct stat st;
	char *text;
	ssize_t n;

	if (fstat(fd, &st))
		st.st_size = 0;
	text = arena_alloc(a, (size_t)st.st_size + 1);
	n = pread(fd, text, (size_t)st.st_size, 0);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static const char *last_line(char *text)
{
	size_t n = strlen(text);
	char *start;

	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
		text[--n] = '\0';
	start = strrchr(text, '\n');
	return start ? start + 1 : text;
}

static int judge(const struct child *c, const char *name, int status, struct fault *f)
{
	struct arena a = { 0 };

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFSIGNALED(status))
		fault_set(f, FAULT_IO, "", "%s was ended by signal %d", name,
			  WTERMSIG(status));
	else
		fault_set(f, FAULT_IO, "", "%s: %.180s", name,
			  last_line(read_all(c->err, &a)));
	arena_release(&a);
	return f->code;
}

int child_read(const char *const *words, const char *dir, struct arena *a, char **out,
	       struct fault *f)
{
	struct child c = { .out = memfd_create("stdout", MFD_CLOEXEC),
			   .err = memfd_create("stderr", MFD_CLOEXEC) };
	int status = 0, rc;

	rc = c.out < 0 || c.err < 0 ? errno : spawn(&c, words, dir);
	if (rc == 0) {
		while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR)
			;
		rc = judge(&c, words[0], status, f);
	} else {
		rc = fault_set(f, FAULT_IO, "", "cannot run %s: %s", words[0],
			       strerror(rc));
	}
	if (rc == 0 && out)
		*out = read_all(c.out, a);
	if (c.out >= 0)
		close(c.out);
	if (c.err >= 0)
		close(c.err);
	return rc;
}

int child_run(const char *const *words, const char *dir, struct fault *f)
{
	return child_read(words, dir, NULL, NULL, f);
}
