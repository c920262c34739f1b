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

/* 1 to 63 of a-z A-Z 0-9 -, not first or last; also into /etc/hostname and
 * /etc/hosts. */
int machine_set_name(const char *name, struct fault *f);

int machine_check_name(const char *name, struct fault *f);

/* IPv4 `address` of the first network interface, with /16 unless it says
 * another prefix; the way out by `gateway`, name servers into /etc/resolv.conf.
 * Repeated: the new ones stand in place of the old. */
int machine_set_address(const char *address, const char *gateway, const char *const *dns,
			size_t n_dns, struct fault *f);

/* The loopback interface is up afterwards, if there is one. */
void machine_raise_loopback(void);

#endif
