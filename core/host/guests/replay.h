/*
 * replay - answers to repeats of a call with a key that a guest answered.
 */
#ifndef CORE_HOST_GUESTS_REPLAY_H
#define CORE_HOST_GUESTS_REPLAY_H

#include <stdbool.h>

#include "core/host/job.h"

/* Whether a row remembers the call under its key: that row is to be settled also when
 * the caller has left. */
bool replay_has_row(const struct job *job);

/* Answers the job, which is the callee's then, once that row is settled: a repeat is told
 * the same or, where nothing was done, the key is free.  Only the call that made the row
 * may free it.  `nothing_done` is said of the job's fault. */
void replay_keep(struct job *job, bool nothing_done);

#endif
