/*
 * steps - the steps that a state machine may take.
 *
 * A machine is drawn above its struct and has a table: for each state the set of states
 * that may follow.  One function sets the state and asks here first.  A step that is not
 * in the table is a bug: builds for tests stop at it, others go on, since what was
 * acknowledged is in the database either way.
 */
#ifndef CORE_BASE_STEPS_H
#define CORE_BASE_STEPS_H

#include <assert.h>

/* A state as a member of a set. */
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
