/*
 * estop - stops teams at once, and lets them go on.
 *
 * A stopped team gets no new claims, no commands, no members, and no teams below it. The leases
 * of a stopped team do not run out, since their ends are moved far into the future until the
 * thaw. Commands in the workspaces of a stopped team stand still, too. The host tells the
 * guests to stop the commands.
 */
#ifndef CORE_TEAM_ESTOP_H
#define CORE_TEAM_ESTOP_H

#include "core/call/call.h"

/* A stop moves the ends of leases by this number of milliseconds, some 3,000 years. */
#define ESTOP_FAR 100000000000000

/* Returns 0, or `conflict` at `where` if the call's team is stopped. */
int estop_check(struct call *call, const char *where);

/* Moves the ends of leases far into the future again after a call in a stopped team has renewed
 * leases. Returns 0 or negative. */
int estop_hold(struct call *call);

#endif
