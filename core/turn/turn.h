/*
 * turn - turns of agents. A turn is a command that is started for an agent's mail.
 *
 * An agent with a runner has one turn at a time:
 *
 *	     mail, turn.next        a place is free        its command ended well
 *	none ----------------> queued ----------> streaming ----------------------> done
 *	                                              |  its command failed
 *	                                              +----------------------------> failed
 *	                                              |  stopped, or its host or guest ended
 *	                                              +----------------------------> interrupted.
 *
 * At its start, a turn takes its agent's mail, as far as the mail fits the prompt. The turn
 * holds this mail to the end of the turn. After the turn the mail is acknowledged, or waits
 * again.
 *
 * The output of a turn is passed on in four steps. guest/proc.c reads the runner's pipe.
 * guest/guest_exec.c sends the output as the answer to the host's ExecPoll.
 * core/host/turns/hosted_turn.c reads lines of JSON, and stores the text by the operation
 * turn.output. A command that follows the output calls turn.read again and again
 * (tools/cadre/watch.c), because no event tells of new output.
 */
#ifndef CORE_TURN_TURN_H
#define CORE_TURN_TURN_H

#include "core/event/event.h"
#include "ops.gen.h"

enum {
	TURN_RETRY_MOST_MS = 60000, /* the longest wait after a runner failed */
	/* The longest wait for the end of a plan's limit. */
	TURN_LIMIT_MOST_MS = 8 * 24 * 3600 * 1000,
};

/* Notes that the client of a turn is at the limit of its plan until the time `until`. If the
 * client gave no time, `until` is 0. No agent of this host with this client begins a turn
 * before the end of the limit. Tells the lead and the operator once. Returns 0 or negative. */
int runner_limit(struct call *call, const struct turn_row *u, int64_t until);
/* Notes that a turn ended well. If the turn began after the expected end of a limit, the limit
 * has ended for all agents of this host with the turn's client. Returns negative on failure. */
int runner_limit_over(struct call *call, const struct turn_row *u);

/* Gives an agent a runner, or with "" removes the agent's runner. An agent without a workspace
 * gets a workspace in its project folder, or in an empty directory. Only the operator, leads,
 * and members who may make lower teams may give runners. Returns 0 or a fault at `where`. */
int runner_give(struct call *call, int64_t agent, const char *command, const char *where);

/* Changes the status `ready` or `idle` to `failed` if the agent's runner has failed for good.
 * Changes the status to `rate_limited` while the agent's client is at the limit of its plan. */
int runner_rest(struct call *call, int64_t agent, int64_t *status);

/* The words that other members read of a runner: the name of its client, or `a command`. A
 * command may hold a key, so it is not shown. */
const char *runner_say_command(const char *command);

/* Moves an agent that works in its project folder to the folder that the agent's card names
 * now. Returns 0 or a fault at `where`. */
int runner_follow(struct call *call, int64_t agent, const char *where);

#endif
