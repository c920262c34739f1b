#include "tests/lib/folder.h"

#include <ftw.h>
#include <stdio.h>

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *where)
{
	(void)st, (void)kind, (void)where;
	return remove(path);
}

int folder_remove(const char *path)
{
	return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
