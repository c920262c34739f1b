/* size - tests of the cost of a hundred members, tests of real taps, and tests of lost rules. */
#include "tests/lib/place.h"
#include "tests/net/stories.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int number_of(const char *command)
{
	return (int)strtol(lab_run(NULL, "%s", command), NULL, 10);
}

/* Returns the number of rules in the output of nft. */
static int rules(void)
{
	return number_of("nft -j list ruleset | grep -o '{\"rule\":' | wc -l");
}

static void fill(struct net_member *m, size_t n, uint32_t base)
{
	for (size_t i = 0; i < n; i++) {
		m[i] = (struct net_member){ .mac = { 2, 1, 0, 0, (uint8_t)(i >> 8),
						     (uint8_t)i },
					    .ip = base + 100 + (uint32_t)i,
					    .team = 10 + (uint32_t)i % 5,
					    .inter_vm = true,
					    .internet = i % 2,
					    .all_ports = true };
		snprintf(m[i].tap, sizeof(m[i].tap), "cd%08x-c0de",
			 0x1000u + (unsigned)i);
	}
}

void a_hundred_members_cost_no_more_rules_than_eight(void **state)
{
	static struct net_member many[100];
	struct lab *l = *state;
	int few, elements;

	lab_apply(l);
	few = rules();
	assert_true(few <= 20);
	fill(many, 100, l->plan.base);
	l->plan.members = many;
	l->plan.n_members = 100;
	lab_apply(l);
	assert_int_equal(rules(), few);
	assert_true(l->net.network.intact(l->net.network.self));
	elements = number_of("nft list ruleset | grep -c '10[.]99[.]'");
	print_message("%d rules; %d lines with members of a hundred\n", few, elements);
	assert_true(elements < 10 * 100);
	assert_int_equal(number_of("ip -o link show master br-cadrec0de | wc -l"), 100);
}

/* Whether the machine answers an ARP request that a VM sends through the tap. */
static bool answers_arp(int fd, const uint8_t mac[6], uint32_t ip, uint32_t asks)
{
	uint8_t frame[10 + 60] = { 0 }, *e = frame + 10;
	struct pollfd p = { fd, POLLIN, 0 };
	uint8_t got[2048];

	memset(e, 255, 6);
	memcpy(e + 6, mac, 6);
	memcpy(e + 12, "\x08\x06\0\1\x08\0\6\4\0\1", 10);
	memcpy(e + 22, mac, 6);
	memcpy(e + 28, (uint32_t[]){ htonl(ip) }, 4);
	memcpy(e + 38, (uint32_t[]){ htonl(asks) }, 4);
	while (read(fd, got, sizeof(got)) > 0)
		;
	/* An idle machine answers before write() returns, and a busy machine answers later.
	 * Without an answer the test asks again, as a VM does. */
	for (int i = 0; i < 5; i++) {
		assert_int_equal(write(fd, frame, sizeof(frame)), sizeof(frame));
		while (poll(&p, 1, patience_ms(100)) == 1)
			if (read(fd, got, sizeof(got)) >= 52 &&
			    !memcmp(got + 10 + 12, "\x08\x06\0\1\x08\0\6\4\0\2", 10))
				return true;
	}
	return false;
}

void a_tap_is_made_and_pinned(void **state)
{
	struct ifreq r = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	struct lab *l = *state;
	struct net_member *d1 = &l->members[D1];
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);

	assert_true(fd >= 0);
	snprintf(d1->tap, sizeof(d1->tap), "cd00abcdef-c0de");
	lab_apply(l); /* replaces the old cable with a tap */
	assert_string_equal(lab_run(NULL, "ip -o link show type veth | grep -c cd0"),
			    "7\n");
	memcpy(r.ifr_name, d1->tap, sizeof(d1->tap));
	assert_int_equal(ioctl(fd, TUNSETIFF, &r), 0);
	/* The bridge starts forwarding a little after the tap is opened. */
	lab_run(NULL, "until bridge link show dev %s | grep -q forwarding; do :; done",
		d1->tap);
	assert_true(answers_arp(fd, d1->mac, d1->ip, l->plan.base + 1));
	/* The machine also answers if d1 asks for the hardware address of a1. */
	assert_true(answers_arp(fd, d1->mac, d1->ip, l->members[A1].ip));
	assert_false(answers_arp(fd, d1->mac, l->members[A1].ip, l->plan.base + 1));
	assert_false(answers_arp(fd, l->members[A1].mac, d1->ip, l->plan.base + 1));
	lab_apply(l); /* a running VM keeps its tap */
	assert_true(answers_arp(fd, d1->mac, d1->ip, l->plan.base + 1));
	l->plan.n_members = D1;
	lab_apply(l);
	assert_string_equal(lab_run(NULL, "ip -o link show type tun | wc -l"), "0\n");
	close(fd);
}

void rules_that_somebody_flushed_are_missed(void **state)
{
	struct lab *l = *state;

	lab_apply(l);
	assert_true(l->net.network.intact(l->net.network.self));
	lab_run(NULL, "nft add table inet other; nft delete table inet other");
	assert_true(l->net.network.intact(l->net.network.self));
	lab_run(NULL, "nft flush ruleset");
	assert_false(l->net.network.intact(l->net.network.self));
	lab_apply(l);
	assert_true(l->net.network.intact(l->net.network.self));
	assert_false(lab_reaches(l, A1, B2, PING, false));
	assert_true(lab_reaches(l, A1, A2, PING, true));
}

/* Another version of cadre may have left nft tables with other sets and chains. */
void tables_of_another_shape_are_made_anew(void **state)
{
	struct lab *l = *state;

	lab_run(NULL, "nft 'add table inet cadrec0de; "
		      "add set inet cadrec0de reach { type ipv4_addr; }; add chain inet "
		      "cadrec0de forward { type filter hook forward priority 7; }'");
	lab_apply(l);
	assert_true(lab_reaches(l, A1, A3, TCP_WEB, true));
	assert_false(lab_reaches(l, A1, D1, TCP_WEB, false));
}

void a_range_that_is_in_use_is_refused(void **state)
{
	struct lab *l = *state;
	struct fault f = { 0 };

	l->plan.base = 0xac100000; /* 172.16.0.0/16 contains `left` and `right` */
	assert_int_equal(l->net.network.apply(l->net.network.self, &l->plan, &f),
			 FAULT_CONFLICT);
	assert_non_null(strstr(f.text, "172.16.0.0/16 are behind interface"));
	assert_non_null(strstr(f.hint, "network.range"));
}

void what_nft_shows_it_takes_again(void **state)
{
	struct lab *l = *state;
	char path[] = "/tmp/cadre-rules-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	lab_apply(l);
	lab_run(NULL, "nft list ruleset > %s && nft flush ruleset && nft -f %s", path,
		path);
	unlink(path);
	assert_true(lab_reaches(l, A1, A3, TCP_WEB, true));
	assert_false(lab_reaches(l, A1, D1, TCP_WEB, false));
	assert_false(lab_reaches(l, A1, A2, TCP_SSH, false));
}
