/*
 * lab - a machine with VMs of four teams, two neighbor networks and the internet, all as
 * network namespaces.
 *
 *	a1 a2 a3   team 1, where only a1 may use the internet, and a2 opens only ports 80 and 9.
 *	b1 b2      team 2, below team 1, with the lead b1.
 *	c1 c2      team 3, below team 1, with the lead c1.
 *	d1         team 4.
 *	out        a machine of the internet, at 192.0.2.2.
 *	left right two neighbor networks, between which the machine routes without cadre.
 *	host       the machine itself.
 */
#ifndef TESTS_NET_LAB_H
#define TESTS_NET_LAB_H

#include <netinet/in.h>

#include "core/machine/net/net_linux.h"
#include "tests/net/actor.h"

enum who { A1, A2, A3, B1, B2, C1, C2, D1, VMS, OUT = VMS, LEFT, RIGHT, HOST, ACTORS };

struct lab {
	struct actor actors[ACTORS];
	struct net_member members[VMS];
	struct net_forward forwards[4];
	struct net_plan plan;
	struct net_linux net;
};

/* Returns 0 if the tests can run, 77 if the kernel has no nf_tables or does not allow
 * namespaces, or another number after another failure. */
int lab_enter(void);
struct lab *lab_open(void);
void lab_close(struct lab *l);

/* Applies the plan to the machine. The test fails if the plan causes a fault. */
void lab_apply(struct lab *l);

/* Returns the output of a shell command, and stores the command's status in `*status` unless
 * `status` is NULL. */
char *lab_run(int *status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- who reaches whom ----------------------------------------------------------- */

enum way { TCP_WEB, TCP_SSH, UDP_WEB, PING, WAYS };

/* Whether packets from `from` reach `to` and are answered. The test fails if packets arrive but
 * get no answer, or if packets are answered but did not arrive. */
bool lab_reaches(struct lab *l, enum who from, enum who to, enum way way, bool expect);
/* Whether a frame with these bytes arrived at `who`. */
bool lab_seen(struct lab *l, enum who who, const void *bytes, size_t n);
void lab_forget(struct lab *l, enum who who);
int lab_count(struct lab *l, enum who who); /* number of datagrams that `who` received */

/* --- connections ------------------------------------------------------------------- */

int lab_connect(struct lab *l, enum who from, uint32_t to, uint16_t port);
bool lab_talks(struct lab *l, enum who from, int line, bool expect);

#endif
