/*
 * net_expr - the parts of nftables' rules, in the kernel's terms.
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
void net_load_meta(struct net_rule *r, uint32_t key, uint32_t reg);
void net_load_original(struct net_rule *r, uint32_t ct_key, uint32_t reg);
void net_load_ct(struct net_rule *r, uint32_t key, uint32_t reg);
void net_load_bytes(struct net_rule *r, uint32_t base, uint32_t offset, uint32_t size,
		    uint32_t reg);
/* Whether the destination is of this machine: RTN_LOCAL. */
void net_load_destination_type(struct net_rule *r, uint32_t reg);
void net_load_map(struct net_rule *r, const char *map, uint32_t key, uint32_t reg);

/* Conditions. */
void net_match(struct net_rule *r, uint32_t reg, bool is, const void *value, size_t size);
void net_match_byte(struct net_rule *r, uint32_t reg, bool is, uint8_t value);
void net_match_mask(struct net_rule *r, uint32_t reg, bool is, uint32_t mask,
		    uint32_t value, size_t size);
void net_match_set(struct net_rule *r, uint32_t reg, bool is, const char *set);
void net_match_name(struct net_rule *r, uint32_t meta_key, bool is, const char *name);
void net_match_ipv4(struct net_rule *r);

/* Effects. */
void net_set_number(struct net_rule *r, uint32_t reg, uint32_t value);
void net_set_mark(struct net_rule *r, uint32_t reg);
void net_send_to(struct net_rule *r, uint32_t reg); /* address, then port */
void net_masquerade(struct net_rule *r);
void net_judge(struct net_rule *r, int verdict, const char *chain); /* chain: of a jump */

#endif
