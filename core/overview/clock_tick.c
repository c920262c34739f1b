/*
 * clock_tick - makes the changes that only the clock causes.
 *
 * Leases end, messages expire, and budgets of time are used up. After a gap
 * (core/host/reaper.h), the ends of leases and other times are moved.
 */
#include "core/access/pair.h"
#include "core/agent/agent.h"
#include "core/message/inbox.h"
#include "core/reservation/reservation.h"
#include "core/task/task.h"
#include "core/team/budget.h"
#include "core/turn/turn.h"

/* The maximum number of rows of each kind in a transaction of the tick, so that other writers
 * wait only for milliseconds. */
enum { SLICE = 200 };

static int move_by_leap(struct call *call, int64_t ms, int64_t since)
{
	int rc;

	if (!ms)
		return 0;
	rc = sql_run(call, life_leap, .leap_ms = ms, .since = since);
	if (rc >= 0)
		rc = sql_run(call, life_leap_waiting, .leap_ms = ms, .since = since);
	if (rc >= 0)
		rc = sql_run(call, ack_leap, .leap_ms = ms);
	if (rc >= 0)
		rc = sql_run(call, delayed_leap, .leap_ms = ms);
	if (rc >= 0)
		rc = sql_run(call, runner_leap, .leap_ms = ms);
	if (rc >= 0)
		rc = sql_run(call, budget_leap, .leap_ms = ms);
	return rc < 0 ? rc : 0;
}

static int move_by_gap(struct call *call, const struct clock_tick_in *in)
{
	int64_t since = in->has_gap_since ? in->gap_since : call->now - in->gap_ms;
	struct host_elsewhere_row other = { 0 };
	int rc = 0;

	if (!in->gap_ms && !in->leap_ms)
		return 0;
	if (in->gap_ms > 0)
		rc = sql_row(call, host_elsewhere, &other,
			     .host = store_host(call->store), .since = since);
	if (rc < 0)
		return rc;
	if (other.n) /* another host ran during the gap, so all callers could renew their
			leases */
		return 0;
	rc = sql_run(call, task_gap, .gap_ms = in->gap_ms, .gap_since = since);
	if (rc >= 0)
		rc = sql_run(call, reservation_gap, .gap_ms = in->gap_ms,
			     .gap_since = since);
	if (rc >= 0)
		rc = sql_run(call, delivery_gap, .gap_ms = in->gap_ms,
			     .gap_since = since);
	if (rc >= 0)
		rc = sql_run(call, assignment_gap, .gap_ms = in->gap_ms,
			     .gap_since = since);
	if (rc >= 0)
		rc = sql_run(call, daemon_gap, .gap_ms = in->gap_ms, .gap_since = since);
	return rc < 0 ? rc : move_by_leap(call, in->leap_ms, since);
}

/* Moves times in the future to now, because the clock may have been set back while no host ran. */
static int move_from_future(struct call *call)
{
	int rc = sql_run(call, task_from_future, .now = call->now);

	if (rc >= 0)
		rc = sql_run(call, reservation_from_future, .now = call->now);
	if (rc >= 0)
		rc = sql_run(call, delivery_from_future, .now = call->now);
	if (rc >= 0)
		rc = sql_run(call, assignment_from_future, .now = call->now);
	if (rc >= 0)
		rc = sql_run(call, delayed_from_future, .now = call->now,
			     .latest = call->now + PAIR_DELAY_MOST_MS);
	if (rc >= 0)
		rc = sql_run(call, runner_from_future, .now = call->now,
			     .latest = call->now + TURN_RETRY_MOST_MS,
			     .end = call->now + TURN_LIMIT_MOST_MS);
	if (rc >= 0)
		rc = sql_run(call, runner_hour_from_future, .now = call->now);
	if (rc >= 0)
		rc = sql_run(call, budget_from_future, .now = call->now);
	if (rc >= 0)
		rc = sql_run(call, daemon_from_future, .now = call->now);
	return rc < 0 ? rc : 0;
}

static int settle_deliveries(struct call *call, int64_t *ended)
{
	struct inbox_lapsed_row *all = NULL;
	size_t n;
	int rc, came = message_delayed_come(call, 0, SLICE);

	if (came < 0)
		return came;
	rc = sql_all(call, delivery_due, &all, &n, .now = call->now, .limit = SLICE);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = delivery_expire(call, &all[i]);
	*ended = (int64_t)n > came ? (int64_t)n : came;
	return rc;
}

int clock_tick(struct call *call, const struct clock_tick_in *in,
	       struct clock_tick_out *out)
{
	size_t lapsed = 0;
	int rc;

	if ((rc = move_by_gap(call, in)) < 0 ||
	    (in->start && (rc = move_from_future(call)) < 0) ||
	    (rc = task_settle(call, 0, SLICE, &out->tasks)) < 0 ||
	    (rc = settle_deliveries(call, &out->deliveries)) < 0 ||
	    (rc = reservation_settle(call, SLICE, &lapsed)) < 0 ||
	    (rc = agent_daemons_settle(call)) < 0 || (rc = budget_settle(call)) < 0 ||
	    (rc = sql_run(call, state_alive, .now = call->now,
			  .host = store_host(call->store))) < 0)
		return rc;
	out->more = out->tasks == SLICE || out->deliveries == SLICE || lapsed == SLICE;
	return 0;
}
