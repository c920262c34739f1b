/* change - tests that change policies while connections are open. */
#include "tests/net/stories.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sched.h>
#include <string.h>
#include <time.h>

void what_stays_allowed_goes_on_and_what_is_not_ends(void **state)
{
	static const uint16_t web[] = { PORT_WEB };
	struct lab *l = *state;
	struct net_member *a3 = &l->members[A3];
	int ssh, http, above;

	lab_apply(l);
	ssh = lab_connect(l, A1, a3->ip, PORT_SSH);
	http = lab_connect(l, A1, a3->ip, PORT_WEB);
	above = lab_connect(l, B1, a3->ip, PORT_WEB);
	assert_true(lab_talks(l, A1, ssh, true));

	a3->all_ports = false;
	a3->ports = web;
	a3->n_ports = 1;
	lab_apply(l);
	assert_true(lab_talks(l, A1, http, true));
	assert_true(lab_talks(l, B1, above, true));
	assert_false(lab_talks(l, A1, ssh, false));
	assert_false(lab_reaches(l, A1, A3, TCP_SSH, false));

	/* b1 is no longer the lead of team 2. */
	l->members[B1].parent = 0;
	lab_apply(l);
	assert_true(lab_talks(l, A1, http, true));
	assert_false(lab_talks(l, B1, above, false));
	assert_false(lab_reaches(l, A3, B1, PING, false));

	/* The policy isolates a3, so answers of a3 are dropped, too. */
	a3->inter_vm = false;
	lab_apply(l);
	assert_false(lab_talks(l, A1, http, false));
	assert_false(lab_reaches(l, A1, A3, UDP_WEB, false));
	assert_false(lab_reaches(l, A3, A1, PING, false));
	assert_true(lab_reaches(l, A1, A2, PING, true));

	/* TCP now delivers the data whose packets were dropped before. */
	a3->inter_vm = true;
	lab_apply(l);
	assert_true(lab_talks(l, A1, http, true));
}

void the_internet_is_given_and_taken(void **state)
{
	struct lab *l = *state;
	uint32_t out = l->actors[OUT].ip;
	int line;

	lab_apply(l);
	line = lab_connect(l, A1, out, PORT_WEB);
	l->members[A3].internet = true;
	lab_apply(l);
	assert_true(lab_talks(l, A1, line, true));
	assert_true(lab_reaches(l, A3, OUT, UDP_WEB, true));
	l->members[A1].internet = false;
	lab_apply(l);
	assert_false(lab_talks(l, A1, line, false));
	assert_false(lab_reaches(l, A1, OUT, PING, false));
	assert_true(lab_reaches(l, A3, OUT, UDP_WEB, true));
}

/* While the test replaces the rules a hundred times on another processor, no allowed packet is
 * lost, and no forbidden packet passes. */
void no_packet_falls_between_two_plans(void **state)
{
	struct lab *l = *state;
	struct order allowed = { .deed = DEED_STREAM, .number = 1500 };
	struct order forbidden = allowed;
	cpu_set_t all, one;
	int got;

	memset(&all, 255, sizeof(all));
	lab_apply(l);
	allowed.to = l->members[A2].ip;
	forbidden.to = l->members[C2].ip;
	got = lab_count(l, A2);
	assert_true(lab_reaches(l, A1, A2, PING, true)); /* ARP has resolved A2 */
	sched_getaffinity(0, sizeof(one), &one);
	sched_setaffinity(0, sizeof(all), &all);
	actor_begin(&l->actors[A1], &allowed);
	actor_begin(&l->actors[D1], &forbidden);
	for (int i = 0; i < 100; i++) {
		l->members[A3].inter_vm = i % 2;
		l->members[D1].internet = i % 2;
		lab_apply(l);
	}
	actor_end(&l->actors[A1]);
	actor_end(&l->actors[D1]);
	sched_setaffinity(0, sizeof(one), &one);
	assert_int_equal(lab_count(l, A2) - got, allowed.number);
	assert_int_equal(lab_count(l, C2), 0);
}

void an_address_goes_to_another_team(void **state)
{
	struct lab *l = *state;
	int line;

	lab_apply(l);
	line = lab_connect(l, A1, l->members[A3].ip, PORT_WEB);
	/* a3 is destroyed, and a VM of team 4 gets the address of a3. */
	l->members[A3].team = 4;
	lab_apply(l);
	assert_false(lab_talks(l, A1, line, false));
	assert_true(lab_reaches(l, D1, A3, TCP_WEB, true));
}
