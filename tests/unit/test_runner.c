/* The output of clients while a turn runs. The text is kept, and the session id and the counts
 * of tokens are found in the output. Unexpected output does no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/turn/runner_client.h"

struct said {
	const char *client, *lines, *text, *session;
	int64_t tokens_in, tokens_out, cost;
};

static const struct said said[] = {
	{ "claude",
	  "{\"type\":\"system\",\"session_id\":\"s-1\"}\n"
	  "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"},"
	  "{\"type\":\"tool_use\",\"name\":\"x\"},{\"type\":\"text\",\"text\":\"there\\n\"}]}}\n"
	  "{\"type\":\"result\",\"total_cost_usd\":0.0125,\"usage\":{\"input_tokens\":3,"
	  "\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":100,"
	  "\"output_tokens\":7}}",
	  "hi\nthere\n", "s-1", 123, 7, 12500 },
	{ "codex --full-auto",
	  "{\"type\":\"thread.started\",\"thread_id\":\"t_2\"}\n"
	  "{\"type\":\"item.completed\",\"item\":{\"type\":\"reasoning\",\"text\":\"hm\"}}\n"
	  "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"hi\"}}\n"
	  "{\"type\":\"error\",\"message\":\"slow\"}\n"
	  "{\"type\":\"turn.failed\",\"error\":{\"message\":\"lost\"}}\n"
	  "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":5,\"output_tokens\":6}}",
	  "hi\nslow\nlost\n", "t_2", 5, 6, 0 },
	{ "gemini",
	  "{\"type\":\"init\",\"session_id\":\"g3\"}\n"
	  "{\"type\":\"message\",\"role\":\"user\",\"content\":\"?\"}\n"
	  "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"h\"}\n"
	  "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"i\"}\n"
	  "{\"type\":\"result\",\"stats\":{\"input_tokens\":8,\"output_tokens\":9}}",
	  "hi\n", "g3", 8, 9, 0 },
	{ "opencode",
	  "{\"type\":\"step_start\",\"sessionID\":\"ses_4\"}\n"
	  "{\"type\":\"text\",\"part\":{\"text\":\"hi\"}}\n"
	  "{\"type\":\"step_finish\",\"part\":{\"cost\":0.5,\"tokens\":{\"input\":1,\"output\":2,"
	  "\"reasoning\":3,\"cache\":{\"read\":4,\"write\":5}}}}\n"
	  "{\"type\":\"step_finish\",\"part\":{\"cost\":0.25,\"tokens\":{\"input\":1,\"output\":1}}}",
	  "hi\n", "ses_4", 11, 6, 750000 },
	/* A session id that is not a plain word for a shell is dropped. A count is never
	 * negative, and is limited so that a sum fits 64 bits. */
	{ "claude",
	  "{\"session_id\":\"s;reboot\"}\n{\"session_id\":\"-p\"}\n{\"session_id\":\"\"}\n"
	  "{\"session_id\":7}\n{\"type\":\"assistant\"}\n"
	  "{\"type\":\"result\",\"total_cost_usd\":-1,\"usage\":{\"input_tokens\":-5,"
	  "\"output_tokens\":1e300}}",
	  "", "", 0, 1000000000000, 0 },
	{ "opencode",
	  "{\"type\":\"step_finish\",\"part\":{\"cost\":1e12,\"tokens\":{\"input\":9e18,"
	  "\"output\":999999999999}}}\n"
	  "{\"type\":\"step_finish\",\"part\":{\"cost\":1,\"tokens\":{\"input\":9e18,\"output\":1}}}",
	  "", "", 1000000000000, 1000000000000, 1000000000000 },
	{ "codex", "{\"type\":\"turn.failed\"}\n[1]\nnot json\n{half",
	  "[1]\nnot json\n{half\n", "", 0, 0, 0 },
	{ "make", "{\"session_id\":\"s\"}", "{\"session_id\":\"s\"}", "", 0, 0, 0 },
};

static const struct {
	const char *client, *line;
	bool limited;
	int64_t until;
} limits[] = {
	{ "claude",
	  "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\","
	  "\"resetsAt\":1778565600,\"rateLimitType\":\"five_hour\"}}",
	  true, 1778565600000 },
	{ "claude",
	  "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"allowed_warning\","
	  "\"resetsAt\":1778565600}}",
	  false, 1778565600000 },
	{ "claude",
	  "{\"type\":\"result\",\"is_error\":true,\"result\":\"You've hit your limit\"}",
	  true, 0 },
	{ "claude", "{\"type\":\"result\",\"result\":\"The rate limit is 5\"}", false,
	  0 },
	{ "codex", "{\"type\":\"error\",\"message\":\"You've hit your usage limit.\"}",
	  true, 0 },
	{ "codex",
	  "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\","
	  "\"text\":\"usage limit\"}}",
	  false, 0 },
	{ "gemini",
	  "{\"type\":\"result\",\"status\":\"error\",\"error\":{\"message\":"
	  "\"You have exhausted your daily quota on this model.\"}}",
	  true, 0 },
	{ "opencode",
	  "{\"type\":\"error\",\"error\":{\"name\":\"APIError\",\"data\":{\"message\":"
	  "\"no\",\"statusCode\":429}}}",
	  true, 0 },
};

/* Only the client's own messages can report that a usage limit is reached. The same words in
 * the model's text do not count. */
static void a_limit_is_heard(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		struct runner_told told = { 0 };

		runner_client_take(runner_client_of(limits[i].client), limits[i].line,
				   strlen(limits[i].line), &told);
		runner_client_end(runner_client_of(limits[i].client), &told);
		assert_int_equal(told.limited, limits[i].limited);
		assert_int_equal(told.limited_until, limits[i].until);
		runner_told_release(&told);
	}
}

static void what_clients_print_is_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
		const struct runner_client *client = runner_client_of(said[i].client);
		struct runner_told told = { 0 };

		for (const char *s = said[i].lines; *s; s++)
			runner_client_take(client, s, 1, &told);
		runner_client_end(client, &told);
		text_add(&told.text, "", 1);
		assert_string_equal(told.text.data, said[i].text);
		assert_string_equal(told.session, said[i].session);
		assert_int_equal(told.tokens_in, said[i].tokens_in);
		assert_int_equal(told.tokens_out, said[i].tokens_out);
		assert_int_equal(told.cost, said[i].cost);
		runner_told_release(&told);
	}
}

static void a_session_that_is_too_long_is_none(void **state)
{
	struct runner_told told = { 0 };
	char line[300];

	(void)state;
	memset(line, 'a', sizeof(line));
	memcpy(line, "{\"session_id\":\"", 15);
	memcpy(line + sizeof(line) - 2, "\"}", 2);
	runner_client_take(runner_client_of("claude"), line, sizeof(line), &told);
	runner_client_end(runner_client_of("claude"), &told);
	assert_string_equal(told.session, "");
	runner_told_release(&told);
}

/* Feeds a line that repeats `part` `n` times, in large pieces, as a guest sends output. */
static void take_long(const char *part, size_t n, struct runner_told *told)
{
	struct text line = { 0 };

	for (size_t i = 0; i < n; i++)
		text_add(&line, part, strlen(part));
	text_add(&line, "\n", 1);
	for (size_t at = 0; at < line.len; at += 65536)
		runner_client_take(runner_client_of("claude"), line.data + at,
				   line.len - at < 65536 ? line.len - at : 65536, told);
	text_release(&line);
}

/* A line that is too long, or has too many values, is skipped to its end. The skipped line is
 * not shown as the model's text. The lines behind this line are read. */
static void a_line_that_is_too_long_is_passed_over(void **state)
{
	static const char answer[] =
		"{\"type\":\"assistant\",\"session_id\":\"s\",\"message\":"
		"{\"content\":[{\"type\":\"text\",\"text\":\"so\"}]}}\n";
	struct runner_told told = { 0 };

	(void)state;
	take_long("{\"type\":", 1 << 20, &told);
	take_long("{\"a\":[{},", 1 << 14, &told);
	runner_client_take(runner_client_of("claude"), answer, strlen(answer), &told);
	take_long("{", 65 << 10, &told);
	runner_client_end(runner_client_of("claude"), &told);
	text_add(&told.text, "", 1);
	assert_string_equal(told.text.data,
			    "[cadre: a line of 8388608 bytes was left out]\n"
			    "[cadre: a line of 147456 bytes was left out]\nso\n"
			    "[cadre: a line of 66560 bytes was left out]\n");
	assert_string_equal(told.session, "s");
	runner_told_release(&told);
}

/* Before version 2.1.277 Claude Code prints the cost of the turn. From that version on, Claude
 * Code prints the cost of the whole session. */
static void versions_count_from_elsewhere(void **state)
{
	static const struct {
		const char *client, *line;
		bool tokens, cost;
	} cases[] = {
		{ "claude", "{\"claude_code_version\":\"2.1.276\"}", false, false },
		{ "claude", "{\"claude_code_version\":\"2.1.277\"}", false, true },
		{ "claude", "{\"claude_code_version\":\"2.2.0\"}", false, true },
		{ "claude", "{\"claude_code_version\":\"3.0.1-beta\"}", false, true },
		{ "claude", "{\"claude_code_version\":\"new\"}", false, false },
		{ "claude", "{\"claude_code_version\":3}", false, false },
		{ "codex", "{\"type\":\"thread.started\"}", true, false },
		{ "gemini", "{\"claude_code_version\":\"2.1.277\"}", false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct runner_told told = { 0 };

		const struct runner_client *client = runner_client_of(cases[i].client);

		runner_client_take(client, cases[i].line, strlen(cases[i].line), &told);
		runner_client_end(client, &told);
		assert_int_equal(told.whole_tokens, cases[i].tokens);
		assert_int_equal(told.whole_cost, cases[i].cost);
		runner_told_release(&told);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_is_heard),
		cmocka_unit_test(what_clients_print_is_understood),
		cmocka_unit_test(a_session_that_is_too_long_is_none),
		cmocka_unit_test(a_line_that_is_too_long_is_passed_over),
		cmocka_unit_test(versions_count_from_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
