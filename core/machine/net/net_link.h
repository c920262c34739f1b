/*
 * net_link - makes the bridge and the taps over rtnetlink, and tells the kernel their
 * addresses.
 */
#ifndef CORE_MACHINE_NET_NET_LINK_H
#define CORE_MACHINE_NET_NET_LINK_H

#include "core/machine/net/net.h"
#include "core/machine/net/net_talk.h"

/* Makes the bridge if it does not exist, and sets the bridge up. The bridge has only the
 * gateway's address, and answers ARP for the whole range of addresses. Stores the bridge's
 * index in `*index`. Fails with `conflict` if addresses of the range are behind another
 * interface. */
int net_bridge_make(struct net_talk *t, const struct net_plan *plan, int *index,
		    struct fault *f);

/* Makes the tap of a member if the tap does not exist. Adds the tap to the bridge, as a port
 * that reaches no other port. Tells the kernel that the member's hardware address is behind the
 * tap, and its IPv4 address behind the bridge. */
int net_tap_join(struct net_talk *t, int bridge, const struct net_member *m,
		 struct fault *f);

/* Removes the taps that have the plan's tag and belong to no member of the plan. If `all` is
 * set, also removes the bridge. */
int net_links_trim(struct net_talk *t, const struct net_plan *plan, bool all,
		   struct fault *f);

/* Looks at the machine's permanent neighbor entries for the bridge, and removes each entry
 * whose address no member of the plan has. */
int net_neighbors_trim(struct net_talk *t, int bridge, const struct net_plan *plan,
		       struct fault *f);

/* Stores the names of interfaces through which default routes lead, at most `n` names. Returns
 * the number of names, or a fault. */
int net_uplinks(struct net_talk *t, char (*names)[NET_NAME], int n, struct fault *f);

/* Writes `value` to the file /proc/sys/net/PATH. PATH is `path` with `name` in place of `*`. */
int net_switch(const char *path, const char *name, const char *value);
bool net_switch_is(const char *path, const char *name, const char *value);

#endif
