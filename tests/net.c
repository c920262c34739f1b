/*
 * net - tests with real packets. The packets show which machines and VMs can reach each other.
 *
 * Network namespaces take the place of the machine and of each VM. tests/net/lab.h lists all
 * namespaces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "tests/net/stories.h"

static int set_up(void **state)
{
	*state = lab_open();
	return 0;
}

static int tear_down(void **state)
{
	lab_close(*state);
	return 0;
}

int main(int argc, char **argv)
{
#define story(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		story(members_reach_their_team_and_nobody_else),
		story(it_is_the_same_where_bridges_call_iptables),
		story(after_a_restart_it_is_as_before),
		story(nobody_sends_with_the_address_of_another),
		story(errors_about_others_connections_do_not_pass),
		story(nothing_but_ipv4_and_arp_leaves_a_vm),
		story(arp_tells_nobody_a_lie),
		story(what_stays_allowed_goes_on_and_what_is_not_ends),
		story(the_internet_is_given_and_taken),
		story(no_packet_falls_between_two_plans),
		story(an_address_goes_to_another_team),
		story(a_port_leads_to_a_vm_for_whom_it_is_meant),
		story(what_is_not_ours_is_left_alone),
		story(nothing_is_left_at_the_end),
		story(a_hundred_members_cost_no_more_rules_than_eight),
		story(a_tap_is_made_and_pinned),
		story(rules_that_somebody_flushed_are_missed),
		story(tables_of_another_shape_are_made_anew),
		story(a_range_that_is_in_use_is_refused),
		story(what_nft_shows_it_takes_again),
		story(a_host_keeps_its_network),
	};
	int rc = lab_enter();

	if (argc > 1)
		cmocka_set_test_filter(argv[1]); /* a pattern of test names */
	return rc ? rc : cmocka_run_group_tests(tests, NULL, NULL);
}
