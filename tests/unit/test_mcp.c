/* test_mcp - the MCP door without a transport, and the number of model tokens that the list of
 * tools takes. */
#include "mcp/mcp.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "mcp/rpc.h"
#include "mcp/uri.h"

#define HELLO                                                                  \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{" \
	"\"protocolVersion\":\"2025-11-25\"}}"
#define META                                                      \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" \
	"\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

enum { TOOLS_MAX = 15, TOKENS_MAX = 3000, SAID_MAX = 64 };

/* A peer, and the messages that the peer received, in order. */
struct peer {
	struct home home;
	struct mcp *mcp;
	json_t *said[SAID_MAX];
	size_t n_said, bytes;
	char dir[64];
};

static void hear(void *arg, const struct mcp_message *message)
{
	const size_t len = message->len;
	struct peer *p = arg;

	assert_null(message->stream);
	assert_true(p->n_said < SAID_MAX);
	assert_ptr_equal(memchr(message->text, '\n', len), message->text + len - 1);
	p->said[p->n_said] = json_loadb(message->text, len, 0, NULL);
	assert_non_null(p->said[p->n_said++]);
	p->bytes = len;
}

static int begin(void **state)
{
	struct peer *p = calloc(1, sizeof(*p));
	const char *temp = getenv("TMPDIR");
	struct mcp_options o = { .home = &p->home,
				 .direct = true,
				 .acts_as_operator = true,
				 .send = hear,
				 .arg = p };
	struct fault f = { 0 };

	snprintf(p->dir, sizeof(p->dir), "%.40s/mcp.XXXXXX", temp ? temp : "/tmp");
	if (!mkdtemp(p->dir) || home_find(&p->home, p->dir, HOME_MAKE, &f) < 0 ||
	    mcp_open(&p->mcp, &o, &f))
		return -1;
	*state = p;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

static int end(void **state)
{
	struct peer *p = *state;
	int rc;

	mcp_close(p->mcp);
	for (size_t i = 0; i < p->n_said; i++)
		json_decref(p->said[i]);
	rc = nftw(p->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(p);
	return rc;
}

static void say(struct peer *p, const char *message)
{
	mcp_handle(p->mcp, message, strlen(message), NULL);
}

/* Sends `message` and returns its answer. There must be exactly one answer. */
static json_t *ask(struct peer *p, const char *message)
{
	size_t n = p->n_said;

	say(p, message);
	assert_int_equal(p->n_said, n + 1);
	return p->said[n];
}

static int code_of(json_t *message)
{
	return (int)json_integer_value(
		json_object_get(json_object_get(message, "error"), "code"));
}

static json_t *result_of(json_t *message)
{
	json_t *result = json_object_get(message, "result");

	assert_non_null(result);
	return result;
}

/* --- stories ------------------------------------------------------------------------ */

static void costs_a_model_little(void **state)
{
	struct peer *p = *state;
	json_t *result;
	char *text;
	size_t n, bytes;

	ask(p, HELLO);
	result = result_of(
		ask(p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"));
	text = json_dumps(result, JSON_COMPACT);
	bytes = strlen(text);
	free(text);
	n = json_array_size(json_object_get(result, "tools"));
	printf("%zu tools, %zu tokens (%zu bytes)\n", n, (bytes + 3) / 4, bytes);
	assert_in_range(n, 1, TOOLS_MAX);
	assert_in_range((bytes + 3) / 4, 1, TOKENS_MAX);
	assert_false(access(p->home.dir, F_OK)); /* the state's folder exists */
	assert_int_equal(mcp_fd(p->mcp), -1); /* no state was opened */
}

/* The list of tools describes each argument only once, since a model reads the whole list. */
static void describes_an_argument_once(void **state)
{
	struct peer *p = *state;
	json_t *tools, *tool, *props, *prop, *said = json_object();
	const char *name, *doc;
	char key[200];
	size_t i;

	ask(p, HELLO);
	tools = json_object_get(result_of(ask(p, "{\"jsonrpc\":\"2.0\",\"id\":1,"
						 "\"method\":\"tools/list\"}")),
				"tools");
	json_array_foreach(tools, i, tool) {
		props = json_object_get(json_object_get(tool, "inputSchema"),
					"properties");
		json_object_foreach(props, name, prop) {
			doc = json_string_value(json_object_get(prop, "description"));
			if (!doc)
				continue;
			snprintf(key, sizeof(key), "%s: %s", name, doc);
			assert_null(json_object_get(said, key));
			json_object_set_new(said, key, json_null());
		}
	}
	assert_true(json_object_size(said) > 20);
	assert_non_null(json_object_get(said, "team: Default: the caller's team."));
	json_decref(said);
}

static void tells_eras_apart(void **state)
{
	struct peer *p = *state;
	json_t *r;

	assert_int_equal(
		code_of(ask(p,
			    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}")),
		RPC_INVALID_PARAMS);
	r = result_of(ask(p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
			     "\"params\":{" META "}}"));
	assert_string_equal(json_string_value(json_object_get(r, "resultType")),
			    "complete");
	ask(p, HELLO);
	r = result_of(
		ask(p, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"tools/list\"}"));
	assert_null(json_object_get(r, "resultType"));
	assert_int_equal(code_of(ask(p,
				     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\","
				     "\"params\":{" META "}}")),
			 RPC_NO_METHOD);
}

/* Returns the JSON in the text of a tool's result. */
static json_t *text_of(json_t *result)
{
	json_t *content = json_array_get(json_object_get(result, "content"), 0);

	assert_null(json_object_get(result, "structuredContent"));
	return json_loads(json_string_value(json_object_get(content, "text")), 0, NULL);
}

static void answers_faults_as_results(void **state)
{
	struct peer *p = *state;
	json_t *r, *fault;

	ask(p, HELLO);
	r = result_of(ask(
		p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
		   "\"name\":\"task\",\"arguments\":{\"action\":\"clam\"}}}"));
	assert_true(json_is_true(json_object_get(r, "isError")));
	fault = text_of(r);
	assert_string_equal(json_string_value(json_object_get(fault, "code")), "invalid");
	assert_string_equal(json_string_value(json_object_get(fault, "where")),
			    "/action");
	json_decref(fault);
	assert_int_equal(
		code_of(ask(p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
			       "\"params\":{\"name\":\"tusk\"}}")),
		RPC_INVALID_PARAMS);
}

/* If a state cannot be opened, a request that calls no tool gets an error, not a result. */
static void answers_faults_as_errors(void **state)
{
	struct peer *p = *state;
	char path[sizeof(p->home.dir) + 10];
	FILE *file;

	snprintf(path, sizeof(path), "%s/state.db", p->home.dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%05000d", 0);
	fclose(file);
	ask(p, HELLO);
	assert_int_equal(
		code_of(ask(
			p,
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}")),
		RPC_INTERNAL);
}

static const char make_team[] =
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"team\","
	"\"arguments\":{\"action\":\"create\",\"name\":\"alpha\",\"roles\":[{\"name\":\"bob\"}]}}}";
static const char wait_for_mail[] =
	"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"inbox\","
	"\"arguments\":{\"action\":\"receive\",\"agent\":\"bob\",\"wait_seconds\":30}}}";

static void drops_waits_only(void **state)
{
	struct peer *p = *state;

	ask(p, HELLO);
	result_of(ask(p, make_team));
	say(p, wait_for_mail);
	assert_int_equal(p->n_said, 2);
	assert_false(mcp_idle(p->mcp));
	say(p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	       "\"params\":{\"requestId\":\"2\"}}"); /* the text "2" is not the id 2 */
	assert_false(mcp_idle(p->mcp));
	say(p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	       "\"params\":{\"requestId\":2}}");
	assert_true(mcp_idle(p->mcp));
	say(p, wait_for_mail);
	assert_false(mcp_idle(p->mcp));
	mcp_end(p->mcp);
	assert_true(mcp_idle(p->mcp));
	assert_int_equal(p->n_said, 2);
}

/* --- parts ---------------------------------------------------------------------------- */

static void reads_lines(void **state)
{
	struct lines in = { 0 };
	int ends[2];
	char *line;
	size_t len;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "one\n \r\n\ntw", 10), 10);
	assert_true(lines_read(&in, ends[0]));
	assert_int_equal(lines_next(&in, &line, &len), LINE_TAKEN);
	assert_string_equal(line, "one");
	assert_int_equal(lines_next(&in, &line, &len), LINE_NONE);
	assert_int_equal(write(ends[1], "o\nend", 5), 5);
	close(ends[1]);
	assert_true(lines_read(&in, ends[0]));
	assert_int_equal(lines_next(&in, &line, &len), LINE_TAKEN);
	assert_string_equal(line, "two");
	assert_int_equal(lines_next(&in, &line, &len), LINE_NONE);
	assert_true(lines_read(&in, ends[0]));
	assert_true(in.ended);
	assert_int_equal(lines_next(&in, &line, &len), LINE_TAKEN);
	assert_string_equal(line, "end");
	assert_int_equal(lines_next(&in, &line, &len), LINE_NONE);
	close(ends[0]);
	lines_release(&in);
}

static void reads_uris(void **state)
{
	struct uri uri;

	(void)state;
	assert_true(uri_read(&uri, "cadre://task/alpha/007"));
	assert_int_equal(uri.kind, URI_TASK);
	assert_string_equal(uri.team, "alpha");
	assert_string_equal(uri.rest, "007");
	assert_true(uri_read(&uri, "cadre://team/a"));
	for (const char **bad =
		     (const char *[]){ "", "cadre://", "cadre://team/", "cadre://team/a/",
				       "cadre://team/a/b", "cadre://task/a",
				       "cadre://task/a/", "cadre://task/a/../b",
				       "cadre://team/%41", "CADRE://team/a",
				       "cadre://inbox/a/b/c", NULL };
	     *bad; bad++)
		assert_false(uri_read(&uri, *bad));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(costs_a_model_little, begin, end),
		cmocka_unit_test_setup_teardown(describes_an_argument_once, begin, end),
		cmocka_unit_test_setup_teardown(tells_eras_apart, begin, end),
		cmocka_unit_test_setup_teardown(answers_faults_as_results, begin, end),
		cmocka_unit_test_setup_teardown(answers_faults_as_errors, begin, end),
		cmocka_unit_test_setup_teardown(drops_waits_only, begin, end),
		cmocka_unit_test(reads_lines),
		cmocka_unit_test(reads_uris),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
