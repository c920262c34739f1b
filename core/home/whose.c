#include "core/home/whose_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/found.h"
#include "core/home/home.h"
#include "core/home/paths.h"

enum { LEVELS = 64 /* of folders, in which a place lies */ };

/* --- places --------------------------------------------------------------------- */

bool whose_is_top(const char *dir)
{
	char git[4096];
	struct stat st;

	return paths_join(git, dir, ".git") && !lstat(git, &st) &&
	       (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode));
}

void whose_place_of(const char *here, char out[4096])
{
	snprintf(out, 4096, "%s", here);
	do
		if (whose_is_top(out))
			return;
	while (paths_up(out));
	snprintf(out, 4096, "%s", here);
}

bool whose_place(char out[4096])
{
	char here[4096];

	if (!getcwd(here, sizeof(here)) || here[0] != '/')
		return false;
	whose_place_of(here, out);
	return true;
}

int whose_read(const char *state, const char *place, struct whose *out, struct fault *f)
{
	char name[WHOSE_NAME], was[WHOSE_BIRTH], now[WHOSE_BIRTH];
	int dir = whose_open(state, f);
	const char *why;
	bool there;

	if (dir < 0)
		return dir == -1 ? 0 : (int)f->code;
	whose_name(place, name);
	why = whose_file(dir, name, out, was, &there);
	close(dir);
	if (!there)
		return 0;
	if (!why && strcmp(out->place, place) != 0)
		why = "is of another place";
	if (why)
		return whose_refuse(state, name, why, f);
	return whose_birth(place, now) && strcmp(was, now) == 0;
}

/* `gitdir: …/worktrees/WHOSE_NAME`, and not of a submodule in one, which has more behind it. */
static bool is_worktree_link(const char *text)
{
	static const char folders[] = "/worktrees/";
	const char *name = strstr(text, folders);

	if (!name)
		return false;
	name += sizeof(folders) - 1;
	return name[strcspn(name, "/\n")] != '/';
}

/* A further worktree of a repository has a life of its own, wherever it lies. */
static bool is_linked_worktree(const char *dir)
{
	char git[4096], text[4200] = "";
	ssize_t n;
	int fd;

	if (!paths_join(git, dir, ".git"))
		return false;
	fd = open(git, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 && is_worktree_link(text);
}

int whose_find(const char *state, char place[4096], struct whose *out, struct fault *f)
{
	char at[4096], births[LEVELS][WHOSE_BIRTH];
	int rc, n = 0;

	memcpy(at, place, sizeof(at));
	while ((rc = whose_read(state, at, out, f)) == 0) {
		if (n < LEVELS && !whose_birth(at, births[n++]))
			births[n - 1][0] = '\0';
		if (is_linked_worktree(at) || !paths_up(at))
			return whose_follow(state, place, births, n, out);
	}
	if (rc > 0)
		memcpy(place, at, sizeof(at));
	return rc;
}

/* --- changes --------------------------------------------------------------------- */

/* Refuses a place that is another agent's; the folder is locked. */
static int check_free(const char *state, const struct whose *k, struct fault *f)
{
	struct whose other;
	int rc = whose_read(state, k->place, &other, f);

	if (rc <= 0 ||
	    (strcmp(other.agent, k->agent) == 0 && strcmp(other.team, k->team) == 0))
		return rc < 0 ? rc : 0;
	return fault_set(f, FAULT_CONFLICT, "", "%.150s is %s of team %s", k->place,
			 other.agent, other.team);
}

int whose_write(const char *state, const struct whose *k, bool over, struct fault *f)
{
	char name[WHOSE_NAME], birth[WHOSE_BIRTH];
	int dir;

	if (strchr(k->place, '\n') || !whose_birth(k->place, birth))
		return fault_set(f, FAULT_INVALID, "",
				 "who %.150s is cannot be kept: no such directory",
				 k->place);
	dir = whose_make(state, f);
	if (dir < 0)
		return f->code;
	flock(dir, LOCK_EX);
	whose_sweep(dir);
	whose_name(k->place, name);
	if ((over || check_free(state, k, f) == 0) && !whose_put(dir, name, k, birth))
		fault_set(f, FAULT_IO, "", "cannot write %.150s/%s/%s: %m", state,
			  whose_folder, name);
	close(dir);
	return f->code;
}

int whose_forget(const char *state, const char *place, struct fault *f)
{
	char path[4096], name[WHOSE_NAME];
	struct stat st;

	whose_give_up(state, place);
	whose_session_forget(state, place);
	whose_name(place, name);
	if (snprintf(path, sizeof(path), "%s/%s/%s", state, whose_folder, name) >=
	    (int)sizeof(path))
		return 0;
	if (!lstat(path, &st) && !unlink(path))
		return 1;
	if (errno == ENOENT || errno == ENOTDIR)
		return 0;
	return fault_set(f, FAULT_IO, "", "cannot remove %.200s: %m", path);
}
