/*
 * reservation - leases on globs of paths.
 *
 * A reservation belongs to an agent. A reservation is valid while its lease runs and its agent
 * keeps the generation that took the reservation. Reservations of different agents never
 * conflict. If reservations of two agents cover the same path, both reservations are shared.
 */
#ifndef CORE_RESERVATION_RESERVATION_H
#define CORE_RESERVATION_RESERVATION_H

#include "core/event/event.h"
#include "ops.gen.h"

/* Ends at most `most` reservations whose leases have run out. `*n` is the number of ended
 * reservations. Returns 0 or negative. */
int reservation_settle(struct call *call, int64_t most, size_t *n);

/* Describes living reservations of the call's team in words, at most RESERVATIONS_TOLD: those of
 * `agent`, or, if `agent` is 0, those of all members except the caller. Returns 0 or negative. */
enum { RESERVATIONS_TOLD = 5 };
int reservation_words(struct call *call, int64_t agent, const char ***out, size_t *n);

/* Looks for a living reservation that forbids `agent` to write to one of these paths. Returns 1
 * with the reservation and the path, 0 if there is no such reservation, or a fault at /paths. */
int reservation_covers(struct call *call, const struct agent_row *agent,
		       const char *const *paths, size_t n, struct reservation *out,
		       const char **path);

#endif
