/* spoof - a VM that forges its address in Ethernet, IP and ARP. */
#include "tests/net/stories.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

/* A frame under construction. The put functions take numbers in host byte order. */
struct frame {
	struct order order;
};

static void put(struct frame *f, const void *data, size_t n)
{
	memcpy(f->order.bytes + f->order.n, data, n);
	f->order.n += n;
}

static void put16(struct frame *f, uint16_t n)
{
	put(f, (uint16_t[]){ htons(n) }, 2);
}

static void put32(struct frame *f, uint32_t n)
{
	put(f, (uint32_t[]){ htonl(n) }, 4);
}

static const uint8_t everybody[6] = { 255, 255, 255, 255, 255, 255 };
/* The bridge's hardware address, which ends with the network's tag. */
static const uint8_t bridge[6] = { 2, 'c', 'd', 0, 0xc0, 0xde };

static struct frame ethernet(const uint8_t to[6], const uint8_t from[6], uint16_t type)
{
	struct frame f = { .order = { .deed = DEED_FRAME } };

	put(&f, to, 6);
	put(&f, from, 6);
	put16(&f, type);
	return f;
}

/* Stores at `place` the checksum of the n bytes from `start`. */
static void set_sum(struct frame *f, size_t start, size_t n, size_t place)
{
	uint8_t *b = f->order.bytes;
	uint32_t sum = 0;

	memset(b + place, 0, 2);
	for (size_t i = start; i < start + n; i += 2)
		sum += (uint32_t)(b[i] << 8 | (i + 1 < start + n ? b[i + 1] : 0));
	sum = (sum & 0xffff) + (sum >> 16);
	memcpy(b + place, (uint16_t[]){ htons((uint16_t) ~(sum + (sum >> 16))) }, 2);
}

static void set_length(struct frame *f, size_t ip, uint16_t n)
{
	memcpy(f->order.bytes + ip + 2, (uint16_t[]){ htons(n) }, 2);
	set_sum(f, ip, 20, ip + 10);
}

/* Adds a datagram for port 80 with a unique word as its data. */
static void put_udp(struct frame *f, uint32_t from, uint32_t to, const char *word)
{
	size_t start = f->order.n, n = strlen(word);

	put(f, (uint8_t[]){ 0x45, 0 }, 2);
	put16(f, (uint16_t)(28 + n));
	put(f, (uint8_t[]){ 0, 1, 0, 0, 64, 17, 0, 0 }, 8);
	put32(f, from);
	put32(f, to);
	set_sum(f, start, 20, start + 10);
	put16(f, 4000);
	put16(f, 80);
	put16(f, (uint16_t)(8 + n));
	put16(f, 0);
	put(f, word, n);
}

static struct frame udp(const uint8_t mac[6], uint32_t from, uint32_t to,
			const char *word)
{
	struct frame f = ethernet(bridge, mac, 0x0800);

	put_udp(&f, from, to, word);
	return f;
}

/* Makes an ARP frame, which claims that the IP address `ip` belongs to the hardware address
 * `mac`. */
static struct frame arp(const uint8_t to[6], const uint8_t sender[6],
			const uint8_t mac[6], uint32_t ip, uint32_t asks,
			const char *word)
{
	struct frame f = ethernet(to, sender, 0x0806);

	put(&f, (uint8_t[]){ 0, 1, 8, 0, 6, 4, 0, asks ? 1 : 2 }, 8);
	put(&f, mac, 6);
	put32(&f, ip);
	put(&f, to, 6);
	put32(&f, asks ? asks : ip);
	put(&f, word, strlen(word));
	return f;
}

/* Sends the frame. Returns whether a frame with `word` arrives at `to`. */
static bool arrives(struct lab *l, enum who from, enum who to, const struct frame *f,
		    const char *word)
{
	lab_forget(l, to);
	actor_do(&l->actors[from], &f->order);
	return lab_seen(l, to, word, strlen(word));
}

void nobody_sends_with_the_address_of_another(void **state)
{
	struct lab *l = *state;
	const struct net_member *a1 = &l->members[A1], *b2 = &l->members[B2],
				*d1 = &l->members[D1];
	uint32_t a3 = l->members[A3].ip;
	struct frame f;

	lab_apply(l);
	/* A frame with true addresses passes. Therefore, if the next frames are blocked, only
	 * their false addresses can be the reason. */
	f = udp(a1->mac, a1->ip, a3, "true-one");
	assert_true(arrives(l, A1, A3, &f, "true-one"));
	/* d1 poses as a1, a teammate of a3. The first frame has the hardware address of d1, and
	 * the second frame has the hardware address of a1. */
	f = udp(d1->mac, a1->ip, a3, "ip-spoof");
	assert_false(arrives(l, D1, A3, &f, "ip-spoof"));
	f = udp(a1->mac, a1->ip, a3, "all-of-it");
	assert_false(arrives(l, D1, A3, &f, "all-of-it"));
	/* a1 poses as a2, another teammate. */
	f = udp(a1->mac, l->members[A2].ip, a3, "as-a2");
	assert_false(arrives(l, A1, A3, &f, "as-a2"));
	/* a1 uses a false hardware address and its own IP address. */
	f = udp(b2->mac, a1->ip, a3, "mac-spoof");
	assert_false(arrives(l, A1, A3, &f, "mac-spoof"));
	/* a1 sends directly to a3's hardware address, and not to the machine's. */
	f = udp(a1->mac, a1->ip, a3, "direct");
	memcpy(f.order.bytes, l->members[A3].mac, 6);
	assert_false(arrives(l, A1, A3, &f, "direct"));
	/* a1 sends from the gateway's address, from 0.0.0.0, and from 127.0.0.1. */
	f = udp(a1->mac, l->plan.base + 1, a3, "as-gateway");
	assert_false(arrives(l, A1, A3, &f, "as-gateway"));
	f = udp(a1->mac, 0, a3, "as-nobody");
	assert_false(arrives(l, A1, A3, &f, "as-nobody"));
	f = udp(a1->mac, 0x7f000001, a3, "as-loopback");
	assert_false(arrives(l, A1, A3, &f, "as-loopback"));
}

/* Makes an ICMP error, which reports that a packet from port 4000 of `to` did not arrive at
 * `far`. The frame ends with `word`. */
static struct frame icmp_error(const struct net_member *from, uint32_t to, uint32_t far,
			       const char *word)
{
	struct frame f = ethernet(bridge, from->mac, 0x0800);
	size_t start, n;

	put_udp(&f, from->ip, to, "");
	f.order.n -= 8; /* replaces the UDP header with ICMP */
	start = f.order.n;
	put(&f, (uint8_t[]){ 3, 3, 0, 0, 0, 0, 0, 0 }, 8);
	put_udp(&f, to, far, word);
	n = f.order.n - start;
	f.order.bytes[14 + 9] = 1;
	set_length(&f, 14, (uint16_t)(20 + n));
	set_sum(&f, start, n, start + 2);
	return f;
}

void errors_about_others_connections_do_not_pass(void **state)
{
	struct lab *l = *state;
	const struct net_member *a1 = &l->members[A1], *d1 = &l->members[D1];
	uint32_t out = l->actors[OUT].ip;
	struct frame f;

	lab_apply(l);
	/* a1 opens two flows from port 4000, to a teammate and to the internet. */
	f = udp(a1->mac, a1->ip, l->members[A3].ip, "to-a3");
	assert_true(arrives(l, A1, A3, &f, "to-a3"));
	f = udp(a1->mac, a1->ip, out, "to-out");
	assert_true(arrives(l, A1, OUT, &f, "to-out"));
	f = icmp_error(d1, a1->ip, l->members[A3].ip, "not-a3s-error");
	assert_false(arrives(l, D1, A1, &f, "not-a3s-error"));
	f = icmp_error(d1, a1->ip, out, "not-outs-error");
	assert_false(arrives(l, D1, A1, &f, "not-outs-error"));
	f = icmp_error(d1, out, a1->ip, "not-a1s-error");
	assert_false(arrives(l, D1, OUT, &f, "not-a1s-error"));
}

void nothing_but_ipv4_and_arp_leaves_a_vm(void **state)
{
	struct lab *l = *state;
	const struct net_member *a1 = &l->members[A1];
	struct frame f;

	lab_apply(l);
	f = ethernet(everybody, a1->mac, 0x86dd);
	put(&f, "\x60\0\0\0\0\4\x3b\xff ipv6 ipv6 ipv6 ipv6 ipv6 ipv6 ", 40);
	assert_false(arrives(l, A1, A3, &f, "ipv6 ipv6"));
	f = ethernet(everybody, a1->mac, 0x88b5);
	put(&f, "whatever it is", 14);
	assert_false(arrives(l, A1, A3, &f, "whatever it is"));
	/* The frame's type is VLAN, and the VLAN tag contains the type IPv4. */
	f = ethernet(bridge, a1->mac, 0x8100);
	put16(&f, 7);
	put16(&f, 0x0800);
	put_udp(&f, a1->ip, l->members[A3].ip, "in-a-vlan");
	assert_false(arrives(l, A1, A3, &f, "in-a-vlan"));
}

/* Returns the entry of the machine's neighbor table for an address. */
static const char *neighbor(const char *ip)
{
	return lab_run(NULL, "ip neigh show %s", ip);
}

void arp_tells_nobody_a_lie(void **state)
{
	struct lab *l = *state;
	const struct net_member *d1 = &l->members[D1], *a1 = &l->members[A1];
	uint32_t gateway = l->plan.base + 1;
	struct frame f;

	lab_apply(l);
	assert_true(lab_reaches(l, A1, A3, PING, true));
	/* lab_apply() has set a permanent entry for a1, which ARP frames do not change. */
	assert_non_null(strstr(neighbor("10.99.0.2"), "02:00:00:00:00:01 PERMANENT"));
	f = arp(everybody, d1->mac, d1->mac, a1->ip, 0, "i-am-a1");
	assert_false(arrives(l, D1, A3, &f, "i-am-a1"));
	assert_non_null(strstr(neighbor("10.99.0.2"), "02:00:00:00:00:01 PERMANENT"));
	/* The machine learns no entry for an address that no VM has. */
	f = arp(bridge, d1->mac, d1->mac, l->plan.base + 1000, gateway, "i-am-1000");
	assert_false(arrives(l, D1, A3, &f, "i-am-1000"));
	assert_string_equal(neighbor("10.99.3.232"), "");
	/* ARP frames from a VM that claims to be the gateway reach no other VM. */
	f = arp(everybody, d1->mac, d1->mac, gateway, 0, "i-am-gw");
	assert_false(arrives(l, D1, A1, &f, "i-am-gw"));
	f = arp(a1->mac, d1->mac, d1->mac, gateway, 0, "to-a1-only");
	assert_false(arrives(l, D1, A1, &f, "to-a1-only"));
	/* The frame comes from d1's hardware address, but the ARP data contains a1's hardware
	 * address. */
	f = arp(bridge, d1->mac, a1->mac, d1->ip, gateway, "other-mac");
	assert_false(arrives(l, D1, A1, &f, "other-mac"));
	assert_non_null(strstr(neighbor("10.99.0.9"), "02:00:00:00:00:08 PERMANENT"));
	assert_non_null(
		strstr(lab_run(NULL, "nsenter -t %d -n ip neigh", (int)l->actors[A1].pid),
		       "10.99.0.1 dev eth0 lladdr 02:63:64:00:c0:de"));
}
