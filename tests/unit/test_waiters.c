/* A call that found nothing begins to wait. If the awaited event happened after the call read
 * the state, the call does not wait but reads the state again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/host/host_inside.h"
#include "ops.gen.h"

enum { NEWEST = 10, AGENT = 3 };

struct scene {
	struct host host;
	struct home home;
	struct conn conn;
};

/* Makes a host that has read all events up to NEWEST. The event NEWEST may concern any agent. */
static int set_up(void **state)
{
	struct scene *s = test_calloc(1, sizeof(*s));

	s->home.settings.config.limits_max_waits = 4;
	s->host.home = &s->home;
	s->conn.host = &s->host;
	uv_loop_init(&s->host.loop);
	host_make_rooms(&s->host);
	room_waiters.make(&s->host);
	s->host.follow->wanted = true;
	s->host.follow->position = NEWEST;
	for (size_t i = 0; i < RECENT_KEYS; i++)
		s->host.follow->recent[i] = NEWEST;
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	room_waiters.close(&s->host);
	uv_run(&s->host.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s->host.loop), 0);
	job_pool_release(&s->host.jobs);
	host_free_rooms(&s->host);
	test_free(s);
	return 0;
}

/* Makes the job of a receive that waits for a minute. `as_of` is the newest event at the time
 * when the receive read the inbox. */
static struct job *receive(struct scene *s, int64_t as_of)
{
	struct job *job = job_new(&s->host.jobs);
	struct message_receive_in *in = arena_alloc(&job->call.arena, sizeof(*in));

	in->wait_seconds = 60;
	job->conn = &s->conn;
	job->first = clock_boot_ms();
	job->ready = arena_mark(&job->call.arena);
	job->call.op = op_message_receive;
	job->call.in = in;
	job->call.wait_on = WAKE_INBOX;
	job->call.wait_key = AGENT;
	job->call.as_of = as_of;
	return job;
}

static void an_event_since_it_looked_has_it_look_again(void **state)
{
	struct scene *s = *state;
	struct job *job = receive(s, NEWEST - 1);

	assert_true(waiters_park(&s->host, job));
	assert_int_equal(s->host.waiters->n, 0);
	assert_ptr_equal(chain_pop(&s->host.calls->writes), job);
	job_free(job);
}

static void it_waits_where_there_was_none(void **state)
{
	struct scene *s = *state;
	struct job *job = receive(s, NEWEST);

	assert_true(waiters_park(&s->host, job));
	assert_int_equal(s->host.waiters->n, 1);
	assert_null(chain_pop(&s->host.calls->writes));
	waiters_wake(&s->host, WAKE_INBOX, AGENT, NEWEST + 1);
	assert_int_equal(s->host.waiters->n, 0);
	assert_ptr_equal(chain_pop(&s->host.calls->writes), job);
	job_free(job);
}

/* The threads of calls use the buckets of the rate limits until the threads end. The host
 * closes its rooms in the reverse order of their opening. Therefore the room of the buckets
 * must open before the room of the threads. */
static void buckets_outlive_the_threads(void **state)
{
	(void)state;
	assert_true(offsetof(struct host, spending) < offsetof(struct host, calls));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(an_event_since_it_looked_has_it_look_again),
		TEST(it_waits_where_there_was_none),
		cmocka_unit_test(buckets_outlive_the_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
