#include "core/machine/work.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 256 };

struct walk {
	int64_t since;
	long left; /* entries that may still be looked at */
	int64_t bytes;
	bool changed;
};

static void walk(struct walk *w, int dir, int depth);

static int64_t written_at(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

/* A folder's own time tells of files that were removed from it as well. */
static void look_at(struct walk *w, int dir, const char *name, int depth)
{
	struct stat st;
	int sub;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	w->bytes += (int64_t)st.st_blocks * 512;
	if (!S_ISDIR(st.st_mode)) {
		w->changed |= written_at(&st) > w->since;
		return;
	}
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

int64_t work_look(const char *path, int64_t since, long most, bool *changed)
{
	struct walk w = { .since = since, .left = most ? most : LONG_MAX };
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir >= 0)
		walk(&w, dir, 0);
	if (changed)
		*changed = w.changed;
	return w.bytes;
}
