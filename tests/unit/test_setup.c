/*
 * setup in the text of a file: what is put in is ours alone, taking it away gives the bytes
 * back, and files that cannot be read are left as they are.
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
	/* Behind the others, with their indentation and line ends. */
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

/* An object that was empty is empty again, and not gone. */
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
			if (c->events)
				setup_round_trip(c->name, PART_HOOKS, texts[i],
						 strlen(texts[i]), NULL);
		}
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

/* --- what others wrote ------------------------------------------------------------------------ */

/* Puts a part into a text; the fault is kept. */
static struct text put(const char *client, enum setup_part part, const char *text,
		       struct setup_tally *t, struct fault *f)
{
	const struct setup_client *c = setup_client_named(client);
	struct setup_draft d = setup_draft_of(text, strlen(text));
	struct arena a = { 0 };
	struct setup_words w = setup_words_for(&a, c);

	*t = (struct setup_tally){ 0 };
	*f = (struct fault){ 0 };
	setup_put(c, part, &w, &d, t, f);
	arena_release(&a);
	return d.text;
}

static struct text cut(const char *client, enum setup_part part, const char *text,
		       struct fault *f)
{
	const struct setup_client *c = setup_client_named(client);
	struct setup_draft d = setup_draft_of(text, strlen(text));
	struct arena a = { 0 };
	struct setup_words w = setup_words_for(&a, c);

	*f = (struct fault){ 0 };
	setup_cut(c, part, &w, &d, f);
	arena_release(&a);
	return d.text;
}

static void refused(const char *client, enum setup_part part, const char *text, int code,
		    const char *why)
{
	struct setup_tally t;
	struct fault f;
	struct text got = put(client, part, text, &t, &f);

	if (f.code != code || !strstr(f.text, why))
		fail_msg("%s: %d '%s', not '%s'", text, f.code, f.text, why);
	if (part != PART_HOOKS)
		assert_string_equal(got.data, text);
	text_release(&got);
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

		refused("claude", PART_MCP, texts[i], FAULT_CONFLICT,
			"file:1:16: an entry named cadre");
		got = cut("claude", PART_MCP, texts[i], &f);
		assert_int_equal(f.code, 0);
		assert_string_equal(got.data, texts[i]);
		text_release(&got);
	}
	refused("codex", PART_MCP, "x = 1\n[mcp_servers.cadre]\nurl = 'x'\n",
		FAULT_CONFLICT, "file:2:");
	refused("opencode", PART_HOOKS, "export {}", FAULT_CONFLICT, "file is there");
}

static void what_cannot_be_read_is_refused(void **state)
{
	(void)state;
	refused("claude", PART_MCP, "{\n  \"a\": 1\n  \"b\": 2\n}", FAULT_INVALID,
		"file:3:3: a comma");
	refused("claude", PART_MCP, "{\"a\": [1, 2}", FAULT_INVALID, "file:1:12:");
	refused("claude", PART_MCP, "{\"a\": 'x'}", FAULT_INVALID, "a value is expected");
	refused("claude", PART_MCP, "{\"a\": \"x\n\"}", FAULT_INVALID, "file:1:9:");
	refused("claude", PART_MCP, "{\"a\": 1} {", FAULT_INVALID, "only one value");
	refused("claude", PART_MCP, "{\"a\": 01}", FAULT_INVALID, "a comma");
	refused("claude", PART_MCP, "{ /* no end", FAULT_INVALID, "file:1:3:");
	refused("claude", PART_MCP, "// nothing else\n", FAULT_INVALID, "the text ends");
	refused("claude", PART_MCP, "[]", FAULT_INVALID, "the file is no object");
	refused("claude", PART_MCP, "{\"mcpServers\": []}", FAULT_INVALID,
		"mcpServers is no object");
	refused("claude", PART_HOOKS, "{\"hooks\": {\"Stop\": {}}}", FAULT_INVALID,
		"Stop is no array");
	refused("codex", PART_MCP, "a = 1\nb =\n", FAULT_INVALID, "file:2:");
	refused("codex", PART_MCP, "mcp_servers = { a = {} }\n", FAULT_INVALID,
		"is in braces");
	refused("codex", PART_MCP, "mcp_servers = 1\n", FAULT_INVALID, "is no table");
	refused("claude", PART_TEXT, "x\n<!-- cadre setup: begin -->\n", FAULT_INVALID,
		"file:2:1:");
}

static void what_changed_is_brought_up_to_date(void **state)
{
	struct setup_tally t;
	struct fault f;
	struct text got;

	(void)state;
	got = put(
		"claude", PART_MCP,
		"{\"mcpServers\":{\"cadre\":{\"args\":[\"mcp\"],\"command\":\"/gone/cadre\"}}}",
		&t, &f);
	assert_string_equal(
		got.data,
		"{\"mcpServers\":{\"cadre\":{\"args\":[\"mcp\"],\"command\":\"/opt/bin/cadre\"}}}");
	assert_int_equal(t.found + t.changed, 2);
	assert_string_equal(t.gone, "/gone/cadre");
	text_release(&got);
	got = put(
		"codex", PART_MCP,
		"[mcp_servers]\ncadre = { args = ['mcp'], command = '/gone/cadre' } # mine\n",
		&t, &f);
	assert_string_equal(
		got.data,
		"[mcp_servers]\ncadre = { args = ['mcp'], command = \"/opt/bin/cadre\" } # mine\n");
	text_release(&got);
	got = put(
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
	got = put(
		"claude", PART_TEXT,
		"a\r\n<!-- cadre setup: begin -->\r\nold\r\n<!-- cadre setup: end -->\r\nb",
		&t, &f);
	assert_int_equal(t.changed, 1);
	assert_non_null(strstr(got.data, "(cadre)\r\n\r\nAgents share"));
	assert_non_null(strstr(got.data, "end -->\r\nb"));
	text_release(&got);
}

/* A person has added to what setup wrote: that stays. */
static void what_was_added_stays(void **state)
{
	struct fault f;
	struct text got;

	(void)state;
	got = cut("claude", PART_MCP,
		  "{\n  \"mcpServers\": {\n    \"cadre\": {\n      " OURS
		  ",\n      \"args\": [\"mcp\"]\n    },\n    \"mine\": {}\n  }\n}\n",
		  &f);
	assert_string_equal(got.data,
			    "{\n  \"mcpServers\": {\n    \"mine\": {}\n  }\n}\n");
	text_release(&got);
	got = cut("claude", PART_MCP,
		  "{\n  \"mcpServers\": {\n    // mine\n    \"cadre\": {" OURS
		  ",\"args\":[\"mcp\"]} }}",
		  &f);
	assert_string_equal(got.data, "{\n  \"mcpServers\": {\n    // mine\n     }}");
	text_release(&got);
	got = cut(
		"claude", PART_HOOKS,
		"{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"cadre hook claude\"},{\"command\":\"mine\"}]}]}}",
		&f);
	assert_string_equal(
		got.data,
		"{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"mine\"}]}]}}");
	text_release(&got);
	got = cut("codex", PART_MCP,
		  "[mcp_servers.cadre]\ncommand = \"cadre\"\nargs = [\"mcp\"]\n\n"
		  "[mcp_servers.mine]\nx = 1\n# end\n",
		  &f);
	assert_string_equal(got.data, "\n[mcp_servers.mine]\nx = 1\n# end\n");
	text_release(&got);
}

/* Line ends that are not those of what is taken away stay whole. */
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
		struct text got = cut("codex", some[i].part, some[i].before, &f);

		assert_int_equal(f.code, 0);
		assert_string_equal(got.data, some[i].after);
		text_release(&got);
	}
}

/* --- what a person wrote around cadre ------------------------------------------------------------ */

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
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct arena a = { 0 };
		const char *text = arena_printf(
			&a, "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"%s\"}]}]}}",
			lines[i]);
		struct setup_tally t;
		struct fault f;
		struct text got = put("claude", PART_HOOKS, text, &t, &f);

		assert_int_equal(t.yours, 1);
		assert_int_equal(t.found, 1);
		assert_int_equal(t.changed, 0);
		assert_memory_equal(got.data, text, strlen(text) - 2);
		text_release(&got);
		setup_round_trip("claude", PART_HOOKS, text, strlen(text), NULL);
		arena_release(&a);
	}
}

/* An entry that runs `cadre mcp` in another way than setup writes it. */
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
		struct text got = put(some[i].client, PART_MCP, some[i].text, &t, &f);

		assert_int_equal(f.code, 0);
		assert_int_equal(t.yours, 1);
		assert_int_equal(t.missing + t.changed, 0);
		assert_string_equal(got.data, some[i].text);
		text_release(&got);
		got = cut(some[i].client, PART_MCP, some[i].text, &f);
		assert_int_equal(f.code, 0);
		assert_string_equal(got.data, some[i].text);
		text_release(&got);
	}
}

/* The program's file may have any name: what setup writes with it, it knows again. */
static void a_program_of_another_name_knows_its_own(void **state)
{
	static const struct setup_words w = {
		.command = "/opt/it's/cadre-0.9",
		.line = "'/opt/it'\\''s/cadre-0.9' hook claude"
	};
	static const char *const clients[] = { "claude", "codex", "opencode" };

	(void)state;
	for (int i = 0; i < 3; i++)
		for (int part = PART_MCP; part <= (i ? PART_MCP : PART_HOOKS); part++) {
			const struct setup_client *c = setup_client_named(clients[i]);
			struct setup_draft d = setup_draft_of(NULL, 0);
			struct setup_tally t = { 0 };
			struct fault f = { 0 };

			setup_put(c, (enum setup_part)part, &w, &d, &t, &f);
			t = (struct setup_tally){ 0 };
			setup_put(c, (enum setup_part)part, &w, &d, &t, &f);
			assert_int_equal(t.missing + t.changed + t.yours, 0);
			assert_true(t.found > 0);
			setup_cut(c, (enum setup_part)part, &w, &d, &f);
			assert_int_equal(f.code, 0);
			assert_false(d.there);
			text_release(&d.text);
		}
}

/* A line that speaks of another client or program is none of cadre's. */
static void a_hook_of_another_is_no_hook_of_cadre(void **state)
{
	static const char text[] =
		"{\"hooks\":{\"Stop\":[{\"command\":\"xcadre hook claude\"},"
		"{\"command\":\"cadre hook claudette\"},{\"command\":\"cadre hook codex\"}]}}";
	struct setup_tally t;
	struct fault f;
	struct text got = put("claude", PART_HOOKS, text, &t, &f);

	(void)state;
	assert_int_equal(t.found, 0);
	text_release(&got);
	setup_round_trip("claude", PART_HOOKS, text, strlen(text), NULL);
}

/* --- the marks of the block of instructions ----------------------------------------------------- */

#define BEGIN "<!-- cadre setup: begin -->\n"
#define END "<!-- cadre setup: end -->\n"

/* Neither putting nor taking away touches a text whose marks are not whole. */
static void marks_refused(const char *text, const char *why)
{
	struct fault f;
	struct text got;

	refused("claude", PART_TEXT, text, FAULT_INVALID, why);
	got = cut("claude", PART_TEXT, text, &f);
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
	struct text got = cut("claude", PART_TEXT, two, &f);

	(void)state;
	assert_int_equal(f.code, 0);
	assert_string_equal(got.data, "a\nmine\n");
	text_release(&got);
	got = put("claude", PART_TEXT, two, &t, &f);
	assert_int_equal(t.found, 1);
	assert_int_equal(t.changed, 2);
	assert_null(strstr(got.data, "old"));
	text_release(&got);
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
	diffs_as("a\n", NULL, "--- f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
	diffs_as("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
		 "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
	diffs_as(
		"1\n2\n3\n4\n5\n6\n7\n8\n9\n0\n", "x\n2\n3\n4\n5\n6\n7\n8\n9\n0\ny\n",
		"--- f\n+++ f\n@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -8,3 +8,4 @@\n 8\n 9\n 0\n+y\n");
}

/* --- a file that comes meanwhile ------------------------------------------------------------------ */

static void a_file_made_meanwhile_stays(void **state)
{
	char dir[] = "/tmp/setup-XXXXXX", path[64], got[16] = "";
	struct setup_target t;
	struct fault f = { 0 };
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/mine.json", dir);
	assert_int_equal(setup_target_find(&t, path, "mine.json", NULL, &f), 0);
	assert_int_equal(setup_target_read(&t, &f), 0);
	file = fopen(path, "w");
	fputs("mine", file);
	fclose(file);
	t.draft.there = true;
	text_addf(&t.draft.text, "ours");
	assert_int_equal(setup_target_write(&t, &f), FAULT_CONFLICT);
	assert_non_null(strstr(f.text, "mine.json was changed meanwhile"));
	file = fopen(path, "r");
	assert_non_null(fgets(got, sizeof(got), file));
	fclose(file);
	assert_string_equal(got, "mine");
	setup_target_release(&t);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0); /* and nothing is beside it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_put_where_it_belongs),
		cmocka_unit_test(what_was_empty_stays),
		cmocka_unit_test(instructions_are_a_block),
		cmocka_unit_test(an_entry_of_another_stays),
		cmocka_unit_test(what_cannot_be_read_is_refused),
		cmocka_unit_test(what_changed_is_brought_up_to_date),
		cmocka_unit_test(what_was_added_stays),
		cmocka_unit_test(line_ends_stay),
		cmocka_unit_test(a_persons_hook_stays_alone),
		cmocka_unit_test(a_persons_entry_stays),
		cmocka_unit_test(a_program_of_another_name_knows_its_own),
		cmocka_unit_test(a_hook_of_another_is_no_hook_of_cadre),
		cmocka_unit_test(text_between_stray_marks_is_nobody_elses),
		cmocka_unit_test(prose_that_names_the_marks_stays),
		cmocka_unit_test(two_blocks_are_renewed_and_taken),
		cmocka_unit_test(a_diff_is_unified),
		cmocka_unit_test(a_file_made_meanwhile_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
