/*
 * switch - a relay between a test and a guest that listens somewhere else.
 *
 * The relay is a separate process with a thread for each connection, and dies with the test.
 * `front` is a folder with control.sock and relay.sock. switch_front() uses link_dial(), as a
 * host does, to connect each client of control.sock or relay.sock to the same port of
 * `address`.
 */
#ifndef TESTS_LIB_SWITCH_H
#define TESTS_LIB_SWITCH_H

#include <stdbool.h>
#include <sys/types.h>

/* Each switch function starts a process, waits for the process's sockets, and returns the pid. */

pid_t switch_front(const char *front, const char *address);

/* Serves a VMM's vsock socket at `path` for a guest that listens at unix:`guest`. */
pid_t switch_vmm(const char *path, const char *guest);

/* Serves QEMU's two serial ports, which are sockets in the folder `host`, and devices (links to
 * pseudo terminals) in the folder `guest`. */
pid_t switch_qemu(const char *host, const char *guest);

/* Whether this kernel can connect vsock to itself. */
bool switch_has_vsock(void);

#endif
