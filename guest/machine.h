/*
 * machine - the name and the address of the machine that a guest has to itself.
 *
 * Done by system calls: a root file system need not have `ip` or `hostname`.
 * Faults: FAULT_INVALID for what is no name or address, FAULT_IO for the rest.
 */
#ifndef GUEST_MACHINE_H
#define GUEST_MACHINE_H

#include <stddef.h>

#include "core/base/fault.h"

/* Names the machine, also in /etc/hostname and /etc/hosts: 0 or a fault.  A name has 1 to
 * 63 of a-z A-Z 0-9 -, the - not first or last. */
int machine_set_name(const char *name, struct fault *f);

/* Checks a name without setting it: 0 or a fault. */
int machine_check_name(const char *name, struct fault *f);

/* Gives the first network interface the IPv4 `address`, with /16 unless it says another
 * prefix, the route out by `gateway`, and name servers in /etc/resolv.conf: 0 or a fault.
 * A second call puts the new ones in place of the old. */
int machine_set_address(const char *address, const char *gateway, const char *const *dns,
			size_t n_dns, struct fault *f);

#endif
