/*
 * TCP, to a guest on another machine.  The transport proves nobody: a peer is a stranger
 * until its Hello has the token.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/link/link_inside.h"

static void set(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}

/* A machine that went away without a word is noticed within 15 s. */
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

/* --- dialling ------------------------------------------------------------------- */

static void tcp_on_connected(struct link_dial *d);

/* A name may have several addresses: each is tried. */
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
	if (!d) { /* cancelled meanwhile */
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

/* --- listening ------------------------------------------------------------------ */

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
