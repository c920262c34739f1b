/*
 * notifier - the thread of a host that runs a person's command (`notify.command`) for mail
 * to the operator and for the events that he chose (`notify.events`).
 *
 * It reads the log behind what it told last, which HOME/notify.cursor keeps, so that a host
 * that was killed goes on there: an event is told again only if the host ended while its
 * command ran.  The first time it begins at the newest event.  One command runs at a time;
 * the next command tells the events that came meanwhile, many events by one call.  The
 * command blocks nothing.  Its failures are logged, one line a minute at most.
 *
 * The command's text is the configuration's alone.  The event's data goes into the environment
 * and onto standard input.
 */
#ifndef CORE_HOST_NOTIFIER_H
#define CORE_HOST_NOTIFIER_H

#include "core/home/home.h"
#include "core/host/log.h"

struct notifier;

/* Events up to this one are told. */
int64_t notifier_position(const struct notifier *n);

#endif
