#include "tests/unit/test_durable/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEPS_MOST = 2000 };

struct journal journal;

/* --- the replaced system calls -------------------------------------------------------- */

static void path_of(int fd, char out[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, PATH_MAX - 1);
	out[n < 0 ? 0 : n] = '\0';
}

static void path_at(int dir, const char *name, char out[PATH_MAX])
{
	char above[PATH_MAX] = "";

	if (*name == '/' || dir == AT_FDCWD) {
		snprintf(out, PATH_MAX, "%.4000s", name);
		return;
	}
	path_of(dir, above);
	snprintf(out, PATH_MAX, "%.2000s/%.2000s", above, name);
}

/* Returns the next step to fill, or NULL if the journal is closed or full. */
static struct step *note(enum step_kind kind)
{
	struct step *s;

	if (!journal.steps || journal.n == STEPS_MOST)
		return NULL;
	s = &journal.steps[journal.n++];
	*s = (struct step){ .kind = kind };
	return s;
}

static int note_sync(int fd, enum step_kind kind)
{
	struct step *s = note(kind);

	if (s)
		path_of(fd, s->path);
	return 0;
}

int fsync(int fd)
{
	return note_sync(fd, SYNC), (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return note_sync(fd, SYNC), (int)syscall(SYS_fdatasync, fd);
}

int syncfs(int fd)
{
	return note_sync(fd, SYNC_ALL), (int)syscall(SYS_syncfs, fd);
}

static int move_at(int from, const char *name, int to, const char *other, unsigned flags)
{
	void (*before)(void) = journal.before;
	struct step *s;
	int rc, error;

	journal.before = NULL;
	if (before)
		before();
	rc = (int)syscall(SYS_renameat2, from, name, to, other, flags);
	error = errno;
	s = rc == 0 ? note(MOVE) : NULL;
	if (s) {
		path_at(from, name, s->path);
		path_at(to, other, s->to);
	}
	errno = error;
	return rc;
}

int rename(const char *from, const char *to)
{
	return move_at(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from, const char *name, int to, const char *other)
{
	return move_at(from, name, to, other, 0);
}

int renameat2(int from, const char *name, int to, const char *other, unsigned flags)
{
	return move_at(from, name, to, other, flags);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
	int rc = (int)syscall(SYS_mkdirat, dir, name, mode);
	struct step *s = rc == 0 ? note(MAKE) : NULL;

	if (s)
		path_at(dir, name, s->path);
	return rc;
}

int unlinkat(int dir, const char *name, int flags)
{
	int rc = (int)syscall(SYS_unlinkat, dir, name, flags);
	struct step *s = rc == 0 ? note(REMOVE) : NULL;

	if (s)
		path_at(dir, name, s->path);
	return rc;
}

int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

/* --- functions of the journal ----------------------------------------------------------- */

void journal_begin(void)
{
	journal.n = 0;
	journal.steps = calloc(STEPS_MOST, sizeof(*journal.steps));
	assert_non_null(journal.steps);
}

void journal_end(void)
{
	struct step *steps = journal.steps;

	journal.steps = NULL;
	free(steps);
	assert_true(journal.n < STEPS_MOST);
}

static void above(const char *path, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s", path);
	*strrchr(out, '/') = '\0';
}

bool journal_has(enum step_kind kind, const char *path, size_t first, size_t last)
{
	for (size_t i = first; i < last; i++)
		if (journal.steps[i].kind == kind &&
		    (!path || !strcmp(journal.steps[i].path, path)))
			return true;
	return false;
}

bool journal_synced(const char *path, size_t first, size_t last)
{
	return journal_has(SYNC, path, first, last) ||
	       journal_has(SYNC_ALL, NULL, first, last);
}

static bool is_later_moved(const char *path, size_t from)
{
	for (size_t i = from; i < journal.n; i++)
		if (journal.steps[i].kind == MOVE && !strcmp(journal.steps[i].path, path))
			return true;
	return false;
}

const char *journal_below(const char *path)
{
	size_t n = strlen(journal.base);

	return strncmp(path, journal.base, n) ? path : path + n;
}

void journal_check_names(void)
{
	char holder[PATH_MAX];

	for (size_t i = 0; i < journal.n; i++) {
		const struct step *s = &journal.steps[i];
		const char *path = s->kind == MOVE ? s->to : s->path;

		if ((s->kind != MOVE && s->kind != MAKE) || is_later_moved(path, i + 1))
			continue;
		above(path, holder);
		if (!journal_synced(holder, i + 1, journal.n))
			fail_msg("the name %s is not synced", journal_below(path));
	}
}

size_t journal_move(const char *from, const char *to)
{
	for (size_t i = 0; i < journal.n; i++) {
		const struct step *s = &journal.steps[i];

		if (s->kind == MOVE && !strcmp(journal_below(s->path), from) &&
		    !strcmp(journal_below(s->to), to))
			return i;
	}
	fail_msg("%s is not moved to %s", from, to);
	return 0;
}

size_t journal_removal(const char *path)
{
	for (size_t i = 0; i < journal.n; i++)
		if (journal.steps[i].kind == REMOVE &&
		    !strcmp(journal_below(journal.steps[i].path), path))
			return i;
	fail_msg("%s is not removed", path);
	return 0;
}
