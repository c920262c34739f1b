#include "core/host/batch.h"

#include <assert.h>
#include <string.h>
#include <time.h>

/* What a call was before its first run in this batch. */
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
	call->workspace = 0;
	call->as_of = 0;
}

static void keep(struct before *b, const struct call *call)
{
	b->mark = arena_mark(&call->arena);
	b->made = call->made;
	b->replayed = call->replayed;
}

static void put_back(struct call *call, const struct before *b)
{
	call_again(call, b->mark);
	call->made = b->made;
	call->replayed = b->replayed;
}

/* A fault of the store replaces whatever the call thought its answer was. */
static void spoil(struct call *call, const struct fault *why)
{
	call->fault = *why;
	call->wait_on = WAKE_NONE;
	call->workspace = 0;
}

static void run_alone(struct store *store, struct call *call)
{
	struct fault why = { 0 };

	call->store = store;
	if (store_begin(store, true, &why)) {
		spoil(call, &why);
		return;
	}
	if (op_perform(call) < 0)
		store_rollback(store);
	else if (!store_intact(store)) {
		store_rollback(store);
		fault_set(&why, FAULT_UNAVAILABLE, "",
			  "the transaction was dropped");
		spoil(call, &why);
	} else if (store_commit(store, &why))
		spoil(call, &why);
}

/* One call inside the open transaction; false when that is gone. */
static bool run_saved(struct store *store, struct call *call)
{
	struct fault why = { 0 };

	call->store = store;
	if (store_savepoint(store, &why))
		return false;
	if (op_perform(call) < 0) {
		if (!store_intact(store))
			return false;
		return store_rewind(store, &why) == 0;
	}
	return store_intact(store) && store_release(store, &why) == 0;
}

static int64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* How many ran in the open transaction; 0 when it was dropped, and then
 * `*tried` calls have to run again. */
static size_t run_together(struct store *store, struct call **calls, size_t n,
			   struct before *before, size_t *tried)
{
	int64_t end = clock_ms() + BATCH_MS;
	size_t i;

	for (i = 0; i < n; i++) {
		if (i > 0 && clock_ms() >= end)
			break;
		keep(&before[i], calls[i]);
		*tried = i + 1;
		if (!run_saved(store, calls[i]))
			return 0;
	}
	return i;
}

size_t batch_run(struct store *store, struct call **calls, size_t n)
{
	struct before before[BATCH_CALLS];
	struct fault why = { 0 };
	size_t done, tried = 0;

	assert(n > 0);
	if (n > BATCH_CALLS)
		n = BATCH_CALLS;
	if (n == 1) {
		run_alone(store, calls[0]);
		return 1;
	}
	if (store_begin(store, true, &why)) {
		for (size_t i = 0; i < n; i++)
			spoil(calls[i], &why);
		return n;
	}
	done = run_together(store, calls, n, before, &tried);
	if (done == 0) {
		store_rollback(store);
		for (size_t i = 0; i < tried; i++) {
			put_back(calls[i], &before[i]);
			run_alone(store, calls[i]);
		}
		return tried;
	}
	if (store_commit(store, &why))
		for (size_t i = 0; i < done; i++)
			spoil(calls[i], &why);
	return done;
}

void batch_read(struct store *store, struct call *call)
{
	struct fault why = { 0 };

	call->store = store;
	if (store_begin(store, false, &why)) {
		spoil(call, &why);
		return;
	}
	op_perform(call);
	store_rollback(store);
}
