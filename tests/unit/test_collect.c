/* Results of a guest. The host tells the guest to forget a result only after the state has
 * stored or refused the result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/host/guests/hosted_daemon.h"
#include "tests/lib/bench.h"
#include "tests/lib/place.h"

enum { PATIENCE_MS = 10000 };

struct collector {
	struct bench bench;
	int polls, acks; /* requests for results, and results to forget */
	bool forgotten;
};

static json_t *results_of(const struct collector *b)
{
	if (b->forgotten)
		return json_pack("{sss[]si}", "type", "DaemonResults", "results",
				 "pending_tasks", 0);
	return json_pack("{sss[{sssssbsisssssi}]si}", "type", "DaemonResults", "results",
			 "task_id", "t", "source_message_id", "m", "success", 1,
			 "exit_code", 0, "stdout", "", "stderr", "", "elapsed_secs", 1,
			 "pending_tasks", 0);
}

static void on_request(void *arg, struct rig_peer *peer, json_t *request)
{
	const char *type = json_string_value(json_object_get(request, "type"));
	size_t n = json_array_size(json_object_get(request, "ack"));
	struct collector *b = arg;

	if (strcmp(type, "PollDaemonResults") != 0) {
		rig_reply(peer, rig_honest(request), request);
		return;
	}
	b->polls++;
	b->acks += (int)n;
	b->forgotten |= n > 0;
	rig_reply(peer, results_of(b), request);
}

static int set_up(void **state)
{
	bench_open(state, sizeof(struct collector), "collect", on_request);
	return 0;
}

/* Runs until the host has finished all requests that the host makes by itself. */
static void collect(struct collector *b, enum fault_code store_fault)
{
	int64_t until = clock_steady_ms() + patience_ms(PATIENCE_MS);
	struct hosted_guest *t = b->bench.rig.guest;

	b->bench.rig.store_fault = store_fault;
	assert_true(t->up || rig_link(&b->bench.rig, patience_ms(PATIENCE_MS)));
	b->polls = b->bench.rig.stored = 0;
	collect_poke(t, false);
	do {
		futile_end(
			&t->daemon.futile); /* another test checks how long the pause is */
		collect_tick(t);
		rig_step(&b->bench.rig, true);
	} while ((t->daemon.polling || t->daemon.collect) && clock_steady_ms() < until);
	assert_false(t->daemon.polling);
	assert_true(b->polls > 0);
}

static void what_is_stored_is_forgotten(void **state)
{
	struct collector *b = *state;

	collect(b, 0);
	assert_true(b->bench.rig.stored >= 1);
	assert_int_equal(b->acks, 1);
}

/* If a result cannot be stored, the guest sends the result again. */
static void what_is_not_stored_is_kept(void **state)
{
	struct collector *b = *state;

	collect(b, FAULT_UNAVAILABLE);
	collect(b, FAULT_UNAVAILABLE);
	assert_true(b->bench.rig.stored >= 1);
	assert_int_equal(b->acks, 0);
	collect(b, 0);
	assert_int_equal(b->acks, 1);
}

/* A result that the state will never accept is forgotten too. Otherwise the guest would send
 * the refused result again for ever. */
static void what_nobody_takes_is_forgotten(void **state)
{
	struct collector *b = *state;

	collect(b, FAULT_NOT_FOUND);
	assert_int_equal(b->acks, 1);
}

#define BENCH(test) cmocka_unit_test_setup_teardown(test, set_up, bench_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH(what_is_stored_is_forgotten),
		BENCH(what_is_not_stored_is_kept),
		BENCH(what_nobody_takes_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
