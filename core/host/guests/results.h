/*
 * results - a page of a guest's results, each read by itself.
 *
 * A guest may be broken or lie: a result that cannot be understood does not keep the
 * others of its page from being stored.  If it names its assignment, it stands in the
 * page as a failure that says why, so that the assignment ends and its sender is told.
 */
#ifndef CORE_HOST_GUESTS_RESULTS_H
#define CORE_HOST_GUESTS_RESULTS_H

#include "core/host/guests/hosted_answer.h"

enum { RESULT_ID_MOST = 64 /* bytes of an assignment's id as a guest writes it */ };

struct daemon_result;

struct results {
	struct daemon_result *all; /* texts and rows are of the arena */
	size_t n;
	size_t n_bad; /* results that were left out or became failures */
	struct fault why; /* of the first of those */
};

/* Copies at most `most` results out of a DaemonResults; FAULT_IO when the answer
 * has no results to read. */
int results_read(struct results *page, const struct packet *answer, size_t most,
		 struct arena *a, struct fault *f);

/* Makes a result a failure, and appends `why` to the errors that came with it. */
void result_fail(struct daemon_result *r, const struct fault *why, struct arena *a);

#endif
