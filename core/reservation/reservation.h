/*
 * reservation - leases on globs of paths.
 *
 * A reservation belongs to an agent. It is valid as long as its lease runs, and as long as the
 * agent has the generation that took the reservation. Reservations of different agents never
 * conflict: if two of them cover the same path, both are shared.
 */
#ifndef CORE_RESERVATION_RESERVATION_H
#define CORE_RESERVATION_RESERVATION_H

#include "core/event/event.h"
#include "ops.gen.h"

/* Ends the reservations whose time has run out, at most `most`. `*n` is the number of ended
 * reservations. Returns 0 or negative. */
int reservation_settle(struct call *call, int64_t most, size_t *n);

/* Looks for a living reservation that forbids `agent` to write to one of these paths. Returns 1
 * with the reservation and the path, 0, or a fault at /paths. */
int reservation_covers(struct call *call, const struct agent_row *agent,
		       const char *const *paths, size_t n, struct reservation *out,
		       const char **path);

#endif
