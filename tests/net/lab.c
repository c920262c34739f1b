#include "tests/net/lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const names[ACTORS] = { "a1", "a2", "a3",  "b1",   "b2",    "c1",
					   "c2", "d1", "out", "left", "right", "host" };

/* --- a shell --------------------------------------------------------------------- */

char *lab_run(int *status, const char *format, ...)
{
	static char text[1 << 20];
	char command[1024];
	size_t n = 0, got;
	va_list ap;
	FILE *p;
	int rc;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	fflush(NULL);
	p = popen(command, "r");
	assert_non_null(p);
	while ((got = fread(text + n, 1, sizeof(text) - 1 - n, p)) > 0)
		n += got;
	text[n] = '\0';
	rc = pclose(p);
	if (status)
		*status = rc;
	else if (rc)
		fail_msg("%s: %s", command, text);
	return text;
}

/* --- actors ------------------------------------------------------------------------ */

void actor_start(struct actor *a, const char *name, uint32_t ip, uint32_t fence,
		 bool inside)
{
	int pair[2], ready[2];
	char c;

	*a = (struct actor){ .name = name, .ip = ip };
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	a->pid = fork();
	assert_true(a->pid >= 0);
	if (a->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!inside && unshare(CLONE_NEWNET))
			_exit(1);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (int fd = 3; fd < 256; fd++)
			if (fd != pair[1])
				close(fd);
		actor_live(pair[1], fence);
	}
	close(pair[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	a->fd = pair[0];
}

void actor_begin(struct actor *a, const struct order *order)
{
	assert_int_equal(send(a->fd, order, sizeof(*order), 0), sizeof(*order));
}

struct report actor_end(struct actor *a)
{
	struct report r;

	if (recv(a->fd, &r, sizeof(r), 0) != sizeof(r))
		fail_msg("actor %s is gone", a->name);
	return r;
}

struct report actor_do(struct actor *a, const struct order *order)
{
	actor_begin(a, order);
	return actor_end(a);
}

void actor_stop(struct actor *a)
{
	close(a->fd);
	waitpid(a->pid, NULL, 0);
}

/* --- the machine -------------------------------------------------------------------- */

/* Makes this process root in its own namespaces, which is enough for the test. */
static bool become_root(void)
{
	uid_t uid = geteuid();
	char map[64];
	int fd;

	if (uid == 0)
		return unshare(CLONE_NEWNET) == 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	snprintf(map, sizeof(map), "0 %d 1\n", (int)uid);
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, map, strlen(map)) < 0)
		return false;
	close(fd);
	return true;
}

int lab_enter(void)
{
	struct net_linux net;
	struct net_plan none = { .tag = "0000", .base = 0x0a000000, .prefix = 16 };
	struct fault f = { 0 };
	cpu_set_t one;
	int rc;

	if (!become_root()) {
		fprintf(stderr, "no network namespaces for us\n");
		return 77;
	}
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	setenv("PATH", "/usr/sbin:/sbin:/usr/bin:/bin", 1);
	net_linux_init(&net);
	rc = net.network.apply(net.network.self, &none, &f);
	if (rc == 0)
		rc = net.network.remove(net.network.self, "0000", &f);
	net_linux_release(&net);
	if (rc)
		fprintf(stderr, "%s; %s\n", f.text, f.hint);
	return rc == FAULT_UNAVAILABLE ? 77 : rc;
}

static void wire_up(struct actor *a, const char *own, const char *address)
{
	lab_run(NULL,
		"ip link add %s type veth peer name eth0 netns %d && "
		"nsenter -t %d -n sh -c 'ip link set lo up; ip addr add %s dev eth0; "
		"ip link set eth0 up'",
		own, (int)a->pid, (int)a->pid, address);
}

static void open_vm(struct lab *l, enum who who, uint32_t team, uint32_t parent)
{
	struct net_member *m = &l->members[who];
	char address[40];

	*m = (struct net_member){
		.mac = { 2, 0, 0, 0, 0, (uint8_t)(who + 1) },
		.ip = l->plan.base + 2 + (uint32_t)who,
		.team = team,
		.parent = parent,
		.inter_vm = true,
		.all_ports = true,
	};
	snprintf(m->tap, sizeof(m->tap), "cd%08x-c0de", (unsigned)who);
	actor_start(&l->actors[who], names[who], m->ip, l->plan.base + 1, false);
	snprintf(address, sizeof(address), "10.99.0.%d/16", 2 + (int)who);
	wire_up(&l->actors[who], m->tap, address);
	lab_run(NULL,
		"nsenter -t %d -n sh -c 'ip link set eth0 address 02:00:00:00:00:%02x && "
		"ip route add default via 10.99.0.1'",
		(int)l->actors[who].pid, who + 1);
}

static void open_neighbors(struct lab *l)
{
	actor_start(&l->actors[HOST], "host", 0xc0000201, 0x7f000001, true);
	actor_start(&l->actors[OUT], "out", 0xc0000202, 0xc0000201, false);
	actor_start(&l->actors[LEFT], "left", 0xac100102, 0xac100101, false);
	actor_start(&l->actors[RIGHT], "right", 0xac100202, 0xac100201, false);
	wire_up(&l->actors[OUT], "up0", "192.0.2.2/24");
	wire_up(&l->actors[LEFT], "left0", "172.16.1.2/24");
	wire_up(&l->actors[RIGHT], "right0", "172.16.2.2/24");
	lab_run(NULL, "ip link set lo up; ip addr add 192.0.2.1/24 dev up0; "
		      "ip link set up0 up; ip route add default via 192.0.2.2; "
		      "ip addr add 172.16.1.1/24 dev left0; ip link set left0 up; "
		      "ip addr add 172.16.2.1/24 dev right0; ip link set right0 up; "
		      "echo 1 > /proc/sys/net/ipv4/conf/left0/forwarding; "
		      "echo 1 > /proc/sys/net/ipv4/conf/right0/forwarding");
	lab_run(NULL, "nsenter -t %d -n ip route add 10.99.0.0/16 via 192.0.2.1",
		(int)l->actors[OUT].pid);
	lab_run(NULL, "nsenter -t %d -n ip route add default via 172.16.1.1",
		(int)l->actors[LEFT].pid);
	lab_run(NULL, "nsenter -t %d -n ip route add default via 172.16.2.1",
		(int)l->actors[RIGHT].pid);
}

struct lab *lab_open(void)
{
	static const uint16_t ports[] = { PORT_WEB, PORT_SINK };
	struct lab *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	assert_int_equal(unshare(CLONE_NEWNET), 0); /* drops an earlier test's network */
	l->plan = (struct net_plan){ .tag = "c0de",
				     .base = 0x0a630000,
				     .prefix = 16,
				     .members = l->members,
				     .n_members = VMS,
				     .forwards = l->forwards };
	open_neighbors(l);
	open_vm(l, A1, 1, 0);
	open_vm(l, A2, 1, 0);
	open_vm(l, A3, 1, 0);
	open_vm(l, B1, 2, 1);
	open_vm(l, B2, 2, 0);
	open_vm(l, C1, 3, 1);
	open_vm(l, C2, 3, 0);
	open_vm(l, D1, 4, 0);
	l->members[A1].internet = true;
	l->members[A2].all_ports = false;
	l->members[A2].ports = ports;
	l->members[A2].n_ports = 2;
	net_linux_init(&l->net);
	return l;
}

void lab_close(struct lab *l)
{
	struct fault f = { 0 };

	l->net.network.remove(l->net.network.self, l->plan.tag, &f);
	net_linux_release(&l->net);
	for (int i = 0; i < ACTORS; i++)
		actor_stop(&l->actors[i]);
	free(l);
}

void lab_apply(struct lab *l)
{
	struct fault f = { 0 };

	if (l->net.network.apply(l->net.network.self, &l->plan, &f))
		fail_msg("%s (%s)", f.text, f.hint);
}

/* --- who reaches whom ------------------------------------------------------------------ */

bool lab_seen(struct lab *l, enum who who, const void *bytes, size_t n)
{
	struct order o = { .deed = DEED_SEEN, .n = n };

	memcpy(o.bytes, bytes, n);
	return actor_do(&l->actors[who], &o).yes;
}

void lab_forget(struct lab *l, enum who who)
{
	actor_do(&l->actors[who], &(struct order){ .deed = DEED_FORGET });
}

/* Whether a frame with the addresses of `from` and `to` has arrived at `to`. Frames from VMs to
 * the internet carry the machine's address, and frames from the machine to VMs carry the
 * gateway's address. For HOST a frame proves nothing, because the machine receives all frames.
 * There, only an answer or a new datagram at a port counts. */
static bool has_come(struct lab *l, enum who from, enum who to, int datagrams, bool yes)
{
	uint32_t ends[2] = { htonl(l->actors[from].ip), htonl(l->actors[to].ip) };

	if (to == HOST)
		return yes || lab_count(l, to) > datagrams;
	if (to == OUT && from < VMS)
		ends[0] = htonl(l->actors[HOST].ip);
	if (from == HOST && to < VMS)
		ends[0] = htonl(l->plan.base + 1);
	return lab_seen(l, to, ends, sizeof(ends));
}

bool lab_reaches(struct lab *l, enum who from, enum who to, enum way way, bool expect)
{
	static const struct {
		enum new_event deed;
		uint16_t port;
	} ways[] = { { DEED_TCP, PORT_WEB },
		     { DEED_TCP, PORT_SSH },
		     { DEED_UDP, PORT_WEB },
		     { DEED_PING, 0 } };
	struct order o = { .deed = ways[way].deed,
			   .to = l->actors[to].ip,
			   .port = ways[way].port,
			   .expect = expect };
	int tries = expect && way > TCP_SSH ? 3 : 1; /* a busy machine drops packets */
	struct report r;
	bool come;

	do {
		int datagrams = lab_count(l, to);

		lab_forget(l, to);
		r = actor_do(&l->actors[from], &o);
		come = has_come(l, from, to, datagrams, r.yes);
	} while (!come && --tries);
	if (r.yes && way <= TCP_SSH) {
		o.deed = DEED_HANG_UP;
		o.line = r.line;
		actor_do(&l->actors[from], &o);
	}
	if (come != r.yes)
		fail_msg("%s to %s, way %d: %s", l->actors[from].name, l->actors[to].name,
			 way, come ? "arrives and has no answer" : "answered unseen");
	return come;
}

int lab_count(struct lab *l, enum who who)
{
	return actor_do(&l->actors[who], &(struct order){ .deed = DEED_COUNT }).number;
}

/* --- connections ------------------------------------------------------------------------- */

int lab_connect(struct lab *l, enum who from, uint32_t to, uint16_t port)
{
	struct report r = actor_do(&l->actors[from], &(struct order){ .deed = DEED_TCP,
								      .to = to,
								      .port = port,
								      .expect = true });

	assert_true(r.yes);
	return r.line;
}

bool lab_talks(struct lab *l, enum who from, int line, bool expect)
{
	return actor_do(&l->actors[from], &(struct order){ .deed = DEED_TALK,
							   .line = line,
							   .expect = expect })
		.yes;
}
