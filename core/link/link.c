#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/steps.h"
#include "core/link/link_inside.h"

enum {
	PATIENCE_MS = 10000,
	BREATH_MS = 100, /* without descriptors */
	AT_ONCE = 64, /* callers taken before others have their turn */
};

static const struct transport *const transports[LINK_KINDS] = {
	[LINK_UNIX] = &link_unix,     [LINK_VSOCK] = &link_vsock,
	[LINK_SERIAL] = &link_serial, [LINK_HYBRID] = &link_hybrid,
	[LINK_TCP] = &link_tcp,
};

/* --- dialling ------------------------------------------------------------------- */

void dial_step(struct link_dial *d, enum dial_state to)
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

/* Lets go of all but d->fd; d is freed when its handles are closed. */
static void link_end(struct link_dial *d)
{
	if (d->state == DIAL_OVER)
		return;
	dial_step(d, DIAL_OVER);
	stop_polling(d);
	if (d->ask) { /* TCP frees it */
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

	(void)status; /* the step will see the error */
	(void)events;
	uv_poll_stop(poll);
	d->step(d);
}

void dial_await(struct link_dial *d, int events, void (*step)(struct link_dial *d))
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

int dial_connect(struct link_dial *d, const void *address, socklen_t size,
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

/* Takes an incoming connection.  True when there may be another one. */
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

bool link_heard(const struct link_ear *ear)
{
	return ear && (ear->at.kind != LINK_UNIX || socket_heard(ear));
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
