/*
 * turn - turns of agents: a command that is started for their mail.
 *
 * An agent with a runner has one turn at a time:
 *
 *	     mail, turn.next        a place is free        its command ended well
 *	none ----------------> queued ----------> streaming ----------------------> done
 *	                                              |  its command failed
 *	                                              +----------------------------> failed
 *	                                              |  stopped, or its host or guest was
 *	                                              +----------------------------> interrupted
 *
 * A turn takes all mail that its agent has at the start of the turn, and holds the mail
 * to the end of the turn.  Then the mail is acknowledged, or waits again.
 *
 * The way of its output: guest/proc.c reads the runner's pipe; guest/guest_exec.c answers
 * the host's ExecPoll; core/host/turns/hosted_turn.c reads lines of JSON and writes them
 * by op turn.output.  Followers ask op turn.read (tools/cadre/watch.c); no event tells of
 * output.
 */
#ifndef CORE_TURN_TURN_H
#define CORE_TURN_TURN_H

#include "core/event/event.h"
#include "ops.gen.h"

enum {
	TURN_RETRY_MOST_MS = 60000, /* no runner that failed waits longer */
	/* The longest wait for the end of a plan's limit. */
	TURN_LIMIT_MOST_MS = 8 * 24 * 3600 * 1000,
};

/* The client of a turn was at the limit of its plan `until` then (0: it did not say): no agent of this
 * host with it begins a turn before, and the lead and the operator are told once.  0 or negative. */
int runner_limit(struct call *call, const struct turn_row *u, int64_t until);
/* Notes that a turn ended well: if the turn began after such a limit, the limit is over
 * for all agents of this host with that client.  Negative on failure. */
int runner_limit_over(struct call *call, const struct turn_row *u);

/* Gives an agent a runner, or with "" takes the agent's runner away.  An agent without a
 * workspace gets a workspace: its project folder, or an empty directory.  Only the
 * operator, a lead, or a member that may nest gives runners.  0 or a fault at `where`. */
int runner_give(struct call *call, int64_t agent, const char *command, const char *where);

/* Makes a status of rest (ready, idle) `failed` where the agent's runner has failed for good, and
 * `rate_limited` while its client is at the limit of its plan. */
int runner_rest(struct call *call, int64_t agent, int64_t *status);

/* Moves an agent that works in its project folder to the one that its card names now.  0 or a
 * fault at `where`. */
int runner_follow(struct call *call, int64_t agent, const char *where);

#endif
