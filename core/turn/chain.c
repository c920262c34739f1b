#include "core/turn/chain.h"

#include <inttypes.h>

#include "core/team/team.h"

static const char notice[] = "chain"; /* the type of what chain_tell says */

static int64_t chain_limit(int64_t n)
{
	return n ? n : INT64_MAX;
}

int64_t chain_most(const struct call *call)
{
	return chain_limit(call->settings->config.limits_chain);
}

int64_t chain_per_hour(const struct call *call)
{
	return chain_limit(call->settings->config.limits_turns_per_hour);
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

int chain_follow(struct call *call, const struct agent_row *a, const struct envelope *all,
		 size_t n, bool led)
{
	struct message_head_row m;
	int64_t chain = 0;
	int rc;

	if (a->runs || a->id != call->caller.self)
		return 0;
	for (size_t i = 0; i < n && led; i++) {
		if ((rc = sql_row(call, message_head, &m, .id = all[i].seq)) < 0)
			return rc;
		chain = m.chain >= chain ? m.chain + 1 : chain;
	}
	return chain == call->caller.chain ? 0 : chain_put(call, a->id, chain);
}

int chain_tell(struct call *call, const struct agent_row *to)
{
	const struct caller was = call->caller;
	struct notice_waits_row told;
	int rc = sql_row(call, notice_waits, &told, .team = to->team, .type = notice);

	if (rc <= 0 || told.so)
		return rc < 0 ? rc : 0;
	call->caller.team = to->team;
	rc = team_tell(
		call, notice,
		arena_printf(&call->arena,
			     "Agents have answered each other for %" PRId64
			     " turns (limits.chain) without a person's word. Mail for %s "
			     "waits, and starts no turn. Write to %s to let it go on, by "
			     "`cadre send %s TEXT`.",
			     chain_most(call), to->name, to->name, to->name),
		chain_most(call));
	call->caller = was;
	return rc;
}
