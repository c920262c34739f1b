/*
 * actor - a process in its own network namespace. On an order of the test, the process sends
 * packets or reports the packets that arrived.
 *
 * All actors share one processor, on which the kernel delivers packets in the order in which
 * they were sent. When an actor's ping to its gateway is answered, the packets that the actor
 * sent before have arrived or are lost. Therefore no test has to wait for a fixed time to know
 * that a packet was lost.
 */
#ifndef TESTS_NET_ACTOR_H
#define TESTS_NET_ACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Actors echo the data that arrives at these ports, except for datagrams at PORT_SINK. Actors
 * count all datagrams. */
enum { PORT_WEB = 80, PORT_SSH = 22, PORT_SINK = 9 };

enum new_event {
	DEED_TCP, /* opens a connection, which `line` in the report names */
	DEED_TALK, /* sends bytes on `line`, reports whether an echo arrived */
	DEED_HANG_UP,
	DEED_UDP, /* sends a datagram, reports whether an echo arrived */
	DEED_PING,
	DEED_FRAME, /* sends the bytes unchanged */
	DEED_SEEN, /* reports whether a frame with these bytes arrived */
	DEED_FORGET, /* forgets the frames that arrived so far */
	DEED_STREAM, /* sends `number` datagrams to PORT_SINK, with pauses */
	DEED_COUNT, /* reports how many datagrams the actor's ports received */
	DEED_LISTEN, /* opens one more port */
};

struct order {
	enum new_event deed;
	uint32_t to; /* IPv4 address in host byte order */
	uint16_t port;
	bool expect; /* the actor waits for an answer */
	int line, number;
	size_t n;
	uint8_t bytes[200];
};

struct report {
	bool yes;
	int line, number;
	uint16_t port; /* the source port of the connection or datagram */
};

struct actor {
	const char *name;
	pid_t pid;
	int fd;
	uint32_t ip;
};

/* Starts an actor in its own namespace. If `inside` is set, starts the actor in the test's
 * namespace. The address `fence` must always answer pings. */
void actor_start(struct actor *a, const char *name, uint32_t ip, uint32_t fence,
		 bool inside);
struct report actor_do(struct actor *a, const struct order *order);
/* The two halves of actor_do(), for orders that take long. */
void actor_begin(struct actor *a, const struct order *order);
struct report actor_end(struct actor *a);
void actor_stop(struct actor *a);

/* Runs an actor in the calling process. */
_Noreturn void actor_live(int fd, uint32_t fence);

/* The text in each packet of an actor. */
extern const char actor_word[9];

#endif
