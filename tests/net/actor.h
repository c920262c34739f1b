/*
 * actor - a process in its own network namespace, which sends packets as ordered and reports
 * the packets that arrived.
 *
 * All actors share one processor, on which the kernel delivers packets in the order in which
 * they were sent. When an actor's ping to its gateway is answered, the packets that the actor
 * sent before have arrived or are lost. So no test has to wait for a fixed time to know that a
 * packet did not arrive.
 */
#ifndef TESTS_NET_ACTOR_H
#define TESTS_NET_ACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Actors echo TCP and UDP on these ports. They only count UDP on the last port. */
enum { PORT_WEB = 80, PORT_SSH = 22, PORT_SINK = 9 };

enum new_event {
	DEED_TCP, /* opens a connection; if it succeeds, `line` names it */
	DEED_TALK, /* sends bytes on `line`, reports whether an echo came */
	DEED_HANG_UP,
	DEED_UDP, /* sends a datagram, reports whether an echo came */
	DEED_PING,
	DEED_FRAME, /* sends the bytes unchanged */
	DEED_SEEN, /* reports whether a frame with these bytes arrived */
	DEED_FORGET, /* forgets the frames that arrived so far */
	DEED_STREAM, /* sends `number` datagrams to the sink, with pauses */
	DEED_COUNT, /* reports how many datagrams its ports received */
	DEED_LISTEN, /* opens one more port */
};

struct order {
	enum new_event deed;
	uint32_t to; /* in host byte order */
	uint16_t port;
	bool expect; /* wait for an answer */
	int line, number;
	size_t n;
	uint8_t bytes[200];
};

struct report {
	bool yes;
	int line, number;
	uint16_t port; /* the packet's source port */
};

struct actor {
	const char *name;
	pid_t pid;
	int fd;
	uint32_t ip;
};

/* Starts an actor in its own namespace, or in the test's namespace if `inside`. The address
 * `fence` must always answer pings. */
void actor_start(struct actor *a, const char *name, uint32_t ip, uint32_t fence,
		 bool inside);
struct report actor_do(struct actor *a, const struct order *order);
/* actor_do() in two parts, for orders that take a while. */
void actor_begin(struct actor *a, const struct order *order);
struct report actor_end(struct actor *a);
void actor_stop(struct actor *a);

/* Runs an actor in its process. */
_Noreturn void actor_live(int fd, uint32_t fence);

/* The text in each packet of an actor. */
extern const char actor_word[9];

#endif
