/*
 * net - the network of VMs on this machine, as a table of functions.
 *
 * apply() gets a plan of the whole network and makes the network of this plan. The network is a
 * bridge with the gateway's address, a tap for each member, and rules that decide which member
 * may reach which other member. apply() may be called again, with the same plan or another
 * plan. Traffic that both the old and the new plan allow is not interrupted; traffic that
 * neither plan allows never passes. A tap joins the bridge only when the rules that pin the
 * tap's addresses are in force. The tap leaves the bridge before these rules are removed.
 * Interfaces and tables of other programs are not changed. If members or forwarded ports need
 * routing, apply() switches forwarding on at the uplinks.
 *
 * A call of a function may take some milliseconds. The functions may run on any thread, but
 * never on two threads at once.
 */
#ifndef CORE_MACHINE_NET_NET_H
#define CORE_MACHINE_NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fault.h"

enum { NET_NAME = 16 /* size of an interface's name with its NUL */ };

/* A VM in the network. IPv4 addresses are in host byte order. */
struct net_member {
	char tap[NET_NAME];
	uint8_t mac[6];
	uint32_t ip;
	uint32_t team; /* team's number, 1 to 2^31 - 1; members of one team may reach each
			  other if they have `inter_vm` */
	uint32_t parent; /* for the lead of a sub-team: number of the team above; else
			    0 */
	bool internet, inter_vm;
	bool all_ports; /* other members may reach all ports; else only `ports` */
	const uint16_t *ports; /* ports that other members may reach; borrowed */
	size_t n_ports;
};

/* A port of this machine that is forwarded to a member's port. */
struct net_forward {
	uint32_t ip; /* IPv4 address of the member */
	uint8_t protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	uint16_t port, to;
	bool open; /* other machines may use the port; else only this machine */
};

/* The network that the caller wants. The arrays are borrowed until the call ends. */
struct net_plan {
	char tag[5]; /* end of the names of interfaces and tables, as in br-cadreTAG */
	uint32_t base; /* first address of the range; the next address is the gateway */
	int prefix;
	const struct net_member *members;
	size_t n_members;
	const struct net_forward *forwards;
	size_t n_forwards;
};

struct network {
	void *self;
	/* Makes the network of the plan. After a fault, a part of the plan may be in force; the
	 * caller may call apply() again. */
	int (*apply)(void *self, const struct net_plan *plan, struct fault *f);
	/* Whether all rules of the last applied plan still exist. Another program may have
	 * removed rules. */
	bool (*intact)(void *self);
	/* Removes the rules, the taps and the bridge. */
	int (*remove)(void *self, const char *tag, struct fault *f);
	/* Whether the network with this tag exists, so that remove() is needed. Needs no
	 * privileges. */
	bool (*present)(void *self, const char *tag);
};

#endif
