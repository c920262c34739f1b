/*
 * net_fake - a network in memory, for tests. The network stores the last applied plan, and
 * fails if the test says so.
 */
#ifndef TESTS_LIB_NET_FAKE_H
#define TESTS_LIB_NET_FAKE_H

#include "core/machine/net/net.h"

enum { NET_FAKE_MEMBERS = 128, NET_FAKE_FORWARDS = 16 };

struct net_fake {
	struct network network; /* the table of functions for the code under test */
	struct net_plan plan; /* the last applied plan, without its arrays */
	struct net_member members[NET_FAKE_MEMBERS]; /* members, without their ports */
	struct net_forward forwards[NET_FAKE_FORWARDS];
	int applied, removed;
	bool fail, lost, present;
};

void net_fake_init(struct net_fake *fake);

/* Whether the plan lets the member at address `from` reach the member at address `to`. */
bool net_fake_reaches(const struct net_fake *fake, uint32_t from, uint32_t to);

#endif
