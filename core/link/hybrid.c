/*
 * The vsock of Firecracker and Cloud Hypervisor, which is a Unix socket here.
 *
 *	host to guest    connect to PATH, say `CONNECT 5000\n`, be told `OK n\n`
 *	guest to host    the guest dials CID 2; the VMM connects to PATH_5000
 *
 * The guest itself listens at vsock:any.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/link/inside.h"

/* Splits PATH into its folder and its name. */
static const char *split(const struct link_address *a, char folder[512])
{
	const char *slash = strrchr(a->path, '/');

	snprintf(folder, 512, "%.*s", slash > a->path ? (int)(slash - a->path) : 1,
		 a->path);
	return slash + 1;
}

/* Takes the line that the VMM answers with, and not a byte more. */
static void on_line(struct link_dial *d)
{
	char line[64];
	ssize_t n = recv(d->fd, line, sizeof(line), MSG_PEEK);
	const char *end = n > 0 ? memchr(line, '\n', (size_t)n) : NULL;

	if (n < 0 && errno != EAGAIN)
		dial_errno(d, errno);
	else if (n == 0)
		fault_set(&d->fault, FAULT_UNAVAILABLE, "",
			  "the VMM closed: nobody listens at port %u in the guest",
			  d->port);
	else if (n == (ssize_t)sizeof(line) && !end)
		fault_set(&d->fault, FAULT_INVALID, "", "not a VMM's vsock socket");
	if (d->fault.code) {
		dial_failed(d);
	} else if (!end) {
		/* A line in pieces: libuv is level triggered, so let others run. */
		dial_await(d, UV_READABLE, on_line);
	} else if (strncmp(line, "OK ", 3)) {
		fault_set(&d->fault, FAULT_UNAVAILABLE, "", "the VMM said: %.*s",
			  (int)(end - line), line);
		dial_failed(d);
	} else if (recv(d->fd, line, (size_t)(end - line) + 1, 0) < 0) {
		dial_errno(d, errno);
		dial_failed(d);
	} else {
		dial_done(d);
	}
}

static void on_connected(struct link_dial *d)
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
	const char *name = split(&d->to, folder);

	unix_dial_at(d, folder, name, on_connected);
}

/* For what the guest dials. */
static int hybrid_listen(struct link_ear *ear, struct fault *f)
{
	char folder[512], name[300];

	snprintf(name, sizeof(name), "%.280s_%u", split(&ear->at, folder), ear->port);
	ear->fd = unix_bind(folder, name, f);
	return ear->fd < 0 ? f->code : 0;
}

const struct transport link_hybrid = { hybrid_dial, hybrid_listen, unix_admit };
