/*
 * Group commit: a call that fails changes nothing for the other calls, whichever step of the
 * store fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <string.h>

#include "core/host/batch.h"
#include "core/host/queue.h"
#include "ops.gen.h"
#include "storage/store_inside.h"
#include "tests/lib/hooks.h"
#include "tests/lib/world.h"

enum { CALLS = 5 };

struct bench {
	struct world world;
	struct call calls[CALLS];
	struct call *list[CALLS];
	json_t *args[CALLS];
};

static void ask(struct bench *b, int i, const struct op *op, const char *args)
{
	struct call *call = &b->calls[i];

	*call = (struct call){
		.settings = &b->world.settings,
		.identity = { .level = WHO_OPERATOR, .team = "red" },
		.now = b->world.now,
		.seed = (uint64_t)i + 1,
	};
	b->args[i] = json_loads(args, 0, NULL);
	assert_non_null(b->args[i]);
	assert_int_equal(call_decode(call, op, b->args[i]), 0);
	b->list[i] = call;
}

static void release(struct bench *b, int i)
{
	arena_release(&b->calls[i].arena);
	json_decref(b->args[i]);
	b->args[i] = NULL;
}

static int set_up(void **state)
{
	struct bench *b = test_calloc(1, sizeof(*b));

	world_open(&b->world);
	store_set_now(b->world.store, b->world.now);
	ask(b, 0, op_team_create, "{\"name\":\"red\",\"roles\":[{\"name\":\"a\"}]}");
	assert_int_equal(batch_run(b->world.store, b->list, 1, NULL), 1);
	assert_int_equal(b->calls[0].fault.code, 0);
	release(b, 0);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < CALLS; i++)
		release(b, i);
	world_close(&b->world);
	test_free(b);
	return 0;
}

/* Prepares five sends. The third send goes to an unknown name, and the other sends go to an
 * agent. */
static void ask_all(struct bench *b)
{
	for (int i = 0; i < CALLS; i++)
		ask(b, i, op_message_send,
		    i == 2 ? "{\"to\":[\"nobody\"],\"content\":\"x\"}"
			   : "{\"to\":[\"a\"],\"content\":\"x\"}");
}

/* The third call makes a team with two roles with the same name, and fails after it wrote both
 * roles. */
static void ask_with_a_trace(struct bench *b)
{
	ask_all(b);
	release(b, 2);
	ask(b, 2, op_team_create,
	    "{\"name\":\"blue\",\"roles\":[{\"name\":\"a\"},{\"name\":\"a\"}]}");
}

static void run_all(struct bench *b)
{
	for (size_t at = 0; at < CALLS;)
		at += batch_run(b->world.store, b->list + at, CALLS - at, NULL);
}

static int64_t messages(struct bench *b)
{
	return world_number(b->world.store, "SELECT count(*) FROM message");
}

static void check_all(struct bench *b, enum fault_code third)
{
	for (int i = 0; i < CALLS; i++)
		assert_int_equal(b->calls[i].fault.code, i == 2 ? third : 0);
	assert_int_equal(messages(b), 4);
}

/* Checks that the failed call left no team, and that each message was delivered once. */
static void check_no_trace(struct bench *b)
{
	struct store *store = b->world.store;

	check_all(b, FAULT_CONFLICT);
	assert_int_equal(world_number(store, "SELECT count(*) FROM team"), 1);
	assert_int_equal(world_number(store, "SELECT count(*) FROM delivery"), 4);
}

static void one_that_fails_is_alone(void **state)
{
	ask_all(*state);
	run_all(*state);
	check_all(*state, FAULT_NOT_FOUND);
}

/* If the third call fails after it wrote rows, these rows are removed, and the rows of the
 * other calls stay. */
static void a_trace_is_undone(void **state)
{
	struct bench *b = *state;

	ask_with_a_trace(b);
	run_all(b);
	check_no_trace(b);
}

/* Runs all calls. The store's step number `step` fails and so drops the transaction. Returns
 * the number of calls that succeeded. */
static int64_t run_with_failing_step(struct bench *b, long step)
{
	int64_t well = 0;

	store_fail(b->world.store, step, SQLITE_FULL);
	run_all(b);
	store_fail(b->world.store, 0, 0);
	for (int i = 0; i < CALLS; i++)
		well += !b->calls[i].fault.code;
	return well;
}

/* Whichever step drops the transaction, each successful call has its effect once, and a failed
 * call has no effect. */
static void a_dropped_transaction_runs_again(void **state)
{
	void (*const asks[])(struct bench *) = { ask_all, ask_with_a_trace };
	struct bench *b = *state;
	int64_t before = 0;

	for (long step = 1; step < 120; step++) {
		asks[step % 2](b);
		before += run_with_failing_step(b, step / 2 + 1);
		assert_int_equal(messages(b), before);
		assert_int_equal(
			world_number(b->world.store, "SELECT count(*) FROM team"), 1);
		for (int i = 0; i < CALLS; i++)
			release(b, i);
	}
	ask_all(b);
}

static int refuse(void *unused)
{
	(void)unused;
	return 1; /* COMMIT fails */
}

static void check_unknown(struct bench *b)
{
	for (int i = 0; i < CALLS; i++) {
		assert_int_equal(b->calls[i].fault.code, FAULT_UNAVAILABLE);
		release(b, i);
	}
	assert_int_equal(messages(b), 0);
	ask_all(b);
}

/* When COMMIT fails, no caller gets a success. A call that had failed by itself gets the same
 * fault as the other calls. This fault tells the caller to repeat the call. */
static void a_failed_commit_is_nobodys_success(void **state)
{
	struct bench *b = *state;
	sqlite3 *db = b->world.store->db;

	sqlite3_commit_hook(db, refuse, NULL);
	ask_all(b);
	run_all(b);
	check_unknown(b);
	/* If a step drops the transaction, each call runs alone, and again no caller gets a
	 * success. */
	release(b, 2);
	ask(b, 2, op_message_send, "{\"to\":[\"a\"],\"content\":\"x\"}");
	assert_int_equal(run_with_failing_step(b, 3), 0);
	check_unknown(b);
	sqlite3_commit_hook(db, NULL, NULL);
	run_all(b);
	check_all(b, FAULT_NOT_FOUND);
}

static void calls_run_again_as_they_were(void **state)
{
	struct bench *b = *state;
	struct call *call = &b->calls[0];
	struct arena_mark mark;

	ask_all(b);
	mark = arena_mark(&call->arena);
	assert_int_equal(batch_run(b->world.store, b->list, 1, NULL), 1);
	call->made = 7;
	call_again(call, mark);
	assert_null(((struct message_send_out *)call->out)->message_id);
	assert_int_equal(call->made, 7);
	assert_string_equal(((struct message_send_in *)call->in)->text, "x");
}

/* A source that gives the remaining calls one at a time. */
struct rest {
	struct bench *bench;
	size_t at, asked;
};

static size_t give_one(void *arg, struct call **calls, size_t room)
{
	struct rest *rest = arg;

	assert_true(room > 0);
	rest->asked++;
	if (rest->at == CALLS)
		return 0;
	calls[0] = rest->bench->list[rest->at++];
	return 1;
}

/* Runs the calls from a source. The first batch must run `first` calls, and ask the source
 * `asked` times. */
static void run_source(struct bench *b, size_t first, size_t asked)
{
	struct rest rest = { b, 2, 0 };
	const struct batch_source source = { give_one, &rest };
	struct call *calls[BATCH_CALLS] = { b->list[0], b->list[1] };
	uint64_t from = uv_hrtime();
	size_t ran = batch_run(b->world.store, calls, 2, &source);

	/* If the machine paused during the batch, the batch may have ended before it took all
	 * calls. Then the counts are not checked. */
	if (uv_hrtime() - from < BATCH_MS * 500000ull) {
		assert_int_equal(ran, first);
		assert_int_equal(rest.asked, asked);
	}
	while (ran < CALLS)
		ran += batch_run(b->world.store, b->list + ran, CALLS - ran, NULL);
}

/* A call that arrives while a batch runs joins the batch, and gets the same answer as if the
 * call had run alone. */
static void what_comes_later_runs_along(void **state)
{
	struct bench *b = *state;

	ask_all(b);
	run_source(b, CALLS, CALLS - 2 + 1);
	check_all(b, FAULT_NOT_FOUND);
}

/* A call that fails after it wrote rows ends the batch. The next batch runs the calls that this
 * batch has not taken. */
static void what_comes_later_may_leave_a_trace(void **state)
{
	struct bench *b = *state;

	ask_with_a_trace(b);
	run_source(b, 3, 1);
	check_no_trace(b);
}

/* --- the queue of calls for a batch -------------------------------------------------- */

static struct chain jobs_of(struct job *jobs, size_t n)
{
	struct chain chain = { 0 };

	for (size_t i = 0; i < n; i++)
		chain_add(&chain, &jobs[i]);
	return chain;
}

struct late {
	struct queue *queue;
	struct chain jobs;
};

static void push_late(void *arg)
{
	struct late *late = arg;

	uv_sleep(1);
	queue_push(late->queue, &late->jobs);
}

/* Pushes one job as a part, and the rest of the push (two jobs) a little later. Returns whether
 * the rest arrived while the taker waited. On a very busy machine the time to wait, PROMISE_MS,
 * may end before the rest arrives. */
static bool rest_is_waited_for(struct queue *q, struct job jobs[3])
{
	struct chain part = jobs_of(jobs, 1), taken = { 0 };
	struct late late = { q, jobs_of(jobs + 1, 2) };
	uv_thread_t thread;
	bool came;

	queue_push_part(q, &part);
	assert_true(queue_take(q, &taken, 10));
	assert_int_equal(taken.n, 1);
	taken = (struct chain){ 0 };
	assert_int_equal(uv_thread_create(&thread, push_late, &late), 0);
	came = queue_take_more(q, &taken, 10);
	uv_thread_join(&thread);
	if (!came)
		assert_true(queue_take(q, &taken, 10));
	assert_int_equal(taken.n, 2);
	return came;
}

/* A taker waits for the other parts of a push, but not for a later push. */
static void parts_are_taken_as_one(void **state)
{
	struct job jobs[4] = { 0 };
	struct chain after = jobs_of(jobs + 3, 1), taken = { 0 };
	struct queue q;
	int tries = 0;

	(void)state;
	queue_init(&q);
	while (!rest_is_waited_for(&q, jobs))
		assert_true(++tries < 100);
	queue_push_part(&q, &after);
	assert_false(queue_take_more(&q, &taken, 10));
	assert_true(queue_take(&q, &taken, 10));
	queue_release(&q);
}

/* The rest of a push may be empty. If the rest never arrives, the taker waits only for a
 * moment, so a transaction does not stay open long. */
static void a_part_may_be_all(void **state)
{
	struct job jobs[2] = { 0 };
	struct chain part = jobs_of(jobs, 1), none = { 0 }, taken = { 0 };
	struct queue q;

	(void)state;
	queue_init(&q);
	queue_push_part(&q, &part);
	assert_true(queue_take(&q, &taken, 10));
	queue_push(&q, &none);
	taken = none;
	assert_false(queue_take_more(&q, &taken, 10));

	part = jobs_of(jobs + 1, 1);
	queue_push_part(&q, &part);
	assert_true(queue_take(&q, &taken, 10));
	taken = none;
	assert_false(queue_take_more(&q, &taken, 10)); /* waits for PROMISE_MS */
	assert_false(queue_take_more(&q, &taken, 10));
	queue_release(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_that_fails_is_alone, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_trace_is_undone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_dropped_transaction_runs_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_failed_commit_is_nobodys_success,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(calls_run_again_as_they_were, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_comes_later_runs_along, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_comes_later_may_leave_a_trace,
						set_up, tear_down),
		cmocka_unit_test(parts_are_taken_as_one),
		cmocka_unit_test(a_part_may_be_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
