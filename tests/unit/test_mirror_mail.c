/* test_mirror_mail - the mirror's pages of messages. A damaged page is completed, no text of a
 * person is lost, and no redacted text is left. */
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

enum { REDACTED = 128 };

static const char today[] = "teams/demo/messages/1970-01-01.md";

/* Adds the message `id`, sent by ada to bob. */
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

static void lacks(struct mirrored *w, const char *path, const char *needle)
{
	char *text = slurp(at(w, path));

	if (text && strstr(text, needle))
		fail_msg("%s has «%s»", path, needle);
	free(text);
}

/* Redacts the message `id`, and lets the mirror show the redacted message. */
static void redact(struct mirrored *w, int id)
{
	runf(w, "UPDATE message SET content = '[redacted by ada]' WHERE id = %d", id);
	event(w, REDACTED, 1, id, NULL);
	settle(w);
}

/* Returns the paths of the vault's files that contain `text`, in order. */
static const char *who_has(struct mirrored *w, const char *text)
{
	static char found[4096];
	char command[600];
	FILE *in;
	size_t n;

	snprintf(command, sizeof(command),
		 "cd '%s' && grep -rl '%s' . | sort | tr '\\n' ' '", at(w, ""), text);
	in = popen(command, "r");
	assert_non_null(in);
	n = fread(found, 1, sizeof(found) - 1, in);
	found[n] = '\0';
	pclose(in);
	return found;
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
	holds(w, today,
	      "---\nteam: \"demo\"\ndate: \"1970-01-01\"\n"
	      "first: 1\nlast: 3\nlast_ms: 7000\nrev: ");
	holds(w, today,
	      "\n---\n\n# Messages of demo, 1970-01-01\n\n"
	      "## 00:00:05.000 ada -> bob <!-- 1 -->\n\n> hello\n\n"
	      "## 00:00:06.000 ada -> bob <!-- 2 -->\n\n"
	      "- urgent\n- type: request\n- thread: design\n"
	      "- reply to: 1970-01-01T00:00:05.000Z\n\n"
	      "> two\n>\n> lines\n\n"
	      "## 00:00:07.000 bob -> all <!-- 3 -->\n\n> to all\n\n");
	holds(w, "teams/demo/messages/1970-01-02.md", "<!-- 4 -->\n\n> the next day\n\n");
	mirrored_close(w);
}

/* A text that a person writes into a page is kept in a file beside the page. */
static void test_keeps_words(void **state)
{
	struct mirrored *w = logged_open();

	(void)state;
	say(w, 1, 5000, "one");
	settle(w);
	append(at(w, today), "my own words");
	say(w, 2, 6000, "two");
	settle(w);
	say(w, 3, 7000, "three");
	settle(w);
	close_mirror(w);
	say(w, 4, 8000, "four");
	settle(w);
	equal(w);
	lacks(w, today, "my own words");
	holds(w, "teams/demo/messages/1970-01-01.conflict.md", "> one\n\nmy own words");
	holds(w, today,
	      "> one\n\n## 00:00:06.000 ada -> bob <!-- 2 -->\n\n"
	      "> two\n\n## 00:00:07.000 ada -> bob <!-- 3 -->\n\n> three\n\n"
	      "## 00:00:08.000 ada -> bob <!-- 4 -->\n\n> four\n\n");
	mirrored_close(w);
}

/* A page keeps messages that were deleted from the state. */
static void test_keeps_cleaned_messages(void **state)
{
	struct mirrored *w = logged_open();

	(void)state;
	say(w, 1, 5000, "one");
	say(w, 2, 6000, "two");
	settle(w);
	run(w, "DELETE FROM delivery WHERE message = 1");
	run(w, "DELETE FROM message WHERE id = 1");
	close_mirror(w);
	say(w, 3, 7000, "three");
	settle(w);
	unlink(at(w, ".cadre-cursor"));
	settle(w);
	equal(w);
	holds(w, today,
	      "> one\n\n## 00:00:06.000 ada -> bob <!-- 2 -->\n\n> two\n\n## 00:00:07");
	mirrored_close(w);
}

/* A day with many messages has several pages. The full pages are not written again. A page that
 * a person removed is written again. */
static void test_has_pages(void **state)
{
	static const char second[] = "teams/demo/messages/1970-01-01-2.md";
	struct mirrored *w = logged_open();
	ino_t first;
	char *whole;

	(void)state;
	run(w, "BEGIN");
	for (int i = 1; i <= 700; i++) {
		say(w, i, 5000 + i, "something");
		runf(w, "UPDATE message SET content = hex(randomblob(500)) WHERE id = %d",
		     i);
	}
	run(w, "COMMIT");
	settle(w);
	equal(w);
	first = inode(w, today);
	holds(w, today, "first: 1\n");
	assert_true(there(w, "teams/demo/messages/1970-01-01-3.md"));
	assert_false(there(w, "teams/demo/messages/1970-01-01-4.md"));
	holds(w, "teams/demo/messages/1970-01-01-3.md", "last: 700\n");
	say(w, 701, 9000, "the last");
	settle(w);
	equal(w);
	holds(w, "teams/demo/messages/1970-01-01-3.md", "last: 701\n");
	assert_int_equal(inode(w, today), first);
	whole = slurp(at(w, second));
	assert_int_equal(unlink(at(w, second)), 0);
	unlink(at(w, ".cadre-cursor"));
	close_mirror(w);
	settle(w);
	equal(w);
	assert_non_null(strstr(whole, "\n---\n\n# Messages"));
	holds(w, second, strstr(whole, "\n---\n\n# Messages"));
	free(whole);
	mirrored_close(w);
}

static const char *page_path(int number)
{
	static char path[64];

	snprintf(path, sizeof(path), "teams/demo/messages/1970-01-01-%d.md", number);
	return path;
}

/* A person removes or empties more pages than the mirror writes in one step. Each page is
 * written again with all of its messages. */
static void test_brings_whole_pages_back(void **state)
{
	enum { MESSAGES = 3600, LEAST = 35, MOST = 60 };
	struct mirrored *w = logged_open();
	char *texts[MOST] = { 0 };
	int pages = 1;

	(void)state;
	run(w, "BEGIN");
	for (int i = 1; i <= MESSAGES; i++)
		say(w, i, 5000 + i, "something");
	run(w, "UPDATE message SET content = hex(randomblob(1400))");
	run(w, "COMMIT");
	settle(w);
	while (there(w, page_path(pages + 1)))
		pages++;
	assert_in_range(pages, LEAST, MOST - 1);
	close_mirror(w);
	for (int i = 2; i < pages; i += 2) {
		texts[i] = slurp(at(w, page_path(i)));
		assert_int_equal(i % 4 ? unlink(at(w, page_path(i)))
				       : truncate(at(w, page_path(i)), 0),
				 0);
	}
	unlink(at(w, ".cadre-cursor"));
	settle(w);
	for (int i = 2; i < pages; i += 2) {
		holds(w, page_path(i), strstr(texts[i], "\n---\n\n# Messages"));
		free(texts[i]);
	}
	equal(w);
	mirrored_close(w);
}

/* A person removes two neighbouring pages. Afterwards each message is in exactly one page. */
static void test_brings_neighbours_back(void **state)
{
	enum { MESSAGES = 400, MOST = 9 };
	struct mirrored *w = logged_open();
	char *texts[MOST] = { 0 }, heading[32];
	int pages = 1;

	(void)state;
	run(w, "BEGIN");
	for (int i = 1; i <= MESSAGES; i++)
		say(w, i, 5000 + i, "something");
	run(w, "UPDATE message SET content = hex(randomblob(1400))");
	run(w, "COMMIT");
	settle(w);
	while (there(w, page_path(pages + 1)))
		pages++;
	assert_in_range(pages, 4, MOST);
	close_mirror(w);
	unlink(at(w, page_path(2)));
	unlink(at(w, page_path(3)));
	unlink(at(w, ".cadre-cursor"));
	settle(w);
	texts[0] = slurp(at(w, today));
	for (int i = 2; i <= pages; i++)
		if (there(w, page_path(i)))
			texts[i - 1] = slurp(at(w, page_path(i)));
	for (int i = 1; i <= MESSAGES; i++) {
		int found = 0;

		snprintf(heading, sizeof(heading), "<!-- %d -->", i);
		for (int k = 0; k < pages; k++)
			found += texts[k] && strstr(texts[k], heading) != NULL;
		assert_int_equal(found, 1);
	}
	for (int k = 0; k < pages; k++)
		free(texts[k]);
	mirrored_close(w);
}

/* No file contains the text of a redacted message: no page, no conflict file, and no file in
 * the stage. */
static void test_forgets_redacted_texts(void **state)
{
	struct mirrored *w = logged_open();

	(void)state;
	say(w, 1, 5000, "one");
	say(w, 2, 6000, "secret\n\nsecret too");
	say(w, 3, 7000, "## 00:00:06.000 ada -> bob <!-- 2 -->");
	settle(w);
	append(at(w, today), "words\n");
	say(w, 4, 8000, "four");
	settle(w);
	append(at(w, today), "more words");
	assert_string_equal(who_has(w, "secret"),
			    "./teams/demo/messages/1970-01-01.conflict.md "
			    "./teams/demo/messages/1970-01-01.md ");
	redact(w, 2);
	assert_string_equal(who_has(w, "secret"), "");
	holds(w, today,
	      "> one\n\n## 00:00:06.000 ada -> bob <!-- 2 -->\n\n> [redacted by ada]\n\n"
	      "## 00:00:07.000 ada -> bob <!-- 3 -->\n\n"
	      "> ## 00:00:06.000 ada -> bob <!-- 2 -->\n\n");
	holds(w, today, "more words");
	holds(w, "teams/demo/messages/1970-01-01.conflict.md",
	      "> [redacted by ada]\n\n## 00:00:07");
	holds(w, "teams/demo/messages/1970-01-01.conflict.md", "words\n");
	assert_false(there(w, "teams/demo/messages/1970-01-01.conflict-2.md"));
	redact(w, 4);
	say(w, 5, 9000, "five");
	settle(w);
	assert_string_equal(who_has(w, "secret"), "");
	assert_string_equal(who_has(w, "> four"), "");
	holds(w, "teams/demo/messages/1970-01-01.conflict-2.md", "more words");
	equal(w);
	redact(w, 1);
	assert_string_equal(who_has(w, "> one"), "");
	equal(w);
	mirrored_close(w);
}

/* The mirror waits for a program that is writing a page. The file that this program leaves has
 * no redacted text. */
static void test_redacts_what_is_being_written(void **state)
{
	struct mirrored *w = logged_open();
	struct fault f = { 0 };
	bool more;
	FILE *out;

	(void)state;
	say(w, 1, 5000, "secret");
	settle(w);
	out = fopen(at(w, today), "a");
	assert_non_null(out);
	runf(w, "UPDATE message SET content = '[redacted by ada]' WHERE id = 1");
	event(w, REDACTED, 1, 1, NULL);
	assert_int_equal(mirror_step(w->mirror, w->store, 1000, &more, &f), 0);
	fputs("my words", out);
	fclose(out);
	settle(w);
	assert_string_equal(who_has(w, "secret"), "");
	assert_string_equal(who_has(w, "my words"),
			    "./teams/demo/messages/1970-01-01.conflict.md ");
	equal(w);
	mirrored_close(w);
}

/* A line in the text of a message is not taken for the heading of a message. */
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

/* Wherever a page was cut off, the mirror completes the page, and no message is in the page
 * twice. */
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
	/* If a new message arrives before the next check, the mirror writes the removed page
	 * again at once, with all of its messages. */
	assert_int_equal(unlink(at(w, today)), 0);
	say(w, 301, 6000, "more");
	settle(w);
	holds(w, today, "<!-- 1 -->");
	holds(w, today, "<!-- 300 -->");
	holds(w, today, "<!-- 301 -->");
	equal(w);
	/* The page is cut off while no process watches the mirror. */
	close_mirror(w);
	assert_int_equal(truncate(at(w, today), 0), 0);
	open_mirror(w);
	mirror_watch(w->mirror);
	settle(w);
	equal(w);
	free(whole);
	mirrored_close(w);
}

/* After a restore of the state, new messages get numbers that lost messages had before. */
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
	holds(w, "teams/demo/messages/1970-01-01.conflict.md", "> lost too\n\n");
	holds(w, today, "> one\n\n## 00:00:08.000 ada -> bob <!-- 2 -->\n\n> new\n\n");
	mirrored_close(w);
}

/* The last messages of a team are in the team's archive folder. The next team of the same name
 * begins with new pages. */
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
	assert_true(there(w, "teams/demo/messages/1970-01-01.conflict.md"));
	mirrored_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_off_by_default),
		cmocka_unit_test(test_shows_messages),
		cmocka_unit_test(test_keeps_words),
		cmocka_unit_test(test_keeps_cleaned_messages),
		cmocka_unit_test(test_has_pages),
		cmocka_unit_test(test_brings_whole_pages_back),
		cmocka_unit_test(test_brings_neighbours_back),
		cmocka_unit_test(test_forgets_redacted_texts),
		cmocka_unit_test(test_redacts_what_is_being_written),
		cmocka_unit_test(test_is_not_misled),
		cmocka_unit_test(test_is_whole_after_a_crash),
		cmocka_unit_test(test_comes_back),
		cmocka_unit_test(test_another_incarnation),
		cmocka_unit_test(test_ends_with_its_team),
		cmocka_unit_test(test_follows_no_symlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
