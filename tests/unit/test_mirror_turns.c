/* test_mirror_turns - the processes that write the mirror. Only one process writes at a time,
 * and one step does a limited amount of work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tests/lib/mirrored.h"
#include "tests/lib/place.h"

static void test_throttles_the_index(void **state)
{
	struct mirrored *w = mirrored_open();
	int64_t begun, took;
	int writes = 0, steps = 0;
	ino_t last;
	struct fault f = { 0 };
	bool more;

	(void)state;
	small_team(w);
	settle(w);
	last = inode(w, "teams/demo/tasks/INDEX.md");
	begun = clock_steady_ms();
	do {
		touch_first(w, 1 + steps++ % 5);
		assert_int_equal(mirror_step(w->mirror, w->store, 50, &more, &f), 0);
		if (inode(w, "teams/demo/tasks/INDEX.md") != last)
			writes++;
		last = inode(w, "teams/demo/tasks/INDEX.md");
		took = clock_steady_ms() - begun;
	} while (took < 1000);
	print_message("%d changes in 1 s, INDEX.md written %d times\n", steps, writes);
	assert_in_range(writes, 1, 1 + took / 250);
	settle(w);
	equal(w);
	mirrored_close(w);
}

static void test_one_at_a_time(void **state)
{
	struct mirrored *w = mirrored_open();
	struct fault f = { 0 };
	int64_t lag;

	(void)state;
	small_team(w);
	settle(w);
	touch_first(w, 1);
	/* The host holds the mirror, so a process without a host writes nothing. */
	assert_int_equal(mirror_catch_up(&w->home, w->store, 50, &f), 0);
	assert_int_equal(mirror_lag(&w->home, w->store, &lag, &f), 0);
	assert_int_equal(lag, 1);
	close_mirror(w);
	assert_int_equal(mirror_catch_up(&w->home, w->store, 50, &f), 0);
	assert_int_equal(mirror_lag(&w->home, w->store, &lag, &f), 0);
	assert_int_equal(lag, 0);
	equal(w);
	mirrored_close(w);
}

/* The files of a large board are written, compared and replaced in many slices. */
static void test_large_board(void **state)
{
	struct mirrored *w = mirrored_open();
	ino_t last;

	(void)state;
	many(w, 2000);
	settle(w);
	equal(w);
	last = inode(w, "teams/demo/tasks/1999-a-task.md");
	close_mirror(w);
	unlink(at(w, ".cadre-cursor"));
	settle(w);
	assert_int_equal(inode(w, "teams/demo/tasks/1999-a-task.md"), last);
	run(w, "UPDATE task SET state = 6, updated_at = 77");
	run(w, "INSERT INTO event (at, kind, team, actor, via, subject, target) "
	       "SELECT 5, 207, 1, 1, 0, id, 0 FROM task");
	settle(w);
	equal(w);
	mirrored_close(w);
}

/* In a large first pass each short call of mirror_catch_up() makes some progress. */
static void test_short_turns(void **state)
{
	struct mirrored *w = mirrored_open();
	struct fault f = { 0 };
	int64_t lag;
	int turns = 0;

	(void)state;
	many(w, 1000);
	do {
		assert_int_equal(mirror_catch_up(&w->home, w->store, 20, &f), 0);
		assert_int_equal(mirror_lag(&w->home, w->store, &lag, &f), 0);
	} while (lag != 0 && ++turns < 1000);
	print_message("1,000 tasks in %d short turns\n", turns + 1);
	assert_int_equal(lag, 0);
	equal(w);
	mirrored_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_throttles_the_index),
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_large_board),
		cmocka_unit_test(test_short_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
