#include "core/home/home_find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/home_config.h"
#include "core/home/paths.h"
#include "core/home/project.h"
#include "storage/store.h"

/* --- upward ------------------------------------------------------------------------ */

/* Judges `dir`/.cadre. Returns true if `dir`/.cadre counts as the state, which ends the search. */
static bool consider(struct found *x, const char *dir, bool stray)
{
	char path[4096];
	enum found_why why;

	if (!paths_join(path, dir, ".cadre"))
		return false;
	why = trust_judge(path);
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

void find_upward(struct found *x, const char *from)
{
	char dir[4096], root[4096];
	struct fault none = { 0 };

	*x = (struct found){ 0 };
	if (!paths_join(dir, from, ""))
		return;
	do {
		enum top top = project_top(dir, root, &none);

		if (top != TOP_NONE && consider(x, root, top == TOP_STRAY))
			return;
		if ((top == TOP_NONE || strcmp(root, dir) != 0) &&
		    consider(x, dir, false))
			return;
	} while (paths_up(dir));
}

bool find_place(const char *from, char out[4096], bool *stray, struct fault *f)
{
	char dir[4096], root[4096];

	*stray = false;
	if (!paths_join(dir, from, ""))
		return false;
	do {
		enum top top = project_top(dir, root, f);

		if (f->code)
			return false;
		if (top == TOP_NONE)
			continue;
		if (!paths_join(out, root, ".cadre"))
			return false;
		*stray = top == TOP_STRAY && trust_judge(out) == FOUND_COUNTS;
		return top == TOP_TREE || *stray || paths_join(out, dir, ".cadre");
	} while (paths_up(dir));
	return paths_join(out, from, ".cadre");
}

bool find_is_of(const char *from, const char *state)
{
	char dir[4096], root[4096], path[4096];
	struct fault none = { 0 };

	if (!paths_join(dir, from, ""))
		return false;
	do {
		enum top top = project_top(dir, root, &none);

		if (top == TOP_TREE && paths_join(path, root, ".cadre") &&
		    !strcmp(path, state))
			return true;
		if (paths_join(path, dir, ".cadre") && !strcmp(path, state))
			return true;
		if (top != TOP_NONE || trust_judge(path) != FOUND_NONE)
			return false;
	} while (paths_up(dir));
	return false;
}

/* --- a missing state --------------------------------------------------------------- */

struct gone_search {
	const char *dir;
	char root[4096]; /* the root of the repository around `dir`, or "" */
	struct known nearest;
};

static int try_noted(void *with, const struct known *k)
{
	struct gone_search *search = with;
	char place[4096];

	memcpy(place, k->path, sizeof(place));
	if (!paths_up(place))
		return 0;
	if ((paths_is_in(search->dir, place) || !strcmp(place, search->root)) &&
	    strlen(k->path) >= strlen(search->nearest.path))
		search->nearest = *k;
	return 0;
}

/* Whether the `.git` in `dir` is a file that names a missing folder. */
static bool leads_nowhere(const char *dir)
{
	char path[4096], to[4096];
	struct stat st;

	if (!paths_join(path, dir, ".git") || lstat(path, &st) || !S_ISREG(st.st_mode) ||
	    !project_git(dir, to))
		return false;
	return stat(to, &st) && errno == ENOENT;
}

int find_check_gone(const char *dir, struct fault *f)
{
	struct gone_search search = { .dir = dir };
	struct fault none = { 0 };
	char top[4096];

	if (!paths_join(top, dir, ""))
		return 0;
	while (project_top(top, search.root, &none) == TOP_NONE)
		if (!paths_up(top)) {
			search.root[0] = '\0';
			break;
		}
	if (leads_nowhere(top)) {
		fault_set(f, FAULT_DENIED, "",
			  "the git folder that %.150s/.git names is gone, so "
			  "cadre cannot find the project's state",
			  top);
		return fault_hint(f,
				  "run `git worktree repair` in the repository, or name "
				  "the state: --home DIR");
	}
	if (trust_each(try_noted, &search, f) < 0 || !search.nearest.how)
		return f->code;
	fault_set(f, FAULT_NOT_FOUND, "", "the state %.150s that was noted on %s is gone",
		  search.nearest.path, search.nearest.day);
	return fault_hint(f,
			  "put it back, or run `cadre restore FILE` or `cadre "
			  "init`; to forget the state: cadre trust --remove "
			  "%.150s",
			  search.nearest.path);
}

/* --- the user's own folder --------------------------------------------------------- */

int home_users_folder(char out[4096], struct fault *f)
{
	if (paths_user_state(out))
		return 0;
	fault_set(f, FAULT_NOT_FOUND, "/home",
		  "neither HOME nor XDG_STATE_HOME is set, and user %u has no home",
		  (unsigned)geteuid());
	return fault_hint(f, "set HOME, or name the state's folder: --home DIR");
}

int home_may_make(struct fault *f)
{
	const char *said = paths_env("XDG_STATE_HOME");
	char base[4096];
	struct stat st;

	if (said && said[0] == '/' ? !paths_join(base, said, "") : !paths_home(base))
		return home_users_folder(base, f);
	while (stat(base, &st))
		if (errno != ENOENT || !paths_up(base))
			return fault_set(f, FAULT_IO, "/home", "%.150s: %m", base);
	if (st.st_uid == geteuid() || !st.st_uid)
		return 0;
	fault_set(f, FAULT_DENIED, "/home",
		  "%.150s belongs to another user: cadre makes nothing there", base);
	return fault_hint(f, "set HOME or XDG_STATE_HOME to a folder of your own "
			     "(with sudo: without -E), or name the state: --home DIR");
}

int home_may_write(const char *path, struct fault *f)
{
	struct stat st;

	if (lstat(path, &st))
		return fault_set(f, FAULT_IO, "/home", "%.150s: %m", path);
	return home_check_owner(st.st_uid, path, f);
}

int home_check_owner(uid_t owner, const char *path, struct fault *f)
{
	if (owner == geteuid())
		return 0;
	fault_set(f, FAULT_DENIED, "/home", "%.150s belongs to another user", path);
	if (geteuid())
		return fault_hint(f, "use a state folder of your own: --home DIR");
	return fault_hint(f,
			  "run as that user (sudo -u '#%u'), or use a state "
			  "folder of your own: --home DIR",
			  (unsigned)owner);
}

/* --- a new state ------------------------------------------------------------------- */

bool find_is_fresh(int dir, const char *also)
{
	const char *const ours[] = { ".", "..", ".gitignore", "id", also ? also : "." };
	const size_t most = sizeof(ours) / sizeof(*ours);
	DIR *list = paths_list(dir);
	bool fresh = list != NULL;
	struct dirent *e;

	while (fresh && (e = readdir(list))) {
		size_t i = 0;

		while (i < most && strcmp(e->d_name, ours[i]) != 0)
			i++;
		/* A new version of `id` or `.gitignore` has a name with one of these prefixes
		 * until the version is complete. */
		fresh = i < most || !strncmp(e->d_name, "id.", 3) ||
			!strncmp(e->d_name, ".gitignore.", 11);
	}
	if (list)
		closedir(list);
	return fresh;
}

/* A folder without a state may become a state if the folder belongs to this user, and is empty
 * or holds only settings. */
static enum found_why judge_fresh(int dir, const char *path)
{
	/* The folder is examined before the notes, since another `init` first adds the folder's
	 * note and then fills the folder. */
	bool is_fresh = find_is_fresh(dir, config_file_name);
	struct stat st;

	if (trust_look(dir, path) != KNOWN_NOT)
		return FOUND_NONE;
	if (fstat(dir, &st) || st.st_uid != geteuid())
		return FOUND_FOREIGN;
	return is_fresh ? FOUND_NONE : FOUND_UNKNOWN;
}

/* Refuses to make a state at `path` if git tracks files in that folder. */
static int fresh_check_index(const char *path, struct fault *f)
{
	enum tracked is = tracked_look(path);

	if (is == TRACKED_NOTHING)
		return 0;
	if (is == TRACKED_SOME) {
		fault_set(
			f, FAULT_DENIED, "",
			"%.150s holds files that git tracks, so a pull can change the folder",
			path);
		return fault_hint(f, "run: git rm -r --cached %.150s, then: cadre init",
				  path);
	}
	fault_set(f, FAULT_DENIED, "",
		  "%.150s is not made: cadre cannot read the index of "
		  "the git repository around it",
		  path);
	return fault_hint(f, "repair or remove its .git, or name another folder: "
			     "cadre --home DIR init");
}

/* An existing folder of a project must be this user's state, or hold no state yet. A settings
 * file that exists before the state may have come with the project, so the file is checked too. */
int find_check_fresh(const char *path, struct fault *f)
{
	enum found_why why = trust_judge(path);
	int dir;

	if (why == FOUND_NONE && fresh_check_index(path, f) < 0)
		return f->code;
	dir = why == FOUND_NONE ? home_open(path) : -1;
	if (dir >= 0) {
		why = judge_fresh(dir, path);
		if (why == FOUND_NONE && trust_look(dir, path) == KNOWN_NOT)
			config_check_shipped(path, f);
		close(dir);
	}
	return f->code ? (int)f->code : trust_refuse(path, why, f);
}

/* --- parts ------------------------------------------------------------------------- */

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

int find_each_part(int dir, const char *path,
		   int (*each)(int dir, const char *path, const struct dirent *e,
			       struct fault *f),
		   struct fault *f)
{
	DIR *list = paths_list(dir);
	struct dirent *e = NULL;
	int rc = 0;

	while (list && rc == 0 && (errno = 0, e = readdir(list)))
		rc = each(dir, path, e, f);
	if (!e && errno)
		rc = fault_set(f, FAULT_IO, "", "cannot list %.150s: %m", path);
	if (list)
		closedir(list);
	return rc;
}

static int check_part(int dir, const char *path, const struct dirent *e, struct fault *f)
{
	if (found_is_plain(dir, e))
		return 0;
	fault_set(f, FAULT_DENIED, "",
		  "%.100s/%.60s is a link or not a plain file: a state "
		  "has only plain files",
		  path, e->d_name);
	if (strcmp(e->d_name, "vault") == 0)
		return fault_hint(
			f, "remove it; to keep the vault elsewhere, set vault.root");
	return fault_hint(f, "remove it, if you did not put it there");
}

int find_check_parts(int dir, const char *path, struct fault *f)
{
	return find_each_part(dir, path, check_part, f);
}

/* --- a lost state ------------------------------------------------------------------ */

/* Names of files and folders that only cadre puts into a state folder. */
static const char *const traces[] = {
	"secret",    "state.lock", "state.db-wal", "state.db-shm", "search.db",
	"host.lock", "workspaces", "guests",       "snapshots",    "disks",
	"backups",   "replaced",   "vault",        "log",          "restore.tmp",
};

static bool lost_is_there(int dir, const char *name, off_t least)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (least == 0 || st.st_size >= least);
}

static size_t list_traces(int dir, char *left, size_t room)
{
	size_t n = 0, len = 0;

	for (size_t i = 0; i < sizeof(traces) / sizeof(*traces); i++) {
		if (!lost_is_there(dir, traces[i], 0))
			continue;
		n++;
		if (left && len < room)
			len += (size_t)snprintf(left + len, room - len, "%s%s",
						len ? ", " : "", traces[i]);
	}
	return n;
}

/* An empty state.db means that the state is being made. But if state.lock shows that there was
 * a state, the state.db was truncated. A process that makes a state makes state.db before the
 * files in `traces`, so this function checks state.db last. */
static bool lost_look_into(int dir, char *left, size_t room)
{
	size_t n = list_traces(dir, left, room);

	if (lost_is_there(dir, "state.db", 0))
		return lost_is_there(dir, "state.lock", 1) &&
		       !lost_is_there(dir, "state.db", 1);
	return n > 0;
}

bool home_is_lost(const char *path, char *left, size_t room)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool lost;

	if (left && room)
		left[0] = '\0';
	if (dir < 0)
		return false;
	lost = !lost_is_there(dir, "state.db", 1) && lost_look_into(dir, left, room);
	close(dir);
	return lost;
}

bool home_has_data(const char *dir)
{
	char path[4200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/state.db", dir);
	return stat(path, &st) == 0 && st.st_size > 0;
}

/* A new state gets its secret before its state.db is filled, so this function checks the secret
 * last. */
bool home_lost_secret(const char *dir)
{
	char path[4200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/secret", dir);
	return home_has_data(dir) && lstat(path, &st) && errno == ENOENT;
}

static int refuse_secret(const char *dir, struct fault *f)
{
	fault_set(f, FAULT_NOT_FOUND, "/home",
		  "%.150s/secret is gone: the tokens of all agents are made with it",
		  dir);
	return fault_hint(f, "put it back (a backup has it as FILE.secret), or: "
			     "cadre restore FILE; if the secret is lost for good: cadre "
			     "restore --any-secret with the present state.db");
}

int home_refuse_lost(const char *dir, struct fault *f)
{
	char left[120], path[4200];
	struct stat st;

	if (home_lost_secret(dir))
		return refuse_secret(dir, f);
	home_is_lost(dir, left, sizeof(left));
	snprintf(path, sizeof(path), "%s/state.db", dir);
	fault_set(f, FAULT_NOT_FOUND, "/home", "state.db of %.100s is %s%s%.100s%s", dir,
		  lstat(path, &st) ? "gone" : "empty", *left ? "; " : "", left,
		  *left ? " belong to the former state" : "");
	return fault_hint(f, "bring state.db back, or: cadre restore FILE; to begin "
			     "a new state on purpose: cadre init --anew");
}

int home_make_empty(const char *dir, struct fault *f)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/state.db", dir);
	if (access(path, F_OK) == 0)
		return 0;
	if (store_check_place(dir, f) < 0)
		return f->code;
	if (mknod(path, S_IFREG | 0600, 0) == 0 || errno == EEXIST)
		return 0;
	return fault_set(f, FAULT_UNAVAILABLE, "/home", "cannot make %.150s: %s", path,
			 strerror(errno));
}
