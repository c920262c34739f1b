/*
 * runner_limit - a client at the limit of its plan has not failed: all agents of this
 * host with that client wait until the limit ends.
 */
#include <inttypes.h>

#include "core/team/team.h"
#include "core/turn/chain.h"
#include "core/turn/runner_client.h"
#include "core/turn/turn.h"

enum {
	LIMIT_MS =
		60000, /* until a client is tried again that told no end of its limit ... */
	LIMIT_DOUBLINGS = 6, /* ... and so often twice as long */
};

static int limit_tell(struct call *call, const struct runner_all_row *r, int64_t until)
{
	char at[25];
	struct agent_row a;
	int rc = sql_row(call, agent_by_id, &a, .id = r->agent);

	if (rc <= 0)
		return rc;
	time_format(until, at);
	return team_tell(
		call, r->team, "runner",
		arena_printf(&call->arena,
			     "The client of %s is at the limit of its plan. Agents with "
			     "this client take their next turns at %.16sZ; their mail "
			     "waits. Give an agent another runner to go on before.",
			     a.name, at),
		CHAIN_NOTICE);
}

/* Notes when the limit ends for all agents of this host with the client of `u`; `until`
 * 0: the limit is over.  Tells each of their teams once. */
static int limit_spread(struct call *call, const struct turn_row *u, int64_t until)
{
	const struct runner_client *client = runner_client_of(u->command);
	struct runner_all_row *all = NULL;
	int64_t team = 0;
	size_t n;
	int rc = sql_all(call, runner_all, &all, &n, .host = store_host(call->store));

	for (size_t i = 0; i < n && rc >= 0; i++) {
		if (runner_client_of(all[i].command) != client)
			continue;
		rc = until ? sql_run(call, runner_limited, .agent = all[i].agent,
				     .command = all[i].command, .now = call->now,
				     .client_session = all[i].agent == u->agent
							       ? u->client_session
							       : NULL,
				     .retry_at = until)
			   : sql_run(call, runner_freed, .agent = all[i].agent);
		if (rc >= 0 && until && all[i].team != team && !all[i].limited)
			rc = limit_tell(call, &all[i], until);
		team = all[i].team;
	}
	return rc < 0 ? rc : 0;
}

/* A guess at a limit's end: that of a wait under way, else a minute, doubled each time. */
static int64_t limit_guess(const struct call *call, const struct runner_of_row *r)
{
	int64_t doubled = r->limited < LIMIT_DOUBLINGS ? r->limited : LIMIT_DOUBLINGS;

	return r->limited && r->retry_at > call->now
		       ? r->retry_at
		       : call->now + ((int64_t)LIMIT_MS << doubled);
}

int runner_limit(struct call *call, const struct turn_row *u, int64_t until)
{
	struct runner_of_row r;
	int rc = sql_row(call, runner_of, &r, .agent = u->agent);

	if (rc <= 0)
		return rc;
	if (until <= call->now)
		until = limit_guess(call, &r);
	if (until > call->now + TURN_LIMIT_MOST_MS)
		until = call->now + TURN_LIMIT_MOST_MS;
	return limit_spread(call, u, until);
}

int runner_limit_over(struct call *call, const struct turn_row *u)
{
	struct runner_of_row r;
	int rc = sql_row(call, runner_of, &r, .agent = u->agent);

	return rc > 0 && r.limited && u->started_at >= r.retry_at
		       ? limit_spread(call, u, 0)
		       : rc;
}
