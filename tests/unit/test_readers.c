/* For each agent the readers of a host run only one read at a time. So another agent's read
 * need not wait for all reads of the first agent. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "core/host/readers.h"
#include "storage/store.h"
#include "tests/lib/folder.h"

enum { READS = 40, PATIENCE_S = 60 };

struct scene {
	char dir[64];
	struct readers *readers;
	struct job jobs[READS + 1];
	pthread_mutex_t lock;
	pthread_cond_t moved;
	int running, at_once, done;
	bool held; /* the agent's first read waits until this is false */
};

static void move(struct scene *s, int *n, int by)
{
	pthread_mutex_lock(&s->lock);
	*n += by;
	if (s->running > s->at_once)
		s->at_once = s->running;
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
}

static void await(struct scene *s, const int *n, int least)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE_S;
	pthread_mutex_lock(&s->lock);
	while (*n < least)
		if (pthread_cond_timedwait(&s->moved, &s->lock, &end))
			fail_msg("%d of %d", *n, least);
	pthread_mutex_unlock(&s->lock);
}

static void read_long(struct job *job, struct store *store)
{
	struct scene *s = job->owner;

	(void)store;
	move(s, &s->running, 1);
	pthread_mutex_lock(&s->lock);
	while (s->held)
		pthread_cond_wait(&s->moved, &s->lock);
	pthread_mutex_unlock(&s->lock);
	move(s, &s->running, -1);
}

static void read_short(struct job *job, struct store *store)
{
	(void)job;
	(void)store;
}

static void on_done(void *arg, struct chain *jobs)
{
	struct scene *s = arg;

	while (chain_pop(jobs))
		move(s, &s->done, 1);
}

static void push(struct scene *s, int first, int n, const char *agent,
		 void (*read)(struct job *, struct store *))
{
	struct chain jobs = { 0 };

	for (struct job *job = s->jobs + first; n-- > 0; job++) {
		job->call.identity = (struct identity){ .team = "red", .agent = agent };
		job->owner = s;
		job->read = read;
		chain_add(&jobs, job);
	}
	readers_push(s->readers, &jobs);
}

static void test_one_at_a_time(void **state)
{
	struct scene s = { .held = true,
			   .lock = PTHREAD_MUTEX_INITIALIZER,
			   .moved = PTHREAD_COND_INITIALIZER };
	const char *temp = getenv("TMPDIR");
	struct store *store = NULL;
	struct fault f = { 0 };

	(void)state;
	snprintf(s.dir, sizeof(s.dir), "%.40s/readers.XXXXXX", temp ? temp : "/tmp");
	assert_non_null(mkdtemp(s.dir));
	assert_int_equal(store_open(&store, s.dir, STORE_CREATE, NULL, &f), 0);
	assert_int_equal(readers_open(&s.readers, s.dir, on_done, &s, &f), 0);
	push(&s, 0, READS, "greedy", read_long);
	push(&s, READS, 1, "other", read_short);
	await(&s, &s.running, 1);
	await(&s, &s.done, 1); /* the read of `other`, which was queued behind the reads
				  of `greedy` */
	assert_int_equal(s.at_once, 1);
	pthread_mutex_lock(&s.lock);
	s.held = false;
	pthread_cond_broadcast(&s.moved);
	pthread_mutex_unlock(&s.lock);
	await(&s, &s.done, READS + 1);
	assert_int_equal(s.at_once, 1);
	readers_close(s.readers);
	store_close(store);
	folder_remove(s.dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
