/*
 * home - discovery and permissions of a state folder.
 */
#include "core/host/home.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/host/settings.h"
#include "storage/restore.h"

uint64_t home_random(void)
{
	uint64_t n;
	ssize_t got = getrandom(&n, sizeof(n), 0);

	assert(got == sizeof(n)); /* 8 bytes are never interrupted */
	return n;
}

int64_t home_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* The value of an environment variable; NULL when unset or empty. */
static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static int too_long(const char *path, struct fault *f)
{
	return fault_set(f, FAULT_INVALID, "", "the path is too long: %.100s", path);
}

/* --- the folder --------------------------------------------------------------- */

/* Another user's folder, say /tmp/.cadre, is not a state of ours. */
static bool is_own_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* The first line of a small file; false when there is none. */
static bool read_line(const char *path, char *line, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, room - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return true;
}

static bool join(char out[4096], const char *dir, const char *name)
{
	return snprintf(out, 4096, "%s%s%s", strcmp(dir, "/") ? dir : "",
			*name ? "/" : "", name) < 4096;
}

/* `.git` of a worktree is a file that leads to its folder in the repository,
 * whose `commondir` leads to what all worktrees share. */
static bool worktree_root(const char *dir, const char *git, char root[4096])
{
	char line[4096], path[4096], common[4096];
	char *end;

	if (!read_line(git, line, sizeof(line)) || strncmp(line, "gitdir: ", 8))
		return false;
	if (line[8] == '/' ? !join(path, line + 8, "") : !join(path, dir, line + 8))
		return false;
	if (!join(common, path, "commondir") || !read_line(common, line, sizeof(line)))
		return false;
	if (line[0] == '/' ? !join(common, line, "") : !join(common, path, line))
		return false;
	if (!realpath(common, root))
		return false;
	end = strrchr(root, '/');
	if (end && end > root && !strcmp(end, "/.git"))
		*end = '\0';
	return true;
}

/* The root of the repository that `dir` is the top of; false if it is none. */
static bool repository_root(const char *dir, char root[4096])
{
	char git[4096];
	struct stat st;

	if (!join(git, dir, ".git") || lstat(git, &st))
		return false;
	if (S_ISREG(st.st_mode) && worktree_root(dir, git, root))
		return true;
	return join(root, dir, "");
}

/* Goes one folder up; false at the top. */
static bool go_up(char *dir)
{
	char *slash = strrchr(dir, '/');

	if (!slash || !slash[1])
		return false;
	slash[slash == dir ? 1 : 0] = '\0';
	return true;
}

/* The nearest `.cadre` above the working directory. */
static bool find_project(char out[4096])
{
	char dir[4096], root[4096];

	if (!getcwd(dir, sizeof(dir)))
		return false;
	do {
		if (repository_root(dir, root) && join(out, root, ".cadre") &&
		    is_own_dir(out))
			return true;
		if (join(out, dir, ".cadre") && is_own_dir(out))
			return true;
	} while (go_up(dir));
	return false;
}

int home_project(char out[4096], struct fault *f)
{
	char dir[4096], cwd[4096], root[4096];

	if (!getcwd(cwd, sizeof(cwd)))
		return fault_set(f, FAULT_IO, "", "no working directory: %m");
	memcpy(dir, cwd, sizeof(dir));
	do {
		if (repository_root(dir, root))
			return join(out, root, ".cadre") ? 0 : too_long(root, f);
	} while (go_up(dir));
	return join(out, cwd, ".cadre") ? 0 : too_long(cwd, f);
}

static bool user_state(char out[4096])
{
	const char *base = env("XDG_STATE_HOME");
	const char *home = env("HOME");

	if (base && base[0] == '/')
		return join(out, base, "cadre");
	return home && join(out, home, ".local/state/cadre");
}

/* Makes `path` and what is missing above it. */
static int make_dirs(char *path)
{
	for (char *s = path + 1; (s = strchr(s, '/')); s++) {
		*s = '\0';
		if (mkdir(path, 0700) && errno != EEXIST) {
			*s = '/';
			return -1;
		}
		*s = '/';
	}
	return mkdir(path, 0700) && errno != EEXIST ? -1 : 0;
}

/* The state is nobody's to commit: the folder ignores itself. */
static void write_ignore(const char *dir)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/.gitignore", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write(fd, "*\n", 2) != 2)
		unlink(path);
	close(fd);
}

static int make_home(char *path, struct fault *f)
{
	if (make_dirs(path))
		return fault_set(f, FAULT_IO, "/home", "cannot make %.150s: %m", path);
	write_ignore(path);
	return 0;
}

/* Sets h->dir: absolute and without links, so that one state has one path. */
static int settle(struct home *h, char path[4096], bool create, struct fault *f)
{
	struct stat st;

	if (stat(path, &st) && errno == ENOENT && create && make_home(path, f) < 0)
		return f->code;
	if (!realpath(path, h->dir)) {
		if (errno != ENOENT)
			return fault_set(f, FAULT_IO, "/home", "%.200s: %m", path);
		fault_set(f, FAULT_NOT_FOUND, "/home", "there is no state at %.150s",
			  path);
		return fault_hint(f, "make one: cadre init");
	}
	if (stat(h->dir, &st) || !S_ISDIR(st.st_mode))
		return fault_set(f, FAULT_INVALID, "/home", "%.150s is no folder", path);
	if (st.st_uid != geteuid() && geteuid()) {
		fault_set(f, FAULT_DENIED, "/home", "%.150s belongs to another user",
			  path);
		return fault_hint(f, "use a state folder of your own: --home DIR");
	}
	if ((st.st_mode & 077) && chmod(h->dir, 0700))
		return fault_set(f, FAULT_IO, "/home", "cannot make %.150s private: %m",
				 path);
	return 0;
}

static int find_dir(struct home *h, const char *dir, bool create, struct fault *f)
{
	char path[4096];

	if (!dir)
		dir = env("CADRE_HOME");
	if (dir) {
		if (!join(path, dir, ""))
			return too_long(dir, f);
		return settle(h, path, create, f);
	}
	if (env("CADRE_SOCKET"))
		return 0; /* inside a workspace its door is all there is */
	if (find_project(path))
		return settle(h, path, create, f);
	if (!user_state(path))
		return fault_set(f, FAULT_NOT_FOUND, "/home",
				 "neither HOME nor CADRE_HOME is set");
	return settle(h, path, create, f);
}

/* --- the environment -------------------------------------------------------------- */

static int load_identity(struct home *h, struct fault *f)
{
	static const char *const names[] = { "CADRE_TEAM", "CADRE_AGENT", "CADRE_TOKEN",
					     "CADRE_SESSION" };
	const char *values[4];
	char session[40];

	snprintf(session, sizeof(session), "cli:%d", getsid(0));
	for (size_t i = 0; i < 4; i++) {
		values[i] = env(names[i]);
		if (i == 3 && !values[i])
			values[i] = session;
		if (values[i] && !(values[i] = home_keep(h, values[i])))
			return fault_set(f, FAULT_INVALID, "", "%s is too long",
					 names[i]);
	}
	h->identity = (struct identity){
		.level = values[1] ? WHO_OBSERVER : WHO_OPERATOR,
		.team = values[0],
		.agent = values[1],
		.token = values[2],
		.session = values[3],
	};
	return 0;
}

/* Sets run and socket below `base`, which is the user's own (`own`) or shared by
 * all users; false when a name does not fit a socket's address. */
static bool place_run(struct home *h, const char *base, bool own, const struct stat *st)
{
	char user[16] = "";
	int n;

	if (!base)
		return false;
	if (!own)
		snprintf(user, sizeof(user), "-%u", (unsigned)geteuid());
	n = snprintf(h->run, sizeof(h->run), "%s/cadre%s/%jx-%jx", base, user,
		     (uintmax_t)st->st_dev, (uintmax_t)st->st_ino);
	if ((size_t)n >= sizeof(h->run))
		return false;
	n = snprintf(h->socket, sizeof(h->socket), "%s/host.sock", h->run);
	return (size_t)n < sizeof(h->socket);
}

static int find_sockets(struct home *h, struct fault *f)
{
	const char *door = env("CADRE_SOCKET");
	const char *runtime = env("XDG_RUNTIME_DIR"), *temp = env("TMPDIR");
	struct stat st;

	if (h->dir[0] && stat(h->dir, &st))
		return fault_set(f, FAULT_IO, "", "%.150s: %m", h->dir);
	if (h->dir[0] && !place_run(h, runtime, true, &st) &&
	    !place_run(h, temp, false, &st) && !place_run(h, "/tmp", false, &st))
		return too_long(h->dir, f);
	if (door &&
	    snprintf(h->socket, sizeof(h->socket), "%s", door) >= (int)sizeof(h->socket))
		return too_long(door, f);
	return 0;
}

int home_find(struct home *h, const char *dir, bool create, struct fault *f)
{
	return home_find_with(h, dir, create, NULL, f);
}

int home_find_with(struct home *h, const char *dir, bool create, const char *const *flags,
		   struct fault *f)
{
	*h = (struct home){ 0 };
	settings_init(&h->settings);
	if (find_dir(h, dir, create, f) < 0)
		return f->code;
	if (load_identity(h, f) < 0 || find_sockets(h, f) < 0)
		return f->code;
	if (!h->dir[0])
		return 0;
	h->settings.home = h->dir;
	snprintf(h->lock, sizeof(h->lock), "%s/host.lock", h->dir);
	if (restore_finish(h->dir, f) < 0 || settings_load(h, flags, create, f) < 0)
		return f->code;
	notes_disk_init(&h->notes, h->vault, h->dir);
	h->settings.notes = &h->notes.notes;
	return 0;
}

int home_renew(struct home *h, struct fault *f)
{
	struct stat st;

	if (stat(h->dir, &st)) {
		fault_set(f, FAULT_NOT_FOUND, "/home",
			  "there is no state at %.150s any more", h->dir);
		return fault_hint(f, "bring its folder back, or make one: cadre init");
	}
	return find_sockets(h, f) < 0 ? (int)f->code : settings_renew(h, f);
}

unsigned home_store_flags(const struct home *h)
{
	bool normal = h->settings.config.state_durability == DURABILITY_NORMAL;

	return STORE_CREATE | (normal ? STORE_NORMAL : 0);
}

/* --- the host's ------------------------------------------------------------------ */

static int make_private(const char *path, struct fault *f)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return fault_set(f, FAULT_IO, "", "cannot make %.150s: %m", path);
	/* In a shared temporary folder it may be somebody else's trap. */
	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return fault_set(f, FAULT_DENIED, "", "%.150s is not ours", path);
	if ((st.st_mode & 07777) != 0700 && chmod(path, 0700))
		return fault_set(f, FAULT_IO, "", "cannot make %.150s private: %m", path);
	return 0;
}

int home_make_run(const struct home *h, struct fault *f)
{
	char path[sizeof(h->run)];

	memcpy(path, h->run, sizeof(path));
	go_up(path);
	return make_private(path, f) < 0 ? (int)f->code : make_private(h->run, f);
}

/* When a process started, in ticks after boot: tells it from a later one with
 * its number.  0 when there is none; one that has ended is none, reaped or not. */
static long long started_at(pid_t pid)
{
	char path[40], line[1024];
	long long start = 0;
	char *s;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!read_line(path, line, sizeof(line)) || !(s = strrchr(line, ')')) ||
	    strncmp(s, ") Z", 3) == 0 || strncmp(s, ") X", 3) == 0)
		return 0;
	/* State is field 3, the start time field 22. */
	for (int field = 2; field < 22 && s; field++)
		s = strchr(s + 1, ' ');
	if (s)
		start = strtoll(s, NULL, 10);
	return start;
}

/* 0, or who holds it.  A host that was killed while it started a guest leaves a
 * child behind which holds the lock too, until it is the guest: that is waited for. */
static int lock_whole(const struct home *h, int fd, pid_t *holder)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	for (int waited = 0;; waited += 20) {
		if (!fcntl(fd, F_OFD_SETLK, &all))
			return 0;
		*holder = home_holder(h);
		if (*holder || waited >= 2000)
			return -1;
		poll(NULL, 0, 20);
	}
}

int home_hold(const struct home *h, struct fault *f)
{
	int fd = open(h->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	pid_t holder;

	if (fd < 0)
		return fault_set(f, FAULT_IO, "", "cannot open %.150s: %m", h->lock);
	if (lock_whole(h, fd, &holder)) {
		fault_set(f, FAULT_CONFLICT, "", "a host runs already: process %d",
			  (int)holder);
		fault_hint(f, "stop it with `cadre down`");
	} else if (ftruncate(fd, 0) ||
		   dprintf(fd, "%d %lld\n", getpid(), started_at(getpid())) < 0) {
		fault_set(f, FAULT_IO, "", "cannot write %.150s: %m", h->lock);
	}
	if (!f->code)
		return fd;
	close(fd);
	return f->code;
}

pid_t home_holder(const struct home *h)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(h->lock, O_RDONLY | O_CLOEXEC);
	char line[64] = "";
	ssize_t n = 0;
	long long start;
	char *end;
	pid_t pid;

	if (fd < 0)
		return 0;
	if (fcntl(fd, F_OFD_GETLK, &all) || all.l_type == F_UNLCK)
		n = 0;
	else
		n = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	pid = (pid_t)strtol(line, &end, 10);
	start = strtoll(end, NULL, 10);
	return pid > 0 && start && started_at(pid) == start ? pid : 0;
}
