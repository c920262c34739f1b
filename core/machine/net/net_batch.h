/*
 * net_batch - a transaction of nftables: all its changes are made between two packets, or
 * none is made.
 *
 * Messages are put together with libnftnl in memory and sent at once.  Adding
 * a table, chain or set that is there already changes nothing.
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
	const char *type; /* NULL: other chains jump to it; no field below is read */
	uint32_t hook;
	int32_t priority;
	uint32_t policy; /* NF_ACCEPT or NF_DROP */
};

/* Types are those of nft, so that it can show the elements. */
struct net_set {
	const char *name;
	uint32_t key_type, key_size;
	uint32_t data_type, data_size; /* of a map; else 0 */
	bool host_key, host_data; /* its numbers are in host order, nft is told */
};

enum { NET_KEY = 32, NET_VALUE = 8 /* most bytes of a key, of a map's value */ };

void net_batch_begin(struct net_batch *b, const struct net_lib *lib);
/* Sends the batch, and empties it. */
int net_batch_commit(struct net_batch *b, struct fault *f);

void net_batch_table(struct net_batch *b, const struct net_table *t);
void net_batch_flush(struct net_batch *b, const struct net_table *t); /* its rules */
void net_batch_delete(struct net_batch *b, const struct net_table *t);
void net_batch_chain(struct net_batch *b, const struct net_table *t,
		     const struct net_chain *c);
void net_batch_set(struct net_batch *b, const struct net_table *t,
		   const struct net_set *s);
/* Replaces the elements of a set: n keys of s->key_size bytes, one every
 * NET_KEY bytes, and a map's values, one every NET_VALUE bytes. */
void net_batch_fill(struct net_batch *b, const struct net_table *t,
		    const struct net_set *s, const uint8_t *keys, const uint8_t *values,
		    size_t n);
/* Takes the rule, appends it to its chain. */
void net_batch_rule(struct net_batch *b, const struct net_table *t, const char *chain,
		    struct nftnl_rule *rule);

/* How many rules a table has now; 0 when there is none. */
int net_table_rules(const struct net_lib *lib, const struct net_table *t, size_t *n,
		    struct fault *f);
/* Number of the last change of any table of this machine. */
int net_generation(const struct net_lib *lib, uint32_t *id, struct fault *f);

#endif
