/*
 * home_run - the folder in which a host and its guests have their sockets, and the host's lock.
 *
 * A host makes the folder of the sockets, and its socket `host.sock` in that folder. Each guest
 * has a folder `w{number}` in the same folder. The socket folders of all states of a user are
 * in one parent folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/home/home.h"
#include "core/home/paths.h"
#include "core/machine/pid.h"
#include "storage/durable.h"

enum { UNUSED_AFTER = 3600 }; /* seconds without a change */

static int make_private(const char *path, struct fault *f)
{
	struct stat st;

	if (dir_have(path, 0700))
		return fault_set(f, FAULT_IO, "", "cannot make %.150s: %m", path);
	/* In a shared temporary folder, another user may have made a folder of this name as a
	 * trap. */
	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return fault_set(f, FAULT_DENIED, "", "%.150s is not a folder of yours",
				 path);
	if ((st.st_mode & 07777) != 0700 && chmod(path, 0700))
		return fault_set(f, FAULT_IO, "", "cannot make %.150s private: %m", path);
	/* The folder may be old. With a new modification time, home_sweep_runs() does not
	 * remove the folder. */
	utimensat(AT_FDCWD, path, NULL, 0);
	return 0;
}

int home_make_run(const struct home *h, struct fault *f)
{
	char path[sizeof(h->run)];

	memcpy(path, h->run, sizeof(path));
	paths_up(path);
	return make_private(path, f) < 0 ? (int)f->code : make_private(h->run, f);
}

void home_leave_run(const struct home *h)
{
	rmdir(h->run);
}

/* Opens a folder that is no link and that only this user can open. Returns the descriptor, or
 * -1. */
static int open_own(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 077))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Opens a folder to list its names. Returns NULL if open_own() refuses the folder. */
static DIR *open_names(int at, const char *path)
{
	int fd = open_own(at, path);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* Returns the folder's next name that does not begin with a dot, or NULL. */
static const char *next_name(DIR *dir)
{
	struct dirent *e;

	while ((e = readdir(dir)) && e->d_name[0] == '.')
		;
	return e ? e->d_name : NULL;
}

static bool is_socket(DIR *dir, const char *name)
{
	struct stat st;

	return !fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISSOCK(st.st_mode);
}

/* Whether the name has the form of a guest's folder, w{number}. */
static bool is_guests(const char *name)
{
	return name[0] == 'w' && name[1] &&
	       strspn(name + 1, "0123456789") == strlen(name + 1);
}

/* Removes the sockets in the folder `name` of `at`. Then removes this folder if it is empty. */
static void clear_guest(int at, const char *name)
{
	DIR *dir = open_names(at, name);
	const char *socket;

	if (!dir)
		return;
	while ((socket = next_name(dir)))
		if (is_socket(dir, socket))
			unlinkat(dirfd(dir), socket, 0);
	closedir(dir);
	unlinkat(at, name, AT_REMOVEDIR);
}

static void clear_guests(DIR *dir)
{
	const char *name;

	rewinddir(dir);
	while ((name = next_name(dir)))
		if (is_guests(name))
			clear_guest(dirfd(dir), name);
}

void home_clear_run(struct home *h)
{
	int lock = home_lock(h);
	DIR *dir;

	if (lock >= 0)
		home_keep_place(h, lock);
	dir = lock < 0 ? NULL : open_names(AT_FDCWD, h->run);
	if (dir) {
		clear_guests(dir);
		closedir(dir);
		home_leave_run(h);
	}
	if (lock >= 0)
		close(lock);
}

/* Whether a process listens at the socket; also true if the check fails. */
static bool is_heard(DIR *dir, const char *name)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int n = snprintf(to.sun_path, sizeof(to.sun_path), "/proc/self/fd/%d/%s",
			 dirfd(dir), name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool refused = fd >= 0 && n < (int)sizeof(to.sun_path) &&
		       connect(fd, (struct sockaddr *)&to, sizeof(to)) &&
		       errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return !refused;
}

/* Whether the folder, or a guest's folder in it, is in use or was used lately. */
static bool is_used(DIR *dir, bool guests, time_t now)
{
	bool used = false;
	const char *name;
	struct stat st;
	DIR *guest;

	if (fstat(dirfd(dir), &st) || st.st_mtime > now - UNUSED_AFTER)
		return true;
	while (!used && (name = next_name(dir))) {
		if (is_socket(dir, name)) {
			used = is_heard(dir, name);
		} else if (!guests || !is_guests(name) ||
			   !(guest = open_names(dirfd(dir), name))) {
			used = true;
		} else {
			used = is_used(guest, false, now);
			closedir(guest);
		}
	}
	return used;
}

void home_sweep_runs(const struct home *h)
{
	char path[sizeof(h->run)];
	const char *own, *name;
	time_t now = time(NULL);
	DIR *all, *dir;

	memcpy(path, h->run, sizeof(path));
	paths_up(path);
	own = h->run + strlen(path) + 1;
	all = open_names(AT_FDCWD, path);
	while (all && (name = next_name(all))) {
		if (strcmp(name, own) == 0 || !(dir = open_names(dirfd(all), name)))
			continue;
		if (!is_used(dir, true, now)) {
			unlinkat(dirfd(dir), "host.sock", 0);
			clear_guests(dir);
			unlinkat(dirfd(all), name, AT_REMOVEDIR);
		}
		closedir(dir);
	}
	if (all)
		closedir(all);
}

/* --- the lock, its holder, and the place of its socket ----------------------------- */

/* Returns the start time of a process, by which the process differs from a later process with
 * the same number. Returns 0 if the process does not exist or has ended, even if the process is
 * not yet reaped. */
static int64_t started_at(pid_t pid)
{
	struct process process;

	pid_find(pid, &process);
	return process.start;
}

/* Takes the lock and returns 0. On failure `*holder` is the process that holds the lock. A host
 * may have been killed while it started a guest. The killed host's child then holds the lock
 * until the child becomes the guest, so this function waits for the lock. */
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

/* The line of host.lock, which names the host that took the lock last: `PID START SOCKET`.
 * Guests read the socket's path from the line, too. */
struct holder {
	pid_t pid;
	int64_t start;
	char socket[sizeof(((struct home *)0)->socket)];
};

static bool read_holder(int fd, struct holder *out)
{
	char line[256] = "";
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	size_t size = n > 0 ? strcspn(line, "\n") : 0;
	char *end;

	*out = (struct holder){ 0 };
	if (n <= 0)
		return false;
	line[size] = '\0';
	out->pid = (pid_t)strtol(line, &end, 10);
	out->start = strtoll(end, &end, 10);
	if (end[0] == ' ' && end[1] == '/')
		snprintf(out->socket, sizeof(out->socket), "%s", end + 1);
	return out->pid > 0 && out->start;
}

void home_keep_place(struct home *h, int fd)
{
	const char *name = strrchr(h->run, '/');
	char run[sizeof(h->run)];
	struct holder last;
	struct stat st;

	if (!read_holder(fd, &last) || !last.socket[0] || paths_env("CADRE_SOCKET"))
		return;
	memcpy(run, last.socket, sizeof(run));
	paths_up(run);
	if (!name || !strrchr(run, '/') || strcmp(strrchr(run, '/'), name) != 0 ||
	    lstat(run, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mode & 077)
		return;
	memcpy(h->run, run, sizeof(h->run));
	memcpy(h->socket, last.socket, sizeof(h->socket));
}

int home_lock(const struct home *h)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(h->lock, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || !fcntl(fd, F_OFD_SETLK, &all))
		return fd;
	close(fd);
	return -1;
}

/* Writes the line of host.lock. A concurrent reader sees the old line or the new line. */
static int write_holder(const struct home *h, int fd, struct fault *f)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "%d %lld %s\n", getpid(),
			 (long long)started_at(getpid()), h->socket);

	return pwrite(fd, line, (size_t)n, 0) == n && !ftruncate(fd, n)
		       ? 0
		       : fault_set(f, FAULT_IO, "", "cannot write %.150s: %m", h->lock);
}

int home_settle_run(struct home *h, int lock, struct fault *f)
{
	char run[sizeof(h->run)], socket[sizeof(h->socket)];
	struct fault ignored = { 0 };

	if (home_make_run(h, &ignored) == 0)
		return 0;
	memcpy(run, h->run, sizeof(run));
	memcpy(socket, h->socket, sizeof(socket));
	if (home_find_sockets(h, f) < 0)
		return f->code;
	/* The folder's name is made from the state folder's device and inode. A different name
	 * means that the state folder was replaced. */
	if (strcmp(strrchr(run, '/'), strrchr(h->run, '/')) != 0) {
		memcpy(h->run, run, sizeof(run));
		memcpy(h->socket, socket, sizeof(socket));
		return fault_set(f, FAULT_IO, "", "%.150s belongs to another state",
				 h->dir);
	}
	return home_make_run(h, f) < 0 ? (int)f->code : write_holder(h, lock, f);
}

int home_hold(struct home *h, struct fault *f)
{
	int fd = open(h->lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	pid_t holder;

	if (fd < 0) {
		fault_set(f, FAULT_IO, "", "cannot open %.150s: %m", h->lock);
		return fault_hint(f,
				  "a host must be able to write in the state's folder");
	}
	if (lock_whole(h, fd, &holder)) {
		fault_set(f, FAULT_CONFLICT, "", "a host runs already: process %d",
			  (int)holder);
		fault_hint(f, "stop it with `cadre down`");
		close(fd);
		return f->code;
	}
	home_keep_place(h, fd);
	if (write_holder(h, fd, f) == 0)
		return fd;
	close(fd);
	return f->code;
}

/* Finds the host that holds the lock, and checks that the same host wrote the line of
 * host.lock. */
static bool find_holder(const char *lock, struct holder *out)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(lock, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool held;

	if (fd < 0)
		return false;
	held = !fcntl(fd, F_OFD_GETLK, &all) && all.l_type != F_UNLCK &&
	       read_holder(fd, out);
	close(fd);
	return held && started_at(out->pid) == out->start;
}

pid_t home_holder(const struct home *h)
{
	struct holder holder;

	return find_holder(h->lock, &holder) ? holder.pid : 0;
}

int64_t home_host_of(const char *dir, bool *deaf)
{
	struct holder holder;
	char lock[4200];

	snprintf(lock, sizeof(lock), "%s/host.lock", dir);
	if (!find_holder(lock, &holder))
		return 0;
	*deaf = access(holder.socket, F_OK) != 0;
	return holder.pid;
}

/* Whether the folders of two sockets have the same name, so that the sockets belong to one
 * state. */
static bool are_alike(const char *a, const char *b)
{
	char x[sizeof(((struct home *)0)->socket)], y[sizeof(x)];

	snprintf(x, sizeof(x), "%s", a);
	snprintf(y, sizeof(y), "%s", b);
	paths_up(x);
	paths_up(y);
	return strrchr(x, '/') && strrchr(y, '/') &&
	       strcmp(strrchr(x, '/'), strrchr(y, '/')) == 0;
}

/* Finds the path of host.lock for home_follow(). In a workspace on this machine, the guest's
 * folder is two levels below the state's folder, so the path can be computed. */
static bool find_lock(const struct home *h, char lock[4300])
{
	const char *door = paths_env("CADRE_SOCKET"), *guest = paths_env("CADRE_GUEST");
	int n = door ? snprintf(lock, 4300, "%s/../../host.lock", guest ? guest : "")
		     : snprintf(lock, 4300, "%s", h->lock);

	return n < 4300 && (door ? guest && !h->dir[0] : h->dir[0] != '\0');
}

bool home_follow(struct home *h)
{
	struct holder holder;
	char lock[4300];
	struct stat st;

	if (!find_lock(h, lock) || !find_holder(lock, &holder) || !holder.socket[0] ||
	    strcmp(holder.socket, h->socket) == 0 ||
	    (!h->dir[0] && !are_alike(holder.socket, h->socket)))
		return false;
	if (lstat(holder.socket, &st) || !S_ISSOCK(st.st_mode) ||
	    (st.st_uid != geteuid() && st.st_uid))
		return false;
	memcpy(h->socket, holder.socket, sizeof(h->socket));
	return true;
}
