/*
 * net - the network of VMs on this machine, as a table of functions.
 *
 * apply() gets a plan of the whole network and carries it out. The network is a bridge with the
 * gateway's address, a tap for each member, and rules that say which members reach each member.
 * apply() may be repeated, with the same plan or another plan. Traffic that the old and the new
 * plan allow is not interrupted; traffic that neither plan allows never passes. A tap joins the
 * bridge only when the rules that pin its addresses are in force, and leaves the bridge before
 * those rules are removed. Interfaces, tables and forwarding of other programs are not changed.
 *
 * All functions may take some milliseconds and run on any one thread at a time.
 */
#ifndef CORE_MACHINE_NET_NET_H
#define CORE_MACHINE_NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fault.h"

enum { NET_NAME = 16 /* size of an interface's name with its NUL */ };

/* A VM.  Addresses are in host order. */
struct net_member {
	char tap[NET_NAME];
	uint8_t mac[6];
	uint32_t ip;
	uint32_t team; /* members of a team reach each other; not 0, below 2^31 */
	uint32_t parent; /* a sub-team's lead reaches members of this team; 0: no parent */
	bool internet, inter_vm;
	bool all_ports; /* members that may reach this one reach all ports; else only `ports` */
	const uint16_t *ports; /* borrowed */
	size_t n_ports;
};

/* A port of this machine that is forwarded to a member's port. */
struct net_forward {
	uint32_t ip; /* the member's address */
	uint8_t protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	uint16_t port, to;
	bool open; /* open to other machines too; else only at 127.0.0.1 */
};

/* The network that the caller wants; its arrays are borrowed until the call ends. */
struct net_plan {
	char tag[5]; /* ends the name of each interface and table: br-cadreTAG, … */
	uint32_t base; /* first address of the range; the next address is the gateway */
	int prefix;
	const struct net_member *members;
	size_t n_members;
	const struct net_forward *forwards;
	size_t n_forwards;
};

struct network {
	void *self;
	/* Carries out the plan. A fault leaves the rules unchanged. */
	int (*apply)(void *self, const struct net_plan *plan, struct fault *f);
	/* Whether all rules of the last applied plan still exist. Another program may have
	 * flushed the rules. */
	bool (*intact)(void *self);
	/* Removes the rules, the taps and the bridge. */
	int (*remove)(void *self, const char *tag, struct fault *f);
	/* Whether remove() has something to remove; needs no privileges. */
	bool (*present)(void *self, const char *tag);
};

#endif
