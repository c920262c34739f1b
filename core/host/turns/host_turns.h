/*
 * host_turns - starts turns for agents with mail, and stops those that are to be stopped.
 *
 * Rows say which: turn.next, which is asked whenever an agent with a runner may have mail, a
 * turn has ended, or a failed one may be tried again.  hosted_turn.c has the running turns.
 */
#ifndef CORE_HOST_TURNS_HOST_TURNS_H
#define CORE_HOST_TURNS_HOST_TURNS_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct host;
struct host_event_row;
struct hosted_turn;

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
