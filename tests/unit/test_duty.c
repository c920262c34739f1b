/*
 * The daemon of a guest, and the daemon's spool. Whichever step of the spool fails, the daemon
 * does only the acts that the spool records.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "core/base/clock.h"
#include "guest/guest_serve.h"
#include "tests/lib/hooks.h"
#include "tests/lib/place.h"

enum { STEPS_MOST = 40 };

struct bench {
	char dir[64], out[80];
	struct guest_options options;
	struct guest guest;
	struct fault fault;
};

static void child_ended(uv_signal_t *signal, int number)
{
	struct guest *g = signal->data;

	(void)number;
	proc_reap(&g->runs);
}

static void open_spool(struct bench *b)
{
	const struct spool_place place = { b->dir, "one", -1 };

	assert_int_equal(spool_open(&b->guest.spool, &place, clock_wall_ms(), &b->fault),
			 0);
}

/* A guest without sockets. */
static int set_up(void **state)
{
	struct bench *b = test_calloc(1, sizeof(*b));
	struct guest *g = &b->guest;

	assert_int_equal(temp_make(b->dir, "duty"), 0);
	snprintf(b->out, sizeof(b->out), "%s/out", b->dir);
	b->options.state = b->dir;
	g->options = &b->options;
	g->spool_settled = true; /* no command begins before a host's Hello */
	g->dir = g->state = b->dir;
	g->root = open(b->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	uv_loop_init(&g->loop);
	uv_timer_init(&g->loop, &g->again);
	g->again.data = g;
	uv_signal_init(&g->loop, &g->on_child);
	g->on_child.data = g;
	uv_signal_start(&g->on_child, child_ended, SIGCHLD);
	open_spool(b);
	*state = b;
	return 0;
}

static void close_handle(uv_handle_t *handle, void *unused)
{
	(void)unused;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

/* Simulates the death of the guest. The guest's commands end, but its spool stays. */
static void kill_all(struct guest *g)
{
	for (int i = 0; i < AT_ONCE; i++) {
		proc_free(g->duties[i].run);
		free(g->duties[i].message_id);
		free(g->duties[i].task_id);
		g->duties[i] = (struct guest_assignment){ .guest = g };
	}
	spool_close(g->spool);
	g->spool = NULL;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	kill_all(&b->guest);
	uv_walk(&b->guest.loop, close_handle, NULL);
	uv_run(&b->guest.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&b->guest.loop), 0);
	close(b->guest.root);
	temp_remove(b->dir);
	test_free(b);
	return 0;
}

static void put_payload(struct bench *b, const char *id, const char *payload)
{
	struct fault f = { 0 };

	assert_int_equal(spool_put(b->guest.spool, id, payload, clock_wall_ms(), &f), 0);
}

static void put(struct bench *b, const char *id)
{
	put_payload(b, id, "{\"task_id\":\"t\",\"command\":\"echo ran >>out\"}");
}

static struct spool_counts_row counts(struct bench *b)
{
	struct spool_counts_row c = { 0 };
	struct fault f = { 0 };

	assert_int_equal(spool_count(b->guest.spool, &c, &f), 0);
	return c;
}

static size_t times_run(const struct bench *b)
{
	FILE *in = fopen(b->out, "r");
	size_t lines = 0;

	for (int c; in && (c = fgetc(in)) != EOF;)
		lines += c == '\n';
	if (in)
		fclose(in);
	return lines;
}

static bool anything_runs(const struct guest *g)
{
	for (const struct proc *run = g->runs; run; run = run->next)
		if (!run->exited)
			return true;
	return false;
}

/* Runs the loop until every command that was started has ended. */
static void run_on(struct bench *b)
{
	int64_t until = clock_steady_ms() + patience_ms(10000);

	while (anything_runs(&b->guest) && clock_steady_ms() < until) {
		uv_run(&b->guest.loop, UV_RUN_NOWAIT);
		pause_for(1);
	}
	assert_false(anything_runs(&b->guest));
}

/* Adds an assignment, and makes the spool's step number `step` fail. Returns whether an
 * assignment still waits. */
static bool fail_step(struct bench *b, long step)
{
	char id[24];

	snprintf(id, sizeof(id), "m%ld", step);
	put(b, id);
	spool_fail(b->guest.spool, step, SQLITE_FULL);
	guest_assignment_work(&b->guest);
	spool_fail(b->guest.spool, 0, 0);
	return counts(b).waiting > 0;
}

/* If a step fails and the spool says that a command waits, the command has not run. In the end
 * every assignment has a result. */
static void a_command_runs_when_the_spool_says_so(void **state)
{
	struct bench *b = *state;
	size_t ran, waited = 0;

	for (long step = 1; step < STEPS_MOST; step++) {
		ran = times_run(b);
		if (fail_step(b, step)) {
			waited++;
			run_on(b);
			assert_int_equal(times_run(b), ran);
			/* In a real guest a timer makes this call. */
			guest_assignment_work(&b->guest);
		}
		run_on(b);
		assert_int_equal(counts(b).results, step);
	}
	/* At least two failing steps make a command wait: the search for the command, and the
	 * record of the command's start. */
	assert_true(waited >= 2);
	assert_true(times_run(b) > STEPS_MOST / 2);
}

/* Another connection, which locks the spool until the command has run, but at most for a
 * moment. */
struct lock {
	struct bench *bench;
	sqlite3 *db;
	bool ran;
};

static void hold_for_a_moment(void *arg)
{
	struct lock *l = arg;
	int64_t until = clock_steady_ms() + patience_ms(200);

	while (!(l->ran = times_run(l->bench) > 0) && clock_steady_ms() < until)
		pause_for(1);
	sqlite3_exec(l->db, "COMMIT", NULL, NULL, NULL);
}

/* A command waits while the spool cannot be written, and runs afterwards. */
static void a_command_waits_for_the_spool(void **state)
{
	struct bench *b = *state;
	struct lock l = { .bench = b };
	uv_thread_t thread;
	char path[80];

	put(b, "m");
	snprintf(path, sizeof(path), "%s/spool.db", b->dir);
	assert_int_equal(sqlite3_open(path, &l.db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(l.db, "BEGIN IMMEDIATE", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(uv_thread_create(&thread, hold_for_a_moment, &l), 0);
	guest_assignment_work(&b->guest);
	uv_thread_join(&thread);
	sqlite3_close(l.db);
	assert_false(l.ran);
	run_on(b);
	assert_int_equal(times_run(b), 1);
}

/* A command that the spool records as begun does not begin a second time. If the guest dies,
 * the next guest reports the command as interrupted. */
static void a_death_runs_nothing_twice(void **state)
{
	struct bench *b = *state;
	struct spool_result_row r = { 0 };
	struct arena a = { 0 };

	put(b, "m");
	guest_assignment_work(&b->guest);
	assert_int_equal(counts(b).running, 1);
	kill_all(&b->guest);
	run_on(b);
	open_spool(b);
	guest_assignment_work(&b->guest);
	assert_null(b->guest.runs);
	assert_int_equal(spool_result(b->guest.spool, 0, "m", &a, &r, &b->fault), 1);
	assert_true(r.interrupted);
	put(b, "m");
	guest_assignment_work(&b->guest);
	assert_null(b->guest.runs);
	arena_release(&a);
}

/* A killed command prints no reason, so the daemon writes the reason to the result. */
static void a_killed_command_has_a_reason(void **state)
{
	struct bench *b = *state;
	struct spool_result_row r = { 0 };
	struct arena a = { 0 };

	put_payload(b, "m", "{\"task_id\":\"t\",\"command\":\"kill -9 $$\"}");
	guest_assignment_work(&b->guest);
	run_on(b);
	assert_int_equal(spool_result(b->guest.spool, 0, "m", &a, &r, &b->fault), 1);
	assert_false(r.success);
	assert_int_equal(r.exit_code, 128 + SIGKILL);
	assert_string_equal(r.err, "ended by signal 9 (Killed)");
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_command_runs_when_the_spool_says_so,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_command_waits_for_the_spool, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_death_runs_nothing_twice, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_killed_command_has_a_reason, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
