#include "tools/cadre/keep/leftover.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether `name` is that of a copy under way, `base` with the number of a process and
 * `.tmp`, whose process has ended. */
static bool is_leftover(const char *name, const char *base)
{
	size_t n = strlen(base);
	char *end;
	long pid;

	if (strncmp(name, base, n))
		return false;
	name += n;
	name += strncmp(name, ".secret", 7) ? 0 : 7;
	if (*name != '.' || name[1] < '1' || name[1] > '9')
		return false;
	pid = strtol(name + 1, &end, 10);
	return strncmp(end, ".tmp", 4) == 0 && (!end[4] || end[4] == '-') &&
	       kill((pid_t)pid, 0) && errno == ESRCH;
}

void leftovers_remove(const char *path)
{
	char folder[4400], name[4400];
	const char *base;
	struct dirent *e;
	DIR *d;

	snprintf(folder, sizeof(folder), "%s", path);
	snprintf(name, sizeof(name), "%s", path);
	base = basename(name);
	d = opendir(dirname(folder));
	while (d && (e = readdir(d)))
		if (is_leftover(e->d_name, base))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

int keep_hint_room(struct fault *f)
{
	if (f->code == FAULT_UNAVAILABLE &&
	    !strcmp(f->hint, fault_info(FAULT_UNAVAILABLE)->hint))
		fault_hint(f, "Free some room there, or name another path.");
	return f->code;
}
