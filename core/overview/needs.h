/*
 * needs - tells people what is theirs to see to: mail, overdue acknowledgements, and what
 * failed or is stuck in their team.
 */
#ifndef CORE_OVERVIEW_NEEDS_H
#define CORE_OVERVIEW_NEEDS_H

#include "core/call/call.h"
#include "ops.gen.h"

/* Things that somebody should look at, as they are gathered; rows are in the call's arena. */
struct needs {
	struct need *rows;
	size_t n;
	int64_t mail; /* messages and results that wait */
	int64_t stuck; /* things of other kinds */
	bool named; /* each tells its team */
	bool counts; /* no rows are wanted */
	bool full; /* the answer has no room for more */
};

/* Tells what the caller should look at in a team, or in each team (0): the caller's mail,
 * acknowledgements that the caller waits for (a lead sees those of all), and things of
 * the team that need somebody.  The first few of each kind, in the call's arena; with
 * several teams each row names its team.  0 or a fault. */
int needs_tell(struct call *call, int64_t team, struct need **rows, size_t *n);
/* Counts the mail of the caller, and in each team the first 20 things of each other kind that need
 * somebody: in a team, or (0) in the first 100 with mail and the first 100 in need.  0 or a fault. */
int needs_count(struct call *call, int64_t team, struct needs *needs);
/* Says of the first member of a team that cannot go on what is the matter, in the call's arena;
 * leaves `*text` alone where all can.  0 or a fault. */
int needs_first_agent(struct call *call, int64_t team, const char **text);

#endif
