/*
 * listener - the host's Unix sockets.
 *
 * Their folder goes with its user's last login, or is swept, while the host lives on: it looks
 * every two seconds whether they are there, and makes them anew.
 */
#ifndef CORE_HOST_LISTENER_H
#define CORE_HOST_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "core/host/log.h"

struct host;

struct host_socket {
	uv_pipe_t pipe;
	const char *name; /* beside the host's own socket; NULL: that itself */
	char path[200];
	dev_t dev; /* its file's */
	ino_t ino;
	uv_connection_cb on_caller;
};

/* The host's own socket, and the look for all of them. */
struct sockets {
	struct host_socket own;
	uv_timer_t look; /* whether the sockets are there */
	struct log_pause swept; /* they are gone, and cannot be made anew */
};

/* Listens at a socket of ours, as the HTTP door's.  A socket that nobody answers is taken over:
 * the lock file says that no other host runs. */
int host_listen_at(struct host *host, struct host_socket *s, const char *name,
		   uv_connection_cb on_caller, struct fault *f);
/* Closes a socket and removes its file.  The socket may never have been open. */
void host_socket_close(struct host_socket *s);
/* Whether the peer of a Unix socket is this user or root: these are operators. */
bool host_knows_peer(int fd);

#endif
