#include "core/home/found.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/paths.h"
#include "core/home/tracked.h"
#include "core/home/tree.h"

/* --- places ------------------------------------------------------------------------- */

bool found_place(const char *from, char out[4096], bool *stray, struct fault *f)
{
	char dir[4096], root[4096];

	*stray = false;
	if (!paths_join(dir, from, ""))
		return false;
	do {
		enum top top = tree_top(dir, root, f);

		if (f->code)
			return false;
		if (top == TOP_NONE)
			continue;
		if (!paths_join(out, root, ".cadre"))
			return false;
		*stray = top == TOP_STRAY && found_judge(out) == FOUND_COUNTS;
		return top == TOP_TREE || *stray || paths_join(out, dir, ".cadre");
	} while (paths_up(dir));
	return paths_join(out, from, ".cadre");
}

/* --- judging ------------------------------------------------------------------------- */

int found_open(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool found_has(int dir, const char *name)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);
}

bool found_has_state(int dir)
{
	return found_has(dir, "state.db");
}

bool found_is_fresh(int dir, const char *also)
{
	const char *const ours[] = { ".", "..", ".gitignore", "id", also ? also : "." };
	const size_t most = sizeof(ours) / sizeof(*ours);
	int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = again < 0 ? NULL : fdopendir(again);
	bool fresh = list != NULL;
	struct dirent *e;

	while (fresh && (e = readdir(list))) {
		size_t i = 0;

		while (i < most && strcmp(e->d_name, ours[i]) != 0)
			i++;
		/* The new forms of these files have such names until they are
		 * complete. */
		fresh = i < most || !strncmp(e->d_name, "id.", 3) ||
			!strncmp(e->d_name, ".gitignore.", 11);
	}
	if (list)
		closedir(list);
	else if (again >= 0)
		close(again);
	return fresh;
}

/* Judges a state that was made here by whether git tracks files in it.  Files that git
 * has tracked may have been changed by it, so the state needs to be trusted again,
 * whatever git tracks later. */
static enum found_why judge_tracked(int dir, const char *path)
{
	struct fault f = { 0 };

	switch (tracked_look(path)) {
	case TRACKED_NOTHING:
		return FOUND_COUNTS;
	case TRACKED_SOME:
		if (known_taint(dir, path, &f) < 0)
			return FOUND_UNNOTED; /* the next look tries it again */
		return FOUND_TRACKED;
	case TRACKED_UNREADABLE:
		break;
	}
	return FOUND_NO_INDEX;
}

/* Whether the database is the one that was there at the last look. */
static enum found_why judge_database(int dir)
{
	struct fault none = { 0 };

	switch (state_id_look(dir)) {
	case STATE_ID_OTHER:
		return FOUND_OTHER;
	case STATE_ID_UNNAMED:
		state_id_bind(dir, &none); /* else the next look does */
		break;
	case STATE_ID_SAME:
		break;
	}
	return FOUND_COUNTS;
}

/* A known folder counts as a state even while its files are lost or being restored, so
 * that no other state takes its place unasked. */
static enum found_why judge_open(int dir, const char *path)
{
	/* The folder is examined before the notes are, since `init` notes a folder before
	 * it fills it. */
	bool is_state = found_has_state(dir) || found_has(dir, "restore.ready");
	enum known_how how = known_look(dir, path);
	enum found_why why = FOUND_COUNTS;
	struct stat folder;

	if (fstat(dir, &folder) || (how == KNOWN_NOT && !is_state))
		return FOUND_NONE;
	if (how == KNOWN_CHANGED)
		return FOUND_CHANGED;
	if (how != KNOWN_TRUSTED && folder.st_uid != geteuid())
		return FOUND_FOREIGN;
	if (how == KNOWN_NOT)
		return FOUND_UNKNOWN;
	if (how != KNOWN_TRUSTED)
		why = judge_tracked(dir, path);
	if (how == KNOWN_TRACKED && why == FOUND_COUNTS)
		return FOUND_WAS_TRACKED;
	if (how == KNOWN_EDITED && why == FOUND_COUNTS)
		return state_id_look(dir) == STATE_ID_OTHER ? FOUND_OTHER : FOUND_EDITED;
	return why == FOUND_COUNTS ? judge_database(dir) : why;
}

enum found_why found_judge(const char *path)
{
	struct stat st;
	enum found_why why;
	int dir;

	if (lstat(path, &st))
		return FOUND_NONE;
	if (S_ISLNK(st.st_mode))
		return FOUND_LINK;
	if (!S_ISDIR(st.st_mode))
		return FOUND_NONE;
	dir = found_open(path);
	if (dir < 0)
		return st.st_uid == geteuid() ? FOUND_UNKNOWN : FOUND_FOREIGN;
	why = judge_open(dir, path);
	close(dir);
	return why;
}

/* Looks at `dir`/.cadre; true when the search ends there. */
static bool consider(struct found *x, const char *dir, bool stray)
{
	char path[4096];
	enum found_why why;

	if (!paths_join(path, dir, ".cadre"))
		return false;
	why = found_judge(path);
	if (why == FOUND_COUNTS && !stray) {
		memcpy(x->path, path, sizeof(path));
		return true;
	}
	if (why != FOUND_NONE && !x->passed[0]) {
		memcpy(x->passed, path, sizeof(path));
		x->why = stray ? FOUND_STRAY : why;
	}
	return false;
}

void found_upward(struct found *x, const char *from)
{
	char dir[4096], root[4096];
	struct fault none = { 0 };

	*x = (struct found){ 0 };
	if (!paths_join(dir, from, ""))
		return;
	do {
		enum top top = tree_top(dir, root, &none);

		if (top != TOP_NONE && consider(x, root, top == TOP_STRAY))
			return;
		if ((top == TOP_NONE || strcmp(root, dir) != 0) &&
		    consider(x, dir, false))
			return;
	} while (paths_up(dir));
}

bool found_is_of(const char *from, const char *state)
{
	char dir[4096], root[4096], path[4096];
	struct fault none = { 0 };

	if (!paths_join(dir, from, ""))
		return false;
	do {
		enum top top = tree_top(dir, root, &none);

		if (top == TOP_TREE && paths_join(path, root, ".cadre") &&
		    !strcmp(path, state))
			return true;
		if (paths_join(path, dir, ".cadre") && !strcmp(path, state))
			return true;
		if (top != TOP_NONE || found_judge(path) != FOUND_NONE)
			return false;
	} while (paths_up(dir));
	return false;
}

/* --- what is said ---------------------------------------------------------------------- */

static const struct {
	const char *what, *hint; /* %s: the folder */
} words[] = {
	[FOUND_UNKNOWN] = { "was not made here by you",
			    "if you trust all that is in it: cadre trust %.150s" },
	[FOUND_LINK] = { "is a link, which never leads to a state",
			 "remove the link, or name the state that you mean: --home DIR" },
	[FOUND_FOREIGN] = { "belongs to another user",
			    "name a state of your own: --home DIR" },
	[FOUND_TRACKED] = { "holds files that git tracks, so others can change it",
			    "go back to a branch of your own, or move it away; "
			    "if you trust all that is in it: cadre trust %.150s" },
	[FOUND_WAS_TRACKED] = { "held files that git tracked, so others may have "
				"changed it",
				"move it away, and `cadre restore` your backup; "
				"if you trust all that is in it: cadre trust %.150s" },
	[FOUND_UNNOTED] = { "holds files that git tracks, and this cannot be noted",
			    "first see that the file `known` and its folder can be "
			    "written (`cadre help trust`), and try again; then move "
			    "%.150s away, or trust it" },
	[FOUND_CHANGED] = { "has entries in git's index, or a cadre.toml, that have "
			    "changed since you trusted it",
			    "if you trust all that is in it now: cadre trust %.150s" },
	[FOUND_EDITED] = { "has settings (cadre.toml) that have changed since you made it",
			   "if you changed them: cadre trust %.150s" },
	[FOUND_OTHER] = { "has another state.db than the one that you made or trusted",
			  "move it away, and `cadre restore` your backup; "
			  "if you trust all that is in it: cadre trust %.150s" },
	[FOUND_NO_INDEX] = { "is in a repository whose index cannot be read",
			     "repair it, or trust the state: cadre trust %.150s" },
	[FOUND_STRAY] = { "is of a repository that does not know this worktree",
			  "`git worktree repair` there, or name the state: --home DIR" },
};

int found_refuse(const char *path, enum found_why why, struct fault *f)
{
	if (why == FOUND_NONE || why == FOUND_COUNTS)
		return 0;
	fault_set(f, FAULT_DENIED, "", "%.150s %s: it is not used", path,
		  words[why].what);
	return fault_hint(f, words[why].hint, path);
}

void found_say(const struct found *x, char *line, size_t room)
{
	snprintf(line, room, "%s %s: it is passed over for %s", x->passed,
		 words[x->why].what, x->path);
}

bool found_is_gone(const char *path)
{
	int dir = found_open(path);
	bool gone = dir >= 0 && !found_has_state(dir);

	if (dir >= 0)
		close(dir);
	return gone;
}

/* --- parts --------------------------------------------------------------------------------- */

static bool found_is_plain(int dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type == DT_REG || e->d_type == DT_DIR)
		return true;
	if (e->d_type != DT_UNKNOWN)
		return false;
	if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT;
	return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
}

int found_each_part(int dir, const char *path,
		    int (*each)(int dir, const char *path, const struct dirent *e,
				struct fault *f),
		    struct fault *f)
{
	int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *list = again < 0 ? NULL : fdopendir(again);
	struct dirent *e = NULL;

	while (list && rc == 0 && (errno = 0, e = readdir(list)))
		rc = each(dir, path, e, f);
	if (!e && errno)
		rc = fault_set(f, FAULT_IO, "", "cannot list %.150s: %m", path);
	if (list)
		closedir(list);
	else if (again >= 0)
		close(again);
	return rc;
}

static int check_part(int dir, const char *path, const struct dirent *e, struct fault *f)
{
	if (found_is_plain(dir, e))
		return 0;
	fault_set(f, FAULT_DENIED, "",
		  "%.100s/%.60s is a link or no file: a state has none", path, e->d_name);
	if (strcmp(e->d_name, "vault") == 0)
		return fault_hint(f, "remove it; vault.root names a vault elsewhere");
	return fault_hint(f, "remove it, if it is not yours to use");
}

int found_check_parts(int dir, const char *path, struct fault *f)
{
	return found_each_part(dir, path, check_part, f);
}
