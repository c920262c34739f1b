/*
 * home_hold - the host's lock, its holder, and the place of the host's socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/home.h"
#include "core/home/paths.h"

/* When a process started, in ticks after boot, which tells it from a later process with
 * the same number.  0 when it does not exist or has ended, reaped or not. */
static long long started_at(pid_t pid)
{
	char path[40], line[1024];
	long long start = 0;
	char *s;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!paths_line(path, line, sizeof(line)) || !(s = strrchr(line, ')')) ||
	    strncmp(s, ") Z", 3) == 0 || strncmp(s, ") X", 3) == 0)
		return 0;
	/* State is field 3, the start time field 22. */
	for (int field = 2; field < 22 && s; field++)
		s = strchr(s + 1, ' ');
	if (s)
		start = strtoll(s, NULL, 10);
	return start;
}

/* Takes the lock: 0, or the process that holds it in `*holder`.  A host that was killed
 * while it started a guest leaves a child that holds the lock until it becomes the guest:
 * that is waited for. */
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
 * Guests read the socket's place, too. */
struct holder {
	pid_t pid;
	long long start;
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

/* Writes the line.  A concurrent reader sees the old line or the new line. */
static int write_holder(const struct home *h, int fd, struct fault *f)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "%d %lld %s\n", getpid(),
			 started_at(getpid()), h->socket);

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
	/* The folder is named after the state, which may have been replaced. */
	if (strcmp(strrchr(run, '/'), strrchr(h->run, '/')) != 0) {
		memcpy(h->run, run, sizeof(run));
		memcpy(h->socket, socket, sizeof(socket));
		return fault_set(f, FAULT_IO, "", "%.150s is another state's", h->dir);
	}
	return home_make_run(h, f) < 0 ? (int)f->code : write_holder(h, lock, f);
}

int home_hold(struct home *h, struct fault *f)
{
	int fd = open(h->lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	pid_t holder;

	if (fd < 0) {
		fault_set(f, FAULT_IO, "", "cannot open %.150s: %m", h->lock);
		return fault_hint(f, "a host needs to write in the state's folder");
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

/* Finds the host that holds the lock, and checks that it wrote the line itself. */
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

/* Whether two sockets are of one state, after which their folders are named. */
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

/* The lock of the host that this process may follow.  In a workspace of this machine the guest's folder
 * lies in the state, and the lock is the state's. */
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
