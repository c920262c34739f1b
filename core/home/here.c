#include "core/home/here_file.h"

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

bool here_is_top(const char *dir)
{
	char git[4096];
	struct stat st;

	return paths_join(git, dir, ".git") && !lstat(git, &st) &&
	       (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode));
}

void here_place_of(const char *here, char out[4096])
{
	snprintf(out, 4096, "%s", here);
	do
		if (here_is_top(out))
			return;
	while (paths_up(out));
	snprintf(out, 4096, "%s", here);
}

bool here_place(char out[4096])
{
	char here[4096];

	if (!getcwd(here, sizeof(here)) || here[0] != '/')
		return false;
	here_place_of(here, out);
	return true;
}

int here_read(const char *state, const char *place, struct here *out, struct fault *f)
{
	char name[HERE_NAME], was[HERE_BIRTH], now[HERE_BIRTH];
	int dir = here_open(state, f);
	const char *why;
	bool there;

	if (dir < 0)
		return dir == -1 ? 0 : (int)f->code;
	here_name(place, name);
	why = here_file(dir, name, out, was, &there);
	close(dir);
	if (!there)
		return 0;
	if (!why && strcmp(out->place, place) != 0)
		why = "is of another place";
	if (why)
		return here_refuse(state, name, why, f);
	return here_birth(place, now) && strcmp(was, now) == 0;
}

/* `gitdir: …/worktrees/HERE_NAME`, and not of a submodule in one, which has more behind it. */
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

int here_find(const char *state, char place[4096], struct here *out, struct fault *f)
{
	char at[4096], births[LEVELS][HERE_BIRTH];
	int rc, n = 0;

	memcpy(at, place, sizeof(at));
	while ((rc = here_read(state, at, out, f)) == 0) {
		if (n < LEVELS && !here_birth(at, births[n++]))
			births[n - 1][0] = '\0';
		if (is_linked_worktree(at) || !paths_up(at))
			return here_follow(state, place, births, n, out);
	}
	if (rc > 0)
		memcpy(place, at, sizeof(at));
	return rc;
}

/* --- changes --------------------------------------------------------------------- */

/* Refuses a place that is another agent's; the folder is locked. */
static int here_check_free(const char *state, const struct here *k, struct fault *f)
{
	struct here other;
	int rc = here_read(state, k->place, &other, f);

	if (rc <= 0 ||
	    (strcmp(other.agent, k->agent) == 0 && strcmp(other.team, k->team) == 0))
		return rc < 0 ? rc : 0;
	return fault_set(f, FAULT_CONFLICT, "", "%.150s is %s of team %s", k->place,
			 other.agent, other.team);
}

int here_write(const char *state, const struct here *k, bool over, struct fault *f)
{
	char name[HERE_NAME], birth[HERE_BIRTH];
	int dir;

	if (strchr(k->place, '\n') || !here_birth(k->place, birth))
		return fault_set(f, FAULT_INVALID, "",
				 "who %.150s is cannot be kept: no such directory",
				 k->place);
	dir = here_make(state, f);
	if (dir < 0)
		return f->code;
	flock(dir, LOCK_EX);
	here_sweep(dir);
	here_name(k->place, name);
	if ((over || here_check_free(state, k, f) == 0) && !here_put(dir, name, k, birth))
		fault_set(f, FAULT_IO, "", "cannot write %.150s/%s/%s: %m", state,
			  here_folder, name);
	close(dir);
	return f->code;
}

int here_forget(const char *state, const char *place, struct fault *f)
{
	char path[4096], name[HERE_NAME];
	struct stat st;

	here_give_up(state, place);
	here_session_forget(state, place);
	here_name(place, name);
	if (snprintf(path, sizeof(path), "%s/%s/%s", state, here_folder, name) >=
	    (int)sizeof(path))
		return 0;
	if (!lstat(path, &st) && !unlink(path))
		return 1;
	if (errno == ENOENT || errno == ENOTDIR)
		return 0;
	return fault_set(f, FAULT_IO, "", "cannot remove %.200s: %m", path);
}
