#include "core/home/here.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/home/home.h"
#include "core/home/home_trust.h"
#include "core/home/paths.h"
#include "core/machine/pid.h"

enum {
	HERE_NAME = 33,
	HERE_FILE = HERE_NAME + 24,
	HERE_ROOM = 8192,
	CALLS = 64, /* maximum number of a place's calls that run at once with a stored
		       key */
	ABOVE = 64, /* levels of parent processes that are searched for a session */
	LEFT_SECONDS = 60, /* age at which temporary files and files of calls are
			      removed */
	GONE_SECONDS = 30 * 86400, /* age at which a missing folder's file is removed */
};

static const char here_folder[] = "here", untimed[] = " 0.00000000",
		  session_ending[] = ".session", gone_ending[] = ".gone";

/* --- places ------------------------------------------------------------------------ */

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

/* Writes the inode and time of birth that identify a directory. Returns false if the directory
 * does not exist. */
static bool here_birth(const char *place, char out[PATHS_BIRTH])
{
	return S_ISDIR(paths_birth(AT_FDCWD, place, untimed, out));
}

/* Makes a file name from `text`: a path, or the inode and birth of a directory. */
static void here_hash(const char *text, char out[HERE_NAME])
{
	char sum[SHA256_DIGEST_STRING_LENGTH];

	SHA256Data((const uint8_t *)text, strlen(text), sum);
	snprintf(out, HERE_NAME, "%.32s", sum);
}

/* --- the folder -------------------------------------------------------------------- */

/* Fills a fault which says that the file `name` in the folder `here` cannot be trusted. If the
 * name is "", the fault says that the folder itself cannot be trusted. */
static int here_refuse(const char *state, const char *name, const char *why,
		       struct fault *f)
{
	fault_set(f, FAULT_DENIED, "",
		  "cadre does not use %.150s/%s%s%s, which names this "
		  "directory's agent: it %s",
		  state, here_folder, *name ? "/" : "", name, why);
	return fault_hint(f, "forget the agent with `cadre whoami --forget`, and "
			     "register again");
}

/* Opens the folder `here` of a state. Returns a descriptor, or -1 if the folder does not exist,
 * or another negative number with the fault filled. */
static int here_open(const char *state, struct fault *f)
{
	int top = home_open(state), dir;
	struct stat st;

	if (top < 0)
		return -1;
	dir = openat(top, here_folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 && errno != ENOENT)
		here_refuse(state, "", "is not a folder", f);
	close(top);
	if (dir < 0)
		return f->code ? -2 : -1;
	if (fstat(dir, &st) || st.st_uid != geteuid() || st.st_mode & 077) {
		here_refuse(state, "", "is open to other users", f);
		close(dir);
		return -2;
	}
	return dir;
}

/* Makes the folder `here` if needed, opens the folder like here_open(), and locks the folder. */
static int here_make(const char *state, struct fault *f)
{
	int top = home_open(state), dir;

	if (top < 0 || (mkdirat(top, here_folder, 0700) && errno != EEXIST))
		fault_set(f, FAULT_IO, "", "cannot make %.150s/%s: %m", state,
			  here_folder);
	if (top >= 0)
		close(top);
	if (f->code)
		return f->code;
	dir = here_open(state, f);
	if (dir == -1)
		return fault_set(f, FAULT_IO, "", "%.150s/%s: %m", state, here_folder);
	if (dir >= 0)
		flock(dir, LOCK_EX);
	return dir;
}

/* --- a file ------------------------------------------------------------------------ */

/* Copies to `out` the part of the next line that follows `word`. Returns false if the line does
 * not begin with `word`, has no end, or is too long. */
static bool here_line(char **at, const char *word, char *out, size_t room)
{
	size_t n = strlen(word), len = strcspn(*at, "\n");

	if (strncmp(*at, word, n) != 0 || !(*at)[len] || len - n >= room)
		return false;
	snprintf(out, room, "%.*s", (int)(len - n), *at + n);
	*at += len + 1;
	return true;
}

static bool here_file_parse(char *text, struct here *k, char birth[PATHS_BIRTH])
{
	char *at = text;

	return here_line(&at, "place ", k->place, sizeof(k->place)) &&
	       here_line(&at, "birth ", birth, PATHS_BIRTH) &&
	       here_line(&at, "team ", k->team, sizeof(k->team)) &&
	       here_line(&at, "agent ", k->agent, sizeof(k->agent)) &&
	       here_line(&at, "token ", k->token, sizeof(k->token)) && !*at && *k->team &&
	       *k->agent && *k->token;
}

/* Reads an open file into `text`. Returns NULL, or the reason why the file cannot be trusted. */
static const char *here_private(int fd, char text[HERE_ROOM])
{
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return errno == ELOOP ? "is a link" : "cannot be read";
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return "is not a plain file";
	if (st.st_uid != geteuid())
		return "belongs to another user";
	if ((st.st_mode & 07777) != 0600)
		return "is open to other users";
	n = read(fd, text, HERE_ROOM - 1);
	if (n < 0 || memchr(text, '\0', (size_t)n))
		return "cannot be read";
	text[n] = '\0';
	return NULL;
}

/* Reads a place's agent from the file `name` of the folder `here`. Returns NULL, or the reason
 * why the file cannot be trusted. `*there` says whether the file exists. */
static const char *here_file(int dir, const char *name, struct here *k,
			     char birth[PATHS_BIRTH], bool *there)
{
	int fd = openat(dir, name,
			O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	const char *why;
	char text[HERE_ROOM];

	*there = true;
	if (fd < 0 && errno == ENOENT) {
		*there = false;
		return NULL;
	}
	why = here_private(fd, text);
	if (fd >= 0)
		close(fd);
	return why || here_file_parse(text, k, birth)
		       ? why
		       : "has changed since cadre wrote it";
}

/* Whether `place` is a file-system snapshot of the directory that the file `name` names. The
 * directory must still exist. A snapshot has the same birth as the directory, but is on another
 * device. */
static bool here_is_copy(int dir, const char *name, const char *place, const char *birth)
{
	char was[PATHS_BIRTH];
	struct stat st, original;
	struct here kept;
	bool there;

	return !here_file(dir, name, &kept, was, &there) && there &&
	       here_birth(kept.place, was) && !strcmp(was, birth) && !stat(place, &st) &&
	       !stat(kept.place, &original) && st.st_dev != original.st_dev;
}

/* Whether the file `name`, which is named after the path of `place`, belongs to `place`. */
static bool here_has_own(int dir, const char *name, const char *place, const char *birth)
{
	char was[PATHS_BIRTH];
	struct here kept;
	bool there;

	return !here_file(dir, name, &kept, was, &there) && there &&
	       !strcmp(kept.place, place) && !strcmp(was, birth);
}

/* Writes the name of a place's file to `out`. The name is made from the place's inode and
 * birth, which survive a move. If there is no time of birth, or if another place has the same
 * birth, the name is made from the path. A name that was made from the path stays in use, even
 * when the other place is removed. */
static void here_name(int dir, const char *place, const char *birth, char out[HERE_NAME])
{
	char usual[HERE_NAME];

	here_hash(birth, usual);
	here_hash(place, out);
	if (!strstr(birth, untimed) && !here_has_own(dir, out, place, birth) &&
	    !here_is_copy(dir, usual, place, birth))
		memcpy(out, usual, HERE_NAME);
}

/* Writes the file of k->place. */
static bool here_put(int dir, const char *name, const struct here *k, const char *birth)
{
	char temp[HERE_FILE], text[HERE_ROOM];
	int n = snprintf(text, sizeof(text),
			 "place %s\nbirth %s\nteam %s\nagent %s\ntoken %s\n", k->place,
			 birth, k->team, k->agent, k->token);

	snprintf(temp, sizeof(temp), "%.32s.%d", name, (int)gettid());
	return !paths_write(dir, temp, name, text, (size_t)n);
}

/* --- the agent of a place ---------------------------------------------------------- */

/* Reads the file of `place`, whose inode and birth are `birth`. Tries the file's usual name,
 * then the usual name with `.gone`, then the name made from the path. */
static const char *here_look(int dir, const char *place, const char *birth,
			     struct here *out, char was[PATHS_BIRTH],
			     char name[HERE_FILE], bool *there)
{
	const char *why = NULL;
	char own[HERE_NAME];

	here_name(dir, place, birth, own);
	for (int i = 0; i < 3; i++) {
		if (i == 2)
			here_hash(place, own);
		snprintf(name, HERE_FILE, "%s%s", own, i == 1 ? gone_ending : "");
		why = here_file(dir, name, out, was, there);
		if (*there)
			break;
	}
	return why;
}

/* Writes the new path of a moved directory into the file of the directory's agent. */
static void here_follow(int dir, const char *place, const char *birth, struct here *out)
{
	char name[HERE_FILE], own[HERE_NAME], was[PATHS_BIRTH];
	struct here now;
	bool there;

	flock(dir, LOCK_EX);
	/* Another process may have changed the file before the lock was taken. */
	if (here_look(dir, place, birth, &now, was, name, &there) || !there ||
	    strchr(place, '\n'))
		return;
	snprintf(now.place, sizeof(now.place), "%s", place);
	*out = now;
	here_name(dir, place, birth, own);
	if (here_put(dir, own, out, birth) && strcmp(name, own) != 0)
		unlinkat(dir, name, 0);
}

/* Does the same as here_read(), in the open folder `dir`. */
static int here_read_in(int dir, const char *state, const char *place, struct here *out,
			struct fault *f)
{
	char name[HERE_FILE], path[HERE_NAME], was[PATHS_BIRTH], now[PATHS_BIRTH];
	const char *why;
	bool there, same;

	if (!here_birth(place, now))
		return 0;
	why = here_look(dir, place, now, out, was, name, &there);
	if (!there)
		return 0;
	same = !why && strcmp(was, now) == 0;
	here_hash(place, path);
	/* The file belongs to an older directory that had the same path. */
	if (!why && !same && !strcmp(name, path) && !strcmp(out->place, place))
		return 0;
	if (!same)
		return here_refuse(state, name,
				   why ? why : "was made for another directory", f);
	if (strcmp(out->place, place) == 0)
		return 1;
	here_follow(dir, place, now, out);
	return 1;
}

/* Reads the agent of `place`. Returns 1 with `out` filled, or 0 if `place` has no agent, or a
 * fault if a file cannot be trusted. */
static int here_read(const char *state, const char *place, struct here *out,
		     struct fault *f)
{
	int dir = here_open(state, f), rc;

	if (dir < 0)
		return dir == -1 ? 0 : (int)f->code;
	rc = here_read_in(dir, state, place, out, f);
	close(dir);
	return rc;
}

/* Whether `text` is `gitdir: …/worktrees/NAME`. Returns false for a submodule inside a
 * worktree, where the path continues after NAME. */
static bool is_worktree_link(const char *text)
{
	static const char folders[] = "/worktrees/";
	const char *name = strstr(text, folders);

	if (!name)
		return false;
	name += sizeof(folders) - 1;
	return name[strcspn(name, "/\n")] != '/';
}

/* Whether `dir` is a linked worktree of a repository (made by `git worktree add`). A linked
 * worktree has its own agent, even inside the directory of another agent. */
static bool is_linked_worktree(const char *dir)
{
	char git[4096], text[4200];

	return paths_join(git, dir, ".git") &&
	       paths_read(AT_FDCWD, git, O_NOFOLLOW, text, sizeof(text), NULL) > 0 &&
	       is_worktree_link(text);
}

int here_find(const char *state, char place[4096], struct here *out, struct fault *f)
{
	char at[4096];
	int rc;

	memcpy(at, place, sizeof(at));
	while ((rc = here_read(state, at, out, f)) == 0)
		if (is_linked_worktree(at) || !paths_up(at))
			return 0;
	if (rc > 0)
		memcpy(place, at, sizeof(at));
	return rc;
}

/* --- unneeded files ---------------------------------------------------------------- */

/* Writes to `out` the text with which the names of a place's session files begin. The text is
 * made from the place's inode and birth, since a session goes on when its directory is moved. */
static void name_sessions(const char *place, char out[HERE_NAME])
{
	char birth[PATHS_BIRTH];

	here_hash(here_birth(place, birth) && !strstr(birth, untimed) ? birth : place,
		  out);
}

static void name_session(const char *place, pid_t pid, char out[HERE_FILE])
{
	char file[HERE_NAME];

	name_sessions(place, file);
	snprintf(out, HERE_FILE, "%s.%d%s", file, (int)pid, session_ending);
}

/* Writes the start time and the boot id that together identify a process. Returns false if the
 * process does not exist. */
static bool process_birth(pid_t pid, char out[PATHS_BIRTH])
{
	struct process p;

	pid_find(pid, &p);
	snprintf(out, PATHS_BIRTH, "%lld %s", (long long)p.start, p.boot);
	return p.start != 0;
}

/* Returns the process number in the name of a session's file, or 0 if the file belongs to no
 * session. */
static pid_t here_session_pid(const char *name)
{
	const char *dot = strchr(name, '.');
	char *end;
	long pid = dot ? strtol(dot + 1, &end, 10) : 0;

	return pid > 0 && !strcmp(end, session_ending) ? (pid_t)pid : 0;
}

/* Reads a session's file. Returns false if the session's process has ended. */
static bool here_session_lives(int dir, const char *name, struct here *k)
{
	char was[PATHS_BIRTH], now[PATHS_BIRTH];
	bool there;

	return !here_file(dir, name, k, was, &there) && there &&
	       process_birth(here_session_pid(name), now) && strcmp(was, now) == 0;
}

/* Renames a place's file. The new name ends with `.gone` if the directory is missing at its old
 * path; otherwise the new name is the usual name. Returns true if the caller must remove the
 * file. */
static bool here_is_gone(int dir, const char *name, time_t written)
{
	char was[PATHS_BIRTH], now[PATHS_BIRTH], own[HERE_NAME], gone[HERE_FILE];
	struct here k;
	bool there;

	if (here_file(dir, name, &k, was, &there) || !there)
		return false;
	here_name(dir, k.place, was, own);
	if (here_birth(k.place, now) && !strcmp(was, now))
		return strcmp(name, own) != 0 &&
		       renameat2(dir, name, dir, own, RENAME_NOREPLACE) &&
		       errno == EEXIST;
	if (strstr(name, gone_ending))
		return written < time(NULL) - GONE_SECONDS;
	snprintf(gone, sizeof(gone), "%s%s", own, gone_ending);
	if (strstr(was, untimed) || renameat(dir, name, dir, gone))
		return true;
	utimensat(dir, gone, NULL, AT_SYMLINK_NOFOLLOW);
	return false;
}

/* Whether a file can be removed. There are three such files: a file whose session has ended, a
 * file whose directory has been missing for GONE_SECONDS, and a temporary file or a call's file
 * that is older than LEFT_SECONDS. */
static bool here_is_left(int dir, const char *name)
{
	struct here k;
	struct stat st;

	if (here_session_pid(name))
		return !here_session_lives(dir, name, &k);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return false;
	if (!strchr(name, '.') || strstr(name, gone_ending))
		return here_is_gone(dir, name, st.st_mtime);
	return st.st_mtime < time(NULL) - LEFT_SECONDS;
}

/* Removes all files that here_is_left() finds. The caller has locked the folder. */
static void here_sweep(int dir)
{
	DIR *list = paths_list(dir);
	struct dirent *e;

	while (list && (e = readdir(list)))
		if (e->d_name[0] != '.' && here_is_left(dir, e->d_name))
			unlinkat(dir, e->d_name, 0);
	if (list)
		closedir(list);
}

/* --- running calls ----------------------------------------------------------------- */

static void name_call(const char *place, int number, struct here_call *c)
{
	char file[HERE_NAME];

	here_hash(place, file);
	snprintf(c->file, sizeof(c->file), "%s.%d.key", file, number);
}

/* Computes the sum that is stored with a key. The sum covers the place's present birth and the
 * words of the call. */
static void here_call_sum_of(const char *place, const char *words, char out[HERE_SUM])
{
	char birth[PATHS_BIRTH] = "";
	SHA2_CTX c;

	here_birth(place, birth);
	SHA256Init(&c);
	SHA256Update(&c, (const uint8_t *)birth, strlen(birth) + 1);
	SHA256Update(&c, (const uint8_t *)words, strlen(words));
	SHA256End(&c, out);
}

/* Opens and locks a file for a call. Returns a descriptor, or -1 if another process holds the
 * lock. */
static int here_call_hold(int dir, const char *name)
{
	int fd = openat(dir, name,
			O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC,
			0600);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Reads the key of an unsettled call whose sum is `sum`. If the file is empty, writes `sum` and
 * the new key into the file. Returns false if the file belongs to another call. */
static bool here_call_take_key(struct here_call *c, const char *sum)
{
	char text[HERE_ROOM], *at = text;

	if (here_private(c->fd, text))
		return false;
	memcpy(c->sum, sum, sizeof(c->sum));
	if (*text)
		return here_line(&at, "sum ", c->sum, sizeof(c->sum)) &&
		       here_line(&at, "key ", c->key, sizeof(c->key)) &&
		       strcmp(c->sum, sum) == 0;
	return dprintf(c->fd, "sum %s\nkey %s\n", sum, c->key) > 0;
}

static void new_key(struct here_call *c)
{
	snprintf(c->key, sizeof(c->key), "%016llx%016llx",
		 (unsigned long long)home_random(), (unsigned long long)home_random());
}

/* Finds a file for the call. If all files are in use, the call gets a key but no file. */
static void here_call_begin(int dir, const char *place, const char *sum,
			    struct here_call *c)
{
	for (int i = 0; i < CALLS; i++) {
		name_call(place, i, c);
		new_key(c);
		c->fd = here_call_hold(dir, c->file);
		if (c->fd >= 0 && here_call_take_key(c, sum)) {
			c->held = true;
			return;
		}
		if (c->fd >= 0)
			close(c->fd);
	}
	new_key(c);
}

int here_begin(const char *state, const char *place, const char *words,
	       struct here_call *c, struct fault *f)
{
	char sum[HERE_SUM];
	int dir;

	here_call_sum_of(place, words, sum);
	if (c->held && strcmp(c->sum, sum) == 0)
		return 0;
	here_settle(state, c);
	if ((dir = here_make(state, f)) < 0)
		return f->code;
	here_call_begin(dir, place, sum, c);
	close(dir);
	return 0;
}

void here_settle(const char *state, struct here_call *c)
{
	struct fault f = { 0 };
	struct stat st;
	int dir;

	if (!c->held)
		return;
	dir = here_open(state, &f);
	if (dir >= 0) {
		flock(dir, LOCK_EX);
		if (!fstat(c->fd, &st) && st.st_nlink > 0)
			unlinkat(dir, c->file, 0);
		close(dir);
	}
	close(c->fd);
	*c = (struct here_call){ 0 };
}

/* Removes the key files of a place, so that the place's unsettled calls are forgotten. */
static void here_give_up(const char *state, const char *place)
{
	struct fault f = { 0 };
	struct here_call c;
	int dir = here_open(state, &f);

	if (dir < 0)
		return;
	for (int i = 0; i < CALLS; i++) {
		name_call(place, i, &c);
		unlinkat(dir, c.file, 0);
	}
	close(dir);
}

/* --- sessions ---------------------------------------------------------------------- */

static bool here_session_is_same(const struct here *a, const struct here *b)
{
	return strcmp(a->token, b->token) == 0 ||
	       (strcmp(a->agent, b->agent) == 0 && strcmp(a->team, b->team) == 0);
}

/* Counts the levels from this process up to its ancestor `pid`. The count is 1 for the parent
 * of this process. Returns 0 if `pid` has the same parent as this process. Then `pid` may be a
 * script that started the session's server. Returns ABOVE if `pid` belongs to another session. */
static int height_of(pid_t pid)
{
	int64_t at = getppid();
	int n = 1;

	if (at > 1 && pid_parent(pid) == at)
		return 0;
	while (at > 1 && at != pid && n < ABOVE) {
		at = pid_parent(at);
		n++;
	}
	return at == pid ? n : ABOVE;
}

void here_sessions(const char *state, const struct here *place, struct here_sessions *out)
{
	char file[HERE_NAME];
	struct fault none = { 0 };
	int fd = here_open(state, &none), nearest = ABOVE, height;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct here k;
	pid_t pid;

	*out = (struct here_sessions){ 0 };
	name_sessions(place->place, file);
	while (dir && (e = readdir(dir))) {
		if (strncmp(e->d_name, file, HERE_NAME - 1) != 0 ||
		    !(pid = here_session_pid(e->d_name)) ||
		    !here_session_lives(fd, e->d_name, &k))
			continue;
		height = height_of(pid);
		if (height < nearest) {
			nearest = height;
			out->own = pid;
			out->who = k;
		} else if (height == ABOVE && here_session_is_same(&k, place)) {
			out->other = pid;
		}
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	out->differs = out->own && !here_session_is_same(&out->who, place);
}

/* Keeps `k` as the agent that a client session has in the directory k->place. This session
 * belongs to the client that started this process. Without `over`, fails with `conflict` if
 * another agent is kept for the session. Returns 0 or a fault. */
static int here_session_keep(const char *state, const struct here *k, bool over,
			     struct fault *f)
{
	char name[HERE_FILE], birth[PATHS_BIRTH];
	const pid_t client = getppid();
	int dir = here_make(state, f);
	struct here was;

	if (dir < 0)
		return f->code;
	here_sweep(dir);
	name_session(k->place, client, name);
	if (!over && here_session_lives(dir, name, &was) &&
	    !here_session_is_same(&was, k))
		fault_set(f, FAULT_CONFLICT, "", "process %d is %s of team %s",
			  (int)client, was.agent, was.team);
	else if (client <= 1 || !process_birth(client, birth) ||
		 !here_put(dir, name, k, birth))
		fault_set(f, FAULT_IO, "", "cannot keep the agent of this session");
	close(dir);
	return f->code;
}

void here_session_forget(const char *state, const char *place)
{
	struct here at = { 0 };
	struct here_sessions s;
	char name[HERE_FILE];
	struct fault none = { 0 };
	int dir;

	snprintf(at.place, sizeof(at.place), "%s", place);
	here_sessions(state, &at, &s);
	if (!s.own || (dir = here_open(state, &none)) < 0)
		return;
	name_session(place, s.own, name);
	unlinkat(dir, name, 0);
	close(dir);
}

/* --- changes ----------------------------------------------------------------------- */

/* Refuses a place that belongs to another agent. The caller has locked the folder. */
static int here_check_free(int dir, const char *state, const struct here *k,
			   struct fault *f)
{
	struct here other;
	int rc = here_read_in(dir, state, k->place, &other, f);

	if (rc <= 0 ||
	    (strcmp(other.agent, k->agent) == 0 && strcmp(other.team, k->team) == 0))
		return rc < 0 ? rc : 0;
	return fault_set(f, FAULT_CONFLICT, "", "%.150s is %s of team %s", k->place,
			 other.agent, other.team);
}

/* Writes the file with the agent of a place, and removes unneeded files. Without `over`, fails
 * with `conflict` if another agent is kept for the place, even if another process has just
 * written that agent. Returns 0 or a fault. */
static int here_write(const char *state, const struct here *k, bool over, struct fault *f)
{
	char name[HERE_NAME], birth[PATHS_BIRTH];
	int dir;

	if (strchr(k->place, '\n') || !here_birth(k->place, birth))
		return fault_set(f, FAULT_INVALID, "",
				 "cannot keep an agent for %.150s: no such directory",
				 k->place);
	dir = here_make(state, f);
	if (dir < 0)
		return f->code;
	here_sweep(dir);
	here_name(dir, k->place, birth, name);
	if ((over || here_check_free(dir, state, k, f) == 0) &&
	    !here_put(dir, name, k, birth))
		fault_set(f, FAULT_IO, "", "cannot write %.150s/%s/%s: %m", state,
			  here_folder, name);
	close(dir);
	return f->code;
}

/* Removes the file `name` and the file `name`.gone from the folder `here`, even if other users
 * can open the folder. */
static int here_remove(const char *state, const char *name, struct fault *f)
{
	char path[4096];
	int rc = 0;

	for (int i = 0; i < 2; i++) {
		if (snprintf(path, sizeof(path), "%s/%s/%s%s", state, here_folder, name,
			     i ? gone_ending : "") >= (int)sizeof(path))
			return 0;
		if (!unlink(path))
			rc = 1;
		else if (errno != ENOENT && errno != ENOTDIR)
			return fault_set(f, FAULT_IO, "", "cannot remove %.200s: %m",
					 path);
	}
	return rc;
}

int here_forget(const char *state, const char *place, struct fault *f)
{
	char birth[PATHS_BIRTH], name[HERE_NAME];
	struct fault none = { 0 };
	int dir;

	here_give_up(state, place);
	here_session_forget(state, place);
	if (!here_birth(place, birth))
		return 0;
	dir = here_open(state, &none);
	here_name(dir, place, birth, name);
	if (dir >= 0)
		close(dir);
	return here_remove(state, name, f);
}

/* --- the identity of this process if no variable names it -------------------------- */

/* Whether identities are kept for this process. An identity is kept only in a state that this
 * user owns, and never inside a workspace. A workspace's socket already identifies the caller. */
static bool keeps(const struct home *h)
{
	struct stat st;

	return h->dir[0] && !paths_env("CADRE_SOCKET") && !stat(h->dir, &st) &&
	       st.st_uid == geteuid();
}

static int home_who_take(struct home *h, const char *team, const char *agent,
			 const char *token, struct fault *f)
{
	struct identity *id = &h->identity;

	team = home_keep(h, team);
	agent = home_keep(h, agent);
	token = home_keep(h, token);
	if (!team || !agent || !token)
		return fault_set(f, FAULT_INVALID, "", "names are too long");
	id->level = WHO_OBSERVER;
	id->nobody = false;
	id->kept = true;
	id->team = team;
	id->agent = agent;
	id->token = token;
	return 0;
}

int home_recall(struct home *h, struct fault *f)
{
	const char *team = h->identity.team;
	struct here_sessions s;
	struct here k;
	int rc;

	if (h->identity.agent || !keeps(h) || !here_place(h->place))
		return 0;
	rc = here_find(h->dir, h->place, &k, f);
	if (rc <= 0)
		return rc;
	here_sessions(h->dir, &k, &s);
	if (s.differs)
		k = s.who;
	if (team && strcmp(team, k.team) != 0) {
		fault_set(f, FAULT_DENIED, "/team",
			  "the call names team %s, but this directory is kept "
			  "for %s of team %s",
			  team, k.agent, k.team);
		return fault_hint(f, "to act as the operator: --operator; to forget the "
				     "directory's agent: cadre whoami --forget");
	}
	h->who = s.differs ? HOME_BY_SESSION : HOME_BY_PLACE;
	h->sure = s.own != 0;
	h->beside = h->sure ? 0 : s.other;
	return home_who_take(h, k.team, k.agent, k.token, f);
}

int home_become(struct home *h, const char *team, const char *agent, const char *token,
		struct fault *f)
{
	h->who = HOME_BY_JOINING;
	return home_who_take(h, team, agent, token, f);
}

int home_can_keep(struct home *h, struct fault *f)
{
	if (keeps(h) && here_place(h->place))
		return 0;
	fault_set(f, FAULT_UNAVAILABLE, "", "cannot keep an agent for this directory: %s",
		  h->dir[0] ? "the state belongs to another user, or this is a workspace"
			    : "this is a workspace");
	return fault_hint(f, "set CADRE_TEAM, CADRE_AGENT and CADRE_TOKEN instead");
}

/* Fills `k` with the agent to keep, and with the place of this process. */
static int home_who_fill(struct home *h, const char *team, const char *agent,
			 const char *token, struct here *k, struct fault *f)
{
	if (home_can_keep(h, f) < 0)
		return f->code;
	memcpy(k->place, h->place, sizeof(k->place));
	if (snprintf(k->team, sizeof(k->team), "%s", team) >= (int)sizeof(k->team) ||
	    snprintf(k->agent, sizeof(k->agent), "%s", agent) >= (int)sizeof(k->agent) ||
	    snprintf(k->token, sizeof(k->token), "%s", token) >= (int)sizeof(k->token))
		return fault_set(f, FAULT_INVALID, "", "names are too long");
	return 0;
}

int home_keep_here(struct home *h, const char *team, const char *agent, const char *token,
		   bool over, struct fault *f)
{
	struct here k;

	if (home_who_fill(h, team, agent, token, &k, f) < 0 ||
	    here_write(h->dir, &k, over, f) < 0)
		return f->code;
	if (over)
		here_session_forget(h->dir, k.place);
	return 0;
}

int home_keep_session(struct home *h, const char *team, const char *agent,
		      const char *token, bool over, struct fault *f)
{
	struct here k;

	return home_who_fill(h, team, agent, token, &k, f) < 0
		       ? f->code
		       : here_session_keep(h->dir, &k, over, f);
}

void home_begin_session(struct home *h)
{
	const struct identity *id = &h->identity;
	struct fault none = { 0 };

	if (h->who == HOME_BY_PLACE && !h->sure && !h->beside)
		home_keep_session(h, id->team, id->agent, id->token, false, &none);
}
