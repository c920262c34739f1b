#include "core/host/batch.h"

#include <assert.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/host/rates.h"

/* State of a call before its first run in this batch. Each later run starts from this state. */
struct before {
	struct arena_mark mark;
	int64_t made;
	bool replayed;
};

void call_again(struct call *call, struct arena_mark mark)
{
	arena_reset(&call->arena, mark);
	if (call->out && call->op->out)
		memset(call->out, 0, call->op->out->size);
	call->fault = (struct fault){ 0 };
	call->caller = (struct caller){ 0 };
	call->wait_on = WAKE_NONE;
	call->wait_key = 0;
	call->workspace = (struct call_workspace){ 0 };
	call->given = (struct given){ 0 };
	call->renew = false;
	call->as_of = 0;
}

static void batch_keep(struct before *b, const struct call *call)
{
	b->mark = arena_mark(&call->arena);
	b->made = call->made;
	b->replayed = call->replayed;
}

static void batch_put_back(struct call *call, const struct before *b)
{
	call_again(call, b->mark);
	call->made = b->made;
	call->replayed = b->replayed;
}

/* Replaces the call's own answer or fault by a fault of the store. */
static void batch_fail_call(struct call *call, const struct fault *why)
{
	call->fault = *why;
	call->wait_on = WAKE_NONE;
	call->workspace = (struct call_workspace){ 0 };
}

static void run_alone(struct store *store, struct call *call)
{
	struct fault why = { 0 };

	call->store = store;
	if (store_begin(store, true, &why)) {
		batch_fail_call(call, &why);
		return;
	}
	call->now = store_now(store);
	if (op_perform(call) < 0)
		store_rollback(store);
	else if (!store_intact(store)) {
		store_rollback(store);
		fault_set(&why, FAULT_UNAVAILABLE, "", "the transaction was dropped");
		batch_fail_call(call, &why);
	} else if (store_commit(store, &why))
		batch_fail_call(call, &why);
}

/* The outcome of a run of several calls in one transaction. */
enum outcome {
	WENT_WELL,
	LEFT_A_TRACE, /* a call failed after it had changed something */
	WAS_DROPPED, /* SQLite has rolled back the transaction */
};

/* Maximum number of rate buckets that one transaction stores. */
enum { RATES_MOST = 256 };

struct batch {
	struct store *store;
	struct call **calls;
	size_t n;
	struct rates *rates; /* NULL: no buckets are kept in memory */
	struct rate_bucket spent[RATES_MOST];
	const struct batch_source *source; /* source of further calls, or NULL */
	struct before before[BATCH_CALLS];
};

static enum outcome run_bare(struct store *store, struct call *call)
{
	int64_t changes = store_changes(store);
	bool failed = op_perform(call) < 0;

	if (!store_intact(store))
		return WAS_DROPPED;
	if (failed && store_changes(store) != changes)
		return LEFT_A_TRACE;
	return WENT_WELL;
}

static enum outcome run_saved(struct store *store, struct call *call)
{
	struct fault why = { 0 };
	int rc;

	if (store_savepoint(store, &why))
		return WAS_DROPPED;
	rc = op_perform(call);
	if (!store_intact(store))
		return WAS_DROPPED;
	rc = rc < 0 ? store_rewind(store, &why) : store_release(store, &why);
	return rc ? WAS_DROPPED : WENT_WELL;
}

/* Whether the batch has a call with the number `i`. If needed, asks the source for more calls
 * first. */
static bool batch_has(struct batch *b, size_t i)
{
	if (i == b->n && b->source && i < BATCH_CALLS) {
		b->n += b->source->more(b->source->arg, b->calls + i, BATCH_CALLS - i);
		for (size_t k = i; k < b->n; k++)
			batch_keep(&b->before[k], b->calls[k]);
	}
	return i < b->n;
}

/* Runs calls until BATCH_MS are over, or until a call's outcome is not WENT_WELL. Sets b->n to
 * the number of calls run. */
static enum outcome run_together(struct batch *b, bool saved)
{
	int64_t end = clock_steady_ms() + BATCH_MS;

	for (size_t i = 0; batch_has(b, i); i++) {
		struct call *call = b->calls[i];
		enum outcome went;

		call->store = b->store;
		call->now = store_now(b->store);
		went = saved ? run_saved(b->store, call) : run_bare(b->store, call);
		if (went != WENT_WELL || clock_steady_ms() >= end) {
			b->n = i + 1;
			return went;
		}
	}
	return WENT_WELL;
}

static void put_all_back(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		batch_put_back(b->calls[i], &b->before[i]);
}

/* Whether the batch is a single call whose write may be lost when the power fails (OP_LAX), and
 * which therefore needs no sync of the disk. */
static bool is_lax(const struct batch *b)
{
	return b->n == 1 && (b->calls[0]->op->flags & OP_LAX);
}

static int keep_rates(struct batch *b, size_t *n, struct fault *f)
{
	struct call look = { .store = b->store };
	int64_t now = clock_steady_ms();

	*n = b->rates && (is_lax(b) || rates_due(b->rates, now))
		     ? rates_owed(b->rates, now, b->spent, RATES_MOST)
		     : 0;
	for (size_t i = 0; i < *n; i++)
		if (sql_run(&look, rate_keep, .agent = b->spent[i].agent,
			    .category = b->spent[i].category,
			    .full_at = b->spent[i].full_at) < 0) {
			*f = look.fault;
			return f->code;
		}
	return 0;
}

/* If it is time to store rate buckets, stores the buckets that calls have used. Then commits. */
static int batch_commit(struct batch *b, struct fault *f)
{
	size_t n;
	int rc = keep_rates(b, &n, f);

	if (rc < 0)
		store_rollback(b->store);
	else
		rc = store_commit(b->store, f);
	if (rc < 0 && n)
		rates_unkept(b->rates, b->spent, n);
	return rc;
}

/* Runs the calls in one transaction, and sets b->n to the number of calls run. */
static enum outcome run_transaction(struct batch *b, bool saved)
{
	struct fault why = { 0 };
	enum outcome went = WENT_WELL;
	int rc = is_lax(b) ? store_begin_lax(b->store, &why)
			   : store_begin(b->store, true, &why);

	if (rc == 0) {
		went = run_together(b, saved);
		if (went != WENT_WELL) {
			store_rollback(b->store);
			return went;
		}
		if (batch_commit(b, &why) == 0)
			return WENT_WELL;
	}
	for (size_t i = 0; i < b->n; i++)
		batch_fail_call(b->calls[i], &why);
	return WENT_WELL;
}

size_t batch_run(struct store *store, struct call **calls, size_t n,
		 const struct batch_source *source)
{
	enum outcome went;
	struct batch b;

	assert(n > 0);
	b.store = store;
	b.calls = calls;
	b.n = n < BATCH_CALLS ? n : BATCH_CALLS;
	b.rates = calls[0]->settings ? rates_of(calls[0]->settings->rates) : NULL;
	b.source = is_lax(&b) ? NULL : source;
	for (size_t i = 0; i < b.n; i++)
		batch_keep(&b.before[i], calls[i]);
	went = run_transaction(&b, false);
	/* The rollback has already undone a single failed call. */
	if (went == LEFT_A_TRACE && b.n == 1)
		return 1;
	b.source = NULL;
	if (went == LEFT_A_TRACE) {
		put_all_back(&b);
		went = run_transaction(&b, true);
	}
	if (went == WENT_WELL)
		return b.n;
	put_all_back(&b);
	for (size_t i = 0; i < b.n; i++)
		run_alone(store, calls[i]);
	return b.n;
}

void batch_read(struct store *store, struct call *call)
{
	struct fault why = { 0 };

	call->store = store;
	if (store_begin(store, false, &why)) {
		batch_fail_call(call, &why);
		return;
	}
	call->now = store_now(store);
	op_perform(call);
	store_rollback(store);
}
