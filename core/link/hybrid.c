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

#include "core/link/link_inside.h"

/* Splits PATH into its folder and its name. */
static const char *hybrid_split(const struct link_address *a, char folder[512])
{
	const char *slash = strrchr(a->path, '/');

	snprintf(folder, 512, "%.*s", slash > a->path ? (int)(slash - a->path) : 1,
		 a->path);
	return slash + 1;
}

/* Takes bytes of the line that the VMM answers with, and not one behind it: what
 * follows is the guest's.  Whether the line, or what there may be of it, is whole. */
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
			  "the VMM closed: nobody listens at port %u in the guest",
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

	unix_dial_at(d, folder, name, hybrid_on_connected);
}

/* Listens where the VMM passes on what the guest dials. */
static int hybrid_listen(struct link_ear *ear, struct fault *f)
{
	char folder[512], name[300];

	snprintf(name, sizeof(name), "%.280s_%u", hybrid_split(&ear->at, folder),
		 ear->port);
	ear->fd = unix_bind(folder, name, f);
	return ear->fd < 0 ? f->code : 0;
}

const struct transport link_hybrid = { hybrid_dial, hybrid_listen, unix_admit };
