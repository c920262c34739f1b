#include "tests/lib/switch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "core/link/link.h"
#include "tests/lib/place.h"

enum { BACKLOG = 256, PIECE = 16 << 10 };

static void need(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	_exit(1);
}

/* --- bytes ---------------------------------------------------------------------- */

/* Copies the readable bytes of `from` to `to`. Returns false if either end is closed. */
static bool carry(int from, int to)
{
	char data[PIECE];
	ssize_t n = read(from, data, sizeof(data)), at = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	while (at < n) {
		ssize_t m = write(to, data + at, (size_t)(n - at));
		struct pollfd p = { .fd = to, .events = POLLOUT };

		if (m < 0 && errno == EAGAIN) {
			poll(&p, 1, 1000);
			/* The reader has closed its end, so the unread bytes are lost. */
			if (p.revents & POLLERR)
				return false;
			continue;
		}
		if (m < 0)
			return false;
		at += m;
	}
	return n > 0;
}

struct direction {
	int from, to;
};

static void *run_direction(void *arg)
{
	struct direction d = *(struct direction *)arg;
	struct pollfd p = { .fd = d.from, .events = POLLIN };

	free(arg);
	while (poll(&p, 1, -1) > 0 && carry(d.from, d.to))
		;
	shutdown(d.from, SHUT_RDWR);
	shutdown(d.to, SHUT_RDWR);
	return NULL;
}

static void start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	need(pthread_create(&thread, NULL, run, arg) == 0, "thread");
	pthread_detach(thread);
}

static void *direction(int from, int to)
{
	struct direction *d = calloc(1, sizeof(*d));

	need(d, "memory");
	*d = (struct direction){ from, to };
	return d;
}

/* Copies bytes both ways until either end is closed, and closes both ends. */
static void join(int a, int b)
{
	pthread_t back;

	need(pthread_create(&back, NULL, run_direction, direction(b, a)) == 0, "thread");
	run_direction(direction(a, b));
	pthread_join(back, NULL);
	close(a);
	close(b);
}

/* --- sockets ---------------------------------------------------------------------- */

static struct sockaddr_un named(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	need(snprintf(at.sun_path, sizeof(at.sun_path), "%s", path) <
		     (int)sizeof(at.sun_path),
	     path);
	return at;
}

static int listen_at(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at = named(path);

	unlink(path);
	need(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
		     listen(fd, BACKLOG) == 0,
	     path);
	return fd;
}

static int connect_to(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at = named(path);

	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

static int take(int listener)
{
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);

	return accept4(listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC);
}

struct desk {
	int listener, fd; /* fd: the caller's socket, or a terminal */
	unsigned port;
	char place[200];
};

static struct desk *desk_new(int listener, int fd, unsigned port, const char *place)
{
	struct desk *d = calloc(1, sizeof(*d));

	need(d, "memory");
	d->listener = listener;
	d->fd = fd;
	d->port = port;
	snprintf(d->place, sizeof(d->place), "%s", place);
	return d;
}

/* --- front ------------------------------------------------------------------------- */

struct pair {
	int a, b;
};

static void *run_join(void *arg)
{
	struct pair *p = arg;

	join(p->a, p->b);
	free(p);
	return NULL;
}

static void on_dialled(void *arg, int fd, const struct fault *why)
{
	struct desk *d = arg;
	struct pair *p = calloc(1, sizeof(*p));

	need(p, "memory");
	if (why) {
		close(d->fd);
		free(p);
		return;
	}
	*p = (struct pair){ d->fd, fd };
	start(run_join, p);
}

/* Dials in a loop of its own, which ends when link_dial() has no more work. */
static void *run_dial(void *arg)
{
	struct desk *d = arg;
	struct link_address to;
	struct fault f = { 0 };
	uv_loop_t loop;

	need(link_parse(d->place, "", &to, &f) == 0, f.text);
	need(uv_loop_init(&loop) == 0, "loop");
	link_dial(&loop, &to, d->port, on_dialled, d);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	free(d);
	return NULL;
}

static void *run_front(void *arg)
{
	struct desk *d = arg;
	int fd;

	while ((fd = take(d->listener)) >= 0)
		start(run_dial, desk_new(-1, fd, d->port, d->place));
	return NULL;
}

/* --- a VMM ---------------------------------------------------------------------------- */

/* Answers CONNECT as Firecracker does, but sends the answer in two pieces. */
static void *run_vsock(void *arg)
{
	struct desk *d = arg;
	unsigned port = 0;
	char line[64] = "", path[300];
	size_t n = 0;
	int fd = -1;

	while (n < sizeof(line) - 1 && read(d->fd, line + n, 1) == 1 && line[n] != '\n')
		n++;
	if (sscanf(line, "CONNECT %u", &port) == 1) {
		snprintf(path, sizeof(path), "%s/%s", d->place,
			 port == LINK_CONTROL ? "control.sock" : "relay.sock");
		fd = connect_to(path);
	}
	if (fd >= 0 && write(d->fd, "OK 10", 5) == 5) {
		pause_for(20);
		if (write(d->fd, "737\n", 4) == 4)
			join(d->fd, fd);
	} else {
		close(d->fd);
	}
	free(d);
	return NULL;
}

static void *run_vmm(void *arg)
{
	struct desk *d = arg;
	int fd;

	while ((fd = take(d->listener)) >= 0)
		start(run_vsock, desk_new(-1, fd, 0, d->place));
	return NULL;
}

/* --- QEMU ------------------------------------------------------------------------------- */

/* `held` gets a descriptor of the guest's end of the terminal. While `held` is open, unread
 * bytes stay in the terminal after the guest has closed its end. */
static int open_terminal(const char *link, int *held)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	struct termios raw;
	char name[64];

	need(fd >= 0 && grantpt(fd) == 0 && unlockpt(fd) == 0 &&
		     ptsname_r(fd, name, sizeof(name)) == 0,
	     "terminal");
	*held = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	need(*held >= 0 && tcgetattr(*held, &raw) == 0, name);
	cfmakeraw(&raw);
	need(tcsetattr(*held, TCSANOW, &raw) == 0, name);
	unlink(link);
	need(symlink(name, link) == 0, link);
	return fd;
}

/* Serves a host until the host disconnects, and then serves the next host. If a host sends only
 * half a frame, all bytes of this half still reach the guest. */
static void *run_serial(void *arg)
{
	struct desk *d = arg;
	int fd;

	while ((fd = take(d->listener)) >= 0) {
		struct pollfd p[] = { { .fd = fd, .events = POLLIN },
				      { .fd = d->fd, .events = POLLIN } };
		bool good = true;

		while (good && poll(p, 2, -1) > 0) {
			if (p[0].revents)
				good = carry(fd, d->fd);
			if (p[1].revents)
				good = carry(d->fd, fd) && good;
		}
		close(fd);
	}
	return NULL;
}

/* --- processes ------------------------------------------------------------------------------ */

static void live(pid_t test)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != test)
		_exit(1);
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stderr, NULL, _IOLBF, 0);
}

static pid_t begin(int ready[2])
{
	pid_t test = getpid(), pid;

	need(pipe2(ready, O_CLOEXEC) == 0, "pipe");
	pid = fork();
	need(pid >= 0, "fork");
	if (pid == 0)
		live(test);
	return pid;
}

static pid_t wait_for(pid_t pid, int ready[2])
{
	char c;

	close(ready[1]);
	need(read(ready[0], &c, 1) == 1, "switch");
	close(ready[0]);
	return pid;
}

static void stay(int ready[2])
{
	need(write(ready[1], "", 1) == 1, "ready");
	for (;;)
		pause();
}

static char *below(char *to, size_t size, const char *folder, const char *name)
{
	snprintf(to, size, "%s/%s", folder, name);
	return to;
}

pid_t switch_front(const char *front, const char *address)
{
	static const char *const names[] = { "control.sock", "relay.sock" };
	char path[200];
	int ready[2];
	pid_t pid = begin(ready);

	for (unsigned i = 0; pid == 0 && i < 2; i++)
		start(run_front,
		      desk_new(listen_at(below(path, sizeof(path), front, names[i])), -1,
			       LINK_CONTROL + i, address));
	if (pid == 0)
		stay(ready);
	return wait_for(pid, ready);
}

pid_t switch_vmm(const char *path, const char *guest)
{
	int ready[2];
	pid_t pid = begin(ready);

	if (pid == 0) {
		start(run_vmm, desk_new(listen_at(path), -1, 0, guest));
		stay(ready);
	}
	return wait_for(pid, ready);
}

pid_t switch_qemu(const char *host, const char *guest)
{
	static const char *const names[] = { "control", "relay" };
	char name[40], path[200];
	int ready[2], held[2];
	pid_t pid = begin(ready);

	for (int i = 0; pid == 0 && i < 2; i++) {
		int listener, terminal;

		snprintf(name, sizeof(name), "%s.serial", names[i]);
		listener = listen_at(below(path, sizeof(path), host, name));
		snprintf(name, sizeof(name), "cadre.%s", names[i]);
		terminal =
			open_terminal(below(path, sizeof(path), guest, name), &held[i]);
		start(run_serial, desk_new(listener, terminal, 0, ""));
	}
	if (pid == 0)
		stay(ready);
	return wait_for(pid, ready);
}

bool switch_has_vsock(void)
{
	struct sockaddr_vm at = { .svm_family = AF_VSOCK,
				  .svm_port = VMADDR_PORT_ANY,
				  .svm_cid = VMADDR_CID_ANY };
	socklen_t size = sizeof(at);
	int in = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int out = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd p = { .fd = in, .events = POLLIN };
	bool good = in >= 0 && out >= 0 &&
		    bind(in, (struct sockaddr *)&at, sizeof(at)) == 0 &&
		    listen(in, 1) == 0 &&
		    getsockname(in, (struct sockaddr *)&at, &size) == 0;

	at.svm_cid = VMADDR_CID_LOCAL;
	if (good)
		connect(out, (struct sockaddr *)&at, sizeof(at));
	good = good && poll(&p, 1, 1000) == 1;
	close(in);
	close(out);
	return good;
}
