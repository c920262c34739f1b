/*
 * agent_daemon - whether the daemons of agents make progress, as their rows tell.
 */
#ifndef CORE_AGENT_AGENT_DAEMON_H
#define CORE_AGENT_AGENT_DAEMON_H

#include "core/event/event.h"

/* Notes that a daemon began or ended a command: the daemon is not stuck (any more). */
int daemon_moves(struct call *call, const struct assignment_row *x);

/* Writes down which daemons are stuck now, and tells their leads, once each. */
int daemons_settle(struct call *call);

#endif
