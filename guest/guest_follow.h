/*
 * guest_follow - requests that wait for what a command prints.
 *
 * Each waits until there is output behind its offsets or the command is over, but so long
 * at most as it says.  Output of about the same time is sent together: many short lines
 * become few answers, and the output of a short command comes with its end.
 */
#ifndef GUEST_GUEST_FOLLOW_H
#define GUEST_GUEST_FOLLOW_H

#include "guest/guest_peer.h"

/* Answers the request, or fails it; the run may not be over. */
typedef void follow_tell(struct guest_request *q, struct proc *run);

/* Makes a request wait: `tell` is called once, and not from here.  The run is not over.
 * From here on q->owner is taken, and q->gone ends the wait. */
void follow_begin(struct guest_request *q, struct proc *run, const size_t offset[2],
		  int64_t ms, follow_tell *tell);
/* Ends the wait of a request that goes without an answer; what it waited for. */
struct proc *follow_end(struct guest_request *q);

/* Called when the run has printed something, and when it is over. */
void follow_printed(struct proc *run);
void follow_over(struct proc *run);

#endif
