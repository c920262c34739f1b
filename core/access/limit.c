#include "core/access/limit.h"

#include <inttypes.h>

#include "core/access/pair.h"
#include "core/access/rate.h"
#include "core/access/who.h"
#include "core/call/space.h"

int64_t limit_category(enum rate rate)
{
	static const enum rate_category categories[] = {
		[RATE_DEFAULT] = RATE_CATEGORY_DEFAULT,
		[RATE_CREATE] = RATE_CATEGORY_CREATE,
		[RATE_EXEC] = RATE_CATEGORY_EXEC,
		[RATE_TEAM_MESSAGE] = RATE_CATEGORY_TEAM_MESSAGE,
	};

	return (int64_t)categories[rate];
}

struct rate_size limit_size(const struct config *c, enum rate rate)
{
	const struct rate_size sizes[] = {
		[RATE_DEFAULT] = { c->limits_default_burst,
				   c->limits_default_per_minute },
		[RATE_CREATE] = { c->limits_create_burst, c->limits_create_per_minute },
		[RATE_EXEC] = { c->limits_exec_burst, c->limits_exec_per_minute },
		[RATE_TEAM_MESSAGE] = { c->limits_team_message_burst,
					c->limits_team_message_per_minute },
	};

	return sizes[rate];
}

/* The time in microseconds at which the caller's bucket is full again. `row` is the time in the
 * bucket's row; the host's memory may hold a later time. */
static int64_t limit_full_at(const struct call *call, int64_t agent, enum rate rate,
			     int64_t row)
{
	struct rate_keeper *rates = call->settings->rates;
	struct rate_bucket b = { .agent = agent,
				 .category = limit_category(rate),
				 .full_at = row };

	if (rates)
		rates->look(rates, &b);
	return b.full_at;
}

static int limit_refuse(struct call *call, const struct rate_size *size, int64_t wait)
{
	struct fault *f = &call->fault;
	int64_t ms = (wait + 999) / 1000;

	fault_set(f, FAULT_RATE_LIMITED, "",
		  "%s calls too often: the limit is %" PRId64
		  " `%s` calls at once, then %" PRId64 " a minute",
		  call->identity.looks ? "this token" : call->caller.name, size->burst,
		  field_choice(&record_rate_limit, "category",
			       limit_category(limit_rate(call))),
		  size->per_minute);
	fault_hint(f,
		   "Wait %" PRId64 ".%03d s, then repeat the call. "
		   "{limit.list} shows what is left.",
		   ms / 1000, (int)(ms % 1000));
	f->retry_after_ms = ms;
	return f->code;
}

/* The owner of the bucket: the number of the agent's row, or, for a token that only reads, the
 * negative number of the token's row. */
static int64_t spender(const struct call *call)
{
	return call->identity.looks ? -call->bearer.row : call->caller.self;
}

int limit_spend(struct call *call)
{
	struct rate_keeper *rates = call->settings->rates;
	struct rate_bucket *b = &call->rate.spent;
	struct rate_row_row row = { 0 };
	struct rate_size size;
	int64_t wait;
	int rc;

	if (b->agent || call->rate.paid || !(rates || call->rate.spends) ||
	    !limit_binds(&call->settings->config, &call->identity, limit_rate(call)))
		return 0;
	size = limit_size(&call->settings->config, limit_rate(call));
	*b = (struct rate_bucket){ .agent = spender(call),
				   .category = limit_category(limit_rate(call)) };
	rc = sql_row(call, rate_row, &row, .agent = b->agent, .category = b->category);
	b->full_at = row.full_at;
	if (rc < 0) {
		b->agent = 0;
		return rc;
	}
	wait = rates ? rates->take(rates, &size, call->now * 1000, b)
		     : rate_take(&size, call->now * 1000, &b->full_at);
	if (wait) {
		/* If the clock was put back, the row's time may be later than the time at which
		 * an empty bucket would be full. Without a host, limit_settle() then corrects
		 * the row's time. */
		if (rates || b->full_at == row.full_at)
			b->agent = 0;
		return limit_refuse(call, &size, wait);
	}
	return rates ? 0
		     : sql_run(call, rate_keep, .agent = b->agent,
			       .category = b->category, .full_at = b->full_at);
}

void limit_settle(struct call *call)
{
	const struct rate_bucket *b = &call->rate.spent;
	struct call keep = { .store = call->store };
	struct rate_row_row row = { 0 };
	struct rate_size size;

	if (!call->rate.spends || !b->agent ||
	    store_begin_lax(keep.store, &keep.fault) < 0)
		return;
	size = limit_size(&call->settings->config, limit_rate(call));
	/* Other calls may have used the bucket since the call's transaction was undone. */
	if (sql_row(&keep, rate_row, &row, .agent = b->agent, .category = b->category) >=
	    0)
		rate_take(&size, store_now(keep.store) * 1000, &row.full_at);
	if (keep.fault.code ||
	    sql_run(&keep, rate_keep, .agent = b->agent, .category = b->category,
		    .full_at = row.full_at) < 0)
		store_rollback(keep.store);
	else
		store_commit(keep.store, &keep.fault);
	arena_release(&keep.arena);
}

/* The operation limit.list: how many calls each agent may make now. */

static int64_t limit_show_left_of(const struct call *call, int64_t agent, enum rate rate,
				  int64_t row)
{
	struct rate_size size = limit_size(&call->settings->config, rate);

	return rate_left(&size, call->now * 1000, limit_full_at(call, agent, rate, row));
}

/* Adds to `out`, for each agent of the page, the number of calls that are left. `ids` gets the
 * numbers of these agents' rows. */
static int add_left(struct call *call, const struct limit_list_in *in, int64_t agent,
		    int64_t **ids, struct limit_list_out *out)
{
	struct limit_agents_row a;
	size_t n = 0;
	struct calls_left line;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, limit_agents, &a, .team = call->caller.team,
			      .agent = agent, .after = in->after_name,
			      .limit = in->limit + 1)) > 0) {
		line = (struct calls_left){
			.name = a.name,
			.create = limit_show_left_of(call, a.id, RATE_CREATE, a.creates),
			.exec = limit_show_left_of(call, a.id, RATE_EXEC, a.execs),
			.team_message = limit_show_left_of(call, a.id, RATE_TEAM_MESSAGE,
							   a.messages),
			.other = limit_show_left_of(call, a.id, RATE_DEFAULT, a.plain),
		};
		if (!space_put(call, out, left, &record_calls_left, &line, in->limit))
			break;
		arena_add(&call->arena, *ids, n, a.id);
	}
	return query_over(&q, rc);
}

static void add_sizes(struct call *call, struct limit_list_out *out)
{
	static const enum rate order[] = { RATE_CREATE, RATE_EXEC, RATE_TEAM_MESSAGE,
					   RATE_DEFAULT };

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		struct rate_size size = limit_size(&call->settings->config, order[i]);

		arena_add(&call->arena, out->limits, out->n_limits,
			  (struct rate_limit){ .category = limit_category(order[i]),
					       .burst = size.burst,
					       .per_minute = size.per_minute });
	}
}

/* Adds to `out` the pairs in which `agent` sent messages within the last minute. */
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
		arena_add(&call->arena, out->pairs, out->n_pairs, line);
	}
	return rc < 0 ? rc : 0;
}

int limit_list(struct call *call, const struct limit_list_in *in,
	       struct limit_list_out *out)
{
	struct agent_row a = { 0 };
	int64_t *ids = NULL;
	int rc;

	if ((rc = who_team_of(call, in->team, in->agent, "/agent")) < 0 ||
	    (in->agent && (rc = who_agent(call, in->agent, "/agent", &a)) < 0))
		return rc;
	if (call->settings->config.limits_enabled)
		add_sizes(call, out);
	rc = add_left(call, in, a.id, &ids, out);
	for (size_t i = 0; i < out->n_left && rc >= 0; i++)
		rc = add_pairs(call, ids[i], out->left[i].name, out);
	return rc;
}

/* Does nothing: the call's transaction writes the buckets (see core/host/batch.c). */
int limit_keep(struct call *call, const struct limit_keep_in *in,
	       struct limit_keep_out *out)
{
	(void)call;
	(void)in;
	(void)out;
	return 0;
}

enum { MINUTE_US = 60000000, JITTER_US = 1000000 };

/* Microseconds until a bucket gets one call back. */
static int64_t each(const struct rate_size *size)
{
	return MINUTE_US / size->per_minute;
}

/* Microseconds until a bucket is full: at most the time in which an empty bucket becomes full.
 * Calls that run at once know the time a little differently. A much later `full_at` comes from
 * another clock, or from other limits, and limits nothing. */
static int64_t lack_of(const struct rate_size *size, int64_t now, int64_t full_at)
{
	int64_t whole = size->burst * each(size), lack = full_at - now;

	if (lack < 0 || lack > whole + JITTER_US)
		return 0;
	return lack > whole ? whole : lack;
}

int64_t rate_take(const struct rate_size *size, int64_t now, int64_t *full_at)
{
	int64_t lack = lack_of(size, now, *full_at) + each(size);
	int64_t over = lack - size->burst * each(size);

	*full_at = now + lack - (over > 0 ? each(size) : 0);
	return over > 0 ? over : 0;
}

int64_t rate_left(const struct rate_size *size, int64_t now, int64_t full_at)
{
	return size->burst - (lack_of(size, now, full_at) + each(size) - 1) / each(size);
}
