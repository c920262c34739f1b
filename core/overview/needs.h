/*
 * needs - lists the things that need attention, which are mail, overdue acknowledgements, and
 * failed or stuck things of a team.
 */
#ifndef CORE_OVERVIEW_NEEDS_H
#define CORE_OVERVIEW_NEEDS_H

#include "core/call/call.h"
#include "ops.gen.h"

/* The things that need attention. The rows are in the call's arena. */
struct needs {
	struct need *rows;
	size_t n;
	int64_t mail; /* messages and results that wait for the caller */
	int64_t stuck; /* needs other than mail */
	bool named; /* each row gets the name of its team */
	bool counts; /* the caller wants numbers only, no rows */
	bool full; /* the answer has no room for more rows */
};

/* Lists the things that need the caller's attention in the team `team`, or in all teams if
 * `team` is 0. The list has the caller's mail, and acknowledgements for which the caller waits.
 * The list also has things of the team that failed, are stuck or stopped, or have used up a
 * budget. A lead also sees unread results, and acknowledgements for which other members wait.
 * Lists the first few things of each kind, in the call's arena. With several teams each row
 * names its team. Returns 0 or a fault. */
int needs_tell(struct call *call, int64_t team, struct need **rows, size_t *n);
/* Counts the caller's mail. Also counts other things that need attention, at most 20 of each
 * kind in a team. If `team` is not 0, counts only in the team `team`. If `team` is 0, counts in
 * up to 100 teams with mail and up to 100 teams with other needs. Returns 0 or a fault. */
int needs_count(struct call *call, int64_t team, struct needs *needs);
/* Describes why the first stuck member of a team cannot go on. The text is in the call's arena.
 * `*text` is unchanged if all members can go on. Returns 0 or a fault. */
int needs_first_agent(struct call *call, int64_t team, const char **text);

#endif
