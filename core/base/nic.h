/*
 * nic - a VM's place in the network: address, tap and gateway.
 *
 * Each state has a network of its own, a range of IPv4 addresses. The range's network address
 * plus 1 is the gateway, which is this machine. The network address plus a VM's slot (2 or
 * more) is the VM's address. There is no DHCP. All names and addresses follow from the state,
 * the slot and the workspace's id. So a restarted host computes the same names and addresses.
 */
#ifndef CORE_BASE_NIC_H
#define CORE_BASE_NIC_H

#include <stdint.h>

#include "core/base/fault.h"

enum { NIC_NAME = 16 /* bytes of an interface's name, with its NUL */ };

struct nic_range {
	uint32_t base; /* the range's network address, in host order */
	int prefix;
};

struct nic {
	char tap[NIC_NAME]; /* "cd", 8 hex digits of the workspace's id, "-", 4 digits of
			       the state's tag */
	uint8_t mac[6]; /* byte 02, then the last 5 bytes of the id */
	uint32_t ip; /* in host order */
	int prefix;
	char mac_text[18], address[16], gateway[16];
};

/* Reads a range such as "10.99.0.0/16": a prefix from 8 to 28, and no bits set behind the
 * prefix. */
int nic_range_parse(const char *text, struct nic_range *range, struct fault *f);

/* Highest slot of a range. The range's last address is the broadcast address, and belongs to no
 * slot. */
int64_t nic_slots(const struct nic_range *range);

/* Names and addresses of the VM in `slot`; `id` is the public id of the VM's workspace, `tag`
 * the state's tag (see struct settings). */
void nic_of(const struct nic_range *range, const char *tag, const char *id, int64_t slot,
	    struct nic *nic);

/* Writes an address in host order as text: "10.99.0.1". */
void nic_address(uint32_t ip, char text[16]);

#endif
