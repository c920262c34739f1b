/*
 * needs - tells people what they should look after: mail, overdue acknowledgements, and things
 * in their team that failed or are stuck.
 */
#ifndef CORE_OVERVIEW_NEEDS_H
#define CORE_OVERVIEW_NEEDS_H

#include "core/call/call.h"
#include "ops.gen.h"

/* Things that somebody should look at. Rows are in the call's arena. */
struct needs {
	struct need *rows;
	size_t n;
	int64_t mail; /* messages and results that wait for the caller */
	int64_t stuck; /* things of other kinds */
	bool named; /* each row names its team */
	bool counts; /* only numbers are wanted, no rows */
	bool full; /* the answer has no room for more */
};

/* Lists the things that the caller should look at in a team, or in each team (0). These are the
 * caller's mail, acknowledgements for which the caller waits, and things of the team that need
 * somebody. A lead also sees the acknowledgements for which other members wait. Lists the first
 * few of each kind, in the call's arena. With several teams each row names its team. Returns 0
 * or a fault. */
int needs_tell(struct call *call, int64_t team, struct need **rows, size_t *n);
/* Counts the caller's mail and, in each team, the first 20 things of each other kind that need
 * somebody. Counts in one team, or with 0 in the first 100 teams with mail and the first 100
 * teams in need. Returns 0 or a fault. */
int needs_count(struct call *call, int64_t team, struct needs *needs);
/* Describes the trouble of the first member of a team that cannot go on. The text is in the
 * call's arena. `*text` is unchanged if all members can go on. Returns 0 or a fault. */
int needs_first_agent(struct call *call, int64_t team, const char **text);

#endif
