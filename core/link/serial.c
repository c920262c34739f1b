/*
 * Links over serial ports, one port for each channel. A port of QEMU's virtio-serial is a Unix
 * socket on the host and a character device in the guest.
 *
 * The port exists even if no process uses its other end, and the port keeps bytes that nobody
 * has read. So each conversation on the port begins with marks (mark.h). A pump copies the
 * conversation's bytes between the port and one end of a socket pair. The user of the link has
 * the other end. At the end of the conversation the pump closes its end, as if a connection
 * ended.
 *
 *	host                                  guest
 *	dials: '?' nonce        ------->      a new conversation: socket pair
 *	socket pair, dialled    <-------      '!' nonce
 *	... frames, both ways ...
 *	closes, dials anew      <-------      '*': the guest began anew, or its
 *	                                      end was closed
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/link/link_inside.h"
#include "core/wire/mark.h"

enum {
	ROOM = 32 << 10,
	QUIET_MS = 200, /* pause before a closed port is polled again */
};

/* Bytes that the pump copies in one direction. */
struct pipe {
	char data[ROOM];
	size_t at, len;
};

struct pump {
	uv_loop_t *loop;
	uv_poll_t port_poll;
	uv_poll_t *pair_poll; /* polls the socket pair; NULL: no conversation */
	uv_timer_t quiet;
	int port, pair;
	int handles;
	bool closing, host;
	struct mark_reader marks;
	char nonce[MARK_NONCE + 1]; /* nonce of the conversation; "": no nonce yet */
	struct pipe in, out; /* in: bytes from the port; out: bytes to the port */
	struct link_dial *dial; /* on the host: the dial that waits for the conversation */
	struct link_ear *ear; /* in the guest: the listener that gets the conversation */
};

static void serial_watch(struct pump *p);

/* --- the end of a pump ---------------------------------------------------------- */

static void serial_on_closed(uv_handle_t *handle)
{
	struct pump *p = handle->data;

	if (--p->handles == 0)
		free(p);
}

static void on_pair_closed(uv_handle_t *handle)
{
	free(handle);
}

static void drop_pair(struct pump *p)
{
	if (!p->pair_poll)
		return;
	uv_close((uv_handle_t *)p->pair_poll, on_pair_closed);
	close(p->pair);
	p->pair_poll = NULL;
	p->in.at = p->in.len = 0;
}

void pump_close(struct pump *p)
{
	if (p->closing)
		return;
	p->closing = true;
	drop_pair(p);
	uv_close((uv_handle_t *)&p->port_poll, serial_on_closed);
	uv_close((uv_handle_t *)&p->quiet, serial_on_closed);
	close(p->port);
}

/* Ends the host's pump after an error. If a dial waits for the conversation, the dial fails. On
 * the host, each conversation has its own pump and its own socket to the port. */
static void serial_fail(struct pump *p, int error)
{
	struct link_dial *d = p->dial;

	if (d) {
		d->pump = NULL;
		p->dial = NULL;
		dial_errno(d, error);
		dial_failed(d);
	}
	pump_close(p);
}

/* --- conversations -------------------------------------------------------------- */

/* Sends a mark. The mark replaces all unsent bytes, since the unsent bytes belong to a
 * conversation that has ended. */
static void serial_say(struct pump *p, enum mark kind)
{
	p->out.at = 0;
	p->out.len = MARK_SIZE;
	mark_write(p->out.data, kind, *p->nonce ? p->nonce : "0000000000000000");
}

/* Makes the socket pair of a conversation. Returns the end for the user of the link, or -1. */
static int open_pair(struct pump *p)
{
	uv_poll_t *poll = calloc(1, sizeof(*poll));
	int ends[2];

	if (!poll ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)) {
		free(poll);
		return -1;
	}
	if (uv_poll_init(p->loop, poll, ends[0])) {
		close(ends[0]);
		close(ends[1]);
		free(poll);
		return -1;
	}
	poll->data = p;
	p->pair = ends[0];
	p->pair_poll = poll;
	return ends[1];
}

static void hear_as_host(struct pump *p, enum mark kind, const char *nonce)
{
	struct link_dial *d = p->dial;

	if (kind == MARK_NEW && d) {
		serial_say(p, MARK_ASK); /* the restarted guest has lost the MARK_ASK */
	} else if (kind == MARK_NEW) {
		pump_close(p);
	} else if (kind == MARK_OK && d && !strcmp(nonce, p->nonce)) {
		p->dial = NULL;
		d->pump = NULL;
		d->fd = open_pair(p);
		if (d->fd < 0)
			dial_errno(d, errno);
		dial_done(d);
	}
}

static void hear_as_guest(struct pump *p, enum mark kind, const char *nonce)
{
	const struct link_caller who = { 0 };
	int fd;

	if (kind != MARK_ASK || (p->pair_poll && !strcmp(nonce, p->nonce)))
		return;
	drop_pair(p);
	fd = open_pair(p);
	if (fd < 0)
		return;
	memcpy(p->nonce, nonce, sizeof(p->nonce));
	serial_say(p, MARK_OK);
	p->ear->called(p->ear->arg, fd, &who);
}

/* --- port to pair ---------------------------------------------------------------- */

static bool write_some(int fd, struct pipe *pipe)
{
	while (pipe->at < pipe->len) {
		ssize_t n = write(fd, pipe->data + pipe->at, pipe->len - pipe->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		pipe->at += (size_t)n;
	}
	pipe->at = pipe->len = 0;
	return true;
}

/* Ends the conversation. The guest also sends MARK_NEW to the host. */
static void hang_up(struct pump *p)
{
	if (p->host) {
		pump_close(p);
		return;
	}
	drop_pair(p);
	p->nonce[0] = '\0';
	serial_say(p, MARK_NEW);
}

static void sift(struct pump *p, const char *data, size_t len)
{
	while (len > 0 && !p->closing) {
		char clean[ROOM];
		size_t n;
		enum mark kind = mark_read(&p->marks, &data, &len, clean, &n);

		if (p->pair_poll) {
			memcpy(p->in.data + p->in.len, clean, n);
			p->in.len += n;
		}
		if (kind && p->host)
			hear_as_host(p, kind, p->marks.nonce);
		else if (kind)
			hear_as_guest(p, kind, p->marks.nonce);
	}
	if (!p->closing && p->pair_poll && !write_some(p->pair, &p->in))
		hang_up(p);
}

static void on_quiet(uv_timer_t *timer)
{
	serial_watch(timer->data);
}

/* Called when the port's other end is closed. In this case each read of the guest's device
 * returns 0, so the guest pauses before it polls the port again. */
static void serial_rest(struct pump *p)
{
	if (p->host) {
		serial_fail(p, ECONNRESET);
		return;
	}
	if (p->pair_poll)
		hang_up(p);
	uv_poll_stop(&p->port_poll);
	uv_timer_start(&p->quiet, on_quiet, QUIET_MS, 0);
}

/* Reads from the port. Returns false if the port's other end is closed. */
static bool read_port(struct pump *p)
{
	char data[ROOM - MARK_RUN];
	ssize_t n = read(p->port, data, sizeof(data));

	if (n > 0)
		sift(p, data, (size_t)n);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void on_port(uv_poll_t *poll, int status, int events)
{
	struct pump *p = poll->data;

	if (status < 0 || !write_some(p->port, &p->out) ||
	    (events & UV_READABLE && p->in.len == 0 && !read_port(p))) {
		serial_rest(p);
		return;
	}
	if (!p->closing)
		serial_watch(p);
}

/* --- pair to port ---------------------------------------------------------------- */

static void on_pair(uv_poll_t *poll, int status, int events)
{
	struct pump *p = poll->data;
	ssize_t n = 0;

	if (status < 0 || !write_some(p->pair, &p->in)) {
		hang_up(p);
	} else if (events & UV_READABLE && p->out.len == 0) {
		n = read(p->pair, p->out.data, ROOM);
		if (n > 0)
			p->out.len = (size_t)n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			hang_up(p);
	}
	if (!p->closing && !write_some(p->port, &p->out))
		serial_rest(p);
	else if (!p->closing)
		serial_watch(p);
}

/* Polls the port and the pair. A descriptor is polled for input if the buffer for its input is
 * empty. A descriptor is polled for output if bytes are left to write to the descriptor. */
static void serial_watch(struct pump *p)
{
	int port = (p->in.len ? 0 : UV_READABLE) | (p->out.len ? UV_WRITABLE : 0);
	int pair = (p->out.len ? 0 : UV_READABLE) | (p->in.len ? UV_WRITABLE : 0);

	uv_poll_start(&p->port_poll, port, on_port);
	if (p->pair_poll)
		uv_poll_start(p->pair_poll, pair, on_pair);
}

/* --- both sides ------------------------------------------------------------------ */

static struct pump *pump_open(uv_loop_t *loop, int port)
{
	struct pump *p = xcalloc(1, sizeof(*p));

	p->loop = loop;
	p->port = port;
	mark_init(&p->marks);
	if (uv_poll_init(loop, &p->port_poll, port)) {
		free(p);
		return NULL;
	}
	uv_timer_init(loop, &p->quiet);
	p->port_poll.data = p->quiet.data = p;
	p->handles = 2;
	return p;
}

static void make_nonce(char nonce[MARK_NONCE + 1])
{
	unsigned char r[MARK_NONCE / 2] = { 0 };

	uv_random(NULL, NULL, r, sizeof(r), 0, NULL);
	for (size_t i = 0; i < sizeof(r); i++)
		snprintf(nonce + 2 * i, 3, "%02x", r[i]);
}

static void serial_on_connected(struct link_dial *d)
{
	struct pump *p = NULL;
	int fd = d->fd;

	if (dial_connected(d)) {
		dial_release(d);
		p = pump_open(d->loop, fd);
		if (!p) {
			close(fd);
			dial_errno(d, errno);
		}
	}
	if (!p) {
		dial_failed(d);
		return;
	}
	p->host = true;
	p->dial = d;
	d->pump = p;
	make_nonce(p->nonce);
	serial_say(p, MARK_ASK);
	serial_watch(p);
}

static void serial_dial(struct link_dial *d)
{
	const char *name = d->port == LINK_CONTROL ? "control.serial" : "relay.serial";

	dial_at(d, d->to.path, name, serial_on_connected);
}

static int serial_listen(struct link_ear *ear, struct fault *f)
{
	const char *name = ear->port == LINK_CONTROL ? "cadre.control" : "cadre.relay";
	char path[600];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", ear->at.path, name);
	fd = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ear->pump = fd < 0 ? NULL : pump_open(ear->loop, fd);
	if (!ear->pump) {
		fault_set(f, FAULT_IO, "", "cannot open %.300s: %s", path,
			  strerror(errno));
		if (fd >= 0)
			close(fd);
		return f->code;
	}
	ear->pump->ear = ear;
	serial_say(ear->pump, MARK_NEW);
	serial_watch(ear->pump);
	return 0;
}

const struct transport link_serial = { serial_dial, serial_listen, NULL };
