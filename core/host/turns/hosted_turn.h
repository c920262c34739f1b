/*
 * hosted_turn - a turn that runs in the guest of its agent's workspace.
 *
 *	 turn.next        its guest is there     its job is known         it is over
 *	-----------> WAITS ---------------> STARTS ------------> RUNS ------------> ENDS
 *	               |  its guest does not come      |  its guest is gone or replaced
 *	               +-------------------------------+----------------------------> ENDS.
 *
 * The guest is polled for the turn's output. The output (the JSON of a client) is read and
 * stored before the next poll. While the state cannot be written, the guest keeps 1 MiB of
 * output, and the turn's command waits. To stop a turn, its process group gets SIGINT, then
 * SIGTERM, then SIGKILL.
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

/* Begins a turn, whose texts are copied. The turn frees itself when its row contains how it
 * ended. */
void hosted_turn_new(struct host *host, const struct turn_start *s);
/* Tries to start turns that wait for their guest, and ends turns whose guest is lost. */
void hosted_turns_tick(struct host *host);
/* Called when a guest has come up. Ends the turns that an earlier host left running in it. */
void hosted_turns_greeted(struct hosted_guest *t);

struct turns {
	uv_timer_t timer; /* timer that runs turn.next */
	struct hosted_turn *running;
	int64_t *agents; /* rows of the agents with a runner, sorted */
	size_t n_agents, room;
	bool busy, again;
	bool began; /* the turns of an earlier host have been ended */
};

/* Runs turn.next, which reads from the rows which turns to start and to stop. */
void turns_poke(struct host *host);

#endif
