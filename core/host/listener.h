/*
 * listener - the host's Unix socket.
 */
#ifndef CORE_HOST_LISTENER_H
#define CORE_HOST_LISTENER_H

#include "core/base/fault.h"

struct host;

/* A socket that nobody answers is taken over: the lock file says that no other
 * host runs. */
int host_listen(struct host *host, struct fault *f);
void host_deafen(struct host *host);

#endif
