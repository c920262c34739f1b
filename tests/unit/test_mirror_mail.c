/* test_mirror_mail - the log of messages: appended to, whole again, no words lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/mirrored.h"

static const char today[] = "teams/demo/messages/1970-01-01.md";

/* Message `id` from ada to bob. */
static void say(struct mirrored *w, int id, int64_t at_ms, const char *content)
{
	runf(w,
	     "INSERT INTO message (id, team, sender, at, urgent, to_all, ack_required, "
	     "type, content) VALUES (%d, 1, 1, %lld, 0, 0, 0, 'text', '%s')",
	     id, (long long)at_ms, content);
	runf(w, "INSERT INTO delivery (message, agent, lane, state) VALUES (%d, 2, 1, 0)",
	     id);
	event(w, 120, 1, id, NULL);
}

static struct mirrored *logged_open(void)
{
	struct mirrored *w = mirrored_open();

	w->home.settings.config.vault_messages = true;
	small_team(w);
	return w;
}

static void is_log(struct mirrored *w, const char *want)
{
	char *text = slurp(at(w, today));

	assert_non_null(text);
	assert_string_equal(text, want);
	free(text);
}

static void append(const char *path, const char *text)
{
	FILE *out = fopen(path, "a");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void test_is_off_by_default(void **state)
{
	struct mirrored *w = mirrored_open();

	(void)state;
	small_team(w);
	say(w, 1, 5000, "hello");
	settle(w);
	assert_false(there(w, "teams/demo/messages"));
	equal(w);
	mirrored_close(w);
}

static void test_shows_messages(void **state)
{
	struct mirrored *w = logged_open();

	(void)state;
	say(w, 1, 5000, "hello");
	say(w, 2, 6000, "two\n\nlines");
	run(w, "UPDATE message SET urgent = 1, thread = 'design', type = 'request', "
	       "reply_to = 1 WHERE id = 2");
	run(w,
	    "INSERT INTO message (id, team, sender, at, urgent, to_all, ack_required, type, "
	    "content) VALUES (3, 1, 2, 7000, 0, 1, 0, 'text', 'to all')");
	event(w, 120, 1, 3, NULL);
	say(w, 4, 86400000, "the next day");
	settle(w);
	equal(w);
	is_log(w, "---\nteam: \"demo\"\ndate: \"1970-01-01\"\n---\n\n"
		  "# Messages of demo, 1970-01-01\n\n"
		  "## 00:00:05.000 ada -> bob <!-- 1 -->\n\n> hello\n\n"
		  "## 00:00:06.000 ada -> bob <!-- 2 -->\n\n"
		  "- urgent\n- type: request\n- thread: design\n"
		  "- reply to: 1970-01-01T00:00:05.000Z\n\n"
		  "> two\n>\n> lines\n\n"
		  "## 00:00:07.000 bob -> all <!-- 3 -->\n\n> to all\n\n");
	holds(w, "teams/demo/messages/1970-01-02.md", "<!-- 4 -->\n\n> the next day\n\n");
	mirrored_close(w);
}

/* The file stays the same one, and what a person writes in it stays there. */
static void test_appends(void **state)
{
	struct mirrored *w = logged_open();
	ino_t file;

	(void)state;
	say(w, 1, 5000, "one");
	settle(w);
	file = inode(w, today);
	append(at(w, today), "my own words");
	say(w, 2, 6000, "two");
	settle(w);
	say(w, 3, 7000, "three");
	settle(w);
	close_mirror(w);
	say(w, 4, 8000, "four");
	settle(w);
	equal(w);
	assert_int_equal(inode(w, today), file);
	holds(w, today,
	      "> one\n\nmy own words\n## 00:00:06.000 ada -> bob <!-- 2 -->\n\n"
	      "> two\n\n## 00:00:07.000 ada -> bob <!-- 3 -->\n\n> three\n\n"
	      "## 00:00:08.000 ada -> bob <!-- 4 -->\n\n> four\n\n");
	mirrored_close(w);
}

/* A message's text is not taken for a heading. */
static void test_is_not_misled(void **state)
{
	struct mirrored *w = logged_open();

	(void)state;
	say(w, 1, 5000, "x\n## 00:00:05.000 ada -> bob <!-- 2 -->\n\n> no");
	settle(w);
	append(at(w, today), "## 00:00:06.000 ada -> bob <!-- 99 -->\n");
	close_mirror(w);
	say(w, 2, 5000, "two");
	say(w, 3, 9000, "three");
	settle(w);
	equal(w);
	holds(w, today, "> two\n\n## 00:00:09.000 ada -> bob <!-- 3 -->\n\n> three\n\n");
	mirrored_close(w);
}

/* Wherever a crash cut it off, it is whole again, and nothing stands twice. */
static void test_is_whole_after_a_crash(void **state)
{
	struct mirrored *w = logged_open();
	size_t size;
	char *whole;

	(void)state;
	say(w, 1, 5000, "one");
	say(w, 2, 6000, "two\n## 00:00:07.000 ada -> bob <!-- 3 -->");
	say(w, 3, 7000, "three");
	settle(w);
	whole = slurp(at(w, today));
	size = strlen(whole);
	for (size_t cut = 0; cut < size; cut += 1 + cut % 3) {
		close_mirror(w);
		assert_int_equal(truncate(at(w, today), (off_t)cut), 0);
		unlink(at(w, ".cadre-cursor"));
		settle(w);
		is_log(w, whole);
	}
	equal(w);
	free(whole);
	mirrored_close(w);
}

static void test_comes_back(void **state)
{
	struct mirrored *w = logged_open();
	char *whole;

	(void)state;
	for (int i = 1; i <= 300; i++)
		say(w, i, 5000 + i, "something");
	open_mirror(w);
	mirror_watch(w->mirror);
	settle(w);
	whole = slurp(at(w, today));
	assert_int_equal(unlink(at(w, today)), 0);
	settle(w);
	is_log(w, whole);
	/* A new message that comes before anybody has looked makes it whole too. */
	assert_int_equal(unlink(at(w, today)), 0);
	say(w, 301, 6000, "more");
	settle(w);
	holds(w, today, "<!-- 1 -->");
	holds(w, today, "<!-- 300 -->");
	holds(w, today, "<!-- 301 -->");
	equal(w);
	/* While nobody watched. */
	close_mirror(w);
	assert_int_equal(truncate(at(w, today), 1000), 0);
	open_mirror(w);
	mirror_watch(w->mirror);
	settle(w);
	equal(w);
	free(whole);
	mirrored_close(w);
}

/* A restored state gives old numbers to new messages. */
static void test_another_incarnation(void **state)
{
	struct mirrored *w = logged_open();

	(void)state;
	say(w, 1, 5000, "one");
	say(w, 2, 6000, "lost");
	say(w, 3, 7000, "lost too");
	settle(w);
	run(w, "UPDATE state SET incarnation = 'beef'");
	run(w, "DELETE FROM message WHERE id > 1");
	run(w, "DELETE FROM delivery WHERE message > 1");
	say(w, 2, 8000, "new");
	settle(w);
	equal(w);
	holds(w, today,
	      "> lost too\n\n## 00:00:08.000 ada -> bob <!-- 2 -->\n\n> new\n\n");
	mirrored_close(w);
}

/* The last words of a team are in its archive; the next team begins its own log. */
static void test_ends_with_its_team(void **state)
{
	struct mirrored *w = logged_open();

	(void)state;
	settle(w);
	say(w, 1, 5000, "the last words");
	run(w, "UPDATE agent SET gone = 1");
	run(w, "UPDATE team SET destroyed_at = 86400000, state = 4");
	event(w, 102, 1, 1, NULL);
	add_team(w, 2, "demo");
	add_agent(w, 9, 2, "zoe");
	run(w,
	    "INSERT INTO message (id, team, sender, at, urgent, to_all, ack_required, type, "
	    "content) VALUES (2, 2, 9, 6000, 0, 1, 0, 'text', 'the first')");
	event(w, 120, 2, 2, NULL);
	settle(w);
	equal(w);
	holds(w, "teams/.archive/demo-1970-01-02/messages/1970-01-01.md",
	      "> the last words\n");
	holds(w, today, "## 00:00:06.000 zoe -> all <!-- 2 -->\n\n> the first\n");
	mirrored_close(w);
}

static void test_follows_no_symlink(void **state)
{
	struct mirrored *w = logged_open();
	char outside[160], *text;

	(void)state;
	snprintf(outside, sizeof(outside), "%s/outside", w->dir);
	spit(outside, "untouched");
	say(w, 1, 5000, "one");
	settle(w);
	assert_int_equal(unlink(at(w, today)), 0);
	assert_int_equal(symlink(outside, at(w, today)), 0);
	say(w, 2, 6000, "two");
	settle(w);
	equal(w);
	text = slurp(outside);
	assert_string_equal(text, "untouched");
	free(text);
	holds(w, today, "> one\n");
	assert_true(there(w, "teams/demo/messages/1970-01-01.md.conflict"));
	mirrored_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_off_by_default),
		cmocka_unit_test(test_shows_messages),
		cmocka_unit_test(test_appends),
		cmocka_unit_test(test_is_not_misled),
		cmocka_unit_test(test_is_whole_after_a_crash),
		cmocka_unit_test(test_comes_back),
		cmocka_unit_test(test_another_incarnation),
		cmocka_unit_test(test_ends_with_its_team),
		cmocka_unit_test(test_follows_no_symlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
