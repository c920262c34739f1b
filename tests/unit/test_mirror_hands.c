/* test_mirror_hands - a person's changes to the mirror's files are not lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/mirrored.h"

static mode_t stat_mode(struct mirrored *w, const char *path)
{
	struct stat st;

	assert_int_equal(stat(at(w, path), &st), 0);
	return st.st_mode & 07777;
}

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
	/* A pass over the whole state writes the page again, too, and keeps the person's text. */
	spit(at(w, file), "mine at last\n");
	close_mirror(w);
	unlink(at(w, ".cadre-cursor"));
	settle(w);
	equal(w);
	holds(w, "teams/demo/tasks/001-slug.conflict-3.md", "mine at last\n");
	/* A crash has left two files in the stage: a person's text, and half a page. */
	close_mirror(w);
	spit(at(w, ".cadre-stage/old~00~teams~demo~tasks~002-slug.md"), "typed\n");
	spit(at(w, ".cadre-stage/new~01"), "---\nid: \"0");
	settle(w);
	holds(w, "teams/demo/tasks/002-slug.conflict.md", "typed\n");
	assert_false(there(w, ".cadre-stage/new~01"));
	mirrored_close(w);
}

/* Only a host reads a card that a person saved. Until a host has read the card, the card's file
 * stays. */
static void test_leaves_cards_to_a_host(void **state)
{
	struct mirrored *w = mirrored_open();
	const char *file = "teams/demo/cards/ada.json";

	(void)state;
	small_team(w);
	settle(w);
	spit(at(w, file), "{}\n");
	close_mirror(w);
	unlink(at(w, ".cadre-cursor"));
	settle(w);
	holds(w, file, "{}\n");
	assert_false(there(w, "teams/demo/cards/ada.conflict.json"));
	unlink(at(w, file));
	close_mirror(w);
	unlink(at(w, ".cadre-cursor"));
	settle(w);
	equal(w);
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
	/* An editor opens the file before the mirror replaces the file, and writes afterwards. */
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

/* The mirror may reuse a replaced file, and write later content into this file. The mirror does
 * not reuse a replaced file that has a second name (a hard link), that a program reads, or that
 * other users may read. */
static void test_writes_nobodys_file_over(void **state)
{
	struct mirrored *w = mirrored_open();
	const char *file = "teams/demo/tasks/001-slug.md", *copy = "copy.md";
	char *before, *after, read_late[8192];
	int fd;

	(void)state;
	small_team(w);
	settle(w);
	before = slurp(at(w, file));
	assert_int_equal(link(at(w, file), at(w, copy)), 0);
	touch_first(w, 1);
	settle(w);
	fd = open(at(w, file), O_RDONLY);
	assert_true(fd >= 0);
	touch_first(w, 2);
	settle(w);
	assert_int_equal(chmod(at(w, file), 0644), 0);
	for (int i = 0; i < 9; i++) {
		touch_first(w, 3 + i % 3);
		settle(w);
		assert_int_equal(stat_mode(w, file), 0600);
	}
	after = slurp(at(w, copy));
	assert_string_equal(before, after);
	read_late[read(fd, read_late, sizeof(read_late) - 1)] = '\0';
	assert_non_null(strstr(read_late, "\npriority: 1\n"));
	close(fd);
	free(before);
	free(after);
	equal(w);
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
	/* A symbolic link replaces a folder of the mirror and leads out of the vault. */
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

/* A new team gets a former team's name before the mirror reads the events. The mirror's check
 * restores files in the folder of the former team, and that folder is not used for the new
 * team. */
static void test_brings_back_for_its_own_team(void **state)
{
	struct mirrored *w = mirrored_open();

	(void)state;
	add_team(w, 1, "shop");
	add_agent(w, 1, 1, "ada");
	open_mirror(w);
	mirror_watch(w->mirror);
	settle(w);
	spit(at(w, "teams/shop/plan.md"), "of the first\n");
	run(w, "UPDATE team SET destroyed_at = 86400000, state = 4 WHERE id = 1");
	run(w, "INSERT INTO team (id, name, created_at, inbox_capacity, max_vms) "
	       "VALUES (2, 'shop', 86400000, 100, 10)");
	assert_int_equal(unlink(at(w, "teams/shop/tasks/INDEX.md")), 0);
	settle(w);
	holds(w, "teams/shop/TEAM.md", "row: 1\n");
	event(w, 102, 1, 1, NULL);
	event(w, 100, 2, 2, NULL);
	settle(w);
	equal(w);
	holds(w, "teams/shop/TEAM.md", "row: 2\n");
	assert_false(there(w, "teams/shop/plan.md"));
	holds(w, "teams/.archive/shop-1970-01-02/plan.md", "of the first\n");
	mirrored_close(w);
}

/* A person saves a card, and saves the card again before the first text is judged. Both texts
 * are kept. */
static void test_keeps_a_refused_card_that_was_saved_over(void **state)
{
	struct mirrored *w = mirrored_open();
	const char *file = "teams/demo/cards/ada.json";
	struct mirror_edit *edit;

	(void)state;
	small_team(w);
	open_mirror(w);
	mirror_watch(w->mirror);
	settle(w);
	spit(at(w, file), "{\"first\": 1}\n");
	assert_non_null(edit = mirror_next_edit(w->mirror));
	spit(at(w, file), "{\"second\": 2}\n");
	edit->code = FAULT_INVALID;
	edit->agent_row = 1;
	mirror_edit_judged(w->mirror, edit);
	settle(w);
	holds(w, "teams/demo/cards/ada.conflict.json", "first");
	holds(w, file, "second");
	mirrored_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_what_a_person_wrote),
		cmocka_unit_test(test_leaves_cards_to_a_host),
		cmocka_unit_test(test_waits_for_a_writer),
		cmocka_unit_test(test_writes_nobodys_file_over),
		cmocka_unit_test(test_follows_no_symlink),
		cmocka_unit_test(test_brings_back_for_its_own_team),
		cmocka_unit_test(test_keeps_a_refused_card_that_was_saved_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
