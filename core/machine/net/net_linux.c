#include "core/machine/net/net_linux.h"

#include <linux/netlink.h>
#include <net/if.h>
#include <string.h>

#include "core/machine/net/net_link.h"
#include "core/machine/net/net_rules.h"

/* Whether the plan needs routing: some member may open connections to the outside, or other
 * machines may reach a forwarded port. */
static bool is_routed(const struct net_plan *plan)
{
	for (size_t i = 0; i < plan->n_members; i++)
		if (plan->members[i].internet)
			return true;
	for (size_t i = 0; i < plan->n_forwards; i++)
		if (plan->forwards[i].open)
			return true;
	return false;
}

/* Allows forwarding on the uplinks, since packets that arrive at an uplink are routed only if
 * the uplink allows forwarding. unroute_uplinks() later undoes the changes of this function,
 * unless the whole machine has become a router meanwhile. */
static int route_uplinks(struct net_linux *n, struct net_talk *t, struct fault *f)
{
	char names[4][NET_NAME];
	int found = net_uplinks(t, names, 4, f), error;

	for (int i = 0; i < found; i++) {
		if (net_switch_is("ipv4/conf/*/forwarding", names[i], "1"))
			continue;
		if ((error = net_switch("ipv4/conf/*/forwarding", names[i], "1")))
			return net_refused(error, "routing for VMs", f);
		if (n->n_uplinks < 4)
			memcpy(n->uplinks[n->n_uplinks++], names[i], NET_NAME);
	}
	return found < 0 ? found : 0;
}

static void unroute_uplinks(struct net_linux *n)
{
	if (net_switch_is("ipv4/*", "ip_forward", "0"))
		for (int i = 0; i < n->n_uplinks; i++)
			net_switch("ipv4/conf/*/forwarding", n->uplinks[i], "0");
	n->n_uplinks = 0;
}

/* Makes the network of a plan. A tap leaves the bridge before the rules that pin the tap's
 * addresses are removed. A tap joins the bridge after the rules that pin the tap's addresses
 * are made. */
static int net_linux_apply(struct net_linux *n, struct net_talk *t,
			   const struct net_plan *plan, struct fault *f)
{
	int bridge = 0, rc;

	if ((rc = net_links_trim(t, plan, false, f)) ||
	    (rc = net_bridge_make(t, plan, &bridge, f)) ||
	    (rc = net_rules_apply(&n->lib, plan, f)) ||
	    (rc = net_neighbors_trim(t, bridge, plan, f)))
		return rc;
	for (size_t i = 0; i < plan->n_members; i++)
		if ((rc = net_tap_join(t, bridge, &plan->members[i], f)))
			return rc;
	if (is_routed(plan) && (rc = route_uplinks(n, t, f)))
		return rc;
	memcpy(n->tag, plan->tag, sizeof(n->tag));
	return net_generation(&n->lib, &n->generation, f);
}

static int linux_apply(void *self, const struct net_plan *plan, struct fault *f)
{
	struct net_linux *n = self;
	struct net_talk talk;
	int rc = net_lib_open(&n->lib, f);

	if (rc)
		return rc;
	rc = net_talk_open(&talk, &n->lib, NETLINK_ROUTE, f);
	if (rc == 0)
		rc = net_linux_apply(n, &talk, plan, f);
	net_talk_close(&talk);
	return rc;
}

static bool linux_intact(void *self)
{
	struct net_linux *n = self;
	struct fault ignored = { 0 };
	uint32_t now;
	size_t rules;

	if (!n->lib.nftnl || net_generation(&n->lib, &now, &ignored))
		return false;
	if (now == n->generation)
		return true;
	if (net_rules_count(&n->lib, n->tag, &rules, &ignored) || rules != NET_RULES)
		return false;
	n->generation = now;
	return true;
}

static int linux_remove(void *self, const char *tag, struct fault *f)
{
	struct net_plan none = { .tag = "" };
	struct net_linux *n = self;
	struct net_talk talk;
	int rc = net_lib_open(&n->lib, f);

	if (rc)
		return rc;
	memcpy(none.tag, tag, strnlen(tag, sizeof(none.tag) - 1));
	rc = net_talk_open(&talk, &n->lib, NETLINK_ROUTE, f);
	if (rc == 0)
		rc = net_links_trim(&talk, &none, false, f);
	if (rc == 0)
		rc = net_rules_remove(&n->lib, tag, f);
	if (rc == 0) /* the bridge is removed last: present() looks for it */
		rc = net_links_trim(&talk, &none, true, f);
	net_talk_close(&talk);
	unroute_uplinks(n);
	return rc;
}

static bool linux_present(void *self, const char *tag)
{
	char bridge[NET_NAME];

	(void)self;
	net_bridge_name(bridge, tag);
	return if_nametoindex(bridge) != 0;
}

void net_linux_init(struct net_linux *n)
{
	*n = (struct net_linux){
		.network = { .self = n,
			     .apply = linux_apply,
			     .intact = linux_intact,
			     .remove = linux_remove,
			     .present = linux_present },
	};
}

void net_linux_release(struct net_linux *n)
{
	net_lib_close(&n->lib);
}
