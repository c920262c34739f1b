#include "core/home/project.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/here.h"
#include "core/home/home_trust.h"
#include "core/home/paths.h"
#include "core/reservation/glob.h"

/* --- the paths in git's files ------------------------------------------------------ */

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !lstat(a, &x) && !lstat(b, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* Reads the path behind `word` in the file `name`, which git has written. A path without a
 * leading slash is relative to the file's folder. Returns false if the file contains no path. */
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

bool project_git(const char *dir, char out[4096])
{
	return tree_follow(dir, ".git", "gitdir: ", out);
}

/* Finds git's folder that the file `dir`/.git names, and resolves links. */
static bool follow_git(const char *dir, char out[4096])
{
	char path[4096];

	return project_git(dir, path) && realpath(path, out);
}

bool project_branch(const char *dir, char out[256])
{
	static const char heads[] = "/refs/heads/";
	char git[4096], ref[4096];
	size_t n;

	if (!follow_git(dir, git) && !paths_join(git, dir, ".git"))
		return false;
	n = strlen(git);
	if (!tree_follow(git, "HEAD", "ref: ", ref) || strncmp(ref, git, n) != 0 ||
	    strncmp(ref + n, heads, sizeof(heads) - 1) != 0)
		return false;
	snprintf(out, 256, "%s", ref + n + sizeof(heads) - 1);
	return true;
}

/* Finds the git folder that all worktrees share. `own` is git's folder for one of the
 * worktrees. */
static bool follow_common(const char *own, char out[4096])
{
	char path[4096];

	return tree_follow(own, "commondir", "", path) && realpath(path, out);
}

/* Finds the git folder that all worktrees share. `top` is the top of one of the worktrees. */
static bool find_common(const char *top, char out[4096])
{
	char path[4096];

	return follow_git(top, path)
		       ? follow_common(path, out) || paths_join(out, path, "")
		       : paths_join(path, top, ".git") && realpath(path, out);
}

/* Whether `a` and `b`, the tops of two worktrees, belong to one repository. */
static bool tree_same(const char *a, const char *b)
{
	char one[4096], other[4096];

	return find_common(a, one) && find_common(b, other) && !strcmp(one, other);
}

/* Whether `path` is below the folder `dir`. */
static bool tree_is_below(const char *path, const char *dir)
{
	return paths_is_in(path, dir) && strcmp(path, dir) != 0;
}

/* Whether the git folder `git` belongs to a submodule of the worktree whose top is `top`. `git`
 * is a path without links. */
static bool tree_has_module(const char *top, const char *git)
{
	char own[4096], modules[4096];

	return (follow_git(top, own) ||
		(paths_join(modules, top, ".git") && realpath(modules, own))) &&
	       paths_join(modules, own, "modules") && tree_is_below(git, modules);
}

/* --- the main worktree ------------------------------------------------------------- */

static bool tree_counts(const char *dir)
{
	char state[4096];

	return paths_join(state, dir, ".cadre") && trust_judge(state) == FOUND_COUNTS;
}

struct tree_search {
	const char *common;
	char *root; /* gets the folder of the state */
};

/* Whether the known state `k` is in the main worktree that the search looks for. */
static int try_known(void *with, const struct known *k)
{
	struct tree_search *search = with;
	char dir[4096], own[4096], common[4096];

	memcpy(dir, k->path, sizeof(dir));
	if (!paths_up(dir) || !follow_git(dir, own) || strcmp(own, search->common) != 0 ||
	    follow_common(own, common) || !tree_counts(dir))
		return 0;
	memcpy(search->root, dir, sizeof(dir));
	return 1;
}

/* Removes `/.git` from the end of a path. Returns false if the path does not end with `/.git`. */
static bool cut_git(char root[4096])
{
	char *end = strrchr(root, '/');

	if (!end || end == root || strcmp(end, "/.git") != 0)
		return false;
	*end = '\0';
	return true;
}

/* Replaces `root`, the shared folder of a repository, by the folder that holds the repository's
 * state. */
static void tree_find_root(char root[4096], struct fault *f)
{
	char common[4096];
	struct tree_search search = { .common = common, .root = root };

	memcpy(common, root, sizeof(common));
	if (!cut_git(root) && !tree_counts(root))
		trust_each(try_known, &search, f);
}

/* --- tops -------------------------------------------------------------------------- */

/* Judges a linked worktree. For each linked worktree, git's shared folder has a folder
 * `worktrees`/NAME. The file `gitdir` in `worktrees`/NAME names the worktree's `.git` file. */
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

/* Judges a main worktree whose `.git` is a file. Since the repository perhaps does not name the
 * worktree, the worktree normally has its own state. If only the repository has a state, and
 * the repository lies inside the worktree, the repository's state is used. If only the
 * repository has a state, and the repository lies elsewhere, nothing proves that the repository
 * belongs to this worktree. */
static enum top claiming_top(const char *dir, const char *own, char root[4096])
{
	memcpy(root, own, 4096);
	cut_git(root);
	if (!tree_counts(dir) && tree_counts(root))
		return tree_is_below(own, dir) ? TOP_TREE : TOP_STRAY;
	return paths_join(root, dir, "") ? TOP_TREE : TOP_NONE;
}

enum top project_top(const char *dir, char root[4096], struct fault *f)
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

/* --- paths ------------------------------------------------------------------------- */

/* Finds the top of the worktree around a folder. For a submodule, finds the top of the
 * repository that contains the submodule. */
static void project_find_place(const char *here, char top[4096])
{
	char own[4096], around[4096], git[4096], above[4096];

	here_place_of(here, top);
	while (project_git(top, git) && realpath(git, own) &&
	       paths_join(above, top, "") && paths_up(above)) {
		here_place_of(above, around);
		if (!tree_has_module(around, own))
			return;
		memcpy(top, around, sizeof(around));
	}
}

static void project_find_top(const struct home *h, const char *here, char top[4096])
{
	char folder[4096];

	project_find_place(here, top);
	if (here_is_top(top) || !h->found || !h->dir[0])
		return;
	snprintf(folder, sizeof(folder), "%s", h->dir);
	paths_up(folder);
	if (paths_is_in(here, folder))
		memcpy(top, folder, strlen(folder) + 1);
}

bool project_here(struct project *p, const struct home *h)
{
	if (!getcwd(p->here, sizeof(p->here)) || p->here[0] != '/')
		return false;
	project_find_top(h, p->here, p->top);
	return true;
}

bool project_at(struct project *p, const struct home *h, const char *at)
{
	char top[4096], real[PATH_MAX];

	if (!project_here(p, h) || !realpath(at, real))
		return false;
	if (!strcmp(real, p->here))
		return true;
	memcpy(p->here, real, sizeof(p->here));
	project_find_top(h, real, top);
	if (strcmp(top, p->top) != 0 && tree_same(top, p->top))
		memcpy(p->top, top, sizeof(top));
	return true;
}

/* Resolves links in the part of a path that exists. `there` gets the resolved part, and `out`
 * gets the whole path. */
static bool project_resolve(const char *path, char there[4096], char out[4096])
{
	char real[PATH_MAX];
	size_t n;

	snprintf(there, 4096, "%s", path);
	while (!realpath(there, real)) {
		for (n = strlen(there); n > 1 && there[n - 1] == '/';)
			there[--n] = '\0';
		if (!paths_up(there))
			return false;
	}
	path += strlen(there);
	memcpy(there, real, strlen(real) + 1);
	return paths_join(out, real, path + strspn(path, "/"));
}

/* Finds the top to which a file's path is relative. This is the top of the innermost worktree
 * around the file. If that worktree does not belong to the project's repository, the result is
 * p->top. */
static void top_of(const struct project *p, const char *there, char top[4096])
{
	project_find_place(there, top);
	if (!here_is_top(top) || !strcmp(top, p->top) || !tree_same(top, p->top))
		memcpy(top, p->top, sizeof(p->top));
}

/* Makes two absolute paths of `given`: `whole` with its links, and `real` without links. Finds
 * the top to which both paths are relative. */
static bool project_find(const struct project *p, const char *given, char whole[4096],
			 char real[4096], char top[4096])
{
	char there[4096];

	if (!paths_join(whole, *given == '/' ? "/" : p->here,
			given + strspn(given, "/")) ||
	    !project_resolve(whole, there, real))
		return false;
	top_of(p, there, top);
	return true;
}

bool project_path(const struct project *p, const char *given, char out[4096])
{
	char whole[4096], real[4096], top[4096];

	return project_find(p, given, whole, real, top) &&
	       (!glob_tidy(whole, top, out) || !glob_tidy(real, top, out));
}

bool project_path_led(const struct project *p, const char *given, char out[4096])
{
	char whole[4096], real[4096], top[4096], led[4096];

	return project_find(p, given, whole, real, top) &&
	       project_resolve(top, whole, led) && !glob_tidy(real, led, out);
}
