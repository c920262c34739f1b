#include "core/machine/net/net_link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/machine/net/net_rtnl.h"
#include "core/machine/net/net_rules.h"

/* --- switches ---------------------------------------------------------------------- */

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
	const uint32_t address = network_order(ip);
	struct rtnl m;
	struct ifaddrmsg *a = rtnl_begin(t, &m, type, flags | NLM_F_ACK, sizeof(*a));

	a->ifa_family = AF_INET;
	a->ifa_prefixlen = (uint8_t)prefix;
	a->ifa_index = (uint32_t)index;
	t->lib->mnl_attr_put(m.h, IFA_LOCAL, sizeof(address), &address);
	t->lib->mnl_attr_put(m.h, IFA_ADDRESS, sizeof(address), &address);
	return rtnl_send(t, &m);
}

/* Addresses of an interface that are not to be: of a range that was. */
struct strangers {
	int index;
	uint32_t ip; /* the address to keep */
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
	ip = network_order(
		(uint32_t)rtnl_number(rtnl_attribute(h, sizeof(*a), IFA_LOCAL)));
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

/* Answers ARP for every address that is reached through the bridge itself, at
 * once; routes what comes in; takes answers for 127.0.0.1 of forwarded ports,
 * since the rules let nothing else of that kind in. */
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
		{ "ipv4/conf/*/rp_filter", "0" }, /* pinned by the rules */
	};
	int error = 0;

	net_switch("ipv6/conf/*/disable_ipv6", name, "1"); /* where there is IPv6 */
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]) && !error; i++)
		error = net_switch(switches[i][0], name, switches[i][1]);
	return error;
}

/* --- routes -------------------------------------------------------------------------- */

struct routes {
	const struct net_plan *plan;
	int bridge;
	int other; /* an interface that has the range, or a part of it; 0 */
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
	to = network_order((uint32_t)rtnl_number(rtnl_attribute(h, sizeof(*r), RTA_DST)));
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
		fault_hint(f, "Set network.range in cadre.toml to a free one.");
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
