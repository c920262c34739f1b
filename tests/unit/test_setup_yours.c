/*
 * setup beside text that a person wrote, such as entries and hooks that run cadre in another
 * way. The text may mention setup's marks, and may have several kinds of line ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/setup.h"

/* The removal of an entry changes no line ends, even if the file has line ends of several
 * kinds. */
static void line_ends_stay(void **state)
{
	static const struct {
		enum setup_part part;
		const char *before, *after;
	} some[] = {
		{ PART_MCP,
		  "a = 1\r\n\r\nmcp_servers.cadre = { command = 'cadre', args = ['mcp'] }\r\n",
		  "a = 1\r\n" },
		{ PART_MCP,
		  "a = 1\r\nmcp_servers.cadre = { command = 'cadre', args = ['mcp'] }\r\nb = 2\r\n",
		  "a = 1\r\nb = 2\r\n" },
		{ PART_MCP,
		  "a = 1\r\n\r\nmcp_servers.cadre = { command = 'cadre', args = ['mcp'] }",
		  "a = 1" },
		{ PART_TEXT,
		  "a\r\n\r\n<!-- cadre setup: begin -->\nx\n<!-- cadre setup: end -->\r\nb\r\n",
		  "a\r\n\r\nb\r\n" },
		{ PART_TEXT,
		  "a\n\n<!-- cadre setup: begin -->\r\nx\r\n<!-- cadre setup: end -->\nb",
		  "a\n\nb" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
		struct fault f;
		struct text got =
			setup_cut_text("codex", some[i].part, some[i].before, &f);

		assert_int_equal(f.code, 0);
		assert_string_equal(got.data, some[i].after);
		text_release(&got);
	}
}

/* --- text that a person wrote around cadre ------------------------------------------------------- */

static void a_persons_hook_stays_alone(void **state)
{
	static const char *const lines[] = {
		"env X=1 cadre hook claude",
		"X=1 cadre hook claude",
		"X=1/cadre hook claude",
		"test -x /opt/bin/cadre && /opt/bin/cadre hook claude",
		"/opt/bin/cadre hook claude || true",
		"/opt/bin/cadre hook claude --more",
		"\\\"$HOME/bin/cadre\\\" hook claude",
		"sh -c 'cadre hook claude'",
		"'/opt/bin/cadre' hook  'claude'",
		"./bin/cadre hook claude",
		"/usr/bin/env X=1 /opt/bin/cadre hook claude",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct arena a = { 0 };
		const char *text = arena_printf(
			&a, "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"%s\"}]}]}}",
			lines[i]);
		struct setup_tally t;
		struct fault f;
		struct text got = setup_put_text("claude", PART_HOOKS, text, &t, &f);

		assert_int_equal(t.yours, 1);
		assert_int_equal(t.found, 1);
		assert_int_equal(t.changed, 0);
		assert_memory_equal(got.data, text, strlen(text) - 2);
		text_release(&got);
		setup_round_trip("claude", PART_HOOKS, text, strlen(text), NULL);
		arena_release(&a);
	}
}

/* An entry that runs `cadre mcp` in a form that setup would not write is a person's entry. */
static void a_persons_entry_stays(void **state)
{
	static const struct {
		const char *client, *text;
	} some[] = {
		{ "claude",
		  "{\"mcpServers\":{\"cadre\":{\"env\":{\"A\":\"b\"},\"command\":"
		  "\"cadre\",\"args\":[\"mcp\"]}}}" },
		{ "claude", "{\"mcpServers\":{\"cadre\":{\"command\":\"/opt/bin/cadre\","
			    "\"args\":[\"mcp\",\"--all\"]}}}" },
		{ "claude", "{\"mcpServers\":{\"cadre\":{\"command\":\"./bin/cadre\","
			    "\"args\":[\"mcp\"]}}}" },
		{ "cursor", "{\"mcpServers\":{\"cadre\":{\"command\":\"cadre\",\"args\":"
			    "[\"mcp\"]}}}" },
		{ "opencode", "{\"mcp\":{\"cadre\":{\"type\":\"local\",\"enabled\":false,"
			      "\"command\":[\"cadre\",\"mcp\"]}}}" },
		{ "codex",
		  "[mcp_servers.cadre]\ncommand = 'cadre'\nargs = ['mcp']\nmore = 1\n\n"
		  "[mcp_servers.mine]\nx = 1\n[mcp_servers.cadre.env]\nA = 'b'\n" },
		{ "codex",
		  "[mcp_servers.cadre]\ncommand = 'cadre'\nargs = ['mcp', '--all']\n" },
		{ "codex",
		  "mcp_servers = { cadre = { command = 'cadre', args = ['mcp'] } }\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
		struct setup_tally t;
		struct fault f;
		struct text got =
			setup_put_text(some[i].client, PART_MCP, some[i].text, &t, &f);

		assert_int_equal(f.code, 0);
		assert_int_equal(t.yours, 1);
		assert_int_equal(t.missing + t.changed, 0);
		assert_string_equal(got.data, some[i].text);
		text_release(&got);
		got = setup_cut_text(some[i].client, PART_MCP, some[i].text, &f);
		assert_int_equal(f.code, 0);
		assert_string_equal(got.data, some[i].text);
		text_release(&got);
	}
}

/* The program's file may have any name. setup recognizes the entries that it wrote for a
 * program of that name. */
static void a_program_of_another_name_knows_its_own(void **state)
{
	static const char command[] = "/opt/it's/cadre-0.9";
	static const char *const clients[] = { "claude", "codex", "opencode" };

	(void)state;
	for (int i = 0; i < 3; i++)
		for (int part = PART_MCP; part <= (i ? PART_MCP : PART_HOOKS); part++) {
			const struct setup_client *c = setup_client_named(clients[i]);
			struct setup_draft d = setup_draft_of(NULL, 0);
			struct setup_tally t = { 0 };
			struct fault f = { 0 };

			setup_put(c, (enum setup_part)part, command, &d, &t, &f);
			t = (struct setup_tally){ 0 };
			setup_put(c, (enum setup_part)part, command, &d, &t, &f);
			assert_int_equal(t.missing + t.changed + t.yours, 0);
			assert_true(t.found > 0);
			setup_cut(c, (enum setup_part)part, command, &d, &f);
			assert_int_equal(f.code, 0);
			assert_false(d.there);
			text_release(&d.text);
		}
}

/* A person's hook runs the same program, but quotes the program's path in another way than
 * setup does. */
static void a_quote_in_a_path_doubles_no_hook(void **state)
{
	static const char *const names[] = { "cadre", "cadre-0.9" };
	static const char *const lines[] = {
		"exec '/opt/it'\\''s/%s' hook claude",
		"\"/opt/it's/%s\" hook claude",
		"/opt/it\\'s/%s hook claude --more",
		"'/opt/it'\\''s/%s' hook claude",
	};
	const struct setup_client *c = setup_client_named("claude");
	const size_t n = sizeof(lines) / sizeof(*lines);

	(void)state;
	for (size_t i = 0; i < 2 * n; i++) {
		struct arena a = { 0 };
		const char *path = arena_printf(&a, "/opt/it's/%s", names[i / n]);
		json_t *hook = json_pack("{s{s[{so}]}}", "hooks", "Stop", "command",
					 json_sprintf(lines[i % n], names[i / n]));
		char *text = json_dumps(hook, JSON_COMPACT);
		struct setup_draft d = setup_draft_of(text, strlen(text));
		struct setup_tally t = { 0 };
		struct fault f = { 0 };

		assert_int_equal(setup_put(c, PART_HOOKS, path, &d, &t, &f), 0);
		assert_int_equal(t.found, 1);
		assert_int_equal(t.yours, i % n < 3);
		assert_int_equal(t.changed, 0);
		setup_cut(c, PART_HOOKS, path, &d, &f);
		if (t.yours)
			setup_same(&d, text, strlen(text));
		else
			assert_null(strstr(d.text.data, "command"));
		free(text);
		json_decref(hook);
		text_release(&d.text);
		arena_release(&a);
	}
}

/* A hook of another client or of another program is not cadre's hook for this client. */
static void a_hook_of_another_is_no_hook_of_cadre(void **state)
{
	static const char text[] =
		"{\"hooks\":{\"Stop\":[{\"command\":\"xcadre hook claude\"},"
		"{\"command\":\"cadre hook claudette\"},{\"command\":\"cadre hook codex\"}]}}";
	struct setup_tally t;
	struct fault f;
	struct text got = setup_put_text("claude", PART_HOOKS, text, &t, &f);

	(void)state;
	assert_int_equal(t.found, 0);
	text_release(&got);
	setup_round_trip("claude", PART_HOOKS, text, strlen(text), NULL);
}

/* --- the marks of the block of instructions ----------------------------------------------------- */

#define BEGIN "<!-- cadre setup: begin -->\n"
#define END "<!-- cadre setup: end -->\n"

/* Checks that a text with incomplete marks is refused, both when setup adds its block and when
 * setup removes its block. The refused text is not changed. */
static void marks_refused(const char *text, const char *why)
{
	struct fault f;
	struct text got;

	setup_refused("claude", PART_TEXT, text, FAULT_INVALID, why);
	got = setup_cut_text("claude", PART_TEXT, text, &f);
	assert_int_equal(f.code, FAULT_INVALID);
	assert_string_equal(got.data, text);
	text_release(&got);
}

static void text_between_stray_marks_is_nobody_elses(void **state)
{
	(void)state;
	marks_refused(BEGIN "old\nmine, where the end was lost\n" BEGIN "new\n" END,
		      "file:4:1:");
	marks_refused("<<<<<<< HEAD\n" BEGIN "=======\nmine\n>>>>>>> other\n" END,
		      "file:5:1:");
	marks_refused(BEGIN "a\n" END "mine\n" END, "file:5:1:");
	marks_refused("mine\n" END, "file:2:1:");
	marks_refused("mine\n" BEGIN "mine as well\n", "file:2:1:");
}

static void prose_that_names_the_marks_stays(void **state)
{
	static const char *const texts[] = {
		"It stands behind `<!-- cadre setup: begin -->`.\nMine.\n",
		"Between <!-- cadre setup: begin --> and <!-- cadre setup: end --> it is.\n",
		"> <!-- cadre setup: begin -->\n> mine\n> <!-- cadre setup: end -->\n",
		"<!-- cadre setup: begin --> mine\n<!-- cadre setup: end -->, too",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		setup_round_trip("claude", PART_TEXT, texts[i], strlen(texts[i]), NULL);
}

static void two_blocks_are_renewed_and_taken(void **state)
{
	static const char two[] = "a\n\n" BEGIN "old\n" END "mine\n\n" BEGIN
				  "older\n" END;
	struct setup_tally t;
	struct fault f;
	struct text got = setup_cut_text("claude", PART_TEXT, two, &f);

	(void)state;
	assert_int_equal(f.code, 0);
	assert_string_equal(got.data, "a\nmine\n");
	text_release(&got);
	got = setup_put_text("claude", PART_TEXT, two, &t, &f);
	assert_int_equal(t.found, 1);
	assert_int_equal(t.changed, 2);
	assert_null(strstr(got.data, "old"));
	text_release(&got);
}

/* A clone may contain very many blocks or hooks. A file with too many blocks or hooks is
 * refused, since it would take too long to remove each block or hook. */
static void very_many_are_refused(void **state)
{
	struct text blocks = { 0 }, hooks = { 0 }, got;
	struct fault f;

	(void)state;
	text_addf(&hooks, "{\"hooks\":{\"Stop\":[{}");
	for (int n = 1; n <= 33; n++) {
		text_addf(&hooks, ",{\"command\":\"cadre hook claude\"}");
		if (n <= 8)
			text_addf(&blocks, "%s%s", BEGIN, END);
	}
	text_addf(&hooks, "]}}");
	got = setup_cut_text("claude", PART_TEXT, blocks.data, &f);
	assert_int_equal(f.code, 0);
	assert_string_equal(got.data, "");
	text_release(&got);
	text_addf(&blocks, "%s%s", BEGIN, END);
	marks_refused(blocks.data, "file:17:1: more than 8 blocks of cadre are here");
	got = setup_cut_text("claude", PART_HOOKS, hooks.data, &f);
	assert_int_equal(f.code, FAULT_INVALID);
	assert_non_null(strstr(f.text, "more than 32 hooks of cadre are here"));
	text_release(&got);
	text_release(&blocks);
	text_release(&hooks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_ends_stay),
		cmocka_unit_test(a_persons_hook_stays_alone),
		cmocka_unit_test(a_persons_entry_stays),
		cmocka_unit_test(a_program_of_another_name_knows_its_own),
		cmocka_unit_test(a_quote_in_a_path_doubles_no_hook),
		cmocka_unit_test(a_hook_of_another_is_no_hook_of_cadre),
		cmocka_unit_test(text_between_stray_marks_is_nobody_elses),
		cmocka_unit_test(prose_that_names_the_marks_stays),
		cmocka_unit_test(two_blocks_are_renewed_and_taken),
		cmocka_unit_test(very_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
