/*
 * hosted_turn - a turn that runs in the guest of its agent's workspace.
 *
 *	 turn.next        its guest is there     its job is known         it is over
 *	-----------> WAITS ---------------> STARTS ------------> RUNS ------------> ENDS
 *	               |  its guest does not come      |  its guest is another one, or gone
 *	               +-------------------------------+----------------------------> ENDS.
 *
 * The guest is polled for the turn's output.  A worker reads the output (the JSON of a client),
 * which is stored before the next poll: while
 * the state cannot be written, the guest keeps 1 MiB and its command waits.  To stop a turn, its
 * process group gets SIGINT, then SIGTERM, then SIGKILL.
 */
#ifndef CORE_HOST_TURNS_HOSTED_TURN_H
#define CORE_HOST_TURNS_HOSTED_TURN_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct host;
struct hosted_guest;
struct hosted_turn;
struct turn_start;

/* Begins a turn, whose texts are copied; it frees itself when its row says how it ended. */
void hosted_turn_new(struct host *host, const struct turn_start *s);
/* Goes on with turns that wait for their guest, and ends those whose guest is lost. */
void hosted_turns_tick(struct host *host);
/* A guest has come up: ends the turns that an earlier host left running there. */
void hosted_turns_greeted(struct hosted_guest *t);

struct turns {
	uv_timer_t timer; /* until a failed one may be tried again */
	struct hosted_turn *running;
	int64_t *agents; /* rows of those with a runner, in order */
	size_t n_agents, room;
	bool busy, again;
	bool began; /* the turns of an earlier host are ended */
};

/* Asks the rows. */
void turns_poke(struct host *host);

#endif
