/*
 * listener - the host's Unix sockets.
 *
 * The folder of the sockets may be removed while the host runs. The system may remove the
 * folder after the user's last logout. A program that removes old files may also remove the
 * folder. Every two seconds the host checks that its sockets exist, and makes missing sockets
 * anew.
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
	const char *name; /* name of the socket; NULL: the socket for clients */
	char path[200];
	dev_t dev; /* device and inode of the socket's file */
	ino_t ino;
	uv_connection_cb on_caller;
};

/* The host's socket for clients, and the timer that checks all sockets. */
struct sockets {
	struct host_socket own;
	uv_timer_t look; /* checks whether the sockets still exist */
	struct log_pause swept; /* limits the log lines about sockets that cannot be made
				   anew */
};

/* Listens at a socket of the host, such as the socket of the HTTP door. Replaces an old socket
 * file at the same path. This host holds the lock file, so no other host uses the old socket
 * file. */
int host_listen_at(struct host *host, struct host_socket *s, const char *name,
		   uv_connection_cb on_caller, struct fault *f);
/* Closes a socket and removes its file. Does nothing if the socket was never open. */
void host_socket_close(struct host_socket *s);
/* Whether the peer of a Unix socket runs as this user or as root, and so is an operator. */
bool host_knows_peer(int fd);

#endif
