#include "tests/lib/place.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int temp_make(char dir[64], const char *name)
{
	const char *temp = getenv("TMPDIR");

	if (!temp || strlen(temp) > 36)
		temp = "/tmp";
	snprintf(dir, 64, "%s/%.16s.XXXXXX", temp, name);
	if (mkdtemp(dir))
		return 0;
	perror(dir);
	return -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void temp_remove(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int patience_ms(int ms)
{
	const char *said = getenv("TEST_SCALE"), *most = getenv("PATIENCE");
	long scale = said ? strtol(said, NULL, 10) : 1;

	if (most && ms > strtol(most, NULL, 10) * 100)
		ms = (int)strtol(most, NULL, 10) * 100;
	return scale < 1 || scale > 100 ? ms : ms * (int)scale;
}

long first_of(long *n)
{
	const char *full = getenv("FULL"), *turn = getenv("TURN");

	if (full && *full)
		*n = 1;
	return turn ? strtol(turn, NULL, 10) % *n : 0;
}

void pause_for(int ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}
