#include "core/machine/changed.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 100, ENTRIES_MAX = 1000000 };

struct walk {
	int64_t since;
	long left; /* entries that may still be looked at */
};

static bool walk(struct walk *w, int dir, int depth);

static int64_t written_at(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

/* A folder's own time tells of files that were removed from it as well. */
static bool is_changed(struct walk *w, int dir, const char *name, int depth)
{
	struct stat st;
	int sub;

	if (--w->left < 0)
		return true;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	if (!S_ISDIR(st.st_mode))
		return written_at(&st) > w->since;
	if (depth >= DEPTH_MAX)
		return true;
	sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return sub >= 0 && walk(w, sub, depth + 1);
}

/* Takes the descriptor. */
static bool walk(struct walk *w, int dir, int depth)
{
	DIR *list = fdopendir(dir);
	const struct dirent *e;
	bool changed = false;

	if (!list) {
		close(dir);
		return false;
	}
	while (!changed && (e = readdir(list)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    !(depth == 0 && strcmp(e->d_name, ".cadre") == 0))
			changed = is_changed(w, dirfd(list), e->d_name, depth);
	closedir(list);
	return changed;
}

bool changed_since(const char *path, int64_t since)
{
	struct walk w = { .since = since, .left = ENTRIES_MAX };
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return dir >= 0 && walk(&w, dir, 0);
}
