/*
 * machine - the name and the address of the VM in which a guest runs.
 *
 * The name and the address are set by system calls, since a root file system need not have the
 * commands `ip` and `hostname`. The fault of an invalid name or address is FAULT_INVALID. The
 * fault of any other error is FAULT_IO.
 */
#ifndef GUEST_MACHINE_H
#define GUEST_MACHINE_H

#include <stddef.h>

#include "core/base/fault.h"

/* Names the machine, also in /etc/hostname and /etc/hosts. Returns 0 or a fault. A name has 1
 * to 63 characters of a-z A-Z 0-9 and -. Its first and last characters are not -. */
int machine_set_name(const char *name, struct fault *f);

/* Checks a name without setting it: returns 0 or a fault. */
int machine_check_name(const char *name, struct fault *f);

/* Gives the first network interface the IPv4 `address`, with the prefix /16 unless `address`
 * names another prefix. Also sets the default route through `gateway`, and the name servers in
 * /etc/resolv.conf. Returns 0 or a fault. A second call replaces the old settings. */
int machine_set_address(const char *address, const char *gateway, const char *const *dns,
			size_t n_dns, struct fault *f);

#endif
