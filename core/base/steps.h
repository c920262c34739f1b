/*
 * steps - the steps that a state machine may take.
 *
 * A comment above the machine's struct draws the machine. The machine's table has, for each
 * state, the set of states that may follow. One function sets the machine's state, and first
 * calls step_check(). A step that is not in the table is a bug. Builds for tests abort at a
 * step that is not in the table. Other builds go on, since the database holds all acknowledged
 * data in either case.
 */
#ifndef CORE_BASE_STEPS_H
#define CORE_BASE_STEPS_H

#include <assert.h>

/* The set that holds only this state. */
#define STEP(state) (1u << (state))

/* `allowed`: the set of states that may follow the present state. */
static inline void step_check(unsigned allowed, int to)
{
#ifdef CADRE_TESTING
	assert(allowed & STEP(to));
#endif
	(void)allowed;
	(void)to;
}

#endif
