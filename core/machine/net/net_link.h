/*
 * net_link - the bridge, the taps and what the kernel knows of them, over
 * rtnetlink.
 */
#ifndef CORE_MACHINE_NET_NET_LINK_H
#define CORE_MACHINE_NET_NET_LINK_H

#include "core/machine/net/net.h"
#include "core/machine/net/net_talk.h"

/* Makes the bridge be there, up, with the gateway's address and no other, and
 * answering ARP for the whole range; its index is put into `*index`.  A range
 * that another interface has is a conflict. */
int net_bridge_make(struct net_talk *t, const struct net_plan *plan, int *index,
		    struct fault *f);

/* Makes the tap of a member if no tap has that name.  Joins the tap to the bridge, as a
 * port that reaches no other port.  Tells bridge and machine where the member's addresses
 * are. */
int net_tap_join(struct net_talk *t, int bridge, const struct net_member *m,
		 struct fault *f);

/* Ends the taps of this tag (and the bridge, if `all`) that no member of the
 * plan has. */
int net_links_trim(struct net_talk *t, const struct net_plan *plan, bool all,
		   struct fault *f);

/* Ends what the machine knows of members' addresses that nobody has now. */
int net_neighbors_trim(struct net_talk *t, int bridge, const struct net_plan *plan,
		       struct fault *f);

/* Gives at most `n` names of interfaces that default routes lead through; returns how
 * many. */
int net_uplinks(struct net_talk *t, char (*names)[NET_NAME], int n, struct fault *f);

/* /proc/sys/net/PATH, with NAME in the place of its `*`. */
int net_switch(const char *path, const char *name, const char *value);
bool net_switch_is(const char *path, const char *name, const char *value);

#endif
