/*
 * listener - the host's Unix socket.
 */
#ifndef CORE_HOST_LISTENER_H
#define CORE_HOST_LISTENER_H

#include <stdbool.h>
#include <uv.h>

#include "core/base/fault.h"

struct host;

/* A socket that nobody answers is taken over: the lock file says that no other
 * host runs. */
int host_listen(struct host *host, struct fault *f);
/* The same at another path of ours, for the HTTP door. */
int host_listen_at(struct host *host, uv_pipe_t *listener, const char *path,
		   uv_connection_cb on_caller, struct fault *f);
/* Whether the peer of a Unix socket is this user or root: these are operators. */
bool host_knows_peer(int fd);
void host_deafen(struct host *host);

#endif
