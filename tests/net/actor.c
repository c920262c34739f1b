#include "tests/net/actor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tests/lib/place.h"

enum { PATIENCE_MS = 20000, LINES = 16, PORTS = 8, KEPT = 1 << 20 };

/* Stands for ICMP_FILTER, whose header conflicts with other headers. */
enum { RAW_FILTER = 1 };

const char actor_word[9] = "cadrecad";

struct life {
	int orders; /* the socket that orders arrive on */
	uint32_t fence;
	int frames; /* raw socket for all incoming frames */
	int ping;
	uint16_t pinged;
	bool answered[1 << 16];
	int listeners[PORTS], datagrams[PORTS], n_ports;
	int served[64], n_served; /* connections whose bytes are echoed */
	int lines[LINES];
	int got; /* datagrams received so far */
	uint8_t *kept; /* frames received so far */
	size_t n_kept;
};

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "actor: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static int must(int fd, const char *what)
{
	if (fd < 0)
		give_up(what);
	return fd;
}

static struct sockaddr_in place(uint32_t ip, uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr = { htonl(ip) } };
}

/* --- the actor's ports --------------------------------------------------------------- */

static void listen_on(struct life *l, uint16_t port)
{
	struct sockaddr_in at = place(INADDR_ANY, port);
	int tcp = must(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "tcp");
	int udp = must(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), "udp");
	int yes = 1, room = 4 << 20;

	setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	setsockopt(udp, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	must(bind(tcp, (void *)&at, sizeof(at)), "bind");
	must(bind(udp, (void *)&at, sizeof(at)), "bind");
	must(listen(tcp, 16), "listen");
	l->listeners[l->n_ports] = tcp;
	l->datagrams[l->n_ports++] = udp;
}

static void serve_datagrams(struct life *l, int fd)
{
	char data[256];
	struct sockaddr_in from, own;
	socklen_t size = sizeof(from), own_size = sizeof(own);
	ssize_t n;

	getsockname(fd, (void *)&own, &own_size);
	while ((n = recvfrom(fd, data, sizeof(data), 0, (void *)&from, &size)) >= 0) {
		l->got++;
		if (own.sin_port != htons(PORT_SINK))
			sendto(fd, data, (size_t)n, 0, (void *)&from, size);
	}
}

static void serve(struct life *l)
{
	char data[256];
	ssize_t n;

	for (int i = 0; i < l->n_ports; i++) {
		struct sockaddr_in from;
		socklen_t size = sizeof(from);
		int fd;

		while (l->n_served < 64 && (fd = accept4(l->listeners[i], (void *)&from,
							 &size, SOCK_NONBLOCK)) >= 0)
			l->served[l->n_served++] = fd;
		serve_datagrams(l, l->datagrams[i]);
	}
	for (int i = 0; i < l->n_served; i++) {
		while ((n = recv(l->served[i], data, sizeof(data), 0)) > 0)
			send(l->served[i], data, (size_t)n, MSG_NOSIGNAL);
		if (n == 0 || (n < 0 && errno != EAGAIN)) {
			close(l->served[i]);
			l->served[i--] = l->served[--l->n_served];
		}
	}
}

static void keep_frames(struct life *l)
{
	uint8_t frame[2048];
	struct sockaddr_ll from;
	socklen_t size = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(l->frames, frame, sizeof(frame), 0, (void *)&from, &size)) >
	       0) {
		if (from.sll_pkttype == PACKET_OUTGOING || l->n_kept + (size_t)n > KEPT)
			continue;
		memcpy(l->kept + l->n_kept, frame, (size_t)n);
		l->n_kept += (size_t)n;
	}
}

/* Serves the ports until `fd` has one of `events`, but for at most `ms`. Returns whether `fd`
 * had an event. */
static bool wait_for(struct life *l, int fd, short events, int ms)
{
	int64_t end = clock_steady_ms() + ms;

	for (;;) {
		struct pollfd p[4 + 2 * PORTS + 64] = { { fd, events, 0 } };
		nfds_t n = 1;
		int left = (int)(end - clock_steady_ms());

		p[n++] = (struct pollfd){ l->frames, POLLIN, 0 };
		for (int i = 0; i < l->n_ports; i++) {
			p[n++] = (struct pollfd){ l->listeners[i], POLLIN, 0 };
			p[n++] = (struct pollfd){ l->datagrams[i], POLLIN, 0 };
		}
		for (int i = 0; i < l->n_served; i++)
			p[n++] = (struct pollfd){ l->served[i], POLLIN, 0 };
		if (left < 0 || poll(p, n, left) < 0)
			return false;
		keep_frames(l);
		serve(l);
		if (p[0].revents)
			return true;
	}
}

/* --- deeds ---------------------------------------------------------------------------- */

static uint16_t sum_of(const uint8_t *data, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i += 2)
		sum += (uint32_t)(data[i] << 8 | data[i + 1]);
	return (uint16_t) ~((sum & 0xffff) + (sum >> 16));
}

static uint16_t send_ping(struct life *l, uint32_t to)
{
	uint8_t echo[16] = { 8, 0, 0, 0, (uint8_t)(getpid() >> 8), (uint8_t)getpid() };
	struct sockaddr_in at = place(to, 0);

	l->pinged++;
	echo[6] = (uint8_t)(l->pinged >> 8);
	echo[7] = (uint8_t)l->pinged;
	memcpy(echo + 8, actor_word, 8);
	memcpy(echo + 2, (uint16_t[]){ htons(sum_of(echo, sizeof(echo))) }, 2);
	sendto(l->ping, echo, sizeof(echo), 0, (void *)&at, sizeof(at));
	return l->pinged;
}

/* Whether the ping with this number is answered within `ms`. */
static bool is_answered(struct life *l, uint16_t number, int ms)
{
	uint8_t answer[256];
	const uint8_t *icmp = answer + 20;
	int64_t end = clock_steady_ms() + ms;

	do {
		while (recv(l->ping, answer, sizeof(answer), 0) >= 36)
			if (icmp[0] == 0 && icmp[4] == (uint8_t)(getpid() >> 8) &&
			    icmp[5] == (uint8_t)getpid())
				l->answered[icmp[6] << 8 | icmp[7]] = true;
		if (l->answered[number])
			return true;
	} while (clock_steady_ms() < end && (wait_for(l, l->ping, POLLIN, 100) || true));
	return false;
}

/* Waits until every packet that the actor has sent is delivered or certainly lost. A ping may
 * be lost while the kernel still resolves the gateway's address. Therefore the actor sends
 * pings until three pings are answered, but at most 20. */
static void fence(struct life *l)
{
	int answered = 0;

	for (int tries = 0; answered < 3 && tries < 20; tries++)
		answered += is_answered(l, send_ping(l, l->fence), 1000);
	if (answered < 3)
		give_up("its gateway does not answer");
}

static bool echoes(struct life *l, int fd, bool expect)
{
	char data[64];

	if (send(fd, actor_word, 8, MSG_NOSIGNAL) != 8)
		return false;
	fence(l);
	if (expect)
		wait_for(l, fd, POLLIN, PATIENCE_MS);
	return recv(fd, data, sizeof(data), MSG_DONTWAIT) > 0;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in own;
	socklen_t size = sizeof(own);

	getsockname(fd, (void *)&own, &size);
	return ntohs(own.sin_port);
}

static struct report open_line(struct life *l, const struct order *o)
{
	struct sockaddr_in at = place(o->to, o->port);
	int fd = must(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "tcp"), error = 0;
	socklen_t size = sizeof(error);
	struct report r = { 0 };

	while (l->lines[r.line])
		r.line++;
	connect(fd, (void *)&at, sizeof(at));
	r.port = port_of(fd);
	fence(l);
	if (wait_for(l, fd, POLLOUT, o->expect ? patience_ms(PATIENCE_MS) : 0))
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	else
		error = EAGAIN;
	r.yes = error == 0;
	if (r.yes)
		l->lines[r.line] = fd;
	else
		close(fd);
	return r;
}

static struct report say_datagram(struct life *l, const struct order *o)
{
	struct sockaddr_in at = place(o->to, o->port);
	int fd = must(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), "udp");
	struct report r;

	connect(fd, (void *)&at, sizeof(at));
	r = (struct report){ .yes = echoes(l, fd, o->expect), .port = port_of(fd) };
	close(fd);
	return r;
}

static void send_frame(struct life *l, const struct order *o)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_halen = 6 };

	at.sll_ifindex = (int)if_nametoindex("eth0");
	if (sendto(l->frames, o->bytes, o->n, 0, (void *)&at, sizeof(at)) < 0)
		give_up("sending a frame");
	fence(l);
}

static void stream(struct life *l, const struct order *o)
{
	struct sockaddr_in at = place(o->to, PORT_SINK);
	int fd = must(socket(AF_INET, SOCK_DGRAM, 0), "udp");
	struct timespec pause = { 0, 200000 };

	for (int i = 0; i < o->number; i++) {
		sendto(fd, actor_word, 8, 0, (void *)&at, sizeof(at));
		nanosleep(&pause, NULL);
	}
	close(fd);
	fence(l);
}

static struct report obey(struct life *l, const struct order *o)
{
	struct report r = { 0 };
	uint16_t number;

	switch (o->deed) {
	case DEED_TCP:
		return open_line(l, o);
	case DEED_TALK:
		r.yes = echoes(l, l->lines[o->line], o->expect);
		return r;
	case DEED_HANG_UP:
		close(l->lines[o->line]);
		l->lines[o->line] = 0;
		return r;
	case DEED_UDP:
		return say_datagram(l, o);
	case DEED_PING:
		number = send_ping(l, o->to);
		fence(l);
		r.yes = is_answered(l, number, o->expect ? patience_ms(PATIENCE_MS) : 0);
		return r;
	case DEED_FRAME:
		send_frame(l, o);
		return r;
	case DEED_SEEN:
		keep_frames(l);
		r.yes = memmem(l->kept, l->n_kept, o->bytes, o->n) != NULL;
		return r;
	case DEED_FORGET:
		keep_frames(l);
		l->n_kept = 0;
		return r;
	case DEED_STREAM:
		stream(l, o);
		return r;
	case DEED_COUNT:
		serve(l);
		r.number = l->got;
		return r;
	case DEED_LISTEN:
		listen_on(l, o->port);
		return r;
	}
	return r;
}

_Noreturn void actor_live(int fd, uint32_t fence_ip)
{
	static struct life l;
	struct order order;
	struct report report;
	const uint32_t answers = ~1u; /* blocks all ICMP types except type 0, the echo
					 reply */
	int room = 8 << 20;

	l.orders = fd;
	l.fence = fence_ip;
	l.kept = malloc(KEPT);
	l.frames = must(socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL)),
			"frames");
	setsockopt(l.frames, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	l.ping = must(socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_ICMP), "ping");
	setsockopt(l.ping, SOL_RAW, RAW_FILTER, &answers, sizeof(answers));
	listen_on(&l, PORT_WEB);
	listen_on(&l, PORT_SSH);
	listen_on(&l, PORT_SINK);
	for (;;) {
		if (!wait_for(&l, fd, POLLIN, 1000))
			continue;
		if (recv(fd, &order, sizeof(order), 0) != sizeof(order))
			_exit(0); /* the test has ended */
		report = obey(&l, &order);
		if (send(fd, &report, sizeof(report), MSG_NOSIGNAL) != sizeof(report))
			_exit(0);
	}
}
