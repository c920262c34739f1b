#include "core/home/gone.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "core/home/known.h"
#include "core/home/paths.h"
#include "core/home/tree.h"

struct search {
	const char *dir;
	char root[4096]; /* of its repository, or "" */
	struct known nearest;
};

/* --- what was noted ---------------------------------------------------------------- */

/* Whether a state in `place` belongs to the project around `dir`. */
static bool is_around(const char *place, const char *dir)
{
	size_t n = strlen(place);

	if (n == 1)
		return true;
	return !strncmp(place, dir, n) && (dir[n] == '/' || !dir[n]);
}

static int try_noted(void *with, const struct known *k)
{
	struct search *search = with;
	char place[4096];

	memcpy(place, k->path, sizeof(place));
	if (!paths_up(place))
		return 0;
	if ((is_around(place, search->dir) || !strcmp(place, search->root)) &&
	    strlen(k->path) >= strlen(search->nearest.path))
		search->nearest = *k;
	return 0;
}

/* --- git's folder -------------------------------------------------------------------- */

/* Whether the `.git` in `dir` is a file that leads to no folder. */
static bool leads_nowhere(const char *dir)
{
	char path[4096], to[4096];
	struct stat st;

	if (!paths_join(path, dir, ".git") || lstat(path, &st) || !S_ISREG(st.st_mode) ||
	    !tree_git(dir, to))
		return false;
	return stat(to, &st) && errno == ENOENT;
}

/* Finds the repository around `from`: `dir` is the folder that has `.git`, and `root` is
 * the folder whose `.cadre` the repository shares. */
static bool gone_find_top(const char *from, char dir[4096], char root[4096])
{
	struct fault none = { 0 };

	if (!paths_join(dir, from, ""))
		return false;
	do {
		if (tree_top(dir, root, &none) != TOP_NONE)
			return true;
	} while (paths_up(dir));
	root[0] = '\0';
	return false;
}

/* --- both ------------------------------------------------------------------------------ */

int gone_check(const char *dir, struct fault *f)
{
	struct search search = { .dir = dir };
	char top[4096];

	if (gone_find_top(dir, top, search.root) && leads_nowhere(top)) {
		fault_set(f, FAULT_DENIED, "",
			  "%.150s/.git leads to a folder of git's that is gone, so the "
			  "state of its project cannot be found",
			  top);
		return fault_hint(f,
				  "`git worktree repair` in the repository, or name the "
				  "state: --home DIR");
	}
	if (known_each(try_noted, &search, f) < 0 || !search.nearest.how)
		return f->code;
	fault_set(f, FAULT_NOT_FOUND, "", "the state %.150s that was noted on %s is gone",
		  search.nearest.path, search.nearest.day);
	return fault_hint(f,
			  "put it back, `cadre restore FILE`, or `cadre init`; to forget "
			  "it: cadre trust --remove %.150s",
			  search.nearest.path);
}
