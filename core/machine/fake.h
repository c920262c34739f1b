/*
 * fake - a backend in memory, for tests: it counts, and does as it is told.
 */
#ifndef CORE_MACHINE_FAKE_H
#define CORE_MACHINE_FAKE_H

#include "core/machine/backend.h"

enum { FAKE_PLACES = 64 };

struct fake {
	struct machine machine; /* give this to whoever needs one */
	struct {
		char name[80];
		bool made;
		int64_t pid; /* of the living guest; 0: none */
	} places[FAKE_PLACES];
	int n;
	int64_t next_pid;
	int made, forked, started, stopped, destroyed;
	bool fail_make, fail_start;
};

void fake_init(struct fake *fake);
void fake_kill(struct fake *fake, int64_t pid); /* the guest dies */

#endif
