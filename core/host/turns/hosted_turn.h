/*
 * hosted_turn - a turn that runs in the guest of its agent's workspace.
 *
 *	 turn.next        its guest is there     its job is known         it is over
 *	-----------> WAITS ---------------> STARTS ------------> RUNS ------------> ENDS
 *	               |  its guest does not come      |  its guest is another one, or gone
 *	               +-------------------------------+----------------------------> ENDS
 *
 * It is polled for what it prints, which is stored before it is polled again: while the state
 * cannot be written, the guest keeps 1 MiB and its command waits.  To stop it, its process group
 * gets SIGINT, then SIGTERM, then SIGKILL.
 */
#ifndef CORE_HOST_TURNS_HOSTED_TURN_H
#define CORE_HOST_TURNS_HOSTED_TURN_H

#include <stdint.h>

struct host;
struct hosted_guest;
struct hosted_turn;
struct turn_start;

/* Begins a turn, whose texts are copied; it frees itself when its row says how it ended. */
void hosted_turn_new(struct host *host, const struct turn_start *s);
/* Stops a turn, for messages that wait or since its agent has gone; one that is not known here
 * has ended. */
void hosted_turn_stop(struct host *host, int64_t turn);
/* Goes on with turns that wait for their guest, and ends those whose guest is lost. */
void hosted_turns_tick(struct host *host);
/* A guest has come up: what an earlier host left running there is ended. */
void hosted_turns_greeted(struct hosted_guest *t);
void hosted_turns_close(struct host *host);

#endif
