/*
 * net_talk - sends messages to the kernel over netlink, and reads the answers.
 */
#ifndef CORE_MACHINE_NET_NET_TALK_H
#define CORE_MACHINE_NET_NET_TALK_H

#include <stdbool.h>

#include "core/machine/net/net_lib.h"

struct net_talk {
	const struct net_lib *lib;
	struct mnl_socket *socket;
	uint32_t seq;
};

/* Opens a netlink socket. `bus` is NETLINK_ROUTE or NETLINK_NETFILTER. */
int net_talk_open(struct net_talk *t, const struct net_lib *lib, int bus,
		  struct fault *f);
void net_talk_close(struct net_talk *t); /* may also be called if net_talk_open()
					    failed */

/* Sends messages, and calls `each` for each message of the answers; `each` may be NULL. To get
 * an answer, a message must have the flag NLM_F_ACK or NLM_F_DUMP. Returns 0, or the negative
 * errno of the first message that the kernel refused. */
int net_talk(struct net_talk *t, const void *messages, size_t size,
	     void (*each)(const struct nlmsghdr *h, void *data), void *data);

/* Fills a fault with a readable text for `error`, a negative errno of the kernel. */
int net_refused(int error, const char *what, struct fault *f);

#endif
