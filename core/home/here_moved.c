/*
 * here_moved - directories of agents that are at their places no more: gone, or moved, as
 * by `git worktree move`.
 *
 * A moved directory is known by its inode and time of birth, which a copy does not share.
 * If the file system keeps no time of birth, no moved directory is recognized: an inode
 * alone is in time given to another directory.
 */
#include "core/home/here_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/home/paths.h"

enum {
	LEFT_SECONDS = 60, /* files that a killed process left stay so long */
	GONE_SECONDS = 30 * 86400, /* and the record of a directory that is gone */
	GONE = HERE_NAME + 5,
};

static void name_gone(const char *birth, char out[GONE])
{
	char name[HERE_NAME];

	here_name(birth, name);
	snprintf(out, GONE, "%s.gone", name);
}

static void here_moved_set_aside(int dir, const char *name, const char *birth)
{
	char gone[GONE];

	name_gone(birth, gone);
	if (strstr(birth, " 0.00000000") || renameat(dir, name, dir, gone))
		unlinkat(dir, name, 0);
	else
		utimensat(dir, gone, NULL, AT_SYMLINK_NOFOLLOW);
}

/* Removes a file that a killed process left, or that was set aside long ago. */
static void sweep_old(int dir, const char *name)
{
	size_t n = strlen(name);
	bool gone = n > 5 && strcmp(name + n - 5, ".gone") == 0;
	struct stat st;

	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	    st.st_mtime < time(NULL) - (gone ? GONE_SECONDS : LEFT_SECONDS))
		unlinkat(dir, name, 0);
}

/* Sets the file of a place aside that is gone, or was made anew. */
static void here_moved_sweep_one(int dir, const char *name)
{
	char was[HERE_BIRTH], now[HERE_BIRTH];
	struct here k;
	bool there;

	if (here_session_pid(name)) {
		if (!here_session_lives(dir, name, &k))
			unlinkat(dir, name, 0);
	} else if (strchr(name, '.'))
		sweep_old(dir, name);
	else if (!here_file(dir, name, &k, was, &there) && there &&
		 (!here_birth(k.place, now) || strcmp(was, now) != 0))
		here_moved_set_aside(dir, name, was);
}

void here_sweep(int dir)
{
	int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = again < 0 ? NULL : fdopendir(again);
	struct dirent *e;

	while (list && (e = readdir(list)))
		if (e->d_name[0] != '.')
			here_moved_sweep_one(dir, e->d_name);
	if (list)
		closedir(list);
	else if (again >= 0)
		close(again);
}

/* Moves the file of a directory that was set aside to its place now. */
static bool take_along(int dir, const char *place, const char *birth, struct here *k)
{
	char gone[GONE], name[HERE_NAME], was[HERE_BIRTH];
	bool there;

	name_gone(birth, gone);
	if (here_file(dir, gone, k, was, &there) || !there || strcmp(was, birth) != 0)
		return false;
	memcpy(k->place, place, sizeof(k->place));
	here_name(place, name);
	if (!here_put(dir, name, k, birth))
		return false;
	unlinkat(dir, gone, 0);
	return true;
}

int here_follow(const char *state, char place[4096], char births[][HERE_BIRTH], int n,
		struct here *out)
{
	struct fault f = { 0 };
	int dir = here_open(state, &f), found = 0;
	char at[4096];

	if (dir < 0)
		return 0;
	flock(dir, LOCK_EX);
	here_sweep(dir);
	memcpy(at, place, sizeof(at));
	for (int i = 0; i < n && !found; i++) {
		found = take_along(dir, at, births[i], out);
		if (found)
			memcpy(place, at, sizeof(at));
		else
			paths_up(at);
	}
	close(dir);
	return found;
}
