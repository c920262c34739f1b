/*
 * net_link - makes the bridge and the taps, and tells the kernel their addresses, over
 * rtnetlink.
 */
#ifndef CORE_MACHINE_NET_NET_LINK_H
#define CORE_MACHINE_NET_NET_LINK_H

#include "core/machine/net/net.h"
#include "core/machine/net/net_talk.h"

/* Makes the bridge if needed, and sets it up. The bridge has only the gateway's address, and
 * answers ARP for the whole range. Stores the bridge's index in `*index`. If another interface
 * has the range, fails with a conflict. */
int net_bridge_make(struct net_talk *t, const struct net_plan *plan, int *index,
		    struct fault *f);

/* Makes the tap of a member if no tap has that name. Adds the tap to the bridge, as a port that
 * reaches no other port. Tells the bridge and this machine behind which interface the member's
 * addresses are. */
int net_tap_join(struct net_talk *t, int bridge, const struct net_member *m,
		 struct fault *f);

/* Removes the taps with this tag that belong to no member of the plan; with `all`, also removes
 * the bridge. */
int net_links_trim(struct net_talk *t, const struct net_plan *plan, bool all,
		   struct fault *f);

/* Removes the machine's neighbor entries for addresses that no member of the plan has. */
int net_neighbors_trim(struct net_talk *t, int bridge, const struct net_plan *plan,
		       struct fault *f);

/* Stores at most `n` names of interfaces through which default routes lead. Returns the number
 * of names. */
int net_uplinks(struct net_talk *t, char (*names)[NET_NAME], int n, struct fault *f);

/* Writes `value` to /proc/sys/net/PATH, in which NAME replaces `*`. */
int net_switch(const char *path, const char *name, const char *value);
bool net_switch_is(const char *path, const char *name, const char *value);

#endif
