#include <errno.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/steps.h"
#include "core/link/link_inside.h"

enum {
	PATIENCE_MS = 10000,
	BREATH_MS = 100, /* pause if no file descriptor is free */
	AT_ONCE = 64, /* maximum of callers accepted in one turn of the loop */
};

static const struct transport *const transports[LINK_KINDS] = {
	[LINK_UNIX] = &link_unix,     [LINK_VSOCK] = &link_vsock,
	[LINK_SERIAL] = &link_serial, [LINK_HYBRID] = &link_hybrid,
	[LINK_TCP] = &link_tcp,
};

/* --- dialling ------------------------------------------------------------------- */

/* Sets d->state; no other function sets d->state. */
static void dial_step(struct link_dial *d, enum dial_state to)
{
	const unsigned ends = STEP(DIAL_FAILED) | STEP(DIAL_OVER);
	const unsigned steps[] = {
		[DIAL_BEGUN] = STEP(DIAL_NAMING) | STEP(DIAL_WAITING) | ends,
		[DIAL_NAMING] = STEP(DIAL_WAITING) | ends,
		[DIAL_WAITING] = STEP(DIAL_WAITING) | STEP(DIAL_LENT) | ends,
		[DIAL_LENT] = ends,
		[DIAL_FAILED] = STEP(DIAL_OVER),
		[DIAL_OVER] = 0,
	};

	step_check(steps[d->state], to);
	d->state = to;
}

static void dial_closed(uv_handle_t *handle)
{
	struct link_dial *d = handle->data;

	if (--d->handles == 0)
		free(d);
}

static void poll_closed(uv_handle_t *handle)
{
	dial_closed(handle);
	free(handle);
}

static void stop_polling(struct link_dial *d)
{
	if (d->poll)
		uv_close((uv_handle_t *)d->poll, poll_closed);
	d->poll = NULL;
}

/* Ends the dial, and releases all its resources except d->fd. The dial itself is freed when its
 * handles are closed. */
static void link_end(struct link_dial *d)
{
	if (d->state == DIAL_OVER)
		return;
	dial_step(d, DIAL_OVER);
	stop_polling(d);
	if (d->ask) { /* tcp_on_found() frees d->ask */
		d->ask->data = NULL;
		uv_cancel((uv_req_t *)d->ask);
	}
	if (d->found)
		uv_freeaddrinfo(d->found);
	if (d->pump)
		pump_close(d->pump);
	d->found = NULL;
	d->pump = NULL;
	uv_close((uv_handle_t *)&d->timer, dial_closed);
}

static void link_tell(struct link_dial *d)
{
	link_dialled *done = d->done;
	void *arg = d->arg;
	struct fault why = d->fault;
	int fd = why.code ? -1 : d->fd;

	if (why.code && d->fd >= 0) {
		stop_polling(d);
		close(d->fd);
	}
	link_end(d);
	done(arg, fd, why.code ? &why : NULL);
}

static void link_on_timer(uv_timer_t *timer)
{
	struct link_dial *d = timer->data;

	if (!d->fault.code)
		fault_set(&d->fault, FAULT_TIMEOUT, "", "nobody answers in %d s",
			  PATIENCE_MS / 1000);
	link_tell(d);
}

void dial_done(struct link_dial *d)
{
	link_tell(d);
}

void dial_failed(struct link_dial *d)
{
	dial_step(d, DIAL_FAILED);
	stop_polling(d);
	uv_timer_start(&d->timer, link_on_timer, 0, 0);
}

void dial_errno(struct link_dial *d, int error)
{
	fault_set(&d->fault, FAULT_UNAVAILABLE, "", "%s", strerror(error));
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct link_dial *d = poll->data;

	(void)status; /* d->step() reads the error from the socket */
	(void)events;
	uv_poll_stop(poll);
	d->step(d);
}

/* Calls `step` when d->fd is ready for `events`, which is UV_READABLE or UV_WRITABLE. */
static void dial_await(struct link_dial *d, int events, void (*step)(struct link_dial *d))
{
	dial_step(d, DIAL_WAITING);
	d->step = step;
	if (!d->poll) {
		uv_poll_t *poll = xcalloc(1, sizeof(*poll));
		int rc = uv_poll_init(d->loop, poll, d->fd);

		if (rc) {
			free(poll);
			dial_errno(d, -rc);
			dial_failed(d);
			return;
		}
		poll->data = d;
		d->poll = poll;
		d->handles++;
	}
	uv_poll_start(d->poll, events, on_ready);
}

void dial_release(struct link_dial *d)
{
	dial_step(d, DIAL_LENT);
	stop_polling(d);
	d->fd = -1;
}

/* Connects d->fd to an address, and calls `step` when the connection succeeds or fails. If the
 * connection fails at once, fills d->fault and returns a negative number. */
static int dial_connect(struct link_dial *d, const void *address, socklen_t size,
			void (*step)(struct link_dial *d))
{
	const struct sockaddr *at = address;

	stop_polling(d);
	if (d->fd >= 0)
		close(d->fd);
	d->fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0 || (connect(d->fd, at, size) && errno != EINPROGRESS)) {
		dial_errno(d, errno);
		return -1;
	}
	dial_await(d, UV_WRITABLE, step);
	return 0;
}

bool dial_connected(struct link_dial *d)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &error, &size))
		error = errno;
	if (error)
		dial_errno(d, error);
	return !error;
}

struct link_dial *link_dial(uv_loop_t *loop, const struct link_address *to, unsigned port,
			    link_dialled *done, void *arg)
{
	struct link_dial *d = xcalloc(1, sizeof(*d));

	d->loop = loop;
	d->to = *to;
	d->port = port;
	d->done = done;
	d->arg = arg;
	d->fd = -1;
	uv_timer_init(loop, &d->timer);
	d->timer.data = d;
	d->handles = 1;
	uv_timer_start(&d->timer, link_on_timer, PATIENCE_MS, 0);
	transports[to->kind]->dial(d);
	return d;
}

void link_dial_cancel(struct link_dial *d)
{
	if (!d || d->state == DIAL_OVER)
		return;
	stop_polling(d);
	if (d->fd >= 0)
		close(d->fd);
	link_end(d);
}

/* --- listening ------------------------------------------------------------------ */

static void link_on_caller(uv_poll_t *poll, int status, int events);

static void on_breath(uv_timer_t *timer)
{
	struct link_ear *ear = timer->data;

	uv_poll_start(&ear->poll, UV_READABLE, link_on_caller);
}

/* Accepts an incoming connection. Returns true if another connection may be waiting. */
static bool link_take_caller(struct link_ear *ear)
{
	const struct transport *t = transports[ear->at.kind];
	struct link_caller who = { 0 };
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	int fd = accept4(ear->fd, (struct sockaddr *)&from, &size,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		uv_poll_stop(&ear->poll);
		uv_timer_start(&ear->timer, on_breath, BREATH_MS, 0);
		return false;
	}
	if (fd < 0)
		return errno != EAGAIN;
	if (t->admit && !t->admit(fd, &who))
		close(fd);
	else
		ear->called(ear->arg, fd, &who);
	return true;
}

static void link_on_caller(uv_poll_t *poll, int status, int events)
{
	struct link_ear *ear = poll->data;

	(void)status;
	(void)events;
	for (int i = 0; i < AT_ONCE && ear->fd >= 0 && link_take_caller(ear); i++)
		;
}

static void ear_closed(uv_handle_t *handle)
{
	struct link_ear *ear = handle->data;

	if (--ear->handles == 0)
		free(ear);
}

static int ear_open(struct link_ear *ear, struct fault *f)
{
	int rc = transports[ear->at.kind]->listen(ear, f);

	if (rc || ear->fd < 0)
		return rc;
	rc = listen(ear->fd, EAR_BACKLOG) ? errno
					  : -uv_poll_init(ear->loop, &ear->poll, ear->fd);
	if (rc)
		return fault_set(f, FAULT_IO, "", "cannot listen: %s", strerror(rc));
	ear->poll.data = ear;
	ear->handles++;
	return uv_poll_start(&ear->poll, UV_READABLE, link_on_caller);
}

struct link_ear *link_listen(uv_loop_t *loop, const struct link_address *at,
			     unsigned port, link_called *called, void *arg,
			     struct fault *f)
{
	struct link_ear *ear = xcalloc(1, sizeof(*ear));

	ear->loop = loop;
	ear->at = *at;
	ear->port = port;
	ear->called = called;
	ear->arg = arg;
	ear->fd = -1;
	uv_timer_init(loop, &ear->timer);
	ear->timer.data = ear;
	ear->handles = 1;
	if (ear_open(ear, f) == 0)
		return ear;
	link_deafen(ear);
	return NULL;
}

void link_deafen(struct link_ear *ear)
{
	if (!ear)
		return;
	if (ear->handles > 1)
		uv_close((uv_handle_t *)&ear->poll, ear_closed);
	if (ear->fd >= 0)
		close(ear->fd);
	ear->fd = -1;
	if (ear->pump)
		pump_close(ear->pump);
	ear->pump = NULL;
	uv_close((uv_handle_t *)&ear->timer, ear_closed);
}

/* --- sockets ----------------------------------------------------------------- */

/*
 * link_socket - the kinds of links that are sockets: TCP, Unix, hybrid vsock, vsock.
 */

/*
 * TCP connections to a guest on another machine. TCP does not prove who the peer is. A peer is
 * a stranger until the peer has sent a Hello with the token.
 */

static void set(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}

/* Sets the options of a TCP socket. If the peer's machine disappears without closing the
 * connection, the connection fails within 15 s. */
static void tcp_prepare(int fd)
{
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 3);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
	set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 14000);
}

static void name_port(const struct link_address *a, unsigned port, char out[8])
{
	snprintf(out, 8, "%u",
		 (unsigned)(uint16_t)(a->number + (port == LINK_RELAY ? 1 : 0)));
}

/* --- TCP: dialling -------------------------------------------------------------- */

static void tcp_on_connected(struct link_dial *d);

/* Tries the next address of the guest's machine. The name of a machine may have several
 * addresses. The connection is tried to one address after the other. */
static void try_next(struct link_dial *d)
{
	while (d->next) {
		const struct addrinfo *a = d->next;

		d->next = a->ai_next;
		d->fault = (struct fault){ 0 };
		if (dial_connect(d, a->ai_addr, a->ai_addrlen, tcp_on_connected) == 0)
			return;
	}
	dial_failed(d);
}

static void tcp_on_connected(struct link_dial *d)
{
	if (!dial_connected(d)) {
		try_next(d);
		return;
	}
	tcp_prepare(d->fd);
	dial_done(d);
}

static void tcp_on_found(uv_getaddrinfo_t *ask, int status, struct addrinfo *found)
{
	struct link_dial *d = ask->data;

	free(ask);
	if (!d) { /* the dial has ended meanwhile */
		uv_freeaddrinfo(found);
		return;
	}
	d->ask = NULL;
	if (status) {
		fault_set(&d->fault, FAULT_UNAVAILABLE, "", "%.200s: %s", d->to.path,
			  uv_strerror(status));
		dial_failed(d);
		return;
	}
	d->found = d->next = found;
	try_next(d);
}

static void tcp_dial(struct link_dial *d)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char port[8];
	int rc;

	dial_step(d, DIAL_NAMING);
	d->ask = xcalloc(1, sizeof(*d->ask));
	d->ask->data = d;
	name_port(&d->to, d->port, port);
	rc = uv_getaddrinfo(d->loop, d->ask, tcp_on_found, d->to.path, port, &hints);
	if (!rc)
		return;
	free(d->ask);
	d->ask = NULL;
	dial_errno(d, -rc);
	dial_failed(d);
}

/* --- TCP: listening ------------------------------------------------------------- */

static int tcp_listen(struct link_ear *ear, struct fault *f)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char port[8];
	int rc;

	name_port(&ear->at, ear->port, port);
	rc = getaddrinfo(ear->at.path, port, &hints, &found);
	if (rc)
		return fault_set(f, FAULT_IO, "", "cannot listen at %.200s: %s",
				 ear->at.path, gai_strerror(rc));
	ear->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ear->fd >= 0)
		set(ear->fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (ear->fd < 0 || bind(ear->fd, found->ai_addr, found->ai_addrlen))
		rc = fault_set(f, FAULT_IO, "", "cannot listen at %.200s port %s: %s",
			       ear->at.path, port, strerror(errno));
	freeaddrinfo(found);
	return rc;
}

static bool tcp_admit(int fd, struct link_caller *who)
{
	tcp_prepare(fd);
	who->stranger = true;
	return true;
}

const struct transport link_tcp = { tcp_dial, tcp_listen, tcp_admit };

/*
 * Unix sockets. Only root and the user who owns a socket's file may connect to the socket.
 */

/* Makes the address of a socket's file in a folder. The folder's path may be of any length,
 * since the address contains only a descriptor of the folder. Returns this descriptor, which
 * the caller closes after bind() or connect(). Returns -1 with errno on failure. */
static int unix_name(const char *folder, const char *name, struct sockaddr_storage *at,
		     socklen_t *size)
{
	struct sockaddr_un *un = (struct sockaddr_un *)at;
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int n;

	if (fd < 0)
		return -1;
	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	*size = sizeof(*un);
	n = snprintf(un->sun_path, sizeof(un->sun_path), "/proc/self/fd/%d/%s", fd, name);
	if (n < (int)sizeof(un->sun_path))
		return fd;
	close(fd);
	errno = ENAMETOOLONG;
	return -1;
}

/* Whether the peer of a Unix socket runs as this user or as root. */
static bool unix_admit(int fd, struct link_caller *who)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	(void)who;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

/* Makes a Unix socket whose file is `name` in a folder. Only this user may use the file. The
 * caller then listens at the socket. Returns the socket's descriptor, or -1 and a fault. */
static int unix_bind(const char *folder, const char *name, struct fault *f)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage at;
	socklen_t size;
	int dir = unix_name(folder, name, &at, &size), rc = -1;

	if (dir >= 0 && fd >= 0) {
		unlinkat(dir, name, 0);
		/* umask() is not used, since umask() would change all threads. Before listen()
		 * nobody can connect to the socket. The socket's folder belongs to this user
		 * and has the mode 0700. */
		rc = bind(fd, (struct sockaddr *)&at, size);
		if (rc == 0)
			rc = fchmodat(dir, name, 0600, 0);
	}
	if (rc)
		fault_set(f, FAULT_IO, "", "cannot listen at %.300s/%s: %s", folder, name,
			  strerror(errno));
	if (dir >= 0)
		close(dir);
	if (rc && fd >= 0)
		close(fd);
	return rc ? -1 : fd;
}

static const char *unix_name_of(unsigned port)
{
	return port == LINK_CONTROL ? "control.sock"
	       : port == LINK_RELAY ? "relay.sock"
				    : "door.sock";
}

static void socket_on_connected(struct link_dial *d)
{
	if (dial_connected(d))
		dial_done(d);
	else
		dial_failed(d);
}

void dial_at(struct link_dial *d, const char *folder, const char *name,
	     void (*step)(struct link_dial *d))
{
	struct sockaddr_storage at;
	socklen_t size;
	int dir = unix_name(folder, name, &at, &size);

	if (dir < 0)
		dial_errno(d, errno);
	if (dir < 0 || dial_connect(d, &at, size, step))
		dial_failed(d);
	if (dir >= 0)
		close(dir);
}

static void unix_dial(struct link_dial *d)
{
	dial_at(d, d->to.path, unix_name_of(d->port), socket_on_connected);
}

static bool unix_look_at(const struct link_ear *ear, struct stat *st)
{
	char path[sizeof(ear->at.path) + 32];

	snprintf(path, sizeof(path), "%s/%s", ear->at.path, unix_name_of(ear->port));
	return lstat(path, st) == 0;
}

/* Whether the file that the socket made is still at the socket's path. */
static bool socket_heard(const struct link_ear *ear)
{
	struct stat st;

	return unix_look_at(ear, &st) && st.st_dev == ear->dev && st.st_ino == ear->ino;
}

bool link_heard(const struct link_ear *ear)
{
	return ear && (ear->at.kind != LINK_UNIX || socket_heard(ear));
}

static int unix_listen(struct link_ear *ear, struct fault *f)
{
	struct stat st;

	ear->fd = unix_bind(ear->at.path, unix_name_of(ear->port), f);
	if (ear->fd < 0 || !unix_look_at(ear, &st))
		return ear->fd < 0 ? f->code
				   : 0; /* the file was removed: see socket_heard() */
	ear->dev = st.st_dev;
	ear->ino = st.st_ino;
	return 0;
}

const struct transport link_unix = { unix_dial, unix_listen, unix_admit };

/*
 * The vsock of Firecracker and Cloud Hypervisor. On the host, this vsock is a Unix socket.
 *
 *	host to guest    connect to PATH, send `CONNECT 5000\n`, read `OK n\n`
 *	guest to host    the guest dials CID 2; the VMM connects to PATH_5000
 *
 * The guest itself listens at vsock:any.
 */

/* Splits the path of the vsock's Unix socket into its folder and its name. */
static const char *hybrid_split(const struct link_address *a, char folder[512])
{
	const char *slash = strrchr(a->path, '/');

	snprintf(folder, 512, "%.*s", slash > a->path ? (int)(slash - a->path) : 1,
		 a->path);
	return slash + 1;
}

/* Reads the line with the VMM's answer, byte by byte. Does not read beyond the line, since the
 * bytes after the line come from the guest. Returns true when the line is complete, or when the
 * buffer is full. */
static bool hybrid_take_line(struct link_dial *d)
{
	char *at = d->line + d->n_line;
	ssize_t n = 1;

	while (n == 1 && d->n_line < sizeof(d->line) &&
	       (d->n_line == 0 || at[-1] != '\n'))
		if ((n = recv(d->fd, at, 1, 0)) == 1) {
			d->n_line++;
			at++;
		}
	if (n < 0 && errno != EAGAIN)
		dial_errno(d, errno);
	else if (n == 0)
		fault_set(&d->fault, FAULT_UNAVAILABLE, "",
			  "the VMM closed the connection: nobody listens at port %u "
			  "in the guest",
			  d->port);
	return n == 1;
}

static void on_line(struct link_dial *d)
{
	bool whole = hybrid_take_line(d);

	if (whole && d->line[d->n_line - 1] != '\n')
		fault_set(&d->fault, FAULT_INVALID, "", "not a VMM's vsock socket");
	else if (whole && (d->n_line < 4 || strncmp(d->line, "OK ", 3)))
		fault_set(&d->fault, FAULT_UNAVAILABLE, "", "the VMM said: %.*s",
			  (int)d->n_line - 1, d->line);
	if (d->fault.code)
		dial_failed(d);
	else if (whole)
		dial_done(d);
	else
		dial_await(d, UV_READABLE, on_line);
}

static void hybrid_on_connected(struct link_dial *d)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "CONNECT %u\n", d->port);

	if (dial_connected(d) && send(d->fd, line, (size_t)n, MSG_NOSIGNAL) != n)
		dial_errno(d, errno);
	if (d->fault.code)
		dial_failed(d);
	else
		dial_await(d, UV_READABLE, on_line);
}

static void hybrid_dial(struct link_dial *d)
{
	char folder[512];
	const char *name = hybrid_split(&d->to, folder);

	dial_at(d, folder, name, hybrid_on_connected);
}

/* Listens at PATH_PORT: the VMM connects to this path when the guest dials the port. */
static int hybrid_listen(struct link_ear *ear, struct fault *f)
{
	char folder[512], name[300];

	snprintf(name, sizeof(name), "%.280s_%u", hybrid_split(&ear->at, folder),
		 ear->port);
	ear->fd = unix_bind(folder, name, f);
	return ear->fd < 0 ? f->code : 0;
}

const struct transport link_hybrid = { hybrid_dial, hybrid_listen, unix_admit };

/*
 * vsock sockets between a VM and its host. The kernel gives the host the caller's context id,
 * so the host knows which VM calls.
 */

static struct sockaddr_vm address(const struct link_address *a, unsigned port)
{
	return (struct sockaddr_vm){
		.svm_family = AF_VSOCK,
		.svm_port = port,
		.svm_cid = a->number == LINK_CID_ANY ? VMADDR_CID_ANY
						     : (unsigned)a->number,
	};
}

static void vsock_dial(struct link_dial *d)
{
	struct sockaddr_vm at = address(&d->to, d->port);

	if (d->to.number == LINK_CID_ANY)
		fault_set(&d->fault, FAULT_INVALID, "",
			  "vsock:any is no guest's address");
	if (d->fault.code || dial_connect(d, &at, sizeof(at), socket_on_connected))
		dial_failed(d);
}

static int vsock_listen(struct link_ear *ear, struct fault *f)
{
	struct sockaddr_vm at = address(&ear->at, ear->port);

	ear->fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ear->fd < 0 || bind(ear->fd, (struct sockaddr *)&at, sizeof(at)))
		return fault_set(f, FAULT_IO, "", "cannot listen at vsock port %u: %s",
				 ear->port, strerror(errno));
	return 0;
}

static bool vsock_admit(int fd, struct link_caller *who)
{
	struct sockaddr_vm peer;
	socklen_t size = sizeof(peer);

	if (getpeername(fd, (struct sockaddr *)&peer, &size))
		return false;
	who->cid = peer.svm_cid;
	return true;
}

const struct transport link_vsock = { vsock_dial, vsock_listen, vsock_admit };
