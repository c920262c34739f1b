/*
 * estop - stops teams at once, and lets them go on.
 *
 * A stopped team has nothing new: no claims, commands, members and teams below.  Its leases
 * stand still, since their ends are put out of reach until the thaw, and so do the commands in
 * its workspaces, which the host tells to.
 */
#ifndef CORE_TEAM_ESTOP_H
#define CORE_TEAM_ESTOP_H

#include "core/call/call.h"

/* A stop moves the ends of leases out of reach by so many milliseconds, some 3,000
 * years. */
#define ESTOP_FAR 100000000000000

/* 0, or `conflict` at `where` while the call's team is stopped. */
int estop_check(struct call *call, const char *where);

/* Puts the ends of leases out of reach that a call in a stopped team has just renewed.  0 or
 * negative. */
int estop_hold(struct call *call);

#endif
