/*
 * reservation - leases on globs of paths.
 *
 * A reservation belongs to an agent.  It lives while its lease runs, and while the agent
 * is still of the generation that took the reservation.  Reservations of different agents
 * never conflict: if two of them mean the same path, both are shared.
 */
#ifndef CORE_RESERVATION_RESERVATION_H
#define CORE_RESERVATION_RESERVATION_H

#include "core/event/event.h"
#include "ops.gen.h"

/* Writes down which reservations are over, at most `most`: `*n` of them.  0 or negative. */
int reservation_settle(struct call *call, int64_t most, size_t *n);

/* Looks for a living reservation that keeps `agent` from writing to one of these paths: 1
 * with it and the path, 0, or a fault at /paths. */
int reservation_covers(struct call *call, const struct agent_row *agent,
		       const char *const *paths, size_t n, struct reservation *out,
		       const char **path);

#endif
