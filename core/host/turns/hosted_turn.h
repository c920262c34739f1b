/*
 * hosted_turn - a turn that runs in the guest of its agent's workspace.
 *
 *	 turn.next        guest is connected     job id is known          turn ended
 *	-----------> WAITS ---------------> STARTS ------------> RUNS ------------> ENDS
 *	               |  guest does not connect       |  guest is gone or replaced
 *	               +-------------------------------+----------------------------> ENDS.
 *
 * The host polls the guest for the turn's output. The output (JSON of the runner's client) is
 * read and stored before the next poll. While the state cannot be written, the output stays in
 * the guest. At 1 MiB of waiting output the guest reads no more, so the turn's command has to
 * wait. The host stops a turn by signals to the turn's process group: SIGINT, then SIGTERM,
 * then SIGKILL.
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

/* Begins a turn. The texts of `s` are copied. The struct of the turn is freed after the turn's
 * row says how the turn ended. */
void hosted_turn_new(struct host *host, const struct turn_start *s);
/* Tries to start turns that wait for their guest. Ends turns whose guest is gone or stands
 * still. */
void hosted_turns_tick(struct host *host);
/* Called when a guest has been greeted. Ends a turn in this guest that an earlier host has
 * left. */
void hosted_turns_greeted(struct hosted_guest *t);

struct turns {
	uv_timer_t timer; /* runs turn.next at a later time */
	struct hosted_turn *running;
	int64_t *agents; /* rows of the agents with a runner, sorted */
	size_t n_agents, room;
	bool busy, again;
	bool began; /* the turns of an earlier host have been ended */
};

/* Runs turn.next, which reads the rows, and returns the turns to start and the turns to stop. */
void turns_poke(struct host *host);

#endif
