#include "core/machine/net/net_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/machine/net/net_rules.h"
#include "core/machine/net/net_talk.h"

/*
 * net_rtnl - messages of rtnetlink, and the list of interfaces.
 */

struct rtnl {
	char bytes[1024] __attribute__((aligned(8)));
	struct nlmsghdr *h;
};

struct net_link {
	int index, master;
	char name[NET_NAME];
};

struct net_links {
	struct net_link *all; /* the caller frees the array */
	size_t n;
};

/* Begins a message. Returns the header of `size` bytes that follows netlink's own header. */
static void *rtnl_begin(struct net_talk *t, struct rtnl *m, uint16_t type, uint16_t flags,
			size_t size)
{
	m->h = t->lib->mnl_nlmsg_put_header(m->bytes);
	m->h->nlmsg_type = type;
	m->h->nlmsg_flags = NLM_F_REQUEST | flags;
	m->h->nlmsg_seq = ++t->seq;
	return t->lib->mnl_nlmsg_put_extra_header(m->h, size);
}

/* Sends the message. Returns 0 or a negative errno. */
static int rtnl_send(struct net_talk *t, struct rtnl *m)
{
	return net_talk(t, m->h, m->h->nlmsg_len, NULL, NULL);
}

/* --- existing interfaces ----------------------------------------------------------- */

/* Finds the payload of the attribute `type` in a message whose second header has `size` bytes.
 * Returns NULL if the message has no such attribute. */
static const void *rtnl_attribute(const struct nlmsghdr *h, size_t size, int type)
{
	const struct rtattr *a =
		(const void *)((const char *)NLMSG_DATA(h) + NLMSG_ALIGN(size));
	int left = (int)(h->nlmsg_len - NLMSG_SPACE(size));

	for (; left > 0 && RTA_OK(a, left); a = RTA_NEXT(a, left))
		if ((a->rta_type & NLA_TYPE_MASK) == type)
			return RTA_DATA(a);
	return NULL;
}

/* Returns the first four bytes of a payload as a number. Returns 0 if `payload` is NULL. */
static int rtnl_number(const void *payload)
{
	int n = 0;

	if (payload)
		memcpy(&n, payload, sizeof(n));
	return n;
}

static void net_rtnl_take_link(const struct nlmsghdr *h, void *data)
{
	const struct ifinfomsg *i = NLMSG_DATA(h);
	const char *name;
	struct net_links *links = data;
	struct net_link *link;

	if (h->nlmsg_type != RTM_NEWLINK ||
	    !(name = rtnl_attribute(h, sizeof(*i), IFLA_IFNAME)))
		return;
	links->all = xreallocarray(links->all, links->n + 1, sizeof(*links->all));
	link = &links->all[links->n++];
	*link = (struct net_link){ .index = i->ifi_index,
				   .master = rtnl_number(
					   rtnl_attribute(h, sizeof(*i), IFLA_MASTER)) };
	snprintf(link->name, sizeof(link->name), "%s", name);
}

static int links_read(struct net_talk *t, struct net_links *links, struct fault *f)
{
	struct rtnl m;
	int error;

	*links = (struct net_links){ 0 };
	rtnl_begin(t, &m, RTM_GETLINK, NLM_F_DUMP, sizeof(struct ifinfomsg));
	error = net_talk(t, m.h, m.h->nlmsg_len, net_rtnl_take_link, links);
	return error ? net_refused(error, "a look at the interfaces", f) : 0;
}

static const struct net_link *link_named(const struct net_links *links, const char *name)
{
	for (size_t i = 0; i < links->n; i++)
		if (!strcmp(links->all[i].name, name))
			return &links->all[i];
	return NULL;
}

/* Finds the interface with the name `name`. found->index is 0 if no interface has this name. */
static int link_find(struct net_talk *t, const char *name, struct net_link *found,
		     struct fault *f)
{
	struct net_links links;
	const struct net_link *link;
	int rc = links_read(t, &links, f);

	link = rc ? NULL : link_named(&links, name);
	*found = link ? *link : (struct net_link){ 0 };
	free(links.all);
	return rc;
}

/* The name of the interface with this index, or "?". */
static const char *links_name(const struct net_links *links, int index)
{
	for (size_t i = 0; i < links->n; i++)
		if (links->all[i].index == index)
			return links->all[i].name;
	return "?";
}

/* Sets an interface up. Returns 0 or a negative errno. */
static int rtnl_link_up(struct net_talk *t, int index)
{
	struct rtnl m;
	struct ifinfomsg *i =
		rtnl_begin(t, &m, RTM_NEWLINK, NLM_F_ACK, sizeof(struct ifinfomsg));

	i->ifi_index = index;
	i->ifi_flags = i->ifi_change = IFF_UP;
	return rtnl_send(t, &m);
}

/* --- switches in /proc/sys/net ----------------------------------------------------- */

static void switch_path(char out[256], const char *path, const char *name)
{
	int before = (int)strcspn(path, "*");

	snprintf(out, 256, "/proc/sys/net/%.*s%s%s", before, path, name,
		 path + before + (path[before] == '*'));
}

int net_switch(const char *path, const char *name, const char *value)
{
	char full[256];
	ssize_t n;
	int fd;

	switch_path(full, path, name);
	fd = open(full, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, value, strlen(value));
	close(fd);
	return n < 0 ? -EIO : 0;
}

bool net_switch_is(const char *path, const char *name, const char *value)
{
	char full[256], now[32] = "";
	ssize_t n;
	int fd;

	switch_path(full, path, name);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, now, sizeof(now) - 1);
	close(fd);
	now[n > 0 ? strcspn(now, "\n") : 0] = '\0';
	return !strcmp(now, value);
}

/* --- the bridge --------------------------------------------------------------------- */

static int make_bridge(struct net_talk *t, const char *name, const char *tag)
{
	const struct net_lib *lib = t->lib;
	unsigned id = (unsigned)strtoul(tag, NULL, 16);
	const uint8_t mac[6] = { 2, 'c', 'd', 0, (uint8_t)(id >> 8), (uint8_t)id };
	struct rtnl m;
	struct nlattr *kind, *data;

	rtnl_begin(t, &m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK,
		   sizeof(struct ifinfomsg));
	lib->mnl_attr_put_strz(m.h, IFLA_IFNAME, name);
	lib->mnl_attr_put(m.h, IFLA_ADDRESS, sizeof(mac), mac);
	kind = lib->mnl_attr_nest_start(m.h, IFLA_LINKINFO);
	lib->mnl_attr_put_strz(m.h, IFLA_INFO_KIND, "bridge");
	data = lib->mnl_attr_nest_start(m.h, IFLA_INFO_DATA);
	lib->mnl_attr_put_u32(m.h, IFLA_BR_FORWARD_DELAY, 0);
	lib->mnl_attr_put_u32(m.h, IFLA_BR_STP_STATE, 0);
	lib->mnl_attr_put_u8(m.h, IFLA_BR_MCAST_SNOOPING, 0);
	lib->mnl_attr_nest_end(m.h, data);
	lib->mnl_attr_nest_end(m.h, kind);
	return rtnl_send(t, &m);
}

static int say_address(struct net_talk *t, uint16_t type, uint16_t flags, int index,
		       uint32_t ip, int prefix)
{
	const uint32_t address = htonl(ip);
	struct rtnl m;
	struct ifaddrmsg *a = rtnl_begin(t, &m, type, flags | NLM_F_ACK, sizeof(*a));

	a->ifa_family = AF_INET;
	a->ifa_prefixlen = (uint8_t)prefix;
	a->ifa_index = (uint32_t)index;
	t->lib->mnl_attr_put(m.h, IFA_LOCAL, sizeof(address), &address);
	t->lib->mnl_attr_put(m.h, IFA_ADDRESS, sizeof(address), &address);
	return rtnl_send(t, &m);
}

/* Addresses that an interface has from an earlier range, and that will be removed. */
struct strangers {
	int index;
	uint32_t ip; /* the interface's address that is kept */
	int prefix;
	struct {
		uint32_t ip;
		int prefix;
	} all[16];
	int n;
};

static void take_address(const struct nlmsghdr *h, void *data)
{
	const struct ifaddrmsg *a = NLMSG_DATA(h);
	struct strangers *s = data;
	uint32_t ip;

	if (h->nlmsg_type != RTM_NEWADDR || (int)a->ifa_index != s->index)
		return;
	ip = ntohl((uint32_t)rtnl_number(rtnl_attribute(h, sizeof(*a), IFA_LOCAL)));
	if (s->n == 16 || (ip == s->ip && a->ifa_prefixlen == s->prefix))
		return;
	s->all[s->n].ip = ip;
	s->all[s->n++].prefix = a->ifa_prefixlen;
}

static int net_bridge_set_address(struct net_talk *t, const struct net_plan *plan,
				  int index)
{
	struct strangers s = { .index = index,
			       .ip = plan->base + 1,
			       .prefix = plan->prefix };
	struct rtnl m;
	struct ifaddrmsg *a = rtnl_begin(t, &m, RTM_GETADDR, NLM_F_DUMP, sizeof(*a));
	int error;

	a->ifa_family = AF_INET;
	error = net_talk(t, m.h, m.h->nlmsg_len, take_address, &s);
	for (int i = 0; i < s.n && !error; i++)
		error = say_address(t, RTM_DELADDR, 0, index, s.all[i].ip,
				    s.all[i].prefix);
	if (!error)
		error = say_address(t, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, index,
				    s.ip, s.prefix);
	return error == -EEXIST ? 0 : error;
}

/* Sets the bridge's switches in /proc/sys/net. With these switches the bridge answers ARP at
 * once, for every address behind the bridge. This machine routes the packets that arrive at the
 * bridge. Programs of this machine may use forwarded ports at 127.0.0.1. The rules accept no
 * other packets to 127.0.0.1. */
static int set_switches(const char *name)
{
	static const char *const switches[][2] = {
		{ "ipv4/conf/*/forwarding", "1" },
		{ "ipv4/conf/*/proxy_arp_pvlan", "1" },
		{ "ipv4/neigh/*/proxy_delay", "0" },
		{ "ipv4/conf/*/route_localnet", "1" },
		{ "ipv4/conf/*/send_redirects", "0" },
		{ "ipv4/conf/*/accept_redirects", "0" },
		{ "ipv4/conf/*/accept_source_route", "0" },
		{ "ipv4/conf/*/rp_filter", "0" }, /* the rules check the source */
	};
	int error = 0;

	net_switch("ipv6/conf/*/disable_ipv6", name, "1"); /* fails without IPv6 */
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]) && !error; i++)
		error = net_switch(switches[i][0], name, switches[i][1]);
	return error;
}

/* --- routes -------------------------------------------------------------------------- */

struct routes {
	const struct net_plan *plan;
	int bridge;
	int other; /* index of another interface with addresses of the range; or 0 */
	int uplinks[8];
	int n;
};

static void take_route(const struct nlmsghdr *h, void *data)
{
	const struct rtmsg *r = NLMSG_DATA(h);
	struct routes *routes = data;
	int out = rtnl_number(rtnl_attribute(h, sizeof(*r), RTA_OIF));
	uint32_t to, mask;

	if (h->nlmsg_type != RTM_NEWROUTE || !out || r->rtm_table != RT_TABLE_MAIN)
		return;
	if (r->rtm_dst_len == 0 && routes->n < 8)
		routes->uplinks[routes->n++] = out;
	if (!routes->plan || r->rtm_dst_len < routes->plan->prefix ||
	    out == routes->bridge)
		return;
	to = ntohl((uint32_t)rtnl_number(rtnl_attribute(h, sizeof(*r), RTA_DST)));
	mask = UINT32_MAX << (32 - routes->plan->prefix);
	if ((to & mask) == routes->plan->base)
		routes->other = out;
}

static int read_routes(struct net_talk *t, struct routes *routes, struct fault *f)
{
	struct rtnl m;
	struct rtmsg *r = rtnl_begin(t, &m, RTM_GETROUTE, NLM_F_DUMP, sizeof(*r));
	int error;

	r->rtm_family = AF_INET;
	error = net_talk(t, m.h, m.h->nlmsg_len, take_route, routes);
	return error ? net_refused(error, "a look at the routes", f) : 0;
}

int net_uplinks(struct net_talk *t, char (*names)[NET_NAME], int n, struct fault *f)
{
	struct routes routes = { 0 };
	struct net_links links = { 0 };
	int rc = read_routes(t, &routes, f), k = 0;

	if (rc == 0)
		rc = links_read(t, &links, f);
	for (; rc == 0 && k < routes.n && k < n; k++)
		snprintf(names[k], NET_NAME, "%s", links_name(&links, routes.uplinks[k]));
	free(links.all);
	return rc ? rc : k;
}

static int net_bridge_check_range(struct net_talk *t, const struct net_plan *plan,
				  int bridge, struct fault *f)
{
	struct routes routes = { .plan = plan, .bridge = bridge };
	struct net_links links;
	uint32_t b = plan->base;
	int rc = read_routes(t, &routes, f);

	if (rc || !routes.other)
		return rc;
	if ((rc = links_read(t, &links, f)) == 0) {
		rc = fault_set(f, FAULT_CONFLICT, "/network/range",
			       "addresses of %u.%u.%u.%u/%d are behind interface %s "
			       "already",
			       b >> 24, b >> 16 & 255, b >> 8 & 255, b & 255,
			       plan->prefix, links_name(&links, routes.other));
		fault_hint(f, "Set network.range in cadre.toml to a free range.");
	}
	free(links.all);
	return rc;
}

int net_bridge_make(struct net_talk *t, const struct net_plan *plan, int *index,
		    struct fault *f)
{
	char name[NET_NAME];
	struct net_link bridge;
	int rc, error = 0;

	net_bridge_name(name, plan->tag);
	if ((rc = link_find(t, name, &bridge, f)) ||
	    (rc = net_bridge_check_range(t, plan, bridge.index, f)))
		return rc;
	if (!bridge.index) {
		if ((error = make_bridge(t, name, plan->tag)))
			return net_refused(error, "making a bridge", f);
		if ((rc = link_find(t, name, &bridge, f)))
			return rc;
	}
	*index = bridge.index;
	if ((error = set_switches(name)) ||
	    (error = net_bridge_set_address(t, plan, *index)) ||
	    (error = rtnl_link_up(t, *index)))
		return net_refused(error, "setting up the bridge", f);
	return 0;
}

/* --- taps ------------------------------------------------------------------------------ */

/* Makes a persistent tap: the interface stays after this process has ended. */
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

/* Isolates a port of the bridge. Frames of other isolated ports never reach this port, and the
 * bridge learns no addresses from this port. */
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

/* Tells the kernel behind which interface an address is. The address is a hardware address
 * behind a port of a bridge, or (with `ip`) an IPv4 address behind an interface. */
static int say_neighbor(struct net_talk *t, uint16_t type, int index, const uint8_t *mac,
			uint32_t ip)
{
	uint16_t create = type == RTM_NEWNEIGH ? NLM_F_CREATE | NLM_F_REPLACE : 0;
	const uint32_t address = htonl(ip);
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

/* --- removal ----------------------------------------------------------------------------- */

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

/* Whether `name` is the name of a tap with this tag: `cd`, 8 hexadecimal digits, `-` and the
 * tag. See core/base/nic.h. */
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
	ip = ntohl((uint32_t)rtnl_number(rtnl_attribute(h, sizeof(*n), NDA_DST)));
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
