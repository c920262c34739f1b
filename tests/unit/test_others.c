/*
 * The share of the machine that other processes used. This share does not include the time of
 * the bench's own processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench/others.h"

enum { BURNT_MS = 300 };

static void burn(void)
{
	struct rusage u;
	long ms;

	do {
		getrusage(RUSAGE_SELF, &u);
		ms = u.ru_utime.tv_sec * 1000 + u.ru_utime.tv_usec / 1000 +
		     u.ru_stime.tv_sec * 1000 + u.ru_stime.tv_usec / 1000;
	} while (ms < BURNT_MS);
	_exit(0);
}

/* Uses processor time in a child process, or in a grandchild whose parent does not wait for it. */
static void spend(bool orphaned)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (orphaned && fork() > 0)
			_exit(0);
		burn();
	}
	waitpid(pid, NULL, 0);
}

/* Waits until no child is left. */
static void await_orphans(struct others *now)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	do {
		others_now(now);
		nanosleep(&pause, NULL);
	} while (waitpid(-1, NULL, WNOHANG) == 0);
	others_now(now);
}

static void check(bool orphaned)
{
	struct others from, now;
	double share;

	others_init();
	others_now(&from);
	spend(orphaned);
	await_orphans(&now);
	assert_true(now.ours - from.ours >= BURNT_MS / 1000.0 - 0.02);
	assert_true(now.all > from.all);
	/* The machine counts time in ticks of 10 ms for each processor. */
	assert_true(now.busy - from.busy >= BURNT_MS / 1000.0 - 0.1);
	share = others_since(&from);
	assert_true(share >= 0 && share <= 1);
}

static void a_child_is_ours(void **state)
{
	(void)state;
	check(false);
}

static void an_orphan_is_ours(void **state)
{
	(void)state;
	check(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_is_ours),
		cmocka_unit_test(an_orphan_is_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
