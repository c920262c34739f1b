/* outside - forwarded ports, and rules of other programs on this machine. */
#include "tests/net/stories.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void set_forward(struct lab *l, size_t i, enum who to, uint16_t port, bool open)
{
	l->forwards[i] = (struct net_forward){ .ip = l->members[to].ip,
					       .protocol = IPPROTO_TCP,
					       .port = port,
					       .to = PORT_WEB,
					       .open = open };
	l->plan.n_forwards = i + 1;
}

static bool opens(struct lab *l, enum who from, uint32_t to, uint16_t port, bool expect)
{
	struct order o = { .deed = DEED_TCP, .to = to, .port = port, .expect = expect };
	struct report r = actor_do(&l->actors[from], &o);
	bool talks;

	if (!r.yes)
		return false;
	talks = lab_talks(l, from, r.line, expect);
	o.deed = DEED_HANG_UP;
	o.line = r.line;
	actor_do(&l->actors[from], &o);
	return talks;
}

enum { LOOPBACK = 0x7f000001, UPLINK = 0xc0000201 };

void a_port_leads_to_a_vm_for_whom_it_is_meant(void **state)
{
	struct lab *l = *state;
	int line;

	set_forward(l, 0, B2, 8080, false);
	set_forward(l, 1, D1, 8081, true);
	lab_apply(l);
	/* The machine itself reaches both ports. */
	assert_true(opens(l, HOST, LOOPBACK, 8080, true));
	assert_true(opens(l, HOST, LOOPBACK, 8081, true));
	assert_true(opens(l, HOST, UPLINK, 8081, true));
	/* Other machines reach only the open port. No VM reaches either port. */
	assert_false(opens(l, OUT, UPLINK, 8080, false));
	assert_true(opens(l, OUT, UPLINK, 8081, true));
	assert_true(opens(l, LEFT, 0xac100101, 8081, true));
	assert_false(opens(l, A1, UPLINK, 8081, false));
	assert_false(opens(l, A1, l->plan.base + 1, 8080, false));
	assert_false(opens(l, B1, LOOPBACK, 8080, false));
	/* Other ports of the VM stay closed. */
	assert_false(opens(l, OUT, l->members[D1].ip, PORT_WEB, false));

	line = lab_connect(l, OUT, UPLINK, 8081);
	set_forward(l, 0, D1, 9000, true);
	set_forward(l, 1, D1, 8081, true);
	l->plan.n_forwards = 2;
	lab_apply(l);
	assert_true(lab_talks(l, OUT, line, true));
	assert_true(opens(l, OUT, UPLINK, 9000, true));
	assert_false(opens(l, HOST, LOOPBACK, 8080, false));
	l->plan.n_forwards = 0;
	lab_apply(l);
	assert_false(lab_talks(l, OUT, line, false));
	assert_false(opens(l, OUT, UPLINK, 9000, false));
}

static const char others[] =
	"add table inet mine; add set inet mine s { type ipv4_addr; };"
	"add element inet mine s { 10.99.0.2 };"
	"add chain inet mine c { type filter hook forward priority 5; policy accept; };"
	"add rule inet mine c ip daddr 203.0.113.7 drop;"
	"add table ip nat;"
	"add chain ip nat POSTROUTING { type nat hook postrouting priority 100; };"
	"add rule ip nat POSTROUTING ip saddr 172.16.9.0/24 masquerade;"
	"add table bridge theirs;"
	"add chain bridge theirs c { type filter hook forward priority 0; };";

void what_is_not_ours_is_left_alone(void **state)
{
	static const char look[] =
		"for t in 'inet mine' 'ip nat' 'bridge theirs'; do nft list table $t; done; "
		"cat /proc/sys/net/ipv4/ip_forward; "
		"cat /proc/sys/net/ipv4/conf/left0/*forwarding; ip -4 route show table all "
		"| grep -v br-cadre | sort";
	struct lab *l = *state;
	struct fault f = { 0 };
	char *before;
	int line;

	lab_run(NULL, "nft '%s'", others);
	assert_true(lab_reaches(l, LEFT, RIGHT, UDP_WEB, true));
	line = lab_connect(l, LEFT, l->actors[RIGHT].ip, PORT_WEB);
	before = strdup(lab_run(NULL, look));
	lab_apply(l);
	assert_string_equal(lab_run(NULL, look), before);
	assert_true(lab_talks(l, LEFT, line, true));
	assert_true(lab_reaches(l, LEFT, RIGHT, PING, true));
	assert_int_equal(l->net.network.remove(l->net.network.self, l->plan.tag, &f), 0);
	assert_string_equal(lab_run(NULL, look), before);
	assert_true(lab_talks(l, LEFT, line, true));
	lab_run(NULL, "nft delete table inet mine; nft delete table ip nat; "
		      "nft delete table bridge theirs");
	free(before);
}

void nothing_is_left_at_the_end(void **state)
{
	static const char look[] = "nft list ruleset; ip -o link | cut -d: -f2 | sort; "
				   "cat /proc/sys/net/ipv4/conf/*/forwarding";
	struct lab *l = *state;
	struct fault f = { 0 };
	char *before;

	/* The removal of the network would remove the VMs' cables as it removes taps. Therefore
	 * the test removes the cables first. */
	lab_run(NULL, "for i in $(ip -o link | grep -o 'cd[0-9a-f]*-c0de'); do "
		      "ip link del $i; done");
	before = strdup(lab_run(NULL, look));
	lab_apply(l);
	assert_true(strlen(lab_run(NULL, look)) > strlen(before));
	assert_int_equal(l->net.network.remove(l->net.network.self, l->plan.tag, &f), 0);
	assert_string_equal(lab_run(NULL, look), before);
	/* A second removal of the network succeeds, too. */
	assert_int_equal(l->net.network.remove(l->net.network.self, l->plan.tag, &f), 0);
	free(before);
}
