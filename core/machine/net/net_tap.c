#include "core/machine/net/net_link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/machine/net/net_rtnl.h"
#include "core/machine/net/net_rules.h"

/* --- taps ------------------------------------------------------------------------------ */

/* Makes a persistent tap: the interface stays when the process that opened it has
 * ended. */
static int make_tap(const char *name, struct fault *f)
{
	struct ifreq r = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC), error = 0;

	if (fd < 0) {
		fault_set(f, FAULT_UNAVAILABLE, "",
			  "a network for VMs needs "
			  "/dev/net/tun: %s",
			  strerror(errno));
		return fault_hint(f, "Load it: modprobe tun.");
	}
	memcpy(r.ifr_name, name, NET_NAME);
	if (ioctl(fd, TUNSETIFF, &r) || ioctl(fd, TUNSETOWNER, geteuid()) ||
	    ioctl(fd, TUNSETPERSIST, 1))
		error = -errno;
	close(fd);
	return error ? net_refused(error, "making a tap", f) : 0;
}

static int set_master(struct net_talk *t, int index, int master)
{
	struct rtnl m;
	struct ifinfomsg *i =
		rtnl_begin(t, &m, RTM_NEWLINK, NLM_F_ACK, sizeof(struct ifinfomsg));

	i->ifi_index = index;
	t->lib->mnl_attr_put_u32(m.h, IFLA_MASTER, (uint32_t)master);
	return rtnl_send(t, &m);
}

/* A port that frames of other ports never reach, and that learns nothing. */
static int isolate(struct net_talk *t, int index)
{
	const struct net_lib *lib = t->lib;
	struct rtnl m;
	struct nlattr *port;
	struct ifinfomsg *i =
		rtnl_begin(t, &m, RTM_SETLINK, NLM_F_ACK, sizeof(struct ifinfomsg));

	i->ifi_family = AF_BRIDGE;
	i->ifi_index = index;
	port = lib->mnl_attr_nest_start(m.h, IFLA_PROTINFO);
	lib->mnl_attr_put_u8(m.h, IFLA_BRPORT_ISOLATED, 1);
	lib->mnl_attr_put_u8(m.h, IFLA_BRPORT_LEARNING, 0);
	lib->mnl_attr_put_u8(m.h, IFLA_BRPORT_UNICAST_FLOOD, 0);
	lib->mnl_attr_put_u8(m.h, IFLA_BRPORT_MCAST_FLOOD, 0);
	lib->mnl_attr_put_u8(m.h, IFLA_BRPORT_BCAST_FLOOD, 0);
	lib->mnl_attr_nest_end(m.h, port);
	return rtnl_send(t, &m);
}

/* Tells the kernel where an address is: a hardware address behind a port of a bridge, or
 * (with `ip`) an IPv4 address behind an interface. */
static int say_neighbor(struct net_talk *t, uint16_t type, int index, const uint8_t *mac,
			uint32_t ip)
{
	uint16_t create = type == RTM_NEWNEIGH ? NLM_F_CREATE | NLM_F_REPLACE : 0;
	const uint32_t address = network_order(ip);
	struct rtnl m;
	struct ndmsg *n = rtnl_begin(t, &m, type, create | NLM_F_ACK, sizeof(*n));

	n->ndm_family = ip ? AF_INET : AF_BRIDGE;
	n->ndm_ifindex = index;
	n->ndm_state = ip ? NUD_PERMANENT : NUD_NOARP;
	n->ndm_flags = ip ? 0 : NTF_MASTER;
	if (ip)
		t->lib->mnl_attr_put(m.h, NDA_DST, sizeof(address), &address);
	if (mac)
		t->lib->mnl_attr_put(m.h, NDA_LLADDR, 6, mac);
	return rtnl_send(t, &m);
}

int net_tap_join(struct net_talk *t, int bridge, const struct net_member *m,
		 struct fault *f)
{
	struct net_link tap;
	int rc = link_find(t, m->tap, &tap, f), error;

	if (rc == 0 && !tap.index && (rc = make_tap(m->tap, f)) == 0)
		rc = link_find(t, m->tap, &tap, f);
	if (rc)
		return rc;
	net_switch("ipv6/conf/*/disable_ipv6", m->tap, "1");
	if ((tap.master != bridge && (error = set_master(t, tap.index, bridge))) ||
	    (error = isolate(t, tap.index)) ||
	    (error = say_neighbor(t, RTM_NEWNEIGH, tap.index, m->mac, 0)) ||
	    (error = say_neighbor(t, RTM_NEWNEIGH, bridge, m->mac, m->ip)) ||
	    (error = rtnl_link_up(t, tap.index)))
		return net_refused(error, "joining a tap to the bridge", f);
	return 0;
}

/* --- what is over ------------------------------------------------------------------------ */

static int delete_link(struct net_talk *t, int index)
{
	struct rtnl m;
	struct ifinfomsg *i =
		rtnl_begin(t, &m, RTM_DELLINK, NLM_F_ACK, sizeof(struct ifinfomsg));

	i->ifi_index = index;
	return rtnl_send(t, &m);
}

static bool net_tap_is_wanted(const struct net_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->n_members; i++)
		if (!strcmp(plan->members[i].tap, name))
			return true;
	return false;
}

/* cd, 8 hex digits, -, the tag: see core/base/nic.h. */
static bool is_tap_of(const char *name, const char *tag)
{
	return !strncmp(name, "cd", 2) && strspn(name + 2, "0123456789abcdef") == 8 &&
	       name[10] == '-' && !strcmp(name + 11, tag);
}

int net_links_trim(struct net_talk *t, const struct net_plan *plan, bool all,
		   struct fault *f)
{
	char bridge[NET_NAME];
	struct net_links links;
	int error = 0, rc = links_read(t, &links, f);

	net_bridge_name(bridge, plan->tag);
	for (size_t i = 0; rc == 0 && i < links.n && !error; i++) {
		const char *name = links.all[i].name;

		if ((is_tap_of(name, plan->tag) && !net_tap_is_wanted(plan, name)) ||
		    (all && !strcmp(name, bridge)))
			error = delete_link(t, links.all[i].index);
		if (error == -ENODEV)
			error = 0;
	}
	free(links.all);
	if (error)
		return net_refused(error, "ending a tap", f);
	return rc;
}

struct neighbors {
	int bridge;
	const struct net_plan *plan;
	uint32_t *gone;
	size_t n;
};

static void take_neighbor(const struct nlmsghdr *h, void *data)
{
	const struct ndmsg *n = NLMSG_DATA(h);
	struct neighbors *s = data;
	uint32_t ip;

	if (h->nlmsg_type != RTM_NEWNEIGH || n->ndm_ifindex != s->bridge ||
	    !(n->ndm_state & NUD_PERMANENT))
		return;
	ip = network_order((uint32_t)rtnl_number(rtnl_attribute(h, sizeof(*n), NDA_DST)));
	for (size_t i = 0; i < s->plan->n_members; i++)
		if (s->plan->members[i].ip == ip)
			return;
	s->gone = xreallocarray(s->gone, s->n + 1, sizeof(*s->gone));
	s->gone[s->n++] = ip;
}

int net_neighbors_trim(struct net_talk *t, int bridge, const struct net_plan *plan,
		       struct fault *f)
{
	struct neighbors s = { .bridge = bridge, .plan = plan };
	struct rtnl m;
	struct ndmsg *n = rtnl_begin(t, &m, RTM_GETNEIGH, NLM_F_DUMP, sizeof(*n));
	int error;

	n->ndm_family = AF_INET;
	error = net_talk(t, m.h, m.h->nlmsg_len, take_neighbor, &s);
	for (size_t i = 0; i < s.n && !error; i++)
		error = say_neighbor(t, RTM_DELNEIGH, bridge, NULL, s.gone[i]);
	free(s.gone);
	return error && error != -ENOENT ? net_refused(error, "ending a neighbor", f) : 0;
}
