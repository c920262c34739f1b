#include "core/home/project.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/home/paths.h"
#include "core/home/whose.h"
#include "core/reservation/glob.h"

static bool find_top(const struct home *h, const char *here, char top[4096])
{
	char folder[4096];
	size_t n;

	if (!whose_place(top))
		return false;
	if (whose_is_top(top) || !h->found || !h->dir[0])
		return true;
	snprintf(folder, sizeof(folder), "%s", h->dir);
	paths_up(folder);
	n = strlen(folder);
	if (!strncmp(here, folder, n) && (!here[n] || here[n] == '/'))
		memcpy(top, folder, n + 1);
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

/* Finds the top of the project, and the whole path of what is given. */
static bool find_whole(const struct home *h, const char *given, char top[4096],
		       char whole[4096])
{
	char here[4096];

	return getcwd(here, sizeof(here)) && find_top(h, here, top) &&
	       paths_join(whole, *given == '/' ? "/" : here,
			  given + (*given == '/' ? strspn(given, "/") : 0));
}

bool project_path(const struct home *h, const char *given, char out[4096])
{
	char top[4096], whole[4096], real[4096];

	return find_whole(h, given, top, whole) &&
	       (!glob_tidy(whole, top, out) ||
		(resolve(whole, real) && !glob_tidy(real, top, out)));
}

bool project_path_led(const struct home *h, const char *given, char out[4096])
{
	char top[4096], whole[4096], real[4096], real_top[4096];

	return find_whole(h, given, top, whole) && resolve(top, real_top) &&
	       resolve(whole, real) && !glob_tidy(real, real_top, out);
}
