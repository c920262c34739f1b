/*
 * net_expr - what the rules of nftables are made of, in the kernel's terms.
 *
 * A rule is a list of expressions over registers of four bytes, R(0) to R(15);
 * a value longer than that fills the ones behind.  The kernel stops at the
 * first comparison or lookup that does not hold.
 */
#ifndef CORE_MACHINE_NET_NET_EXPR_H
#define CORE_MACHINE_NET_NET_EXPR_H

#include <linux/netfilter/nf_tables.h>
#include <stdbool.h>

#include "core/machine/net/net_lib.h"

#define R(n) (NFT_REG32_00 + (n))

struct net_rule {
	const struct net_lib *lib;
	struct nftnl_rule *rule;
};

struct net_rule net_rule_new(const struct net_lib *lib);

/* Loads. */
void load_meta(struct net_rule *r, uint32_t key, uint32_t reg);
void load_original(struct net_rule *r, uint32_t ct_key, uint32_t reg);
void load_ct(struct net_rule *r, uint32_t key, uint32_t reg);
void load_bytes(struct net_rule *r, uint32_t base, uint32_t offset, uint32_t size,
		uint32_t reg);
/* Whether the destination is of this machine: RTN_LOCAL. */
void load_destination_type(struct net_rule *r, uint32_t reg);
void load_map(struct net_rule *r, const char *map, uint32_t key, uint32_t reg);

/* Conditions. */
void match(struct net_rule *r, uint32_t reg, bool is, const void *value, size_t size);
void match_byte(struct net_rule *r, uint32_t reg, bool is, uint8_t value);
void match_mask(struct net_rule *r, uint32_t reg, bool is, uint32_t mask, uint32_t value,
		size_t size);
void match_set(struct net_rule *r, uint32_t reg, bool is, const char *set);
void match_name(struct net_rule *r, uint32_t meta_key, bool is, const char *name);
void match_ipv4(struct net_rule *r);

/* Effects. */
void set_number(struct net_rule *r, uint32_t reg, uint32_t value);
void set_mark(struct net_rule *r, uint32_t reg);
void send_to(struct net_rule *r, uint32_t reg); /* address, then port */
void masquerade(struct net_rule *r);
void judge(struct net_rule *r, int verdict, const char *chain); /* chain: of a jump */

#endif
