/*
 * link_address - the address of a guest, as text.
 *
 *	unix:FOLDER      control.sock and relay.sock in it
 *	vsock:CID        ports 5000 and 5001 of a VM; vsock:any to listen
 *	serial:FOLDER    one virtio-serial port per channel: a host dials
 *	                 control.serial and relay.serial in it, a guest opens
 *	                 cadre.control and cadre.relay
 *	hybrid:PATH      the vsock socket of a Firecracker or Cloud Hypervisor
 *	tcp:HOST:PORT    PORT stands for 5000, PORT + 1 for 5001; [HOST] for IPv6
 *
 * Folders and paths are absolute. This file opens no sockets; core/link/ does.
 */
#ifndef CORE_BASE_LINK_ADDRESS_H
#define CORE_BASE_LINK_ADDRESS_H

#include <stdint.h>

#include "core/base/fault.h"

enum link_kind { LINK_UNIX, LINK_VSOCK, LINK_SERIAL, LINK_HYBRID, LINK_TCP };

/* Ports of a guest. LINK_DOOR is no port number: it means door.sock of unix:FOLDER. No other
 * form of address has a door. */
enum { LINK_CONTROL = 5000, LINK_RELAY = 5001, LINK_DOOR = 0 };

enum { LINK_KINDS = LINK_TCP + 1, LINK_CID_ANY = -1 };

struct link_address {
	enum link_kind kind;
	char path[512]; /* folder, socket or TCP host */
	int64_t number; /* CID (LINK_CID_ANY: any) or TCP port */
};

/* Reads an address. A fault names the argument `where`. */
int link_parse(const char *text, const char *where, struct link_address *out,
	       struct fault *f);

#endif
