/* stories - the tests of the network of VMs, listed by file. */
#ifndef TESTS_NET_STORIES_H
#define TESTS_NET_STORIES_H

#include "tests/net/lab.h"

/* matrix.c */
void members_reach_their_team_and_nobody_else(void **state);
void it_is_the_same_where_bridges_call_iptables(void **state);
void after_a_restart_it_is_as_before(void **state);

/* spoof.c */
void nobody_sends_with_the_address_of_another(void **state);
void errors_about_others_connections_do_not_pass(void **state);
void nothing_but_ipv4_and_arp_leaves_a_vm(void **state);
void arp_tells_nobody_a_lie(void **state);

/* change.c */
void what_stays_allowed_goes_on_and_what_is_not_ends(void **state);
void the_internet_is_given_and_taken(void **state);
void no_packet_falls_between_two_plans(void **state);
void an_address_goes_to_another_team(void **state);

/* outside.c */
void a_port_leads_to_a_vm_for_whom_it_is_meant(void **state);
void what_is_not_ours_is_left_alone(void **state);
void nothing_is_left_at_the_end(void **state);

/* size.c */
void a_hundred_members_cost_no_more_rules_than_eight(void **state);
void a_tap_is_made_and_pinned(void **state);
void rules_that_somebody_flushed_are_missed(void **state);
void tables_of_another_shape_are_made_anew(void **state);
void a_range_that_is_in_use_is_refused(void **state);
void what_nft_shows_it_takes_again(void **state);

/* host.c */
void a_host_keeps_its_network(void **state);

#endif
