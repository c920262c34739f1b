#include "core/home/whose.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/home/found.h"
#include "core/home/home.h"
#include "core/home/paths.h"

enum { NAME = 33, BIRTH = 64, ROOM = 8192, LEFT_SECONDS = 60 };

static const char folder[] = "here";

/* --- places --------------------------------------------------------------------- */

static bool is_top(const char *dir)
{
	char git[4096];
	struct stat st;

	return paths_join(git, dir, ".git") && !lstat(git, &st) &&
	       (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode));
}

bool whose_place(char out[4096])
{
	char here[4096];

	if (!getcwd(here, sizeof(here)) || here[0] != '/')
		return false;
	memcpy(out, here, sizeof(here));
	do
		if (is_top(out))
			return true;
	while (paths_up(out));
	memcpy(out, here, sizeof(here));
	return true;
}

/* Names a place by inode and time of birth, where the file system keeps one. */
static bool name_birth(const char *place, char out[BIRTH])
{
	struct statx st;

	if (statx(AT_FDCWD, place, AT_SYMLINK_NOFOLLOW,
		  STATX_TYPE | STATX_INO | STATX_BTIME, &st) ||
	    !S_ISDIR(st.stx_mode))
		return false;
	if (!(st.stx_mask & STATX_BTIME))
		st.stx_btime = (struct statx_timestamp){ 0 };
	snprintf(out, BIRTH, "%llx %llx.%08x", (unsigned long long)st.stx_ino,
		 (unsigned long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
	return true;
}

/* The name of a place's file. */
static void name_file(const char *place, char out[NAME])
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX c;

	SHA256Init(&c);
	SHA256Update(&c, (const uint8_t *)place, strlen(place));
	SHA256Final(digest, &c);
	for (int i = 0; i < NAME / 2; i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/* --- the folder ----------------------------------------------------------------- */

static int refuse(const char *state, const char *name, const char *why, struct fault *f)
{
	fault_set(
		f, FAULT_DENIED, "",
		"who this directory is was kept in %.150s/%s%s%s, which %s: it is not used",
		state, folder, *name ? "/" : "", name, why);
	return fault_hint(f,
			  "forget it with `cadre whoami --forget`, and register again");
}

/* Opens the folder: a descriptor, -1 where there is none, or another negative with the
 * fault filled. */
static int open_folder(const char *state, struct fault *f)
{
	int top = found_open(state), dir;
	struct stat st;

	if (top < 0)
		return -1;
	dir = openat(top, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 && errno != ENOENT)
		refuse(state, "", "is no folder", f);
	close(top);
	if (dir < 0)
		return f->code ? -2 : -1;
	if (fstat(dir, &st) || st.st_uid != geteuid() || st.st_mode & 077) {
		refuse(state, "", "is open to others", f);
		close(dir);
		return -2;
	}
	return dir;
}

static int make_folder(const char *state, struct fault *f)
{
	int top = found_open(state), dir;

	if (top < 0 || (mkdirat(top, folder, 0700) && errno != EEXIST))
		fault_set(f, FAULT_IO, "", "cannot make %.150s/%s: %m", state, folder);
	if (top >= 0)
		close(top);
	if (f->code)
		return f->code;
	dir = open_folder(state, f);
	if (dir == -1)
		return fault_set(f, FAULT_IO, "", "%.150s/%s: %m", state, folder);
	return dir;
}

/* --- a file --------------------------------------------------------------------- */

/* Takes the next line, which begins with `word`; false where another does. */
static bool take_line(char **at, const char *word, char *out, size_t room)
{
	size_t n = strlen(word), len = strcspn(*at, "\n");

	if (strncmp(*at, word, n) != 0 || !(*at)[len] || len - n >= room)
		return false;
	snprintf(out, room, "%.*s", (int)(len - n), *at + n);
	*at += len + 1;
	return true;
}

static bool parse(char *text, struct whose *k, char birth[BIRTH])
{
	char *at = text;

	return take_line(&at, "place ", k->place, sizeof(k->place)) &&
	       take_line(&at, "birth ", birth, BIRTH) &&
	       take_line(&at, "team ", k->team, sizeof(k->team)) &&
	       take_line(&at, "agent ", k->agent, sizeof(k->agent)) &&
	       take_line(&at, "token ", k->token, sizeof(k->token)) && !*at && *k->team &&
	       *k->agent && *k->token;
}

/* Why a file cannot be trusted, or NULL with its text. */
static const char *read_private(int fd, char text[ROOM])
{
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return errno == ELOOP ? "is a link" : "cannot be read";
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return "is no plain file";
	if (st.st_uid != geteuid())
		return "is another user's";
	if ((st.st_mode & 07777) != 0600)
		return "is open to others";
	n = read(fd, text, ROOM - 1);
	if (n < 0 || memchr(text, '\0', (size_t)n))
		return "cannot be read";
	text[n] = '\0';
	return NULL;
}

/* Reads a file of the folder: NULL, or why it cannot be trusted.  `*there` tells whether
 * there is one. */
static const char *read_file(int dir, const char *name, struct whose *k,
			     char birth[BIRTH], bool *there)
{
	int fd = openat(dir, name,
			O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	const char *why;
	char text[ROOM];

	*there = true;
	if (fd < 0 && errno == ENOENT) {
		*there = false;
		return NULL;
	}
	why = read_private(fd, text);
	if (fd >= 0)
		close(fd);
	return why || parse(text, k, birth) ? why : "is not what cadre wrote";
}

int whose_read(const char *state, const char *place, struct whose *out, struct fault *f)
{
	char name[NAME], was[BIRTH], now[BIRTH];
	int dir = open_folder(state, f);
	const char *why;
	bool there;

	if (dir < 0)
		return dir == -1 ? 0 : (int)f->code;
	name_file(place, name);
	why = read_file(dir, name, out, was, &there);
	close(dir);
	if (!there)
		return 0;
	if (!why && strcmp(out->place, place) != 0)
		why = "is of another place";
	if (why)
		return refuse(state, name, why, f);
	return name_birth(place, now) && strcmp(was, now) == 0;
}

/* `gitdir: …/worktrees/NAME`, and not of a submodule in one, which has more behind it. */
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
	char at[4096];
	int rc;

	memcpy(at, place, sizeof(at));
	while ((rc = whose_read(state, at, out, f)) == 0)
		if (is_linked_worktree(at) || !paths_up(at))
			return 0;
	if (rc > 0)
		memcpy(place, at, sizeof(at));
	return rc;
}

/* --- changes --------------------------------------------------------------------- */

/* Removes the file of a place that is gone, or was made anew, and what a killed process
 * left half written. */
static void sweep_one(int dir, const char *name)
{
	char was[BIRTH], now[BIRTH];
	struct stat st;
	struct whose k;
	bool there;

	if (strchr(name, '.')) {
		if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode) && st.st_mtime < time(NULL) - LEFT_SECONDS)
			unlinkat(dir, name, 0);
		return;
	}
	if (!read_file(dir, name, &k, was, &there) && there &&
	    (!name_birth(k.place, now) || strcmp(was, now) != 0))
		unlinkat(dir, name, 0);
}

static void sweep(int dir)
{
	int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = again < 0 ? NULL : fdopendir(again);
	struct dirent *e;

	while (list && (e = readdir(list)))
		if (e->d_name[0] != '.')
			sweep_one(dir, e->d_name);
	if (list)
		closedir(list);
	else if (again >= 0)
		close(again);
}

static bool put(int dir, const char *name, const struct whose *k, const char *birth)
{
	char temp[NAME + 16];
	bool done;
	int fd;

	snprintf(temp, sizeof(temp), "%s.%d", name, (int)gettid());
	unlinkat(dir, temp, 0);
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return false;
	done = !fchmod(fd, 0600) &&
	       dprintf(fd, "place %s\nbirth %s\nteam %s\nagent %s\ntoken %s\n", k->place,
		       birth, k->team, k->agent, k->token) > 0 &&
	       !fsync(fd) && !renameat(dir, temp, dir, name) && !fsync(dir);
	close(fd);
	if (!done)
		unlinkat(dir, temp, 0);
	return done;
}

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
	char name[NAME], birth[BIRTH];
	int dir;

	if (strchr(k->place, '\n') || !name_birth(k->place, birth))
		return fault_set(f, FAULT_INVALID, "",
				 "who %.150s is cannot be kept: no such directory",
				 k->place);
	dir = make_folder(state, f);
	if (dir < 0)
		return f->code;
	flock(dir, LOCK_EX);
	sweep(dir);
	name_file(k->place, name);
	if ((over || check_free(state, k, f) == 0) && !put(dir, name, k, birth))
		fault_set(f, FAULT_IO, "", "cannot write %.150s/%s/%s: %m", state, folder,
			  name);
	close(dir);
	return f->code;
}

int whose_forget(const char *state, const char *place, struct fault *f)
{
	char path[4096], name[NAME];
	struct stat st;

	whose_settle(state, place);
	name_file(place, name);
	if (snprintf(path, sizeof(path), "%s/%s/%s", state, folder, name) >=
	    (int)sizeof(path))
		return 0;
	if (!lstat(path, &st) && !unlink(path))
		return 1;
	if (errno == ENOENT || errno == ENOTDIR)
		return 0;
	return fault_set(f, FAULT_IO, "", "cannot remove %.200s: %m", path);
}

/* --- calls that are under way -------------------------------------------------------- */

enum { KEY = 37, SUM = 65 };

static void name_pending(const char *place, char out[NAME + 4])
{
	char file[NAME];

	name_file(place, file);
	snprintf(out, NAME + 4, "%s.key", file);
}

/* A sum of what a key is for: the place as it is now, and the words of the call. */
static void sum_of(const char *place, const char *words, char out[SUM])
{
	char birth[BIRTH] = "";
	SHA2_CTX c;

	name_birth(place, birth);
	SHA256Init(&c);
	SHA256Update(&c, (const uint8_t *)birth, strlen(birth) + 1);
	SHA256Update(&c, (const uint8_t *)words, strlen(words));
	SHA256End(&c, out);
}

/* Reads the key of a call with the same sum that is not settled. */
static bool read_pending(int dir, const char *name, const char *sum, char key[KEY])
{
	int fd = openat(dir, name,
			O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	char text[ROOM], was[SUM], *at = text;
	bool same;

	if (fd < 0)
		return false;
	same = !read_private(fd, text) && take_line(&at, "sum ", was, sizeof(was)) &&
	       take_line(&at, "key ", key, KEY) && strcmp(was, sum) == 0;
	close(fd);
	return same;
}

static bool write_pending(int dir, const char *name, const char *sum, const char *key)
{
	bool done;
	int fd;

	unlinkat(dir, name, 0);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return false;
	done = !fchmod(fd, 0600) && dprintf(fd, "sum %s\nkey %s\n", sum, key) > 0;
	close(fd);
	return done;
}

int whose_begin(const char *state, const char *place, const char *words, char key[37],
		struct fault *f)
{
	char name[NAME + 4], sum[SUM];
	int dir = make_folder(state, f);

	if (dir < 0)
		return f->code;
	name_pending(place, name);
	sum_of(place, words, sum);
	flock(dir, LOCK_EX);
	if (!read_pending(dir, name, sum, key)) {
		snprintf(key, KEY, "%016llx%016llx", (unsigned long long)home_random(),
			 (unsigned long long)home_random());
		if (!write_pending(dir, name, sum, key))
			fault_set(f, FAULT_IO, "", "cannot write %.150s/%s/%s: %m", state,
				  folder, name);
	}
	close(dir);
	return f->code;
}

void whose_settle(const char *state, const char *place)
{
	struct fault f = { 0 };
	int dir = open_folder(state, &f);
	char name[NAME + 4];

	if (dir < 0)
		return;
	name_pending(place, name);
	unlinkat(dir, name, 0);
	close(dir);
}
