#include "core/machine/net/net_batch.h"

#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/machine/net/net_talk.h"

enum {
	MESSAGE = 48 << 10, /* bytes reserved for a message: libnftnl checks no bounds */
	ELEMENTS = 256, /* maximum number of elements in a message: the list's length has
			   16 bits */
};

/* --- messages -------------------------------------------------------------------- */

static char *room_for_one(struct net_batch *b)
{
	if (b->room - b->size < MESSAGE) {
		b->room = 2 * b->room + MESSAGE;
		b->data = xreallocarray(b->data, b->room, 1);
	}
	return b->data + b->size;
}

static struct nlmsghdr *message(struct net_batch *b, uint16_t type, uint32_t family,
				uint16_t flags)
{
	return b->lib->nftnl_nlmsg_build_hdr(room_for_one(b), type, (uint16_t)family,
					     flags | NLM_F_ACK, b->seq++);
}

static void net_batch_put(struct net_batch *b, const struct nlmsghdr *h)
{
	b->size += MNL_ALIGN(h->nlmsg_len);
}

void net_batch_begin(struct net_batch *b, const struct net_lib *lib)
{
	*b = (struct net_batch){ .lib = lib, .seq = 1 };
	net_batch_put(b, lib->nftnl_batch_begin(room_for_one(b), b->seq++));
}

int net_batch_commit(struct net_batch *b, struct fault *f)
{
	struct net_talk talk;
	int rc = net_talk_open(&talk, b->lib, NETLINK_NETFILTER, f);

	net_batch_put(b, b->lib->nftnl_batch_end(room_for_one(b), b->seq++));
	if (rc == 0) {
		int error = net_talk(&talk, b->data, b->size, NULL, NULL);

		if (error)
			rc = net_refused(error, "a change of nftables", f);
	}
	net_talk_close(&talk);
	free(b->data);
	b->data = NULL;
	return rc;
}

/* --- tables, chains, rules --------------------------------------------------------- */

static void say_table(struct net_batch *b, const struct net_table *t, uint16_t type,
		      uint16_t flags)
{
	const struct net_lib *lib = b->lib;
	struct nftnl_table *table = lib->nftnl_table_alloc();
	struct nlmsghdr *h = message(b, type, t->family, flags);

	lib->nftnl_table_set_str(table, NFTNL_TABLE_NAME, t->name);
	lib->nftnl_table_set_u32(table, NFTNL_TABLE_FAMILY, t->family);
	lib->nftnl_table_nlmsg_build_payload(h, table);
	lib->nftnl_table_free(table);
	net_batch_put(b, h);
}

void net_batch_table(struct net_batch *b, const struct net_table *t)
{
	say_table(b, t, NFT_MSG_NEWTABLE, NLM_F_CREATE);
}

void net_batch_delete(struct net_batch *b, const struct net_table *t)
{
	say_table(b, t, NFT_MSG_DELTABLE, 0);
}

void net_batch_chain(struct net_batch *b, const struct net_table *t,
		     const struct net_chain *c)
{
	const struct net_lib *lib = b->lib;
	struct nftnl_chain *chain = lib->nftnl_chain_alloc();
	struct nlmsghdr *h = message(b, NFT_MSG_NEWCHAIN, t->family, NLM_F_CREATE);

	lib->nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, t->name);
	lib->nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, c->name);
	if (c->type) {
		lib->nftnl_chain_set_str(chain, NFTNL_CHAIN_TYPE, c->type);
		lib->nftnl_chain_set_u32(chain, NFTNL_CHAIN_HOOKNUM, c->hook);
		lib->nftnl_chain_set_s32(chain, NFTNL_CHAIN_PRIO, c->priority);
		lib->nftnl_chain_set_u32(chain, NFTNL_CHAIN_POLICY, c->policy);
	}
	lib->nftnl_chain_nlmsg_build_payload(h, chain);
	lib->nftnl_chain_free(chain);
	net_batch_put(b, h);
}

static void say_rule(struct net_batch *b, const struct net_table *t, uint16_t type,
		     uint16_t flags, struct nftnl_rule *rule)
{
	struct nlmsghdr *h = message(b, type, t->family, flags);

	b->lib->nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, t->name);
	b->lib->nftnl_rule_set_u32(rule, NFTNL_RULE_FAMILY, t->family);
	b->lib->nftnl_rule_nlmsg_build_payload(h, rule);
	b->lib->nftnl_rule_free(rule);
	net_batch_put(b, h);
}

void net_batch_flush(struct net_batch *b, const struct net_table *t)
{
	say_rule(b, t, NFT_MSG_DELRULE, 0, b->lib->nftnl_rule_alloc());
}

void net_batch_rule(struct net_batch *b, const struct net_table *t, const char *chain,
		    struct nftnl_rule *rule)
{
	b->lib->nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, chain);
	say_rule(b, t, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND, rule);
}

/* --- sets -------------------------------------------------------------------------- */

static struct nftnl_set *net_batch_named(struct net_batch *b, const struct net_table *t,
					 const struct net_set *s)
{
	struct nftnl_set *set = b->lib->nftnl_set_alloc();

	b->lib->nftnl_set_set_str(set, NFTNL_SET_TABLE, t->name);
	b->lib->nftnl_set_set_str(set, NFTNL_SET_NAME, s->name);
	b->lib->nftnl_set_set_u32(set, NFTNL_SET_FAMILY, t->family);
	return set;
}

/* Adds user data to a set, which tells the program nft the byte orders of the set's keys and
 * values. Each byte order is stored as type, length, value. */
static void say_order(const struct net_lib *lib, struct nftnl_set *set,
		      const struct net_set *s)
{
	const uint8_t orders[] = {
		0, 4, s->host_key, 0, 0, 0, 1, 4, s->host_data, 0, 0, 0
	};

	if (s->host_key || s->host_data)
		lib->nftnl_set_set_data(set, NFTNL_SET_USERDATA, orders,
					s->data_size ? 12 : 6);
}

void net_batch_set(struct net_batch *b, const struct net_table *t,
		   const struct net_set *s)
{
	const struct net_lib *lib = b->lib;
	struct nftnl_set *set = net_batch_named(b, t, s);
	struct nlmsghdr *h = message(b, NFT_MSG_NEWSET, t->family, NLM_F_CREATE);

	lib->nftnl_set_set_u32(set, NFTNL_SET_KEY_TYPE, s->key_type);
	lib->nftnl_set_set_u32(set, NFTNL_SET_KEY_LEN, s->key_size);
	lib->nftnl_set_set_u32(set, NFTNL_SET_ID, b->seq);
	if (s->data_size) {
		lib->nftnl_set_set_u32(set, NFTNL_SET_FLAGS, NFT_SET_MAP);
		lib->nftnl_set_set_u32(set, NFTNL_SET_DATA_TYPE, s->data_type);
		lib->nftnl_set_set_u32(set, NFTNL_SET_DATA_LEN, s->data_size);
	}
	say_order(lib, set, s);
	lib->nftnl_set_nlmsg_build_payload(h, set);
	lib->nftnl_set_free(set);
	net_batch_put(b, h);
}

static void say_elements(struct net_batch *b, const struct net_table *t, uint16_t type,
			 uint16_t flags, struct nftnl_set *set)
{
	struct nlmsghdr *h = message(b, type, t->family, flags);

	b->lib->nftnl_set_elems_nlmsg_build_payload(h, set);
	b->lib->nftnl_set_free(set);
	net_batch_put(b, h);
}

void net_batch_fill(struct net_batch *b, const struct net_table *t,
		    const struct net_set *s, const uint8_t *keys, const uint8_t *values,
		    size_t n)
{
	struct nftnl_set *set = net_batch_named(b, t, s);

	/* A delete message without elements deletes all elements. */
	say_elements(b, t, NFT_MSG_DELSETELEM, 0, set);
	for (size_t i = 0; i < n;) {
		set = net_batch_named(b, t, s);
		for (size_t end = i + ELEMENTS; i < end && i < n; i++) {
			struct nftnl_set_elem *e = b->lib->nftnl_set_elem_alloc();

			b->lib->nftnl_set_elem_set(e, NFTNL_SET_ELEM_KEY,
						   keys + i * NET_KEY, s->key_size);
			if (s->data_size)
				b->lib->nftnl_set_elem_set(e, NFTNL_SET_ELEM_DATA,
							   values + i * NET_VALUE,
							   s->data_size);
			b->lib->nftnl_set_elem_add(set, e);
		}
		say_elements(b, t, NFT_MSG_NEWSETELEM, NLM_F_CREATE, set);
	}
}

/* --- questions to the kernel ------------------------------------------------------- */

static void net_batch_count(const struct nlmsghdr *h, void *data)
{
	*(size_t *)data += h->nlmsg_type == (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE);
}

static int net_batch_ask(const struct net_lib *lib, const struct nlmsghdr *h,
			 void (*each)(const struct nlmsghdr *h, void *data), void *data,
			 struct fault *f)
{
	struct net_talk talk;
	int rc = net_talk_open(&talk, lib, NETLINK_NETFILTER, f), error;

	if (rc)
		return rc;
	error = net_talk(&talk, h, h->nlmsg_len, each, data);
	net_talk_close(&talk);
	return error && error != -ENOENT ? net_refused(error, "a look at nftables", f)
					 : 0;
}

int net_table_rules(const struct net_lib *lib, const struct net_table *t, size_t *n,
		    struct fault *f)
{
	char buffer[1024] __attribute__((aligned(8)));
	struct nftnl_rule *rule = lib->nftnl_rule_alloc();
	struct nlmsghdr *h = lib->nftnl_nlmsg_build_hdr(
		buffer, NFT_MSG_GETRULE, (uint16_t)t->family, NLM_F_DUMP, 1);

	lib->nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, t->name);
	lib->nftnl_rule_set_u32(rule, NFTNL_RULE_FAMILY, t->family);
	lib->nftnl_rule_nlmsg_build_payload(h, rule);
	lib->nftnl_rule_free(rule);
	*n = 0;
	return net_batch_ask(lib, h, net_batch_count, n, f);
}

static void take_generation(const struct nlmsghdr *h, void *data)
{
	const struct nlattr *a = (const void *)((const char *)NLMSG_DATA(h) +
						NLMSG_ALIGN(sizeof(struct nfgenmsg)));

	if ((h->nlmsg_type & 255) == NFT_MSG_NEWGEN &&
	    (a->nla_type & NLA_TYPE_MASK) == NFTA_GEN_ID) {
		uint32_t id;

		memcpy(&id, (const char *)a + NLA_HDRLEN, sizeof(id));
		*(uint32_t *)data = __builtin_bswap32(id);
	}
}

int net_generation(const struct net_lib *lib, uint32_t *id, struct fault *f)
{
	char buffer[256] __attribute__((aligned(8)));
	struct nlmsghdr *h = lib->nftnl_nlmsg_build_hdr(buffer, NFT_MSG_GETGEN, AF_UNSPEC,
							NLM_F_ACK, 1);

	*id = 0;
	return net_batch_ask(lib, h, take_generation, id, f);
}
