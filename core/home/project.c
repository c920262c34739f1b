#include "core/home/project.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/home/paths.h"
#include "core/home/tree.h"
#include "core/home/whose.h"
#include "core/reservation/glob.h"

static void find_top(const struct home *h, const char *here, char top[4096])
{
	char folder[4096];
	size_t n;

	whose_place_of(here, top);
	if (whose_is_top(top) || !h->found || !h->dir[0])
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
	find_top(h, p->here, p->top);
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
	find_top(h, real, top);
	if (strcmp(top, p->top) != 0 && tree_same(top, p->top))
		memcpy(p->top, top, sizeof(top));
	return true;
}

/* Resolves links in as much of a path as there is. */
static bool resolve(const char *path, char out[4096])
{
	char there[4096], real[PATH_MAX];

	snprintf(there, sizeof(there), "%s", path);
	while (!realpath(there, real))
		if (!paths_up(there))
			return false;
	path += strlen(there);
	return paths_join(out, real, path + strspn(path, "/"));
}

static bool find_whole(const struct project *p, const char *given, char whole[4096])
{
	return paths_join(whole, *given == '/' ? "/" : p->here,
			  given + strspn(given, "/"));
}

bool project_path(const struct project *p, const char *given, char out[4096])
{
	char whole[4096], real[4096];

	return find_whole(p, given, whole) &&
	       (!glob_tidy(whole, p->top, out) ||
		(resolve(whole, real) && !glob_tidy(real, p->top, out)));
}

bool project_path_led(const struct project *p, const char *given, char out[4096])
{
	char whole[4096], real[4096], top[4096];

	return find_whole(p, given, whole) && resolve(p->top, top) &&
	       resolve(whole, real) && !glob_tidy(real, top, out);
}
