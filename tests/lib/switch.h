/*
 * switch - a relay between a test and a guest that listens somewhere else.
 *
 * A thread per connection, in a process of its own, which dies with the test.
 * `front` is a folder with control.sock and relay.sock: a client of a socket is
 * connected to the same port of an address by link_dial(), as a host would.
 */
#ifndef TESTS_LIB_SWITCH_H
#define TESTS_LIB_SWITCH_H

#include <stdbool.h>
#include <sys/types.h>

/* Each starts a process and returns its pid, once its sockets are there. */

pid_t switch_front(const char *front, const char *address);

/* A VMM's vsock socket at `path` for a guest that listens at unix:`guest`. */
pid_t switch_vmm(const char *path, const char *guest);

/* QEMU's two serial ports: sockets in the folder `host`, devices (links to
 * pseudo terminals) in the folder `guest`. */
pid_t switch_qemu(const char *host, const char *guest);

/* Whether this kernel connects vsock to itself. */
bool switch_has_vsock(void);

#endif
