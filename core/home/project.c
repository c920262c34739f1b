#include "core/home/project.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/home/paths.h"
#include "core/home/tree.h"
#include "core/home/here.h"
#include "core/reservation/glob.h"

/* The top of the worktree around a folder, of a submodule that of the repository that it is in. */
static void project_find_place(const char *here, char top[4096])
{
	char own[4096], around[4096], git[4096], above[4096];

	here_place_of(here, top);
	while (tree_git(top, git) && realpath(git, own) && paths_join(above, top, "") &&
	       paths_up(above)) {
		here_place_of(above, around);
		if (!tree_has_module(around, own))
			return;
		memcpy(top, around, sizeof(around));
	}
}

static void project_find_top(const struct home *h, const char *here, char top[4096])
{
	char folder[4096];
	size_t n;

	project_find_place(here, top);
	if (here_is_top(top) || !h->found || !h->dir[0])
		return;
	snprintf(folder, sizeof(folder), "%s", h->dir);
	paths_up(folder);
	n = strlen(folder);
	if (!strncmp(here, folder, n) && (!here[n] || here[n] == '/'))
		memcpy(top, folder, n + 1);
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

/* Resolves links in the part of a path that exists: `there` is that part, `out` the whole
 * path. */
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

/* The top from which a file is told: that of the innermost worktree around it, if this is one of the
 * project's repository. */
static void top_of(const struct project *p, const char *there, char top[4096])
{
	project_find_place(there, top);
	if (!here_is_top(top) || !strcmp(top, p->top) || !tree_same(top, p->top))
		memcpy(top, p->top, sizeof(p->top));
}

static bool project_find_whole(const struct project *p, const char *given,
			       char whole[4096])
{
	return paths_join(whole, *given == '/' ? "/" : p->here,
			  given + strspn(given, "/"));
}

bool project_path(const struct project *p, const char *given, char out[4096])
{
	char whole[4096], real[4096], there[4096], top[4096];

	if (!project_find_whole(p, given, whole) || !project_resolve(whole, there, real))
		return false;
	top_of(p, there, top);
	return !glob_tidy(whole, top, out) || !glob_tidy(real, top, out);
}

bool project_path_led(const struct project *p, const char *given, char out[4096])
{
	char whole[4096], real[4096], there[4096], top[4096];

	if (!project_find_whole(p, given, whole) || !project_resolve(whole, there, real))
		return false;
	top_of(p, there, whole);
	return project_resolve(whole, there, top) && !glob_tidy(real, top, out);
}
