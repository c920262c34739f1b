#include "core/access/limit.h"

#include <inttypes.h>

#include "core/access/rate.h"

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

int64_t limit_full_at(const struct call *call, int64_t agent, enum rate rate, int64_t row)
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
		  "%s calls too often: %" PRId64 " `%s` calls at once, then %" PRId64
		  " a minute",
		  call->identity.looks ? "this token" : call->caller.name, size->burst,
		  field_choice(&record_rate_limit, "category",
			       limit_category(limit_rate(call))),
		  size->per_minute);
	fault_hint(f,
		   "Wait %" PRId64
		   ".%03d s, then repeat it. {limit.list} shows what is left.",
		   ms / 1000, (int)(ms % 1000));
	f->retry_after_ms = ms;
	return f->code;
}

/* The owner of the bucket: the agent's row, or for a token that only reads the negative of its. */
static int64_t spender(const struct call *call)
{
	return call->identity.looks ? -call->bearer : call->caller.self;
}

int limit_spend(struct call *call)
{
	struct rate_keeper *rates = call->settings->rates;
	struct rate_bucket *b = &call->spent;
	struct rate_row_row row = { 0 };
	struct rate_size size;
	int64_t wait;
	int rc;

	if (b->agent || call->paid || !(rates || call->spends) ||
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
		/* A row beyond an empty bucket, of a clock that was put back, is mended. */
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
	const struct rate_bucket *b = &call->spent;
	struct call keep = { .store = call->store };
	struct rate_row_row row = { 0 };
	struct rate_size size;

	if (!call->spends || !b->agent || store_begin_lax(keep.store, &keep.fault) < 0)
		return;
	size = limit_size(&call->settings->config, limit_rate(call));
	/* Others may have spent since that transaction was undone. */
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
