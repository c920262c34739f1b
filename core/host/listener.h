/*
 * listener - the host's Unix socket.
 */
#ifndef LISTENER_H
#define LISTENER_H

#include "core/fault.h"

struct host;

/* A socket that nobody answers is taken over: the lock file says that no other
 * host runs. */
int host_listen(struct host *host, struct fault *f);
void host_deafen(struct host *host);

#endif
