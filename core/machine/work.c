#include "core/machine/work.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 256 };

struct walk {
	int64_t since; /* a file written later is work */
	int64_t whole; /* any change later is work: ms since 1970 */
	long left; /* entries that may still be looked at */
	int64_t bytes;
	bool changed;
};

static void walk(struct walk *w, int dir, int depth);

static int64_t in_ms(const struct timespec *at)
{
	return (int64_t)at->tv_sec * 1000 + at->tv_nsec / 1000000;
}

/* A program that sets a file's time back cannot hide a change: setting it is one too.  A folder's change tells of files that were removed from it. */
static bool is_changed(const struct walk *w, const struct stat *st)
{
	return in_ms(&st->st_ctim) > w->whole ||
	       (!S_ISDIR(st->st_mode) && in_ms(&st->st_mtim) > w->since);
}

static void look_at(struct walk *w, int dir, const char *name, int depth)
{
	struct stat st;
	int sub;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	w->bytes += (int64_t)st.st_blocks * 512;
	w->changed |= is_changed(w, &st);
	if (!S_ISDIR(st.st_mode))
		return;
	if (depth >= DEPTH_MAX) {
		w->changed = true;
		return;
	}
	sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sub >= 0)
		walk(w, sub, depth + 1);
}

/* Takes the descriptor. */
static void walk(struct walk *w, int dir, int depth)
{
	DIR *list = fdopendir(dir);
	const struct dirent *e;

	if (!list) {
		close(dir);
		return;
	}
	while ((e = readdir(list))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    (depth == 0 && !strcmp(e->d_name, ".cadre")))
			continue;
		if (--w->left < 0) {
			w->changed = true;
			break;
		}
		look_at(w, dirfd(list), e->d_name, depth);
	}
	closedir(list);
}

/* When the folder was whole, by its stamp. */
static int64_t whole_at(const char *stamp, int64_t since)
{
	struct stat st;
	int64_t at;

	if (!stamp)
		return since;
	if (lstat(stamp, &st))
		return INT64_MAX;
	at = in_ms(&st.st_mtim);
	return at > since ? at : since;
}

int64_t work_look(const char *path, const char *stamp, int64_t since, long most,
		  bool *changed)
{
	struct walk w = { .since = since,
			  .whole = whole_at(stamp, since),
			  .left = most ? most : LONG_MAX };
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (dir >= 0) {
		w.changed = since && !fstat(dir, &st) && is_changed(&w, &st);
		walk(&w, dir, 0);
	}
	if (changed)
		*changed = w.changed;
	return w.bytes;
}
