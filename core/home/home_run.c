/*
 * home_run - the folder in which a host and its guests have their sockets.
 *
 * A host makes it and its `host.sock`; each guest has a folder `w{number}` in it.  All
 * folders of one user's states lie side by side.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/home/home.h"
#include "core/home/paths.h"
#include "storage/durable.h"

enum { UNUSED_AFTER = 3600 }; /* seconds */

static int make_private(const char *path, struct fault *f)
{
	struct stat st;

	if (dir_have(path, 0700))
		return fault_set(f, FAULT_IO, "", "cannot make %.150s: %m", path);
	/* A shared temporary folder may hold another user's folder of this name, as a
	 * trap. */
	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return fault_set(f, FAULT_DENIED, "", "%.150s is not ours", path);
	if ((st.st_mode & 07777) != 0700 && chmod(path, 0700))
		return fault_set(f, FAULT_IO, "", "cannot make %.150s private: %m", path);
	/* A folder of before is in use from now on, which a sweep is to see. */
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

/* Opens a folder that is this user's alone, and no link: its descriptor, or -1. */
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

/* open_own() for reading its names: NULL where it is not one's own. */
static DIR *open_names(int at, const char *path)
{
	int fd = open_own(at, path);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* Reads on in a folder: the next name that is not hidden, or NULL. */
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

/* Whether a guest has its sockets in a folder of this name. */
static bool is_guests(const char *name)
{
	return name[0] == 'w' && name[1] &&
	       strspn(name + 1, "0123456789") == strlen(name + 1);
}

/* Removes the sockets in the folder `name` of `at`, and the folder if nothing else is in
 * it. */
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

/* Whether a process listens at the socket; also true if this is unknown. */
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

/* Whether the folder, or one of a guest in it, is in use or was lately. */
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
