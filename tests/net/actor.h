/*
 * actor - somebody with a network stack of its own: a process in its own
 * network namespace, who sends what it is told and tells what came in.
 *
 * All actors share one processor, on which the kernel hands packets on in the
 * order in which they were sent; so when somebody's ping to its gateway is
 * answered, what it sent before has arrived or never will.  Nothing here waits
 * for a time to pass to know that something did not come.
 */
#ifndef TESTS_NET_ACTOR_H
#define TESTS_NET_ACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* TCP and UDP on these are echoed, but UDP to the last is only counted. */
enum { PORT_WEB = 80, PORT_SSH = 22, PORT_SINK = 9 };

enum new_event {
	DEED_TCP, /* opens a connection: yes with its `line`, or no */
	DEED_TALK, /* says something on `line`: whether it was echoed */
	DEED_HANG_UP,
	DEED_UDP, /* whether it was echoed */
	DEED_PING,
	DEED_FRAME, /* sends the bytes unchanged */
	DEED_SEEN, /* whether a frame with these bytes came in */
	DEED_FORGET, /* what came in so far */
	DEED_STREAM, /* sends `number` datagrams to the sink, one now and then */
	DEED_COUNT, /* how many datagrams its programs got */
	DEED_LISTEN, /* one more port */
};

struct order {
	enum new_event deed;
	uint32_t to; /* in host order */
	uint16_t port;
	bool expect; /* an answer: it is waited for */
	int line, number;
	size_t n;
	uint8_t bytes[200];
};

struct report {
	bool yes;
	int line, number;
	uint16_t port; /* that it came from */
};

struct actor {
	const char *name;
	pid_t pid;
	int fd;
	uint32_t ip;
};

/* Starts one in a namespace of its own, or (`inside`) in that of the test.
 * Pings to `fence` are always answered. */
void actor_start(struct actor *a, const char *name, uint32_t ip, uint32_t fence,
		 bool inside);
struct report actor_do(struct actor *a, const struct order *order);
/* The same in two parts: for what takes a while. */
void actor_begin(struct actor *a, const struct order *order);
struct report actor_end(struct actor *a);
void actor_stop(struct actor *a);

/* The life of an actor, in its process. */
_Noreturn void actor_live(int fd, uint32_t fence);

/* A word in each frame of an actor. */
extern const char actor_word[9];

#endif
