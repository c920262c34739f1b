/*
 * net - the network of VMs on this machine, as a table of functions.
 *
 * apply() takes the plan of the whole network and carries it out: a bridge that has
 * the gateway's address, a tap per member, and the rules that say which member
 * reaches which.  apply() may be repeated, with the same plan or another plan.  Traffic that the
 * old and the new plan allow is not interrupted; traffic that neither plan allows never
 * passes.  A tap joins the bridge only when the rules that pin its addresses are in
 * force, and leaves the bridge before those rules are gone.  Interfaces, tables and
 * forwarding of other programs are left alone.
 *
 * All functions may take some milliseconds and run on any one thread at a time.
 */
#ifndef CORE_MACHINE_NET_NET_H
#define CORE_MACHINE_NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fault.h"

enum { NET_NAME = 16 /* an interface's name, with its end */ };

/* A VM.  Addresses are in host order. */
struct net_member {
	char tap[NET_NAME];
	uint8_t mac[6];
	uint32_t ip;
	uint32_t team; /* members of a team reach each other; not 0, below 2^31 */
	uint32_t parent; /* a sub-team's lead reaches members of this team; 0: none */
	bool internet, inter_vm;
	bool all_ports; /* open to whom it is reached by; else `ports` are */
	const uint16_t *ports; /* borrowed */
	size_t n_ports;
};

/* A port of this machine that leads to a member's. */
struct net_forward {
	uint32_t ip; /* the member's */
	uint8_t protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	uint16_t port, to;
	bool open; /* to other machines too; else at 127.0.0.1 only */
};

/* The wanted state of the network; its arrays are borrowed until the call ends. */
struct net_plan {
	char tag[5]; /* ends the names of all that is made: br-cadreTAG, … */
	uint32_t base; /* first address of the range; the next one is the gateway */
	int prefix;
	const struct net_member *members;
	size_t n_members;
	const struct net_forward *forwards;
	size_t n_forwards;
};

struct network {
	void *self;
	/* Makes the plan true; a fault leaves the rules as they were. */
	int (*apply)(void *self, const struct net_plan *plan, struct fault *f);
	/* Whether all rules of the plan applied last are still there: another
	 * program may have flushed them. */
	bool (*intact)(void *self);
	/* Ends it all: rules, taps, bridge. */
	int (*remove)(void *self, const char *tag, struct fault *f);
	/* Whether remove() has something to remove; needs no privileges. */
	bool (*present)(void *self, const char *tag);
};

#endif
