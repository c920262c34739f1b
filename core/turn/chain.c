#include "core/turn/chain.h"

#include <inttypes.h>

#include "core/team/team.h"

static const char notice[] = "chain"; /* type of the message that chain_tell() sends */

int64_t chain_most(const struct call *call)
{
	int64_t n = call->settings->config.limits_chain;

	return n == 0 ? INT64_MAX : n > CHAIN_NOTICE ? n : CHAIN_NOTICE + 1;
}

int64_t chain_per_hour(const struct call *call)
{
	int64_t n = call->settings->config.limits_turns_per_hour;

	return n ? n : INT64_MAX;
}

int64_t chain_of(const struct call *call, const struct draft *d)
{
	if (d->chain)
		return d->chain;
	return call->identity.agent && !call->identity.as ? call->caller.chain : 0;
}

int chain_put(struct call *call, int64_t agent, int64_t chain)
{
	int rc = sql_run(call, agent_set_chain, .agent = agent, .chain = chain);

	if (rc > 0 && agent == call->caller.self)
		call->caller.chain = chain;
	return rc < 0 ? rc : 0;
}

int chain_follow(struct call *call, const struct agent_row *a, int64_t chain)
{
	if (a->runs || a->id != call->caller.self || chain == call->caller.chain)
		return 0;
	return chain_put(call, a->id, chain);
}

int chain_give(struct call *call, int64_t agent)
{
	int64_t chain = chain_of(call, &(struct draft){ 0 });
	int rc = chain && agent != call->caller.self
			 ? sql_run(call, agent_raise_chain, .agent = agent,
				   .chain = chain + 1)
			 : 0;

	return rc < 0 ? rc : 0;
}

int chain_tell(struct call *call, const struct agent_row *to)
{
	struct notice_waits_row told;
	int rc = sql_row(call, notice_waits, &told, .team = to->team, .type = notice);

	if (rc <= 0 || told.so)
		return rc < 0 ? rc : 0;
	return team_tell(
		call, to->team, notice,
		arena_printf(&call->arena,
			     "Agents have answered each other for %" PRId64 " turns "
			     "(limits.chain) without a word from a person. Mail for "
			     "%s waits, and starts no turn. Write to %s to let it "
			     "go on: `cadre send %s TEXT`.",
			     chain_most(call), to->name, to->name, to->name),
		chain_most(call));
}
