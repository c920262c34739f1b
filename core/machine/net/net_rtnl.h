/*
 * net_rtnl - messages of rtnetlink, and what interfaces there are.
 */
#ifndef CORE_MACHINE_NET_NET_RTNL_H
#define CORE_MACHINE_NET_NET_RTNL_H

#include "core/machine/net/net.h"
#include "core/machine/net/net_talk.h"

struct rtnl {
	char bytes[1024] __attribute__((aligned(8)));
	struct nlmsghdr *h;
};

/* Begins a message; returns its header behind netlink's, of `size` bytes. */
void *rtnl_begin(struct net_talk *t, struct rtnl *m, uint16_t type, uint16_t flags,
		 size_t size);
/* Sends the message; 0 or a negative errno. */
int rtnl_send(struct net_talk *t, struct rtnl *m);

/* The payload of attribute `type` behind a header of `size` bytes; NULL. */
const void *rtnl_attribute(const struct nlmsghdr *h, size_t size, int type);
/* Returns the first four bytes of a payload as a number; 0 for NULL. */
int rtnl_number(const void *payload);

static inline uint32_t network_order(uint32_t n)
{
	return __builtin_bswap32(n);
}

struct net_link {
	int index, master;
	char name[NET_NAME];
};

struct net_links {
	struct net_link *all; /* free() it */
	size_t n;
};

int links_read(struct net_talk *t, struct net_links *links, struct fault *f);
const char *links_name(const struct net_links *links, int index); /* "?" if none */
/* Finds the interface of this name; its index is 0 if there is none. */
int link_find(struct net_talk *t, const char *name, struct net_link *found,
	      struct fault *f);
int rtnl_link_up(struct net_talk *t, int index); /* 0 or a negative errno */

#endif
