#include "core/machine/work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DEPTH_MAX = 256,
	LOOK_MOST = 1000000, /* maximum number of entries in a walk that reports files */
};

struct walk {
	int64_t since; /* files written after this time count as work; ms since 1970 */
	int64_t whole; /* all changes after this time count as work; ms since 1970 */
	long left; /* entries that may still be visited */
	int64_t bytes;
	bool changed;
	void (*each)(void *with, const char *path); /* may be NULL */
	void *with;
	size_t len;
	char path[PATH_MAX]; /* path of the present entry, relative to the folder */
};

static void work_walk_folder(struct walk *w, int dir, int depth);

static int64_t in_ms(const struct timespec *at)
{
	return (int64_t)at->tv_sec * 1000 + at->tv_nsec / 1000000;
}

/* A program can set a file's modification time back. But then the file gets a new change time
 * (ctime), which no program can set. The change time of a folder shows that files were removed
 * from the folder. */
static bool is_changed(const struct walk *w, const struct stat *st)
{
	return in_ms(&st->st_ctim) > w->whole ||
	       (!S_ISDIR(st->st_mode) && in_ms(&st->st_mtim) > w->since);
}

/* Counts the entry w->path, and visits the entries below if w->path is a folder. */
static void work_look_at(struct walk *w, int dir, const char *name, int depth)
{
	struct stat st;
	bool changed;
	int sub;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	w->bytes += (int64_t)st.st_blocks * 512;
	changed = is_changed(w, &st);
	w->changed |= changed;
	if (!S_ISDIR(st.st_mode)) {
		if (w->each && changed)
			w->each(w->with, w->path);
		return;
	}
	if (depth >= DEPTH_MAX) {
		w->changed = true;
		return;
	}
	sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sub >= 0)
		work_walk_folder(w, sub, depth + 1);
}

/* Visits an entry of the folder w->path. */
static void look_at_entry(struct walk *w, int dir, const char *name, int depth)
{
	size_t len = w->len, room = sizeof(w->path) - len;
	int n = snprintf(w->path + len, room, "%s%s", len ? "/" : "", name);

	/* A path that is too long is cut, but entries below a cut path still count. */
	w->len += (size_t)n < room ? (size_t)n : room - 1;
	work_look_at(w, dir, name, depth);
	w->len = len;
	w->path[len] = '\0';
}

/* Visits all entries of the folder `dir`, and closes `dir`. */
static void work_walk_folder(struct walk *w, int dir, int depth)
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
		look_at_entry(w, dirfd(list), e->d_name, depth);
	}
	closedir(list);
}

/* Returns the later of `since` and the write time of the file `stamp`. Returns `since` if
 * `stamp` is NULL, or INT64_MAX if the file is missing. */
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

int64_t work_look(const char *path, const char *stamp, int64_t since,
		  void (*each)(void *with, const char *path), void *with, bool *changed)
{
	struct walk w = { .since = since,
			  .whole = whole_at(stamp, since),
			  .left = each ? LOOK_MOST : LONG_MAX,
			  .each = each,
			  .with = with };
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (dir >= 0) {
		w.changed = since && !fstat(dir, &st) && is_changed(&w, &st);
		work_walk_folder(&w, dir, 0);
	} else { /* the folder is missing, or cannot be opened and may hold any files */
		w.changed = errno != ENOENT && errno != ENOTDIR;
		w.bytes = w.changed; /* not 0 if the folder may hold files */
	}
	if (changed)
		*changed = w.changed;
	return w.bytes;
}
