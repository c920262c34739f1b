/*
 * switch - relays between a test's sockets and the address at which a guest really listens.
 *
 * The relay is a separate process with a thread for each connection, and dies with the test.
 * `front` is a folder with control.sock and relay.sock. switch_front() connects the clients of
 * control.sock to the control port of `address`, and the clients of relay.sock to the relay
 * port. For this it uses link_dial(), as a host does.
 */
#ifndef TESTS_LIB_SWITCH_H
#define TESTS_LIB_SWITCH_H

#include <stdbool.h>
#include <sys/types.h>

/* Each switch function starts a process, waits for the process's sockets, and returns the pid. */

pid_t switch_front(const char *front, const char *address);

/* Acts as a VMM's vsock socket at `path`, and relays to a guest that listens at unix:`guest`. */
pid_t switch_vmm(const char *path, const char *guest);

/* Acts as QEMU's two serial ports. Each port is a socket in the folder `host` and a device (a
 * symlink to a pseudo terminal) in the folder `guest`. */
pid_t switch_qemu(const char *host, const char *guest);

/* Whether this kernel supports vsock connections within the same machine. */
bool switch_has_vsock(void);

#endif
