/*
 * fixture - a test program with the tools, prompts and resources that MCP's official
 * conformance suite calls.
 *
 * Source: @modelcontextprotocol/conformance, the descriptions of its server scenarios.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/access/token.h"
#include "core/base/alloc.h"
#include "mcp/extra.h"

#define PNG \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
#define WAV "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
#define TEXT(s) "{\"type\":\"text\",\"text\":\"" s "\"}"
#define IMAGE "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}"

/* --- answers --------------------------------------------------------------------------- */

static void answer(struct request *r, enum cache cache, const char *members)
{
	text_adds(answer_begin(r, cache), members);
	answer_end(r);
}

static void answer_text(struct request *r, const char *said)
{
	struct text *out = answer_begin(r, CACHE_NONE);

	text_adds(out, "\"content\":[{\"type\":\"text\",\"text\":");
	text_add_json(out, said);
	text_adds(out, "}]");
	answer_end(r);
}

static json_t *argument(json_t *params, const char *name)
{
	return json_object_get(json_object_get(params, "arguments"), name);
}

/* --- tools that only answer ------------------------------------------------------------ */

#define ANSWERS(name, members)                              \
	static void name(struct request *r, json_t *params) \
	{                                                   \
		(void)params;                               \
		answer(r, CACHE_NONE, members);             \
	}

ANSWERS(simple_text,
	"\"content\":[" TEXT("This is a simple text response for testing.") "]")
ANSWERS(image, "\"content\":[" IMAGE "]")
ANSWERS(audio, "\"content\":[{\"type\":\"audio\",\"data\":\"" WAV
	       "\",\"mimeType\":\"audio/wav\"}]")
ANSWERS(embedded, "\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":"
		  "\"test://embedded-resource\",\"mimeType\":\"text/plain\","
		  "\"text\":\"This is an embedded resource content.\"}}]")
ANSWERS(mixed,
	"\"content\":[" TEXT(
		"Multiple content types test:") "," IMAGE
						",{\"type\":\"resource\",\"resource\":{\"uri\":"
						"\"test://mixed-content-resource\",\"mimeType\":\"application/json\","
						"\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]")
ANSWERS(failing,
	"\"content\":[" TEXT(
		"This tool intentionally returns an error for testing") "],"
									"\"isError\":true")

static void progress(struct request *r, json_t *params)
{
	(void)params;
	for (int done = 0; r->token && done <= 100; done += 50) {
		text_addf(note_begin(r->mcp, "notifications/progress"),
			  "\"progressToken\":%s,\"progress\":%d,\"total\":100", r->token,
			  done);
		note_end(r->mcp, r->stream);
	}
	answer_text(r, "done");
}

static void logging(struct request *r, json_t *params)
{
	(void)params;
	request_log(r, LEVEL_INFO, "Tool execution started");
	request_log(r, LEVEL_INFO, "Tool processing data");
	request_log(r, LEVEL_INFO, "Tool execution completed");
	answer_text(r, "logged");
}

static void needs_sampling(struct request *r, json_t *params)
{
	json_t *meta = json_object_get(params, "_meta");
	json_t *can = json_object_get(meta, META "clientCapabilities");

	if (json_object_get(can, "sampling")) {
		answer_text(r, "the client can sample");
		return;
	}
	r->status = 400;
	answer_error(r, RPC_NO_CAPABILITY, "{\"requiredCapabilities\":{\"sampling\":{}}}",
		     "this needs sampling");
}

/* --- tools that ask a client of the newer protocol ------------------------------------- */

#define ELICIT(key, message, name, type)                                                \
	"\"" key "\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\"," \
	"\"message\":\"" message "\",\"requestedSchema\":{\"type\":\"object\","         \
	"\"properties\":{\"" name "\":{\"type\":\"" type "\"}},\"required\":[\"" name   \
	"\"]}}}"
#define SAMPLE(key, message, most)                                                      \
	"\"" key "\":{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[" \
	"{\"role\":\"user\",\"content\":" TEXT(message) "}],\"maxTokens\":" #most "}}"
#define ROOTS "\"client_roots\":{\"method\":\"roots/list\",\"params\":{}}"

/* Writes `state`, and then a hash of a secret and `state`, so that only this program can make
 * the text. */
static void seal(const char *state, struct text *out)
{
	char keyed[100];
	uint8_t hash[TOKEN_HASH];

	snprintf(keyed, sizeof(keyed), "a secret of the test:%s", state);
	token_hash(keyed, hash);
	text_addf(out, "%s.", state);
	for (int i = 0; i < TOKEN_HASH; i++)
		text_addf(out, "%02x", hash[i]);
}

static bool is_sealed(const char *state, const char *text)
{
	struct text t = { 0 };
	bool same;

	seal(state, &t);
	same = text && strcmp(t.data, text) == 0;
	text_release(&t);
	return same;
}

/* Answers with `requests` as the members of inputRequests, and with a requestState unless
 * `state` is NULL. */
static void ask(struct request *r, const char *requests, const char *state)
{
	struct text *out;

	r->asks = true;
	out = answer_begin(r, CACHE_NONE);
	text_addf(out, "\"inputRequests\":{%s}", requests);
	if (state) {
		text_adds(out, ",\"requestState\":\"");
		seal(state, out);
		text_adds(out, "\"");
	}
	answer_end(r);
}

/* Returns the client's response to the question `key`. Returns NULL if there is no response, or
 * if the response is no object. */
static json_t *response(json_t *params, const char *key)
{
	json_t *all = json_object_get(params, "inputResponses");
	json_t *one = json_object_get(all, key);

	return json_is_object(one) ? one : NULL;
}

/* Whether the request's state is one of `states`. If not, answers the request with an error. */
static bool checks_state(struct request *r, json_t *params, const char *const *states)
{
	const char *text = json_find_text(params, "requestState");

	for (; *states; states++)
		if (is_sealed(*states, text))
			return true;
	answer_error(r, RPC_INVALID_PARAMS, NULL, "requestState is not one of ours");
	return false;
}

static void ask_name(struct request *r, json_t *params)
{
	json_t *given = response(params, "user_name");
	const char *name = json_find_text(json_object_get(given, "content"), "name");
	char said[200];

	if (!name) {
		ask(r, ELICIT("user_name", "What is your name?", "name", "string"), NULL);
		return;
	}
	snprintf(said, sizeof(said), "Hello, %.100s!", name);
	answer_text(r, said);
}

static void ask_sampling(struct request *r, json_t *params)
{
	json_t *given = response(params, "capital_question");
	const char *said = json_find_text(json_object_get(given, "content"), "text");

	if (given)
		answer_text(r, said ? said : "no text");
	else
		ask(r, SAMPLE("capital_question", "What is the capital of France?", 100),
		    NULL);
}

static void ask_roots(struct request *r, json_t *params)
{
	json_t *roots = json_object_get(response(params, "client_roots"), "roots");
	char *said;

	if (!json_is_array(roots)) {
		ask(r, ROOTS, NULL);
		return;
	}
	said = json_dumps(roots, JSON_COMPACT);
	answer_text(r, said);
	free(said);
}

static void ask_with_state(struct request *r, json_t *params)
{
	if (!json_object_get(params, "requestState"))
		ask(r, ELICIT("confirm", "Please confirm", "ok", "boolean"), "confirm");
	else if (checks_state(r, params, (const char *const[]){ "confirm", NULL }))
		answer_text(r, "state-ok");
}

static void ask_all(struct request *r, json_t *params)
{
	if (response(params, "user_name") && response(params, "greeting") &&
	    response(params, "client_roots")) {
		if (checks_state(r, params, (const char *const[]){ "all", NULL }))
			answer_text(r, "all is there");
		return;
	}
	ask(r,
	    ELICIT("user_name", "What is your name?", "name",
		   "string") "," SAMPLE("greeting", "Generate a greeting", 50) "," ROOTS,
	    "all");
}

static void ask_twice(struct request *r, json_t *params)
{
	static const char *const states[] = { "first", "second", NULL };

	if (!json_object_get(params, "requestState"))
		ask(r, ELICIT("step1", "Step 1: What is your name?", "name", "string"),
		    "first");
	else if (!checks_state(r, params, states))
		return;
	else if (response(params, "step2"))
		answer_text(r, "both steps are done");
	else
		ask(r,
		    ELICIT("step2", "Step 2: What is your favorite color?", "color",
			   "string"),
		    "second");
}

/* Asks the client a question of a kind that the client has declared as a capability. */
static void ask_able(struct request *r, json_t *params)
{
	json_t *meta = json_object_get(params, "_meta");
	json_t *can = json_object_get(meta, META "clientCapabilities");

	if (response(params, "greeting") || response(params, "user_name"))
		answer_text(r, "done");
	else if (json_object_get(can, "sampling"))
		ask(r, SAMPLE("greeting", "Generate a greeting", 50), NULL);
	else if (json_object_get(can, "elicitation"))
		ask(r, ELICIT("user_name", "What is your name?", "name", "string"), NULL);
	else
		needs_sampling(r, params);
}

static void ask_for_prompt(struct request *r, json_t *params)
{
	json_t *given = response(params, "user_context");

	if (given)
		answer(r, CACHE_NONE,
		       "\"messages\":[{\"role\":\"user\",\"content\":" TEXT(
			       "With that context.") "}]");
	else
		ask(r,
		    ELICIT("user_context", "What context should the prompt use?",
			   "context", "string"),
		    NULL);
}

/* --- tools that ask a client of the older protocol ------------------------------------- */

/* A question that the client has not answered yet. */
struct question {
	struct question *next;
	struct request *r;
	int number;
	void (*answered)(struct request *r, json_t *result);
};

static struct question *questions;
static int asked;

static void question(struct request *r, const char *method, const char *params,
		     void (*answered)(struct request *r, json_t *result))
{
	struct question *q = xcalloc(1, sizeof(*q));
	struct text out = { 0 };

	*q = (struct question){ questions, r, ++asked, answered };
	questions = q;
	request_hold(r);
	text_addf(
		&out,
		"{\"jsonrpc\":\"2.0\",\"id\":\"q%d\",\"method\":\"%s\",\"params\":%s}\n",
		q->number, method, params);
	r->mcp->options.send(r->mcp->options.arg,
			     &(struct mcp_message){ .text = out.data,
						    .len = out.len,
						    .stream = r->stream });
	text_release(&out);
}

static void answered(struct mcp *m, json_t *message)
{
	const char *id = json_find_text(message, "id");
	struct question *q;
	int number;

	if (!id || sscanf(id, "q%d", &number) != 1)
		return;
	for (struct question **at = &questions; (q = *at); at = &q->next) {
		struct request *r = m->requests;

		if (q->number != number)
			continue;
		*at = q->next;
		while (r && r != q->r)
			r = r->next;
		if (r) /* NULL: the request was cancelled */
			q->answered(r, json_object_get(message, "result"));
		free(q);
		return;
	}
}

static void tell_sampled(struct request *r, json_t *result)
{
	const char *text = json_find_text(json_object_get(result, "content"), "text");
	char said[300];

	snprintf(said, sizeof(said), "LLM response: %.200s", text ? text : "none");
	answer_text(r, said);
}

static void tell_elicited(struct request *r, json_t *result)
{
	char *content = json_dumps(json_object_get(result, "content"), JSON_COMPACT);
	const char *action = json_find_text(result, "action");
	char said[600];

	snprintf(said, sizeof(said),
		 "Elicitation completed: action=%.20s, content=%.500s",
		 action ? action : "none", content ? content : "{}");
	answer_text(r, said);
	free(content);
}

static void sampling(struct request *r, json_t *params)
{
	const char *prompt = json_string_value(argument(params, "prompt"));
	struct text out = { 0 };

	text_adds(&out,
		  "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
		  "\"text\":");
	text_add_json(&out, prompt ? prompt : "");
	text_adds(&out, "}}],\"maxTokens\":100}");
	question(r, "sampling/createMessage", out.data, tell_sampled);
	text_release(&out);
}

static void elicitation(struct request *r, json_t *params)
{
	const char *message = json_string_value(argument(params, "message"));
	struct text out = { 0 };

	text_adds(&out,
		  "{\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
		  "\"username\":{\"type\":\"string\",\"description\":\"User's "
		  "response\"},\"email\":{\"type\":\"string\",\"description\":"
		  "\"User's email address\"}},\"required\":[\"username\",\"email\"]},"
		  "\"message\":");
	text_add_json(&out, message ? message : "");
	text_adds(&out, "}");
	question(r, "elicitation/create", out.data, tell_elicited);
	text_release(&out);
}

static void elicit_defaults(struct request *r, json_t *params)
{
	(void)params;
	question(r, "elicitation/create",
		 "{\"message\":\"Check these\",\"requestedSchema\":{\"type\":\"object\","
		 "\"properties\":{"
		 "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
		 "\"age\":{\"type\":\"integer\",\"default\":30},"
		 "\"score\":{\"type\":\"number\",\"default\":95.5},"
		 "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\","
		 "\"pending\"],\"default\":\"active\"},"
		 "\"verified\":{\"type\":\"boolean\",\"default\":true}}}}",
		 tell_elicited);
}

#define CHOICE(value, title) "{\"const\":\"" value "\",\"title\":\"" title "\"}"

static void elicit_enums(struct request *r, json_t *params)
{
	(void)params;
	question(
		r, "elicitation/create",
		"{\"message\":\"Choose\",\"requestedSchema\":{\"type\":\"object\","
		"\"properties\":{"
		"\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\","
		"\"option2\",\"option3\"]},"
		"\"titledSingle\":{\"type\":\"string\",\"oneOf\":[" CHOICE("value1", "First Option") "," CHOICE(
			"value2",
			"Second Option") "]},"
					 "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
					 "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
					 "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
					 "\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
					 "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":[" CHOICE(
						 "value1",
						 "First Choice") "," CHOICE("value2",
									    "Second Choice") "]}}}}}",
		tell_elicited);
}

/* --- prompts ----------------------------------------------------------------------------- */

#define MESSAGE(content) "{\"role\":\"user\",\"content\":" content "}"

ANSWERS(simple_prompt,
	"\"messages\":[" MESSAGE(TEXT("This is a simple prompt for testing.")) "]")
ANSWERS(image_prompt, "\"messages\":[" MESSAGE(IMAGE) "," MESSAGE(
			      TEXT("Please analyze the image above.")) "]")

static void argument_prompt(struct request *r, json_t *params)
{
	const char *one = json_string_value(argument(params, "arg1"));
	const char *two = json_string_value(argument(params, "arg2"));
	struct text *out;
	char said[300];

	snprintf(said, sizeof(said),
		 "Prompt with arguments: arg1='%.100s', arg2='%.100s'", one ? one : "",
		 two ? two : "");
	out = answer_begin(r, CACHE_NONE);
	text_adds(out, "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
		       "\"text\":");
	text_add_json(out, said);
	text_adds(out, "}}]");
	answer_end(r);
}

static void resource_prompt(struct request *r, json_t *params)
{
	const char *uri = json_string_value(argument(params, "resourceUri"));
	struct text *out = answer_begin(r, CACHE_NONE);

	text_adds(out, "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
		       "\"resource\",\"resource\":{\"uri\":");
	text_add_json(out, uri ? uri : "");
	text_adds(out,
		  ",\"mimeType\":\"text/plain\",\"text\":\"Embedded resource content "
		  "for testing.\"}}}," MESSAGE(
			  TEXT("Please process the embedded resource above.")) "]");
	answer_end(r);
}

/* --- resources ------------------------------------------------------------------------- */

#define CONTENTS(name, members)                                          \
	static void name(struct request *r, json_t *params)              \
	{                                                                \
		(void)params;                                            \
		answer(r, CACHE_ALWAYS, "\"contents\":[{" members "}]"); \
	}

CONTENTS(static_text, "\"uri\":\"test://static-text\",\"mimeType\":\"text/plain\","
		      "\"text\":\"This is the content of the static text resource.\"")
CONTENTS(static_binary, "\"uri\":\"test://static-binary\",\"mimeType\":\"image/png\","
			"\"blob\":\"" PNG "\"")
CONTENTS(watched, "\"uri\":\"test://watched-resource\",\"mimeType\":\"text/plain\","
		  "\"text\":\"watch\"")

static void template(struct request *r, json_t *params)
{
	const char *uri = json_find_text(params, "uri");
	struct text *out;
	char id[40];

	if (sscanf(uri, "test://template/%39[^/]/data", id) != 1) {
		answer_no_resource(r, uri, "no such resource");
		return;
	}
	out = answer_begin(r, CACHE_ALWAYS);
	text_adds(out, "\"contents\":[{\"uri\":");
	text_add_json(out, uri);
	text_addf(out,
		  ",\"mimeType\":\"application/json\",\"text\":\"{\\\"id\\\":\\\"%s\\\","
		  "\\\"templateTest\\\":true,\\\"data\\\":\\\"Data for ID: %s\\\"}\"}]",
		  id, id);
	answer_end(r);
}

/* --- tables ------------------------------------------------------------------------------ */

#define SCHEMA(members) "{\"type\":\"object\",\"properties\":{" members "}}"
#define TOOL_OF(name, run, schema)                                            \
	{                                                                     \
		name,                                                         \
			"{\"name\":\"" name                                   \
			"\",\"description\":\"Of the official test suite.\"," \
			"\"inputSchema\":" schema "}",                        \
			run                                                   \
	}
#define TOOL(name, run) TOOL_OF(name, run, SCHEMA(""))

static const struct extra tools[] = {
	TOOL("test_simple_text", simple_text),
	TOOL("test_image_content", image),
	TOOL("test_audio_content", audio),
	TOOL("test_embedded_resource", embedded),
	TOOL("test_multiple_content_types", mixed),
	TOOL("test_error_handling", failing),
	TOOL("test_tool_with_progress", progress),
	TOOL("test_tool_with_logging", logging),
	TOOL("test_logging_tool", logging),
	TOOL("test_missing_capability", needs_sampling),
	TOOL("test_streaming_elicitation", ask_name),
	TOOL("test_input_required_result_elicitation", ask_name),
	TOOL("test_input_required_result_sampling", ask_sampling),
	TOOL("test_input_required_result_list_roots", ask_roots),
	TOOL("test_input_required_result_request_state", ask_with_state),
	TOOL("test_input_required_result_tampered_state", ask_with_state),
	TOOL("test_input_required_result_multiple_inputs", ask_all),
	TOOL("test_input_required_result_multi_round", ask_twice),
	TOOL("test_input_required_result_capabilities", ask_able),
	TOOL_OF("test_sampling", sampling, SCHEMA("\"prompt\":{\"type\":\"string\"}")),
	TOOL_OF("test_elicitation", elicitation,
		SCHEMA("\"message\":{\"type\":\"string\"}")),
	TOOL("test_elicitation_sep1034_defaults", elicit_defaults),
	TOOL("test_elicitation_sep1330_enums", elicit_enums),
	TOOL_OF("json_schema_2020_12_tool", simple_text,
		"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
		"\"type\":\"object\",\"$defs\":{\"address\":{\"$anchor\":\"addressDef\","
		"\"type\":\"object\",\"properties\":{\"street\":{\"type\":\"string\"},"
		"\"city\":{\"type\":\"string\"}}}},\"properties\":{\"name\":{\"type\":"
		"\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
		"\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
		"\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
		"\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":"
		"[\"email\"]}]}],\"if\":{\"properties\":{\"contactMethod\":{\"const\":"
		"\"phone\"}},\"required\":[\"contactMethod\"]},\"then\":{\"required\":"
		"[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
		"\"additionalProperties\":false}"),
	{ 0 },
};

#define PROMPT_OF(name, run, arguments)                                       \
	{                                                                     \
		name,                                                         \
			"{\"name\":\"" name                                   \
			"\",\"description\":\"Of the official test suite.\"," \
			"\"arguments\":[" arguments "]}",                     \
			run                                                   \
	}
#define NEEDS(name) "{\"name\":\"" name "\",\"description\":\"A text\",\"required\":true}"

static const struct extra prompts[] = {
	PROMPT_OF("test_simple_prompt", simple_prompt, ""),
	PROMPT_OF("test_prompt_with_arguments", argument_prompt,
		  NEEDS("arg1") "," NEEDS("arg2")),
	PROMPT_OF("test_prompt_with_embedded_resource", resource_prompt,
		  NEEDS("resourceUri")),
	PROMPT_OF("test_prompt_with_image", image_prompt, ""),
	PROMPT_OF("test_input_required_result_prompt", ask_for_prompt, ""),
	{ 0 },
};

#define RESOURCE(uri, name, type, run)                              \
	{                                                           \
		uri,                                                \
			"{\"uri\":\"" uri "\",\"name\":\"" name     \
			"\",\"description\":\"Of the official "     \
			"test suite.\",\"mimeType\":\"" type "\"}", \
			run                                         \
	}

static const struct extra resources[] = {
	RESOURCE("test://static-text", "static-text", "text/plain", static_text),
	RESOURCE("test://static-binary", "static-binary", "image/png", static_binary),
	RESOURCE("test://watched-resource", "watched-resource", "text/plain", watched),
	{ 0 },
};

static const struct extra templates[] = {
	{ "test://template/",
	  "{\"uriTemplate\":\"test://template/{id}/data\",\"name\":\"template\","
	  "\"description\":\"Of the official test suite.\",\"mimeType\":"
	  "\"application/json\"}",
	  template },
	{ 0 },
};

const struct extras extras = { .tools = tools,
			       .prompts = prompts,
			       .resources = resources,
			       .templates = templates,
			       .answered = answered };
