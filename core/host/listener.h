/*
 * listener - the host's Unix sockets.
 *
 * The sockets' folder may be removed while the host runs: after the last logout of its user, or
 * by a cleaner of old files. The host looks for its sockets every two seconds, and makes
 * missing sockets anew.
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
	const char *name; /* name of the socket; NULL: the host's own socket */
	char path[200];
	dev_t dev; /* device and inode of the socket's file */
	ino_t ino;
	uv_connection_cb on_caller;
};

/* The host's own socket, and the timer that looks for all sockets. */
struct sockets {
	struct host_socket own;
	uv_timer_t look; /* looks whether the sockets still exist */
	struct log_pause swept; /* pauses the log of sockets that cannot be made anew */
};

/* Listens at a socket of the host, such as the socket of the HTTP door. Replaces an old socket
 * file at the path. The lock file shows that no other host uses the old socket. */
int host_listen_at(struct host *host, struct host_socket *s, const char *name,
		   uv_connection_cb on_caller, struct fault *f);
/* Closes a socket and removes its file. Does nothing if the socket was never open. */
void host_socket_close(struct host_socket *s);
/* Whether the peer of a Unix socket is this user or root; both are operators. */
bool host_knows_peer(int fd);

#endif
