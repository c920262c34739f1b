/*
 * net_batch - a transaction of nftables. Either all changes of the transaction take effect
 * between two packets, or no change is made.
 *
 * libnftnl builds the messages in memory, and all messages are sent at once. A table, chain or
 * set that exists may be added again, without any change.
 */
#ifndef CORE_MACHINE_NET_NET_BATCH_H
#define CORE_MACHINE_NET_NET_BATCH_H

#include "core/machine/net/net_lib.h"

struct net_batch {
	const struct net_lib *lib;
	char *data;
	size_t size, room;
	uint32_t seq;
};

struct net_table {
	uint32_t family;
	const char *name;
};

struct net_chain {
	const char *name;
	const char *type; /* NULL: the chain has no hook, priority and policy */
	uint32_t hook;
	int32_t priority;
	uint32_t policy; /* NF_ACCEPT or NF_DROP */
};

/* A set or map. The types of keys and values are the numbers that the program nft uses, so that
 * nft can show the elements. */
struct net_set {
	const char *name;
	uint32_t key_type, key_size;
	uint32_t data_type, data_size; /* type and size of a map's values; 0 for a set */
	bool host_key, host_data; /* the key (host_key) or the value (host_data) is a
				     number in host byte order */
};

enum { NET_KEY = 32, NET_VALUE = 8 /* maximum bytes of a key, and of a map's value */ };

void net_batch_begin(struct net_batch *b, const struct net_lib *lib);
/* Sends the batch to the kernel, and frees the batch's memory. */
int net_batch_commit(struct net_batch *b, struct fault *f);

void net_batch_table(struct net_batch *b, const struct net_table *t);
void net_batch_flush(struct net_batch *b, const struct net_table *t); /* all rules */
void net_batch_delete(struct net_batch *b, const struct net_table *t);
void net_batch_chain(struct net_batch *b, const struct net_table *t,
		     const struct net_chain *c);
void net_batch_set(struct net_batch *b, const struct net_table *t,
		   const struct net_set *s);
/* Replaces the elements of a set. `keys` holds n keys of s->key_size bytes each, at multiples
 * of NET_KEY bytes. `values` holds the values of a map, at multiples of NET_VALUE bytes. */
void net_batch_fill(struct net_batch *b, const struct net_table *t,
		    const struct net_set *s, const uint8_t *keys, const uint8_t *values,
		    size_t n);
/* Appends the rule to the chain and frees the rule. */
void net_batch_rule(struct net_batch *b, const struct net_table *t, const char *chain,
		    struct nftnl_rule *rule);

/* Stores the number of a table's rules in `*n`: 0 if the table does not exist. */
int net_table_rules(const struct net_lib *lib, const struct net_table *t, size_t *n,
		    struct fault *f);
/* Reads the machine's generation number of nftables, which grows with each change of any table. */
int net_generation(const struct net_lib *lib, uint32_t *id, struct fault *f);

#endif
