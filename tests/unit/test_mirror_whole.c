/* test_mirror_whole - while a host runs, files that a person removes are written again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/folder.h"
#include "tests/lib/mirrored.h"
#include "tests/lib/place.h"

/* Opens and watches the mirror, as a thread of a host does. */
static void watch(struct mirrored *w)
{
	open_mirror(w);
	assert_true(mirror_watch(w->mirror) >= 0);
	settle(w);
}

static void take_away(struct mirrored *w, const char *path)
{
	assert_int_equal(unlink(at(w, path)), 0);
	assert_int_equal(mirror_due(w->mirror), -1); /* no check has run yet */
	settle(w);
	assert_true(there(w, path));
	equal(w);
}

static void test_each_file_comes_back(void **state)
{
	struct mirrored *w = mirrored_open();
	ino_t other;

	(void)state;
	small_team(w);
	watch(w);
	other = inode(w, "teams/demo/tasks/002-slug.md");
	take_away(w, "teams/demo/tasks/001-slug.md");
	take_away(w, "teams/demo/tasks/INDEX.md");
	take_away(w, "teams/demo/TEAM.md");
	take_away(w, "teams/demo/cards/ada.json");
	assert_int_equal(inode(w, "teams/demo/tasks/002-slug.md"), other);
	/* A renamed file counts as removed. The file with the new name stays for a time. */
	assert_int_equal(rename(at(w, "teams/demo/tasks/001-slug.md"),
				at(w, "teams/demo/tasks/mine.md")),
			 0);
	settle(w);
	equal(w);
	mirrored_close(w);
}

static void test_folders_come_back(void **state)
{
	static const char *const folders[] = { "teams/demo/tasks", "teams/demo",
					       "teams" };
	struct mirrored *w = mirrored_open();

	(void)state;
	small_team(w);
	watch(w);
	/* Each folder is removed twice, since a folder that was made again must be watched
	 * again. */
	for (int i = 0; i < 6; i++) {
		assert_int_equal(folder_remove(at(w, folders[i % 3])), 0);
		settle(w);
		equal(w);
	}
	assert_int_equal(rename(at(w, "teams/demo"), at(w, "teams/moved")), 0);
	settle(w);
	equal(w);
	mirrored_close(w);
}

/* Steps the mirror until a step fails, and then closes the mirror. A host would now open the
 * mirror again. */
static void step_to_failure(struct mirrored *w)
{
	struct fault f = { 0 };
	bool more;

	for (int i = 0; i < 100 && !f.code; i++) {
		mirror_step(w->mirror, w->store, 50, &more, &f);
		pause_for(20);
	}
	assert_int_equal(f.code, FAULT_UNAVAILABLE);
	close_mirror(w);
}

static void test_the_vault_comes_back(void **state)
{
	struct mirrored *w = mirrored_open();

	(void)state;
	small_team(w);
	watch(w);
	assert_int_equal(folder_remove(at(w, "")), 0);
	step_to_failure(w);
	watch(w);
	equal(w);
	assert_int_equal(rename(at(w, ""), at(w, "../elsewhere")), 0);
	step_to_failure(w);
	watch(w);
	equal(w);
	mirrored_close(w);
}

/* When a host begins to watch, the mirror shows the events from the time without a host. A file
 * that a person wrote is not changed. */
static void test_looks_at_all_once(void **state)
{
	const char *file = "teams/demo/tasks/001-slug.md",
		   *mine = "teams/demo/tasks/002-slug.md";
	struct mirrored *w = mirrored_open();
	ino_t written;
	char *before;

	(void)state;
	small_team(w);
	settle(w);
	before = slurp(at(w, file));
	touch_first(w, 1);
	settle(w);
	close_mirror(w);
	spit(at(w, file), before);
	spit(at(w, mine), "mine\n");
	assert_int_equal(unlink(at(w, "teams/demo/cards/ada.json")), 0);
	watch(w);
	holds(w, file, "\npriority: 1\n");
	assert_true(there(w, "teams/demo/cards/ada.json"));
	holds(w, mine, "mine\n");
	assert_false(there(w, "teams/demo/tasks/002-slug.conflict.md"));
	written = inode(w, file);
	close_mirror(w);
	watch(w);
	assert_int_equal(inode(w, file), written);
	/* The person's file stays unchanged when a file beside it is written again. */
	assert_int_equal(unlink(at(w, file)), 0);
	settle(w);
	assert_true(there(w, file));
	holds(w, mine, "mine\n");
	free(before);
	mirrored_close(w);
}

/* Without inotify the mirror checks all files from time to time. */
static void test_looks_again_when_it_cannot_watch(void **state)
{
	struct mirrored *w = mirrored_open();
	struct rlimit all, few;
	struct fault f = { 0 };
	bool more;
	int free_fd;

	(void)state;
	small_team(w);
	open_mirror(w);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = all;
	free_fd = dup(0);
	close(free_fd);
	few.rlim_cur = (rlim_t)free_fd;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(mirror_watch(w->mirror), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	do {
		pause_for(20);
		assert_int_equal(mirror_step(w->mirror, w->store, 50, &more, &f), 0);
	} while (more || mirror_due(w->mirror) < 2000);
	equal(w);
	assert_in_range(mirror_due(w->mirror), 2000, 600000);
	mirrored_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_file_comes_back),
		cmocka_unit_test(test_folders_come_back),
		cmocka_unit_test(test_the_vault_comes_back),
		cmocka_unit_test(test_looks_at_all_once),
		cmocka_unit_test(test_looks_again_when_it_cannot_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
