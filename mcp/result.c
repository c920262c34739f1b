/*
 * result - the answer to a tool call, or of a resource: one text, no longer than the client
 * shows.
 *
 * Of four common clients two show a model only `structuredContent` where there is one, and
 * two only the text; and each cuts a long answer in its own way, one of them in the middle
 * and without a word.  So the text says all, within a budget that the state keeps to
 * (struct form), and the structured form is only for a client that asks for it.
 */
#include "core/call/space.h"
#include "mcp/mcp_peer.h"

#include <stdlib.h>
#include <string.h>

enum {
	TOKEN = 4, /* bytes, as clients reckon */
	TOKENS_LEAST = 750,
	TOKENS_MOST = 250000,
	HINT = 400, /* bytes kept for what is added to the state's answer */
};

/* Clients that show more of an answer than others, by the name they give themselves. */
static const struct {
	const char *name;
	int64_t tokens;
} known[] = {
	{ "claude-code", 10000 },
	{ "gemini-cli-mcp-client", 8000 },
	{ "opencode", 10000 },
};

int64_t result_tokens(const struct mcp *m, const char *client)
{
	int64_t most = m->options.home->settings.config.mcp_max_result_tokens;

	for (size_t i = 0; client && i < sizeof(known) / sizeof(*known); i++)
		if (strncmp(client, known[i].name, strlen(known[i].name)) == 0 &&
		    known[i].tokens > most)
			return known[i].tokens;
	return most;
}

/* Bytes of an answer of so many tokens, without those of the hint. */
static size_t result_most_of(int64_t tokens)
{
	return (size_t)(tokens * TOKEN) - HINT;
}

void result_form_read(struct request *r)
{
	r->reads = true;
	r->form = (struct form){ .most = result_most_of(r->tokens) };
}

int result_form(struct request *r, json_t *args, struct fault *f)
{
	json_t *asked = json_object_get(args, "max_result_tokens");
	int64_t tokens = r->tokens;

	if (asked && !json_is_null(asked)) {
		tokens = json_integer_value(asked);
		if (tokens < TOKENS_LEAST || tokens > TOKENS_MOST)
			return fault_set(f, FAULT_INVALID, "/max_result_tokens",
					 "must be a number from %d to %d", TOKENS_LEAST,
					 TOKENS_MOST);
	}
	json_object_del(args, "max_result_tokens");
	r->form = (struct form){ .brief = !r->mcp->options.output_schemas,
				 .tells = true,
				 .most = result_most_of(tokens) };
	return 0;
}

/* How to go on, where the answer is not whole. */
static void find_hint(struct text *hint, const struct request *r, const char *json)
{
	json_t *answer;

	if (!strstr(json, "\"more\":true") && !strstr(json, "_size\":"))
		return;
	answer = json_loads(json, 0, NULL);
	follow_hint(r, answer, hint);
	json_decref(answer);
}

/* Writes the answer as a text, with the hint as its last member. */
static void write_text(struct text *out, const char *json, const struct text *hint)
{
	struct text whole = { 0 };

	text_adds(&whole, json);
	if (hint->len) {
		whole.len--; /* the closing brace */
		text_adds(&whole,
			  whole.data[whole.len - 1] == '{' ? "\"hint\":" : ",\"hint\":");
		text_add_json(&whole, hint->data);
		text_add(&whole, "}", 1);
	}
	text_add_json(out, whole.data);
	text_release(&whole);
}

void result_text(struct request *r, const char *json, struct text *out)
{
	struct text hint = { 0 };

	find_hint(&hint, r, json);
	write_text(out, json, &hint);
	text_release(&hint);
}

/* `hints`: how to go on is added. */
static void write_parts(struct request *r, const char *json, bool is_error, bool hints)
{
	struct text hint = { 0 }, *out = answer_begin(r, CACHE_NONE);

	if (hints)
		find_hint(&hint, r, json);
	if (hints && !hint.len)
		wait_hint(r, json, &hint);
	text_adds(out, "\"content\":[{\"type\":\"text\",\"text\":");
	write_text(out, json, &hint);
	text_adds(out, "}]");
	if (r->mcp->options.output_schemas) {
		text_adds(out, ",\"structuredContent\":");
		text_adds(out, json);
	}
	if (is_error)
		text_adds(out, ",\"isError\":true");
	text_release(&hint);
	answer_end(r);
}

void result_fault(struct request *r, const struct fault *f)
{
	struct text t = { 0 };

	fault_write(f, HINT_TOOL, &t);
	write_parts(r, t.data, true, false);
	text_release(&t);
}

/* Refuses an answer that was given before, to a call that comes again, and is longer than
 * this caller is shown. */
static void refuse_long(struct request *r, size_t len)
{
	struct fault f = { 0 };

	fault_set(&f, FAULT_EXHAUSTED, "/max_result_tokens",
		  "the answer takes %zu tokens", len / TOKEN);
	fault_hint(&f, "%s",
		   r->op->flags & OP_WRITE
			   ? "The call is done. Look at what it did by pages."
			   : "Ask for less, or with a larger max_result_tokens.");
	result_fault(r, &f);
}

void result_write(struct request *r, const char *json)
{
	size_t len = strlen(json);

	if (r->form.most && len > r->form.most + HINT)
		refuse_long(r, len);
	else
		write_parts(r, json, false, true);
}

void result_formed(struct request *r, const char *json, bool is_error)
{
	write_parts(r, json, is_error, !is_error);
}
