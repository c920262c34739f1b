/*
 * estop - stops teams at once, and lets them go on.
 *
 * A stopped team gets nothing new: no claims, no commands, no members, and no teams below it.
 * Its leases do not run out, since their ends are put out of reach until the thaw. The commands
 * in its workspaces stand still, too: the host tells the guests to stop them.
 */
#ifndef CORE_TEAM_ESTOP_H
#define CORE_TEAM_ESTOP_H

#include "core/call/call.h"

/* A stop moves the ends of leases by this number of milliseconds, some 3,000 years. */
#define ESTOP_FAR 100000000000000

/* Returns 0, or `conflict` at `where` if the call's team is stopped. */
int estop_check(struct call *call, const char *where);

/* Puts the ends of leases out of reach if a call in a stopped team has just renewed the leases.
 * Returns 0 or negative. */
int estop_hold(struct call *call);

#endif
