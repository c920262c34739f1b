/* test_mirror_hands - nothing that a person did to the mirror's files is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/mirrored.h"

static void test_keeps_what_a_person_wrote(void **state)
{
	struct mirrored *w = mirrored_open();
	const char *file = "teams/demo/tasks/001-slug.md";

	(void)state;
	small_team(w);
	settle(w);
	spit(at(w, file), "mine\n");
	touch_first(w, 1);
	settle(w);
	equal(w);
	holds(w, "teams/demo/tasks/001-slug.conflict.md", "mine\n");
	spit(at(w, file), "mine again\n");
	touch_first(w, 2);
	settle(w);
	equal(w);
	holds(w, "teams/demo/tasks/001-slug.conflict.md", "mine\n");
	holds(w, "teams/demo/tasks/001-slug.conflict-2.md", "mine again\n");
	/* A whole pass puts it back too, and keeps it. */
	spit(at(w, "teams/demo/cards/ada.json"), "{}\n");
	close_mirror(w);
	unlink(at(w, ".cadre-cursor"));
	settle(w);
	equal(w);
	holds(w, "teams/demo/cards/ada.conflict.json", "{}\n");
	/* What a crash left in the stage: a person's text, and half a page. */
	close_mirror(w);
	spit(at(w, ".cadre-stage/old~00~teams~demo~tasks~002-slug.md"), "typed\n");
	spit(at(w, ".cadre-stage/new~01"), "---\nid: \"0");
	settle(w);
	holds(w, "teams/demo/tasks/002-slug.conflict.md", "typed\n");
	assert_false(there(w, ".cadre-stage/new~01"));
	mirrored_close(w);
}

static void test_waits_for_a_writer(void **state)
{
	struct mirrored *w = mirrored_open();
	struct fault f = { 0 };
	int fd;

	(void)state;
	small_team(w);
	settle(w);
	/* An editor that opened the file before the exchange writes after it. */
	fd = open(at(w, "teams/demo/tasks/001-slug.md"), O_WRONLY | O_APPEND);
	assert_true(fd >= 0);
	touch_first(w, 1);
	close_mirror(w);
	assert_int_equal(mirror_catch_up(&w->home, w->store, 500, &f), 0);
	assert_false(there(w, "teams/demo/tasks/001-slug.conflict.md"));
	assert_int_equal(write(fd, "late\n", 5), 5);
	close(fd);
	settle(w);
	equal(w);
	holds(w, "teams/demo/tasks/001-slug.conflict.md", "late\n");
	mirrored_close(w);
}

static void test_follows_no_symlink(void **state)
{
	struct mirrored *w = mirrored_open();
	char outside[160], *text;

	(void)state;
	snprintf(outside, sizeof(outside), "%s/outside", w->dir);
	spit(outside, "untouched");
	small_team(w);
	settle(w);
	unlink(at(w, "teams/demo/tasks/001-slug.md"));
	assert_int_equal(symlink(outside, at(w, "teams/demo/tasks/001-slug.md")), 0);
	touch_first(w, 1);
	settle(w);
	equal(w);
	text = slurp(outside);
	assert_string_equal(text, "untouched");
	free(text);
	assert_true(there(w, "teams/demo/tasks/001-slug.conflict.md"));
	/* A folder of the mirror that leads out of the vault. */
	unlink(outside);
	assert_int_equal(mkdir(outside, 0700), 0);
	assert_int_equal(rename(at(w, "teams/demo/cards"), at(w, "elsewhere")), 0);
	assert_int_equal(symlink(outside, at(w, "teams/demo/cards")), 0);
	close_mirror(w);
	unlink(at(w, ".cadre-cursor"));
	settle(w);
	equal(w);
	assert_int_equal(rmdir(outside), 0);
	assert_true(there(w, "teams/demo/cards.conflict"));
	mirrored_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_what_a_person_wrote),
		cmocka_unit_test(test_waits_for_a_writer),
		cmocka_unit_test(test_follows_no_symlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
