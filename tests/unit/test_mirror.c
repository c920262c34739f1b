/* test_mirror - the mirror's files are equal to the rows, and no file is written without a
 * change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/vault/vault_page.h"
#include "tests/lib/mirrored.h"

static void test_shows_everything(void **state)
{
	struct mirrored *w = mirrored_open();
	char *cursor;

	(void)state;
	small_team(w);
	run(w,
	    "INSERT INTO task_tag (task, n, tag) VALUES (1, 0, 'a: b'), (1, 1, 'null')");
	run(w,
	    "INSERT INTO task_criterion VALUES (1, 1, 'it works', 1), (1, 2, 'docs', 0)");
	run(w, "INSERT INTO task_note (task, agent, at, text) VALUES "
	       "(1, 2, 3000, 'one' || char(10) || '## Result' || char(10) || 'two')");
	run(w,
	    "UPDATE task SET description = 'a' || char(10) || '## Notes' || char(10) || "
	    "'b' WHERE id = 1");
	event(w, 213, 1, 1, NULL);
	settle(w);
	equal(w);
	holds(w, "teams/demo/tasks/001-slug.md",
	      "---\nid: \"001\"\nstatus: pending\nowner: null\npriority: 3\n"
	      "depends_on: []\nblocked_by: []\ncreated_by: \"ada\"\n"
	      "created_at: \"1970-01-01T00:00:01.000Z\"\n"
	      "updated_at: \"1970-01-01T00:00:02.000Z\"\n"
	      "tags: [\"a: b\", \"null\"]\nepoch: 0\nrev: 7\nsum: ");
	holds(w, "teams/demo/tasks/001-slug.md",
	      "---\n\n# First\n\n## Description\n\na\n\\## Notes\nb\n\n"
	      "## Acceptance Criteria\n\n- [x] it works\n- [ ] docs\n\n## Notes\n\n"
	      "- 1970-01-01T00:00:03.000Z **bob**: one\n  \\## Result\n  two\n\n"
	      "## Result\n\n");
	holds(w, "teams/demo/tasks/002-slug.md",
	      "depends_on: [\"001\"]\nblocked_by: [\"001\"]");
	holds(w, "teams/demo/tasks/INDEX.md", "| pending | 2 |");
	holds(w, "teams/demo/tasks/INDEX.md",
	      "| [002](002-slug.md) | Second \\| with \"quotes\" | 3 |  | 001 |");
	holds(w, "teams/demo/TEAM.md",
	      "| [ada](cards/ada.json) | dev | ready | writes \\| code |");
	holds(w, "teams/demo/cards/ada.json", "\n  \"name\": \"ada\",\n");
	cursor = slurp(at(w, ".cadre-cursor"));
	assert_non_null(strstr(cursor, ".7\n"));
	free(cursor);
	mirrored_close(w);
}

static void test_writes_nothing_unchanged(void **state)
{
	static const char *const files[] = { "teams/demo/tasks/001-slug.md",
					     "teams/demo/tasks/INDEX.md",
					     "teams/demo/TEAM.md",
					     "teams/demo/cards/ada.json" };
	struct mirrored *w = mirrored_open();
	ino_t before[4];

	(void)state;
	small_team(w);
	settle(w);
	for (int i = 0; i < 4; i++)
		before[i] = inode(w, files[i]);
	close_mirror(w);
	assert_int_equal(unlink(at(w, ".cadre-cursor")), 0);
	settle(w);
	event(w, 201, 1, 1, NULL);
	settle(w);
	for (int i = 0; i < 4; i++)
		assert_int_equal(inode(w, files[i]), before[i]);
	equal(w);
	mirrored_close(w);
}

static void test_follows(void **state)
{
	struct mirrored *w = mirrored_open();

	(void)state;
	small_team(w);
	settle(w);
	run(w,
	    "UPDATE task SET state = 5, result = 'broke', updated_at = 9000 WHERE id = 1");
	event(w, 206, 1, 1, NULL);
	add_task(w, 3, 1, 3, "Third");
	add_agent(w, 3, 1, "eve");
	settle(w);
	equal(w);
	holds(w, "teams/demo/tasks/001-slug.md", "status: failed");
	holds(w, "teams/demo/tasks/001-slug.md", "## Result\n\nbroke\n");
	holds(w, "teams/demo/tasks/002-slug.md", "blocked_by: [\"001 (failed)\"]");
	holds(w, "teams/demo/tasks/INDEX.md", "| failed | 1 |");
	holds(w, "teams/demo/TEAM.md", "eve");
	run(w, "UPDATE agent SET name = 'adele' WHERE id = 1");
	event(w, 112, 1, 1, "ada");
	settle(w);
	equal(w);
	assert_false(there(w, "teams/demo/cards/ada.json"));
	holds(w, "teams/demo/tasks/001-slug.md", "created_by: \"adele\"");
	mirrored_close(w);
}

static void destroy(struct mirrored *w, int team, int purge)
{
	runf(w,
	     "UPDATE task SET state = 6, owner = NULL, lease_until = NULL WHERE team = %d",
	     team);
	runf(w, "UPDATE agent SET gone = 1 WHERE team = %d", team);
	runf(w,
	     "UPDATE team SET destroyed_at = 86400000, state = 4, purge = %d WHERE id = %d",
	     purge, team);
	event(w, 102, team, team, NULL);
}

static void test_archives(void **state)
{
	struct mirrored *w = mirrored_open();

	(void)state;
	small_team(w);
	settle(w);
	destroy(w, 1, 0);
	add_team(w, 2, "demo");
	add_agent(w, 9, 2, "zoe");
	add_task(w, 9, 2, 1, "New");
	settle(w);
	equal(w);
	holds(w, "teams/.archive/demo-1970-01-02/tasks/001-slug.md", "status: cancelled");
	holds(w, "teams/.archive/demo-1970-01-02/TEAM.md", "state: destroyed");
	assert_true(there(w, "teams/.archive/demo-1970-01-02/cards/ada.json"));
	assert_false(there(w, "teams/demo/cards/ada.json"));
	holds(w, "teams/demo/tasks/001-slug.md", "# New");
	destroy(w, 2, 0);
	settle(w);
	holds(w, "teams/.archive/demo-1970-01-02-2/tasks/001-slug.md", "# New");
	add_team(w, 3, "gone");
	add_agent(w, 10, 3, "kim");
	settle(w);
	assert_int_equal(symlink("/etc", at(w, "teams/gone/link")), 0);
	destroy(w, 3, 1);
	settle(w);
	assert_false(there(w, "teams/gone"));
	assert_true(access("/etc/passwd", F_OK) == 0);
	equal(w);
	mirrored_close(w);
}

static void test_another_incarnation(void **state)
{
	struct mirrored *w = mirrored_open();

	(void)state;
	small_team(w);
	add_team(w, 2, "lost");
	add_agent(w, 5, 2, "kim");
	settle(w);
	spit(at(w, "teams/demo/tasks/my-own.md"), "a note of mine\n");
	/* Changes the state so that it is like a restored state, in which task 2, the agent bob
	 * and team 2 do not exist. */
	run(w, "UPDATE state SET incarnation = 'beef'");
	run(w, "DELETE FROM task_dep");
	run(w, "DELETE FROM task WHERE id = 2");
	run(w, "DELETE FROM agent WHERE id IN (2, 5)");
	run(w, "DELETE FROM team WHERE id = 2");
	run(w, "DELETE FROM event WHERE seq > 3");
	settle(w);
	equal(w);
	assert_false(there(w, "teams/demo/tasks/002-slug.md"));
	assert_false(there(w, "teams/demo/cards/bob.json"));
	assert_false(there(w, "teams/lost"));
	holds(w, "teams/demo/tasks/my-own.md", "a note of mine\n");
	holds(w, ".cadre-cursor", "beef.3\n");
	mirrored_close(w);
}

static void test_quotes(void **state)
{
	struct mirrored *w = mirrored_open();

	(void)state;
	add_team(w, 1, "demo");
	add_agent(w, 1, 1, "null");
	add_task(w, 1, 1, 1, "x");
	run(w, "UPDATE task SET slug = '../../etc/x', title = 'a' || char(10) || '---'");
	run(w,
	    "INSERT INTO task_tag (task, n, tag) VALUES (1, 0, 'q\"' || char(127, 133, 65279, 10) || "
	    "'sum: 0123456789abcdef' || char(8364))");
	settle(w);
	equal(w);
	holds(w, "teams/demo/tasks/001-------etc-x.md",
	      "tags: [\"q\\\"\\u007f\\u0085\\ufeff\\nsum: 0123456789abcdef€\"]");
	holds(w, "teams/demo/tasks/001-------etc-x.md", "# a ---\n");
	holds(w, "teams/demo/tasks/001-------etc-x.md", "created_by: \"null\"");
	mirrored_close(w);
}

static int is_private(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)kind;
	(void)f;
	if ((st->st_mode & 07777) != (S_ISDIR(st->st_mode) ? 0700 : 0600))
		fail_msg("%s has mode %o", path, st->st_mode & 07777);
	return 0;
}

/* The mirror's files are private, whatever umask the command has. */
static void test_is_its_owners_alone(void **state)
{
	mode_t before = umask(0);
	struct mirrored *w = mirrored_open();

	(void)state;
	small_team(w);
	settle(w);
	touch_first(w, 1);
	settle(w);
	assert_int_equal(nftw(at(w, ""), is_private, 16, FTW_PHYS), 0);
	umask(before);
	mirrored_close(w);
}

/* Keys are read only from a page's frontmatter, because people write the body. */
static void test_reads_keys_of_a_page(void **state)
{
	static const char page[] = "---\nrow: 7\nteam: \"one\"\n---\n\nteam: \"two\"\n"
				   "sent: 9\n";
	static const char crlf[] = "---\r\nrow: 7\r\n---\r\nsent: 9\r\n";
	size_t n = strlen(page);

	(void)state;
	assert_int_equal(page_number(page, n, "row: "), 7);
	assert_int_equal(page_number(page, n, "sent: "), 0);
	assert_true(page_says(page, n, "team: \"one\""));
	assert_false(page_says(page, n, "team: \"two\""));
	assert_false(page_says(page, n, "team: \"on"));
	assert_false(page_says("row: 7\n", 7, "row: 7"));
	assert_int_equal(page_number("row: 7\n", 7, "row: "), 0);
	n = strlen(crlf);
	assert_int_equal(page_number(crlf, n, "row: "), 7);
	assert_true(page_says(crlf, n, "row: 7"));
	assert_int_equal(page_number(crlf, n, "sent: "), 0);
	/* The key is found even if only the beginning of the page was read. */
	assert_int_equal(page_number(page, 12, "row: "), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shows_everything),
		cmocka_unit_test(test_writes_nothing_unchanged),
		cmocka_unit_test(test_follows),
		cmocka_unit_test(test_archives),
		cmocka_unit_test(test_another_incarnation),
		cmocka_unit_test(test_quotes),
		cmocka_unit_test(test_is_its_owners_alone),
		cmocka_unit_test(test_reads_keys_of_a_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
