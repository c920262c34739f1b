/* The token buckets that limit calls. Each call takes from the bucket that the operation's
 * schema names, and all threads of a host share the buckets. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/access/limit.h"
#include "core/host/rates.h"
#include "tests/lib/world.h"

enum { NOW = 1000000000 };

/* --- each operation ------------------------------------------------------------------ */

static int runs; /* number of runs of refuse_to_run() */

static int refuse_to_run(struct call *call, const void *in, void *out)
{
	(void)in;
	(void)out;
	runs++;
	return fault_set(&call->fault, FAULT_NOT_FOUND, "", "it does nothing");
}

static void ask(struct world *w, const char *op, const char *args)
{
	struct asked q = { .op = op_find(op),
			   .args = json_loads(args, 0, NULL),
			   .identity = { .level = WHO_OPERATOR } };
	struct answer a;

	world_ask(w, w->store, &q, &a);
	assert_int_equal(a.rc, 0);
	json_decref(q.args);
	answer_release(&a);
}

/* Calls an operation as the team's lead, or, if `as`, as an operator who acts as the lead. The
 * operation's handler is replaced by refuse_to_run(), which fails. */
static enum fault_code call_empty(struct world *w, const struct op *op, bool as)
{
	struct op hollow = *op;
	struct call call = { .op = &hollow,
			     .store = w->store,
			     .settings = &w->settings,
			     .host = 1,
			     .identity = { .level = WHO_OBSERVER,
					   .team = "t",
					   .agent = "lead",
					   .proven = true,
					   .as = as } };

	hollow.run = refuse_to_run;
	call.in = arena_alloc(&call.arena, op->in->size + 1);
	call.out = arena_alloc(&call.arena, op->out->size + 1);
	call_run(&call);
	arena_release(&call.arena);
	return call.fault.code;
}

static int64_t row_of(struct world *w, int64_t category)
{
	char query[200];

	snprintf(query, sizeof(query),
		 "SELECT coalesce(max(full_at), 0) FROM rate WHERE category = %d",
		 (int)category);
	return world_number(w->store, query);
}

static void open_team(struct world *w)
{
	world_open(w);
	w->now = NOW;
	ask(w, "team.create", "{\"name\":\"t\"}");
	w->settings.config.limits_enabled = true;
}

/* Fills all buckets, as if no call had been made. */
static void refill(struct world *w)
{
	world_number(w->store, "DELETE FROM rate RETURNING 0");
}

/* A call that fails takes from the bucket of its category, and from no other bucket. A second
 * call takes the same amount again. */
static void each_spends_its_category(void **state)
{
	struct world w;

	(void)state;
	open_team(&w);
	for (size_t i = 0; i < op_count; i++) {
		const struct op *op = &op_table[i];

		refill(&w);
		for (int n = 1; n <= 2; n++) {
			call_empty(&w, op, false);
			for (int64_t c = 0; c < RATE_FREE; c++) {
				struct rate_size size =
					limit_size(&w.settings.config, (enum rate)c);
				int64_t spent =
					(int64_t)op->rate == c
						? NOW * 1000ll +
							  n * 60000000 / size.per_minute
						: 0;

				if (row_of(&w, limit_category((enum rate)c)) != spent)
					fail_msg("%s: category %d is full at %lld, not "
						 "%lld",
						 op->name, (int)c,
						 (long long)row_of(
							 &w,
							 limit_category((enum rate)c)),
						 (long long)spent);
			}
		}
	}
	world_close(&w);
}

/* A call whose bucket is empty is refused before the call's handler runs, unless the caller is
 * the operator. */
static void each_is_refused_when_it_is_spent(void **state)
{
	struct world w;

	(void)state;
	open_team(&w);
	for (size_t i = 0; i < op_count; i++) {
		const struct op *op = &op_table[i];
		int64_t burst;

		if (op->rate == RATE_FREE)
			continue;
		refill(&w);
		burst = limit_size(&w.settings.config, op->rate).burst;
		for (int64_t n = 0; n < burst; n++)
			assert_int_not_equal(call_empty(&w, op, false),
					     FAULT_RATE_LIMITED);
		runs = 0;
		if (call_empty(&w, op, false) != FAULT_RATE_LIMITED || runs)
			fail_msg("%s runs though nothing is left", op->name);
		assert_int_not_equal(call_empty(&w, op, true), FAULT_RATE_LIMITED);
	}
	world_close(&w);
}

/* --- the rule -------------------------------------------------------------------------- */

static void the_wait_is_right(void **state)
{
	const struct rate_size size = { 2, 60 };
	int64_t full_at = 0, now = 5000000000;

	(void)state;
	assert_int_equal(rate_left(&size, now, full_at), 2);
	assert_int_equal(rate_take(&size, now, &full_at), 0);
	assert_int_equal(rate_take(&size, now, &full_at), 0);
	assert_int_equal(rate_take(&size, now, &full_at), 1000000);
	assert_int_equal(rate_take(&size, now + 999999, &full_at), 1);
	assert_int_equal(rate_left(&size, now + 999999, full_at), 0);
	assert_int_equal(rate_left(&size, now + 1000000, full_at), 1);
	assert_int_equal(rate_take(&size, now + 1000000, &full_at), 0);
	assert_int_equal(rate_left(&size, now + 3000000, full_at), 2);
}

/* After a clock is set back, or a limit is lowered, no caller has to wait. Calls that know the
 * time a little differently share one bucket. */
static void nobody_waits_for_a_clock(void **state)
{
	const struct rate_size size = { 2, 60 };
	int64_t full_at = 9000000000, now = 5000000;

	(void)state;
	assert_int_equal(rate_left(&size, now, full_at), 2);
	assert_int_equal(rate_take(&size, now, &full_at), 0);
	assert_int_equal(full_at, now + 1000000);
	assert_int_equal(rate_take(&size, now, &full_at), 0);
	assert_int_equal(rate_take(&size, now - 1000, &full_at), 1000000);
	assert_int_equal(full_at, now - 1000 + 2000000);
}

/* --- the buckets of a host --------------------------------------------------------------- */

enum { THREADS = 8, TRIES = 2000, AGENTS = 500 };

struct share {
	struct rate_keeper *rates;
	int64_t got;
};

static void *take_many(void *arg)
{
	const struct rate_size size = { 1000, 1 };
	struct share *s = arg;

	for (int i = 0; i < TRIES; i++) {
		struct rate_bucket b = { .agent = 7 };

		s->got += s->rates->take(s->rates, &size, 1000000, &b) == 0;
	}
	return NULL;
}

static void threads_share_a_bucket(void **state)
{
	struct rates *r = rates_new();
	struct share shares[THREADS];
	pthread_t threads[THREADS];
	int64_t got = 0;

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		shares[i] = (struct share){ .rates = rates_keeper(r) };
		pthread_create(&threads[i], NULL, take_many, &shares[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		got += shares[i].got;
	}
	assert_int_equal(got, 1000);
	rates_free(r);
}

/* rates_owed() gives out a changed bucket once, as a row to write, and once more after a failed
 * write. The bucket stays in the table when the table grows. */
static void rows_are_owed(void **state)
{
	const struct rate_size size = { 10, 60 };
	struct rate_bucket out[AGENTS + 1];
	struct rates *r = rates_new();
	struct rate_keeper *k = rates_keeper(r);
	size_t n;

	(void)state;
	assert_false(rates_owe(r));
	for (int64_t a = 1; a <= AGENTS; a++) {
		struct rate_bucket b = { .agent = a, .category = a % 4 };

		assert_int_equal(k->take(k, &size, 1000, &b), 0);
		assert_int_equal(k->take(k, &size, 1000, &b), 0);
	}
	assert_int_equal(rates_owed(r, 1, out, 100), 100);
	assert_true(rates_owe(r));
	rates_unkept(r, out, 100);
	n = rates_owed(r, 1, out, AGENTS + 1);
	assert_int_equal(n, AGENTS);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(out[i].category, out[i].agent % 4);
		assert_int_equal(out[i].full_at, 1000 + 2000000);
	}
	assert_false(rates_owe(r));
	out[0].full_at = 0;
	k->look(k, &out[0]);
	assert_int_equal(out[0].full_at, 1000 + 2000000);
	/* If the row has a later time than the table, the row's time is used, since another
	 * process has taken from the bucket. */
	out[0].full_at = 5000000;
	k->look(k, &out[0]);
	assert_int_equal(out[0].full_at, 5000000);
	assert_int_equal(k->take(k, &size, 1000, &out[0]), 0);
	assert_int_equal(out[0].full_at, 6000000);
	assert_int_equal(rates_owed(r, 1, &out[1], 1), 1);
	for (int64_t a = AGENTS + 1; a <= 3 * AGENTS; a++) {
		struct rate_bucket b = { .agent = a, .full_at = 10000000 };

		assert_int_equal(k->take(k, &size, 9000000, &b), 0);
		assert_int_equal(b.full_at, 11000000);
	}
	/* The table has dropped full buckets to make space for new buckets. The dropped buckets
	 * are now only in the rows. */
	out[0].full_at = 0;
	k->look(k, &out[0]);
	assert_int_equal(out[0].full_at, 0);
	rates_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_spends_its_category),
		cmocka_unit_test(each_is_refused_when_it_is_spent),
		cmocka_unit_test(the_wait_is_right),
		cmocka_unit_test(nobody_waits_for_a_clock),
		cmocka_unit_test(threads_share_a_bucket),
		cmocka_unit_test(rows_are_owed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
