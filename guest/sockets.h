/*
 * sockets - where the guest listens.
 *
 * The folder of its Unix sockets goes with its user's last login, or is swept, while the guest
 * lives on.  The guest's sockets lie beside those of its host, and host.lock says where these are now.
 */
#ifndef GUEST_SOCKETS_H
#define GUEST_SOCKETS_H

#include "guest/guest_inside.h"

/* Listens for hosts and for commands of the workspace: 0 or a fault. */
int guest_listen(struct guest *g, struct fault *f);

/* Listens anew where the sockets are gone. */
void guest_sockets_look(struct guest *g);

#endif
