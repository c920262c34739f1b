/*
 * machine - sets the name and the address of the VM in which a guest runs.
 *
 * The name and the address are set by system calls, since a root file system need not have the
 * commands `ip` and `hostname`. An invalid name or address fails with FAULT_INVALID. All other
 * errors fail with FAULT_IO.
 */
#ifndef GUEST_MACHINE_H
#define GUEST_MACHINE_H

#include <stddef.h>

#include "core/base/fault.h"

/* Sets the name of the machine, and writes the name into /etc/hostname and /etc/hosts. Returns
 * 0 or a fault. A machine's name has 1 to 63 characters of a-z A-Z 0-9 and -. The name's first
 * and last characters are not -. */
int machine_set_name(const char *name, struct fault *f);

/* Checks whether the machine can have the name `name`. Returns 0 or a fault. */
int machine_check_name(const char *name, struct fault *f);

/* Gives the first network interface the IPv4 `address`, with the prefix /16 unless `address`
 * names another prefix. Also sets the default route through `gateway`, and the name servers in
 * /etc/resolv.conf. Returns 0 or a fault. A second call replaces the settings of the first
 * call. */
int machine_set_address(const char *address, const char *gateway, const char *const *dns,
			size_t n_dns, struct fault *f);

#endif
