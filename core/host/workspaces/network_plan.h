/*
 * network_plan - rows of VMs' networks as a plan for the machine.
 */
#ifndef CORE_HOST_WORKSPACES_NETWORK_PLAN_H
#define CORE_HOST_WORKSPACES_NETWORK_PLAN_H

#include "core/call/call.h"
#include "core/machine/net/net.h"

struct workspace_network_rows_out;

/* A plan, with the data that the plan points to. */
struct network_plan {
	struct net_plan plan;
	int64_t *rows; /* of the members */
	struct net_member *members;
	struct net_forward *forwards;
	uint16_t *ports;
	size_t n_ports;
};

/* Makes the plan of these rows, the caller's to free; NULL, with a fault, when the
 * configured range is invalid. */
struct network_plan *network_plan_new(const struct settings *settings,
				      const struct workspace_network_rows_out *rows,
				      struct fault *f);
void network_plan_free(struct network_plan *p); /* NULL is fine */
bool network_plan_equal(const struct network_plan *a, const struct network_plan *b);
bool network_plan_has(const struct network_plan *p, int64_t row);

#endif
