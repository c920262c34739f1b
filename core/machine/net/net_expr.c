#include "core/machine/net/net_expr.h"

#include <linux/netfilter.h>
#include <linux/rtnetlink.h>
#include <string.h>

struct net_rule net_rule_new(const struct net_lib *lib)
{
	return (struct net_rule){ lib, lib->nftnl_rule_alloc() };
}

static struct nftnl_expr *net_expr_add(struct net_rule *r, const char *name)
{
	struct nftnl_expr *e = r->lib->nftnl_expr_alloc(name);

	r->lib->nftnl_rule_add_expr(r->rule, e);
	return e;
}

/* --- loads ------------------------------------------------------------------------ */

void net_load_meta(struct net_rule *r, uint32_t key, uint32_t reg)
{
	struct nftnl_expr *e = net_expr_add(r, "meta");

	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, key);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, reg);
}

void net_load_ct(struct net_rule *r, uint32_t key, uint32_t reg)
{
	struct nftnl_expr *e = net_expr_add(r, "ct");

	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_CT_KEY, key);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_CT_DREG, reg);
}

void net_load_original(struct net_rule *r, uint32_t ct_key, uint32_t reg)
{
	struct nftnl_expr *e = net_expr_add(r, "ct");

	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_CT_KEY, ct_key);
	r->lib->nftnl_expr_set_u8(e, NFTNL_EXPR_CT_DIR, 0);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_CT_DREG, reg);
}

void net_load_bytes(struct net_rule *r, uint32_t base, uint32_t offset, uint32_t size,
		    uint32_t reg)
{
	struct nftnl_expr *e = net_expr_add(r, "payload");

	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, base);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, size);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, reg);
}

void net_load_destination_type(struct net_rule *r, uint32_t reg)
{
	struct nftnl_expr *e = net_expr_add(r, "fib");

	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_FIB_FLAGS, NFTA_FIB_F_DADDR);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_FIB_RESULT, NFT_FIB_RESULT_ADDRTYPE);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_FIB_DREG, reg);
}

void net_load_map(struct net_rule *r, const char *map, uint32_t key, uint32_t reg)
{
	struct nftnl_expr *e = net_expr_add(r, "lookup");

	r->lib->nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, map);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, key);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_DREG, reg);
}

/* --- conditions ------------------------------------------------------------------- */

void net_match(struct net_rule *r, uint32_t reg, bool is, const void *value, size_t size)
{
	struct nftnl_expr *e = net_expr_add(r, "cmp");

	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, reg);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, is ? NFT_CMP_EQ : NFT_CMP_NEQ);
	r->lib->nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA, value, (uint32_t)size);
}

void net_match_byte(struct net_rule *r, uint32_t reg, bool is, uint8_t value)
{
	net_match(r, reg, is, &value, sizeof(value));
}

void net_match_mask(struct net_rule *r, uint32_t reg, bool is, uint32_t mask,
		    uint32_t value, size_t size)
{
	struct nftnl_expr *e = net_expr_add(r, "bitwise");
	const uint32_t none = 0;

	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, reg);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, reg);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, (uint32_t)size);
	r->lib->nftnl_expr_set(e, NFTNL_EXPR_BITWISE_MASK, &mask, (uint32_t)size);
	r->lib->nftnl_expr_set(e, NFTNL_EXPR_BITWISE_XOR, &none, (uint32_t)size);
	net_match(r, reg, is, &value, size);
}

void net_match_set(struct net_rule *r, uint32_t reg, bool is, const char *set)
{
	struct nftnl_expr *e = net_expr_add(r, "lookup");

	r->lib->nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, set);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, reg);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_FLAGS, is ? 0 : NFT_LOOKUP_F_INV);
}

void net_match_name(struct net_rule *r, uint32_t meta_key, bool is, const char *name)
{
	char padded[16] = "";

	memcpy(padded, name, strnlen(name, sizeof(padded) - 1));
	net_load_meta(r, meta_key, NFT_REG_1);
	net_match(r, NFT_REG_1, is, padded, sizeof(padded));
}

void net_match_ipv4(struct net_rule *r)
{
	net_load_meta(r, NFT_META_NFPROTO, NFT_REG_1);
	net_match_byte(r, NFT_REG_1, true, NFPROTO_IPV4);
}

/* --- effects ----------------------------------------------------------------------- */

void net_set_number(struct net_rule *r, uint32_t reg, uint32_t value)
{
	struct nftnl_expr *e = net_expr_add(r, "immediate");

	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, reg);
	r->lib->nftnl_expr_set(e, NFTNL_EXPR_IMM_DATA, &value, sizeof(value));
}

void net_set_mark(struct net_rule *r, uint32_t reg)
{
	struct nftnl_expr *e = net_expr_add(r, "meta");

	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, NFT_META_MARK);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_META_SREG, reg);
}

void net_send_to(struct net_rule *r, uint32_t reg)
{
	struct nftnl_expr *e = net_expr_add(r, "nat");

	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_NAT_TYPE, NFT_NAT_DNAT);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_NAT_FAMILY, NFPROTO_IPV4);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_NAT_REG_ADDR_MIN, reg);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_NAT_REG_PROTO_MIN, reg + 1);
}

void net_masquerade(struct net_rule *r)
{
	net_expr_add(r, "masq");
}

void net_judge(struct net_rule *r, int verdict, const char *chain)
{
	struct nftnl_expr *e = net_expr_add(r, "immediate");

	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	r->lib->nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, (uint32_t)verdict);
	if (chain)
		r->lib->nftnl_expr_set_str(e, NFTNL_EXPR_IMM_CHAIN, chain);
}
