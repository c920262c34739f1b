/* limit_show - lists what agents may call now. */
#include "core/access/limit.h"
#include "core/access/pair.h"
#include "core/access/rate.h"
#include "core/access/who.h"
#include "core/call/space.h"

static int64_t limit_show_left_of(const struct call *call, int64_t agent, enum rate rate,
				  int64_t row)
{
	struct rate_size size = limit_size(&call->settings->config, rate);

	return rate_left(&size, call->now * 1000, limit_full_at(call, agent, rate, row));
}

/* Adds what the agents of the page have left; `ids` are their rows. */
static int add_left(struct call *call, const struct limit_list_in *in, int64_t agent,
		    int64_t **ids, struct limit_list_out *out)
{
	struct limit_agents_row a;
	size_t n = 0;
	struct calls_left line;
	struct query q;
	int rc;

	sql_query(call, &q, limit_agents, .team = call->caller.team, .agent = agent,
		  .after = in->after_name, .limit = in->limit + 1);
	while ((rc = sql_next(call, &q, &a)) > 0) {
		line = (struct calls_left){
			.name = a.name,
			.create = limit_show_left_of(call, a.id, RATE_CREATE, a.creates),
			.exec = limit_show_left_of(call, a.id, RATE_EXEC, a.execs),
			.team_message = limit_show_left_of(call, a.id, RATE_TEAM_MESSAGE,
							   a.messages),
			.other = limit_show_left_of(call, a.id, RATE_DEFAULT, a.plain),
		};
		if ((int64_t)out->n_left == in->limit ||
		    !space_take(call, &record_calls_left, &line)) {
			out->more = true;
			break;
		}
		*(struct calls_left *)arena_push(&call->arena, &out->left, &out->n_left,
						 sizeof(line)) = line;
		*(int64_t *)arena_push(&call->arena, ids, &n, sizeof(**ids)) = a.id;
	}
	query_end(&q);
	return rc < 0 ? rc : 0;
}

static void add_sizes(struct call *call, struct limit_list_out *out)
{
	static const enum rate order[] = { RATE_CREATE, RATE_EXEC, RATE_TEAM_MESSAGE,
					   RATE_DEFAULT };

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		struct rate_size size = limit_size(&call->settings->config, order[i]);

		*(struct rate_limit *)arena_push(&call->arena, &out->limits,
						 &out->n_limits,
						 sizeof(struct rate_limit)) =
			(struct rate_limit){ .category = limit_category(order[i]),
					     .burst = size.burst,
					     .per_minute = size.per_minute };
	}
}

/* Adds the pairs in which an agent has sent. */
static int add_pairs(struct call *call, int64_t agent, const char *name,
		     struct limit_list_out *out)
{
	struct pair_used_row *all = NULL;
	size_t n = 0;
	int rc = sql_all(call, pair_used, &all, &n, .agent = agent,
			 .since = call->now - PAIR_MINUTE_MS);

	for (size_t i = 0; i < n && rc >= 0; i++) {
		struct pair_use line = { .from = name,
					 .to = all[i].to_name,
					 .sent = all[i].sent };

		rc = pair_next(call, agent, all[i].recipient, &line.next_at);
		if (rc < 0 || !space_take(call, &record_pair_use, &line))
			break;
		*(struct pair_use *)arena_push(&call->arena, &out->pairs, &out->n_pairs,
					       sizeof(line)) = line;
	}
	return rc < 0 ? rc : 0;
}

int limit_list(struct call *call, const struct limit_list_in *in,
	       struct limit_list_out *out)
{
	struct agent_row a = { 0 };
	int64_t *ids = NULL;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (in->agent && (rc = who_agent(call, in->agent, "/agent", &a)) < 0))
		return rc;
	if (call->settings->config.limits_enabled)
		add_sizes(call, out);
	rc = add_left(call, in, a.id, &ids, out);
	for (size_t i = 0; i < out->n_left && rc >= 0; i++)
		rc = add_pairs(call, ids[i], out->left[i].name, out);
	return rc;
}

/* Does nothing: the call's transaction writes the buckets, see core/host/batch.c. */
int limit_keep(struct call *call, const struct limit_keep_in *in,
	       struct limit_keep_out *out)
{
	(void)call;
	(void)in;
	(void)out;
	return 0;
}
