/*
 * net_lib - libnftnl and libmnl, loaded when a network is first needed.
 *
 * If the libraries were linked, every process of cadre would start more slowly, but few
 * processes make networks. A function of the libraries is called through struct net_lib, for
 * example lib->nftnl_rule_alloc().
 */
#ifndef CORE_MACHINE_NET_NET_LIB_H
#define CORE_MACHINE_NET_NET_LIB_H

#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>

#include "core/base/fault.h"

#define NET_MNL(X)                    \
	X(mnl_attr_nest_end)          \
	X(mnl_attr_nest_start)        \
	X(mnl_attr_put)               \
	X(mnl_attr_put_strz)          \
	X(mnl_attr_put_u32)           \
	X(mnl_attr_put_u8)            \
	X(mnl_nlmsg_put_extra_header) \
	X(mnl_nlmsg_put_header)       \
	X(mnl_socket_bind)            \
	X(mnl_socket_close)           \
	X(mnl_socket_get_fd)          \
	X(mnl_socket_open)

#define NET_NFTNL(X)                           \
	X(nftnl_batch_begin)                   \
	X(nftnl_batch_end)                     \
	X(nftnl_chain_alloc)                   \
	X(nftnl_chain_free)                    \
	X(nftnl_chain_nlmsg_build_payload)     \
	X(nftnl_chain_set_s32)                 \
	X(nftnl_chain_set_str)                 \
	X(nftnl_chain_set_u32)                 \
	X(nftnl_expr_alloc)                    \
	X(nftnl_expr_set)                      \
	X(nftnl_expr_set_str)                  \
	X(nftnl_expr_set_u32)                  \
	X(nftnl_expr_set_u8)                   \
	X(nftnl_nlmsg_build_hdr)               \
	X(nftnl_rule_add_expr)                 \
	X(nftnl_rule_alloc)                    \
	X(nftnl_rule_free)                     \
	X(nftnl_rule_nlmsg_build_payload)      \
	X(nftnl_rule_set_str)                  \
	X(nftnl_rule_set_u32)                  \
	X(nftnl_set_alloc)                     \
	X(nftnl_set_elem_add)                  \
	X(nftnl_set_elem_alloc)                \
	X(nftnl_set_elem_set)                  \
	X(nftnl_set_elems_nlmsg_build_payload) \
	X(nftnl_set_free)                      \
	X(nftnl_set_nlmsg_build_payload)       \
	X(nftnl_set_set_data)                  \
	X(nftnl_set_set_str)                   \
	X(nftnl_set_set_u32)                   \
	X(nftnl_table_alloc)                   \
	X(nftnl_table_free)                    \
	X(nftnl_table_nlmsg_build_payload)     \
	X(nftnl_table_set_str)                 \
	X(nftnl_table_set_u32)

struct net_lib {
	void *mnl, *nftnl; /* handles of the libraries; NULL until they are opened */
#define X(name) __typeof__(name) *name;
	NET_MNL(X)
	NET_NFTNL(X)
#undef X
};

/* Opens both libraries, unless they are open already. Fails with `unavailable` if a library is
 * not installed. */
int net_lib_open(struct net_lib *lib, struct fault *f);
void net_lib_close(struct net_lib *lib);

#endif
