/*
 * setup adds only cadre's entries to the text of a file. The removal of these entries restores
 * the former bytes. A file that setup cannot parse is not changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/setup.h"

static void gives(const char *client, enum setup_part part, const char *text,
		  const char *with)
{
	struct text got = { 0 };

	setup_round_trip(client, part, text, text ? strlen(text) : 0, &got);
	assert_string_equal(got.data, with);
	text_release(&got);
}

#define OURS "\"command\": \"/opt/bin/cadre\""

static void an_entry_is_put_where_it_belongs(void **state)
{
	(void)state;
	gives("claude", PART_MCP, NULL,
	      "{\n  \"mcpServers\": {\n    \"cadre\": {\n      " OURS
	      ",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n");
	/* The entry is put behind the other entries, and gets the indentation and line ends of
	 * these entries. */
	gives("claude", PART_MCP,
	      "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {} // mine\r\n\t\t/* end */\r\n\t}\r\n}",
	      "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {}, // mine\r\n\t\t\"cadre\": {\r\n\t\t\t" OURS
	      ",\r\n\t\t\t\"args\": [\"mcp\"]\r\n\t\t}\r\n\t\t/* end */\r\n\t}\r\n}");
	gives("claude", PART_MCP, "{\"mcpServers\":{\"a\":1,},}",
	      "{\"mcpServers\":{\"a\":1, \"cadre\": { " OURS
	      ", \"args\": [\"mcp\"] },},}");
	gives("claude", PART_MCP, "{\"a\":1}",
	      "{\"a\":1, \"mcpServers\": { \"cadre\": { " OURS
	      ", \"args\": [\"mcp\"] } }}");
	/* A carriage return alone ends a comment, too. */
	gives("claude", PART_MCP, "{\"a\":1 // x\r}",
	      "{\"a\":1, // x\n  \"mcpServers\": {\n    \"cadre\": {\n      " OURS
	      ",\n      \"args\": [\"mcp\"]\n    }\n  }\r}");
	/* Blanks behind a comment belong to the comment. */
	gives("claude", PART_MCP, "{\"a\":1 // x  \n}",
	      "{\"a\":1, // x  \n  \"mcpServers\": {\n    \"cadre\": {\n      " OURS
	      ",\n      \"args\": [\"mcp\"]\n    }\n  }\n}");
	gives("opencode", PART_MCP, "\xef\xbb\xbf",
	      "\xef\xbb\xbf{\n  \"mcp\": {\n    \"cadre\": {\n      \"type\": \"local\",\n      "
	      "\"command\": [\"/opt/bin/cadre\", \"mcp\"],\n      \"enabled\": true\n    }\n  },\n  \"$schema\": \"https://opencode.ai/config.json\"\n}");
	gives("codex", PART_MCP, NULL,
	      "[mcp_servers.cadre]\ncommand = \"/opt/bin/cadre\"\nargs = [\"mcp\"]\n");
	gives("codex", PART_MCP, "a = 1 # no line end",
	      "a = 1 # no line end\n\n[mcp_servers.cadre]\ncommand = \"/opt/bin/cadre\"\nargs = "
	      "[\"mcp\"]");
	gives("codex", PART_MCP, "[mcp_servers.other]\r\ncommand = 'x'\r\n",
	      "[mcp_servers.other]\r\ncommand = 'x'\r\n\r\n[mcp_servers.cadre]\r\ncommand = "
	      "\"/opt/bin/cadre\"\r\nargs = [\"mcp\"]\r\n");
}

/* If an object was empty before setup added an entry, the removal of the entry leaves the empty
 * object in the file. */
static void what_was_empty_stays(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"\n",
		"{}",
		"{ }",
		"{\n}\n",
		"{}\n",
		"{ // nothing\n}",
		"{/* */}",
		"{\"mcpServers\":{}}",
		"{\n  \"mcpServers\": {\n  }\n}\n",
		"{\n  \"mcpServers\": { /* none */ },\n}\n",
		"{\"hooks\":{}}",
		"{\"hooks\":{\"Stop\":[],\"SessionStart\":[ ]}}",
		"{\n  \"hooks\": {\n    \"stop\": [\n    ]\n  }\n}",
		"{\"version\":1}",
		"{\"version\": 1, \"hooks\": {}}",
		"{\"hooks\": {}, \"version\": 1}",
		"{\n  \"hooks\": {},\n  \"version\": 1\n}\n",
		"\xef\xbb\xbf{}\r\n",
		"\xef\xbb\xbf",
		"/* a */ {} // b",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		for (const struct setup_client *c = setup_clients; c->name; c++) {
			if (!c->toml)
				setup_round_trip(c->name, PART_MCP, texts[i],
						 strlen(texts[i]), NULL);
			if (c->hook)
				setup_round_trip(c->name, PART_HOOKS, texts[i],
						 strlen(texts[i]), NULL);
		}
}

/* A very long indentation is not repeated. */
static void blanks_are_not_multiplied(void **state)
{
	struct text text = { 0 }, got = { 0 };

	(void)state;
	text_addf(&text, "%10000s{}\n", "");
	setup_round_trip("claude", PART_MCP, text.data, text.len, &got);
	assert_true(got.len < 11000);
	text_release(&text);
	text_release(&got);
}

static void instructions_are_a_block(void **state)
{
	static const char *const texts[] = {
		"",        "\n", "# Mine", "# Mine\n",     "a\r\nb\r\n",       "a\r\nb",
		"a\n\n\n", "\r", "a\r",    "\xef\xbb\xbf", "\xef\xbb\xbf# x\n"
	};

	(void)state;
	setup_round_trip("claude", PART_TEXT, NULL, 0, NULL);
	setup_round_trip("opencode", PART_HOOKS, NULL, 0, NULL);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		setup_round_trip("claude", PART_TEXT, texts[i], strlen(texts[i]), NULL);
		setup_round_trip(
			"codex", PART_MCP,
			texts[i][0] == 'a' || strchr(texts[i], '\r') ? "" : texts[i],
			texts[i][0] == 'a' || strchr(texts[i], '\r') ? 0
								     : strlen(texts[i]),
			NULL);
	}
}

/* --- text that other programs or people wrote ------------------------------------------------- */

static void an_import_is_found(void **state)
{
	static const struct {
		const char *text;
		bool imports;
	} cases[] = {
		{ "@AGENTS.md", true },
		{ "# Rules\r\n\r\n@./AGENTS.md\r\n", true },
		{ "See @AGENTS.md for the rest.\n", true },
		{ "me@x @AGENTS.md", true },
		{ "@AGENTS.md2\n@docs/AGENTS.md\nx@AGENTS.md\nAGENTS.md\n@AGENTS",
		  false },
		{ "`@AGENTS.md`\n```\n@AGENTS.md\n```\n", false },
		{ "```\nx\n```\n@AGENTS.md\n", true },
		{ "@AGENTS.md\n<!-- cadre setup: begin -->\n<!-- cadre setup: end -->\n",
		  false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct setup_draft d =
			setup_draft_of(cases[i].text, strlen(cases[i].text));

		assert_int_equal(setup_imports(&d, "AGENTS.md"), cases[i].imports);
		text_release(&d.text);
	}
}

static void an_entry_of_another_stays(void **state)
{
	struct fault f;
	static const char *const texts[] = {
		"{\"mcpServers\":{\"cadre\":{\"command\":\"npx\",\"args\":[\"mcp\"]}}}",
		"{\"mcpServers\":{\"cadre\":{\"command\":\"/opt/bin/cadre\"}}}",
		"{\"mcpServers\":{\"cadre\":{\"command\":\"/opt/bin/cadre\",\"args\":[\"up\"]}}}",
		"{\"mcpServers\":{\"cadre\":{\"command\":\"xcadre\",\"args\":[\"mcp\"]}}}",
		"{\"mcpServers\":{\"cadre\":{\"url\":\"http://x\"}}}",
		"{\"mcpServers\":{\"c\\u0061dre\":null}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct text got;

		setup_refused("claude", PART_MCP, texts[i], FAULT_CONFLICT,
			      "file:1:16: an entry named cadre");
		got = setup_cut_text("claude", PART_MCP, texts[i], &f);
		assert_int_equal(f.code, 0);
		assert_string_equal(got.data, texts[i]);
		text_release(&got);
	}
	setup_refused("codex", PART_MCP, "x = 1\n[mcp_servers.cadre]\nurl = 'x'\n",
		      FAULT_CONFLICT, "file:2:");
	setup_refused("opencode", PART_HOOKS, "export {}", FAULT_CONFLICT,
		      "file exists, and does not belong to cadre");
}

static void what_cannot_be_read_is_refused(void **state)
{
	(void)state;
	setup_refused("claude", PART_MCP, "{\n  \"a\": 1\n  \"b\": 2\n}", FAULT_INVALID,
		      "file:3:3: a comma");
	setup_refused("claude", PART_MCP, "{\"a\": [1, 2}", FAULT_INVALID, "file:1:12:");
	setup_refused("claude", PART_MCP, "{\"a\": 'x'}", FAULT_INVALID,
		      "a value is missing here");
	setup_refused("claude", PART_MCP, "{\"a\": \"x\n\"}", FAULT_INVALID, "file:1:9:");
	setup_refused("claude", PART_MCP, "{\"a\": 1} {", FAULT_INVALID,
		      "only one value");
	setup_refused("claude", PART_MCP, "{\"a\": 01}", FAULT_INVALID, "a comma");
	setup_refused("claude", PART_MCP, "{ /* no end", FAULT_INVALID, "file:1:3:");
	setup_refused("claude", PART_MCP, "// nothing else\n", FAULT_INVALID,
		      "a value is missing at the end");
	setup_refused("claude", PART_MCP, "[]", FAULT_INVALID, "the file is no object");
	setup_refused("claude", PART_MCP, "{\"mcpServers\": []}", FAULT_INVALID,
		      "mcpServers is no object");
	setup_refused("claude", PART_HOOKS, "{\"hooks\": {\"Stop\": {}}}", FAULT_INVALID,
		      "Stop is no array");
	setup_refused("codex", PART_MCP, "a = 1\nb =\n", FAULT_INVALID, "file:2:");
	setup_refused("codex", PART_MCP, "mcp_servers = { a = {} }\n", FAULT_INVALID,
		      "is in braces");
	setup_refused("codex", PART_MCP, "mcp_servers = 1\n", FAULT_INVALID,
		      "is no table");
	setup_refused("claude", PART_TEXT, "x\n<!-- cadre setup: begin -->\n",
		      FAULT_INVALID, "file:2:1:");
}

static void what_changed_is_brought_up_to_date(void **state)
{
	struct setup_tally t;
	struct fault f;
	struct text got;

	(void)state;
	got = setup_put_text(
		"claude", PART_MCP,
		"{\"mcpServers\":{\"cadre\":{\"args\":[\"mcp\"],\"command\":\"/gone/cadre\"}}}",
		&t, &f);
	assert_string_equal(
		got.data,
		"{\"mcpServers\":{\"cadre\":{\"args\":[\"mcp\"],\"command\":\"/opt/bin/cadre\"}}}");
	assert_int_equal(t.found + t.changed, 2);
	assert_string_equal(t.gone, "/gone/cadre");
	text_release(&got);
	got = setup_put_text(
		"codex", PART_MCP,
		"[mcp_servers]\ncadre = { args = ['mcp'], command = '/gone/cadre' } # mine\n",
		&t, &f);
	assert_string_equal(
		got.data,
		"[mcp_servers]\ncadre = { args = ['mcp'], command = \"/opt/bin/cadre\" } # mine\n");
	text_release(&got);
	got = setup_put_text(
		"codex", PART_MCP,
		"[mcp_servers.cadre]\ncommand = '''/gone/cadre''' # mine\nargs = ['mcp']\n",
		&t, &f);
	assert_string_equal(
		got.data,
		"[mcp_servers.cadre]\ncommand = \"/opt/bin/cadre\" # mine\nargs = ['mcp']\n");
	text_release(&got);
	got = setup_put_text(
		"gemini", PART_HOOKS,
		"{\"hooks\":{\"AfterAgent\":[{\"hooks\":[{\"command\":\"'/a b/cadre' hook gemini\"}]}]}}",
		&t, &f);
	assert_non_null(strstr(
		got.data,
		"{\"hooks\":{\"AfterAgent\":[{\"hooks\":[{\"command\":\"/opt/bin/cadre hook gemini\"}]}]"));
	assert_int_equal(t.found, 1);
	assert_int_equal(t.missing, 4);
	assert_string_equal(t.gone, "/a b/cadre");
	text_release(&got);
	got = setup_put_text(
		"claude", PART_TEXT,
		"a\r\n<!-- cadre setup: begin -->\r\nold\r\n<!-- cadre setup: end -->\r\nb",
		&t, &f);
	assert_int_equal(t.changed, 1);
	assert_non_null(strstr(got.data, "(cadre)\r\n\r\nAgents share"));
	assert_non_null(strstr(got.data, "end -->\r\nb"));
	text_release(&got);
}

/* A person's additions to setup's entries stay.  If setup's entry is in the file twice, the
 * removal takes both entries out. */
static void what_was_added_stays(void **state)
{
	struct fault f;
	struct text got;

	(void)state;
	got = setup_cut_text("claude", PART_MCP,
			     "{\"mcpServers\": {\"cadre\": {" OURS
			     ", \"args\": [\"mcp\"]}, "
			     "\"x\": 1, \"cadre\": {" OURS ", \"args\": [\"mcp\"]}}}",
			     &f);
	assert_string_equal(got.data, "{\"mcpServers\": { \"x\": 1}}");
	text_release(&got);
	got = setup_cut_text(
		"claude", PART_MCP,
		"{\n  \"mcpServers\": {\n    \"cadre\": {\n      " OURS
		",\n      \"args\": [\"mcp\"]\n    },\n    \"mine\": {}\n  }\n}\n",
		&f);
	assert_string_equal(got.data,
			    "{\n  \"mcpServers\": {\n    \"mine\": {}\n  }\n}\n");
	text_release(&got);
	got = setup_cut_text("claude", PART_MCP,
			     "{\n  \"mcpServers\": {\n    // mine\n    \"cadre\": {" OURS
			     ",\"args\":[\"mcp\"]} }}",
			     &f);
	assert_string_equal(got.data, "{\n  \"mcpServers\": {\n    // mine\n     }}");
	text_release(&got);
	got = setup_cut_text(
		"claude", PART_HOOKS,
		"{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"cadre hook claude\"},{\"command\":\"mine\"}]}]}}",
		&f);
	assert_string_equal(
		got.data,
		"{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"mine\"}]}]}}");
	text_release(&got);
	got = setup_cut_text(
		"codex", PART_MCP,
		"[mcp_servers.cadre]\ncommand = \"cadre\"\nargs = [\"mcp\"]\n\n"
		"[mcp_servers.mine]\nx = 1\n# end\n",
		&f);
	assert_string_equal(got.data, "\n[mcp_servers.mine]\nx = 1\n# end\n");
	text_release(&got);
}

static void an_empty_file_is_not_changed(void **state)
{
	char path[] = "/tmp/setup-XXXXXX";
	int fd = mkstemp(path);
	struct setup_target t;
	struct fault f = { 0 };

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(setup_target_find(&t, path, "mine.md", NULL, &f), 0);
	assert_int_equal(setup_target_read(&t, &f), 0);
	assert_true(t.was);
	assert_false(setup_target_changed(&t));
	text_addf(&t.draft.text, "ours");
	assert_true(setup_target_changed(&t));
	setup_target_release(&t);
	unlink(path);
}

/* --- how a file changes ----------------------------------------------------------------------- */

static void diffs_as(const char *before, const char *after, const char *want)
{
	struct setup_target t = { .shown = "f", .was = before != NULL };
	struct text out = { 0 };

	t.draft = setup_draft_of(after, after ? strlen(after) : 0);
	if (before)
		text_add(&t.before, before, strlen(before));
	setup_diff(&t, &out);
	assert_string_equal(out.len ? out.data : "", want);
	text_release(&out);
	setup_target_release(&t);
}

static void a_diff_is_unified(void **state)
{
	(void)state;
	diffs_as("a\n", "a\n", "");
	diffs_as(
		NULL, "a\nb",
		"--- /dev/null\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n");
	diffs_as("a\n", NULL, "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
	diffs_as("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
		 "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
	diffs_as(
		"1\n2\n3\n4\n5\n6\n7\n8\n9\n0\n", "x\n2\n3\n4\n5\n6\n7\n8\n9\n0\ny\n",
		"--- f\n+++ f\n@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -8,3 +8,4 @@\n 8\n 9\n 0\n+y\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_put_where_it_belongs),
		cmocka_unit_test(what_was_empty_stays),
		cmocka_unit_test(blanks_are_not_multiplied),
		cmocka_unit_test(instructions_are_a_block),
		cmocka_unit_test(an_import_is_found),
		cmocka_unit_test(an_entry_of_another_stays),
		cmocka_unit_test(what_cannot_be_read_is_refused),
		cmocka_unit_test(what_changed_is_brought_up_to_date),
		cmocka_unit_test(what_was_added_stays),
		cmocka_unit_test(an_empty_file_is_not_changed),
		cmocka_unit_test(a_diff_is_unified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
