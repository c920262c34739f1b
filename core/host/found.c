#include "core/host/found.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/host/paths.h"
#include "core/host/tracked.h"

/* --- repositories ----------------------------------------------------------------- */

enum top { TOP_NONE, TOP_TREE, TOP_STRAY };

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !lstat(a, &x) && !lstat(b, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* The path that a file of git's names, from where it stands; false when there is none. */
static bool follow(const char *dir, const char *name, const char *word, char out[4096])
{
	char path[4096], line[4096];
	size_t n = strlen(word);

	if (!paths_join(path, dir, name) || !paths_line(path, line, sizeof(line)) ||
	    strncmp(line, word, n) != 0 || !line[n])
		return false;
	return line[n] == '/' ? paths_join(out, line + n, "")
			      : paths_join(out, dir, line + n);
}

/* `.git` of a worktree is a file that leads to its folder in the repository, whose
 * `commondir` leads to what all worktrees share.  That folder's `gitdir` names
 * the worktree's file: one that came with an archive could lead anywhere. */
static enum top worktree_top(const char *dir, const char *git, char root[4096])
{
	char path[4096], common[4096], back[4096];
	char *end;

	if (!follow(dir, ".git", "gitdir: ", path) ||
	    !follow(path, "commondir", "", common) || !realpath(common, root))
		return TOP_NONE;
	end = strrchr(root, '/');
	if (end && end > root && !strcmp(end, "/.git"))
		*end = '\0';
	return follow(path, "gitdir", "", back) && same_file(back, git) ? TOP_TREE
									: TOP_STRAY;
}

/* Whether `dir` is the top of a tree of git's, and the top that it belongs to. */
static enum top find_top(const char *dir, char root[4096])
{
	enum top top = TOP_NONE;
	char git[4096];
	struct stat st;

	if (!paths_join(git, dir, ".git") || lstat(git, &st))
		return TOP_NONE;
	if (S_ISREG(st.st_mode))
		top = worktree_top(dir, git, root);
	if (top == TOP_NONE && paths_join(root, dir, ""))
		top = TOP_TREE;
	return top;
}

bool found_place(const char *from, char out[4096])
{
	char dir[4096], root[4096];

	if (!paths_join(dir, from, ""))
		return false;
	do {
		enum top top = find_top(dir, root);

		if (top != TOP_NONE)
			return paths_join(out, top == TOP_TREE ? root : dir, ".cadre");
	} while (paths_up(dir));
	return paths_join(out, from, ".cadre");
}

/* --- judging ------------------------------------------------------------------------- */

int found_open(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool has(int dir, const char *name)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);
}

bool found_has_state(int dir)
{
	return has(dir, "state.db");
}

bool found_is_fresh(int dir)
{
	static const char *const ours[] = { ".", "..", ".gitignore", "id", "id.new" };
	int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = again < 0 ? NULL : fdopendir(again);
	bool fresh = list != NULL;
	struct dirent *e;

	while (fresh && (e = readdir(list))) {
		size_t i = 0;

		while (i < 5 && strcmp(e->d_name, ours[i]) != 0)
			i++;
		fresh = i < 5;
	}
	if (list)
		closedir(list);
	else if (again >= 0)
		close(again);
	return fresh;
}

/* What is known is a state though its files were lost or are being restored: no other
 * one takes its place unasked. */
static enum found_why judge_open(int dir, const char *path)
{
	enum known_how how = known_look(dir, path);
	struct stat folder;

	if (fstat(dir, &folder) ||
	    (how == KNOWN_NOT && !found_has_state(dir) && !has(dir, "restore.ready")))
		return FOUND_NONE;
	if (how == KNOWN_TRUSTED)
		return FOUND_COUNTS;
	if (folder.st_uid != geteuid())
		return FOUND_FOREIGN;
	if (how == KNOWN_NOT)
		return FOUND_UNKNOWN;
	switch (tracked_look(path)) {
	case TRACKED_NOTHING:
		return FOUND_COUNTS;
	case TRACKED_SOME:
		return FOUND_TRACKED;
	case TRACKED_UNREADABLE:
		break;
	}
	return FOUND_NO_INDEX;
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

/* Whether the search ends with `dir`/.cadre. */
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

	*x = (struct found){ 0 };
	if (!paths_join(dir, from, ""))
		return;
	do {
		enum top top = find_top(dir, root);

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

	if (!paths_join(dir, from, ""))
		return false;
	do {
		enum top top = find_top(dir, root);

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
			    "git rm -r --cached it, or trust it: cadre trust %.150s" },
	[FOUND_NO_INDEX] = { "is in a repository whose index cannot be read",
			     "repair it, or trust the state: cadre trust %.150s" },
	[FOUND_STRAY] = { "is of a repository that does not know this worktree",
			  "run `git worktree repair` there" },
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

static bool is_plain(int dir, const struct dirent *e)
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
	if (is_plain(dir, e))
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
