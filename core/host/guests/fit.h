/*
 * fit - answers that a guest has part in, made to fit a frame.
 *
 * The database's part of an answer was measured before COMMIT (core/call/space.h).  The
 * guest's part came later, in any number of frames.
 */
#ifndef CORE_HOST_GUESTS_FIT_H
#define CORE_HOST_GUESTS_FIT_H

#include "core/host/job.h"

/* Cuts the answer to what fits: whole items of a list, the first parts of a
 * command's output with their sizes and the job that holds the rest. */
void fit_answer(struct job *job);

#endif
