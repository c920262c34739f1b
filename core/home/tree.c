#include "core/home/tree.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/home/found.h"
#include "core/home/paths.h"

/* --- what git's files name ----------------------------------------------------- */

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !lstat(a, &x) && !lstat(b, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* The path that a file of git's names, resolved from the file's folder; false when it
 * names none. */
static bool tree_follow(const char *dir, const char *name, const char *word,
			char out[4096])
{
	char path[4096], line[4096];
	size_t n = strlen(word);

	if (!paths_join(path, dir, name) || !paths_line(path, line, sizeof(line)) ||
	    strncmp(line, word, n) != 0 || !line[n])
		return false;
	return line[n] == '/' ? paths_join(out, line + n, "")
			      : paths_join(out, dir, line + n);
}

bool tree_git(const char *dir, char out[4096])
{
	return tree_follow(dir, ".git", "gitdir: ", out);
}

/* The folder of git's that the file `.git` names, without links. */
static bool follow_git(const char *dir, char out[4096])
{
	char path[4096];

	return tree_git(dir, path) && realpath(path, out);
}

/* Finds the git folder that all worktrees share, from git's folder for one of them. */
static bool follow_common(const char *own, char out[4096])
{
	char path[4096];

	return tree_follow(own, "commondir", "", path) && realpath(path, out);
}

/* Finds that folder from the top of a worktree. */
static bool find_common(const char *top, char out[4096])
{
	char path[4096];

	return follow_git(top, path)
		       ? follow_common(path, out) || paths_join(out, path, "")
		       : paths_join(path, top, ".git") && realpath(path, out);
}

bool tree_same(const char *a, const char *b)
{
	char one[4096], other[4096];

	return find_common(a, one) && find_common(b, other) && !strcmp(one, other);
}

/* Whether `path` is below the folder `dir`. */
static bool tree_is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

bool tree_has_module(const char *top, const char *git)
{
	char own[4096], modules[4096];

	return (follow_git(top, own) ||
		(paths_join(modules, top, ".git") && realpath(modules, own))) &&
	       paths_join(modules, own, "modules") && tree_is_below(git, modules);
}

static bool tree_counts(const char *dir)
{
	char state[4096];

	return paths_join(state, dir, ".cadre") && found_judge(state) == FOUND_COUNTS;
}

/* --- the main worktree ------------------------------------------------------------ */

struct search {
	const char *common;
	char *root; /* the state's place, when it is found */
};

/* Whether a state that is known is in the main worktree. */
static int try_known(void *with, const struct known *k)
{
	struct search *search = with;
	char dir[4096], own[4096], common[4096];

	memcpy(dir, k->path, sizeof(dir));
	if (!paths_up(dir) || !follow_git(dir, own) || strcmp(own, search->common) != 0 ||
	    follow_common(own, common) || !tree_counts(dir))
		return 0;
	memcpy(search->root, dir, sizeof(dir));
	return 1;
}

/* Cuts a path to the folder around `.git`; false where the last name is another. */
static bool cut_git(char root[4096])
{
	char *end = strrchr(root, '/');

	if (!end || end == root || strcmp(end, "/.git") != 0)
		return false;
	*end = '\0';
	return true;
}

/* Replaces `root`, the shared folder of a repository, by the place of that repository's
 * state. */
static void tree_find_root(char root[4096], struct fault *f)
{
	char common[4096];
	struct search search = { .common = common, .root = root };

	memcpy(common, root, sizeof(common));
	if (!cut_git(root) && !tree_counts(root))
		known_each(try_known, &search, f);
}

/* --- tops ----------------------------------------------------------------------- */

/* The shared folder has a folder in `worktrees` for each linked worktree, whose `gitdir`
 * names the worktree's file. */
static enum top linked_top(const char *git, const char *own, char root[4096],
			   struct fault *f)
{
	char trees[4096], back[4096];
	bool is_known = paths_join(trees, root, "worktrees") &&
			tree_is_below(own, trees) &&
			tree_follow(own, "gitdir", "", back) && same_file(back, git);

	tree_find_root(root, f);
	return is_known ? TOP_TREE : TOP_STRAY;
}

/* Judges a main worktree whose `.git` is a file.  Nothing in the repository need name
 * the worktree, so it has its own state, unless the repository lies in it and has one; a
 * repository elsewhere that has a state cannot be told from one that is not its own. */
static enum top claiming_top(const char *dir, const char *own, char root[4096])
{
	memcpy(root, own, 4096);
	cut_git(root);
	if (!tree_counts(dir) && tree_counts(root))
		return tree_is_below(own, dir) ? TOP_TREE : TOP_STRAY;
	return paths_join(root, dir, "") ? TOP_TREE : TOP_NONE;
}

enum top tree_top(const char *dir, char root[4096], struct fault *f)
{
	char git[4096], own[4096];
	struct stat st;

	if (!paths_join(git, dir, ".git") || lstat(git, &st) ||
	    !paths_join(root, dir, ""))
		return TOP_NONE;
	if (!S_ISREG(st.st_mode) || !follow_git(dir, own))
		return TOP_TREE;
	return follow_common(own, root) ? linked_top(git, own, root, f)
					: claiming_top(dir, own, root);
}
