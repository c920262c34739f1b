#include "core/machine/net/net_rtnl.h"

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

void *rtnl_begin(struct net_talk *t, struct rtnl *m, uint16_t type, uint16_t flags,
		 size_t size)
{
	m->h = t->lib->mnl_nlmsg_put_header(m->bytes);
	m->h->nlmsg_type = type;
	m->h->nlmsg_flags = NLM_F_REQUEST | flags;
	m->h->nlmsg_seq = ++t->seq;
	return t->lib->mnl_nlmsg_put_extra_header(m->h, size);
}

int rtnl_send(struct net_talk *t, struct rtnl *m)
{
	return net_talk(t, m->h, m->h->nlmsg_len, NULL, NULL);
}

/* --- what is there ----------------------------------------------------------------- */

const void *rtnl_attribute(const struct nlmsghdr *h, size_t size, int type)
{
	const struct rtattr *a =
		(const void *)((const char *)NLMSG_DATA(h) + NLMSG_ALIGN(size));
	int left = (int)(h->nlmsg_len - NLMSG_SPACE(size));

	for (; left > 0 && RTA_OK(a, left); a = RTA_NEXT(a, left))
		if ((a->rta_type & NLA_TYPE_MASK) == type)
			return RTA_DATA(a);
	return NULL;
}

int rtnl_number(const void *payload)
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

int links_read(struct net_talk *t, struct net_links *links, struct fault *f)
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

int link_find(struct net_talk *t, const char *name, struct net_link *found,
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

const char *links_name(const struct net_links *links, int index)
{
	for (size_t i = 0; i < links->n; i++)
		if (links->all[i].index == index)
			return links->all[i].name;
	return "?";
}

int rtnl_link_up(struct net_talk *t, int index)
{
	struct rtnl m;
	struct ifinfomsg *i =
		rtnl_begin(t, &m, RTM_NEWLINK, NLM_F_ACK, sizeof(struct ifinfomsg));

	i->ifi_index = index;
	i->ifi_flags = i->ifi_change = IFF_UP;
	return rtnl_send(t, &m);
}
