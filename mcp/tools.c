/*
 * tools - the operations as MCP tools; an operation is a whole tool, or one `action` of a tool.
 */
#include <stdlib.h>
#include <string.h>

#include "mcp/extra.h"
#include "mcp/mcp_peer.h"

/*
 * result - writes the answer to a tool call, or to a read of a resource, as one text that the
 * client shows whole.
 *
 * Two of four common clients show a model only the `structuredContent` of an answer that has
 * such a member. The other two clients show only the text. Each client cuts long answers
 * differently, and one client removes the middle without a notice. Therefore the text contains
 * the whole answer, and the state limits the size of the answer (struct form).
 * `structuredContent` is sent only to a client that asks for `structuredContent`.
 */

enum {
	TOKEN = 4, /* bytes that clients count as one token */
	TOKENS_LEAST = 750,
	TOKENS_MOST = 250000,
	HINT = 400, /* bytes kept free for the hint in an answer */
};

/* Clients that show more tokens of an answer than other clients do. `name` is the beginning of
 * the name that the client sends. */
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

/* The number of bytes that the state's answer may take if this answer and its hint together may
 * take `tokens` tokens. */
static size_t result_most_of(int64_t tokens)
{
	return (size_t)(tokens * TOKEN) - HINT;
}

void result_form_read(struct request *r)
{
	r->reads = true;
	r->form = (struct form){ .most = result_most_of(r->tokens) };
}

/* Removes max_result_tokens from the arguments of a tool, and sets the form of the answer by
 * the value of max_result_tokens. Returns 0 or a fault. */
static int result_form(struct request *r, json_t *args, struct fault *f)
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

/* If the answer was cut, appends to `hint` how to read the rest. */
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
		whole.len--; /* removes the closing brace */
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

/* If the client called a tool of another server, appends to `hint` which arguments cadre does
 * not know. */
static void passed_hint(const struct request *r, struct text *hint)
{
	const char *name, *before = hint->len ? " Passed over: " : "Passed over: ";
	json_t *value;

	if (!r->face || !r->face->lax)
		return;
	json_object_foreach(r->said, name, value) {
		if (field_find(r->face->in, name) || hint->len > HINT / 2)
			continue;
		text_addf(hint, "%s%.60s", before, name);
		before = ", ";
	}
}

/* Answers a tool call with the JSON text `json`. If `hints` is true, adds the hint that
 * find_hint(), wait_hint() or passed_hint() writes. */
static void write_parts(struct request *r, const char *json, bool is_error, bool hints)
{
	struct text hint = { 0 }, *out = answer_begin(r, CACHE_NONE);

	if (hints)
		find_hint(&hint, r, json);
	if (hints && !hint.len)
		wait_hint(r, json, &hint);
	if (hints)
		passed_hint(r, &hint);
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

static void result_fault(struct request *r, const struct fault *f)
{
	struct text t = { 0 };

	fault_write(f, HINT_TOOL, &t);
	write_parts(r, t.data, true, false);
	text_release(&t);
}

/* Answers with a fault, because the answer is too long for this caller. Only the stored answer
 * of a repeated call can be too long. */
static void refuse_long(struct request *r, size_t len)
{
	struct fault f = { 0 };

	fault_set(&f, FAULT_EXHAUSTED, "/max_result_tokens",
		  "the answer takes %zu tokens", len / TOKEN);
	fault_hint(&f, "%s",
		   r->op->flags & OP_WRITE
			   ? "The call is done. Read its result in pages."
			   : "Ask for less, or set a larger max_result_tokens.");
	result_fault(r, &f);
}

/* Answers a tool call with the result of its operation, or with a fault. Frees the request. */
static void result_write(struct request *r, const char *json)
{
	size_t len = strlen(json);

	if (r->form.most && len > r->form.most + HINT)
		refuse_long(r, len);
	else
		write_parts(r, json, false, true);
}

#define DEFAULT_SETS "core"

/* --- which tools are offered ------------------------------------------------- */

/* Whether `word` is one of the words in `list`. Commas separate the words of `list`. */
static bool tools_has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = list; s; s = strchr(s, ',')) {
		s += *s == ',';
		if (strncmp(s, word, n) == 0 && (!s[n] || s[n] == ','))
			return true;
	}
	return false;
}

bool tools_is_offered(const struct mcp *m, const struct tool *tool)
{
	const char *sets = m->options.toolsets ? m->options.toolsets : DEFAULT_SETS;

	return !tool->unlisted &&
	       (tools_has_word(sets, tool->set) || tools_has_word(sets, "all"));
}

const struct op *tools_next_op(const struct tool *tool, size_t *i)
{
	while (*i < op_count) {
		const struct op *op = &op_table[(*i)++];

		if (op->tool && strcmp(op->tool, tool->name) == 0)
			return op;
	}
	return NULL;
}

static bool is_bundle(const struct tool *tool)
{
	size_t i = 0;
	const struct op *op = tools_next_op(tool, &i);

	return op && op->action;
}

/* Returns the face that is the whole tool, or NULL if the tool is made of operations. */
static const struct face *face_of(const struct tool *tool)
{
	return face_tool(tool->name, NULL);
}

/* --- how tools are described --------------------------------------------------- */

/* Makes the annotations of a tool. Without annotations, a client assumes that a tool may write,
 * is destructive, and is not idempotent. Only annotations that differ from this assumption are
 * written. Tools have no titles, because a title would only repeat the name. */
static json_t *make_annotations(const struct tool *tool)
{
	json_t *a = json_pack("{s:b}", "openWorldHint", false);
	const struct face *face = face_of(tool);
	unsigned any = face ? face->op->flags : 0;
	bool repeats = any & OP_IDEMPOTENT || !face;
	const struct op *op;
	size_t i = 0;

	while ((op = tools_next_op(tool, &i))) {
		any |= op->flags;
		repeats &= !(op->flags & OP_WRITE) || op->flags & OP_IDEMPOTENT;
	}
	if (!(any & OP_WRITE))
		json_object_set_new(a, "readOnlyHint", json_true());
	else if (!(any & OP_DESTRUCTIVE))
		json_object_set_new(a, "destructiveHint", json_false());
	if (any & OP_WRITE && repeats)
		json_object_set_new(a, "idempotentHint", json_true());
	return a;
}

/* Makes the schema of a face's answer. No member is required, because a tool may also answer
 * with a fault, which has other members. */
static json_t *output_of(const struct face *face)
{
	json_t *s = face_schema(face);

	json_object_del(s, "required");
	return s;
}

/* Makes the schema of a tool's output. The schema lists the fields of the answers of all the
 * tool's operations. As in output_of(), the fields of a fault are not listed. The fields have no
 * descriptions, because the schema is already long without them. */
static json_t *make_output(const struct tool *tool)
{
	json_t *defs = json_object(), *root;
	json_t *props = json_pack("{s:{s:s}}", "waiting", "type", "string");
	const struct face *face = face_of(tool);
	const struct op *op;
	size_t i = 0;

	if (face) {
		json_decref(defs);
		json_decref(props);
		return output_of(face);
	}
	while ((op = tools_next_op(tool, &i)))
		record_shape(op->out, props, defs);
	root = json_pack("{s:s, s:o}", "type", "object", "properties", props);
	if (json_object_size(defs))
		json_object_set(root, "$defs", defs);
	json_decref(defs);
	return root;
}

/* Returns a level. The lists contain no actions that need a higher level. An agent is at most
 * the lead of its team, so an agent is not shown the actions that only the operator may use. */
static enum who tools_level_of(const struct mcp *m)
{
	return m->identity.agent || m->identity.nobody ? WHO_LEAD : WHO_OPERATOR;
}

static json_t *make_tool(const struct mcp *m, const struct tool *tool)
{
	json_t *t = json_pack("{s:s, s:s, s:o, s:o}", "name", tool->name, "description",
			      tool->doc, "inputSchema",
			      tool_schema(tool->name, tools_level_of(m)), "annotations",
			      make_annotations(tool));

	if (m->options.output_schemas)
		json_object_set_new(t, "outputSchema", make_output(tool));
	return t;
}

/* --- tools/list ------------------------------------------------------------------ */

static bool tools_is_set(const char *name, size_t n)
{
	if (strncmp(name, "all", n) == 0 && n == 3)
		return true;
	for (size_t i = 0; i < tool_count; i++)
		if (strncmp(tool_table[i].set, name, n) == 0 && !tool_table[i].set[n])
			return !tool_table[i].unlisted;
	return false;
}

/* Writes the names of all sets, in the order of the schema. */
static void list_sets(char *out, size_t room)
{
	const char *last = "";
	size_t n = 0;

	for (size_t i = 0; i < tool_count && n < room; i++) {
		if (strcmp(tool_table[i].set, last) == 0 || tool_table[i].unlisted)
			continue;
		last = tool_table[i].set;
		n += (size_t)snprintf(out + n, room - n, "%s, ", last);
	}
}

int tools_open(struct mcp *m, struct fault *f)
{
	const char *s = m->options.toolsets;
	char sets[160] = "";

	while (s) {
		size_t n = strcspn(s, ",");

		if (!tools_is_set(s, n)) {
			list_sets(sets, sizeof(sets));
			fault_set(f, FAULT_INVALID, "/toolsets", "no set of tools `%.*s`",
				  n < 60 ? (int)n : 60, s);
			return fault_hint(f, "The sets are: %sand all.", sets);
		}
		s = s[n] ? s + n + 1 : NULL;
	}
	return 0;
}

static bool was_said(const json_t *of_name, const json_t *property)
{
	for (size_t i = 0; i < json_array_size(of_name); i++)
		if (json_equal(json_array_get(of_name, i), property))
			return true;
	return false;
}

/* Removes an argument's description and default from a tool if an earlier tool has the same
 * argument with the same schema. A model reads the whole list of tools, so one description is
 * enough. `said` maps the name of an argument to the earlier descriptions. */
static void leave_out_said(json_t *said, json_t *tool)
{
	json_t *props =
		json_object_get(json_object_get(tool, "inputSchema"), "properties");
	json_t *property, *of_name;
	const char *name;

	json_object_foreach(props, name, property) {
		of_name = json_object_get(said, name);
		if (!of_name)
			json_object_set_new(said, name, of_name = json_array());
		if (!was_said(of_name, property)) {
			json_array_append_new(of_name, json_copy(property));
			continue;
		}
		json_object_del(property, "description");
		json_object_del(property, "default");
	}
}

static void build_list(struct mcp *m)
{
	json_t *list = json_array(), *said = json_object(), *tool;
	char *text;
	size_t none;

	for (size_t i = 0; i < tool_count; i++) {
		none = 0;
		if (!tools_is_offered(m, &tool_table[i]) ||
		    (!tools_next_op(&tool_table[i], &none) && !face_of(&tool_table[i])))
			continue;
		tool = make_tool(m, &tool_table[i]);
		/* An agent has one team, so the argument `team` is not needed. */
		if (m->identity.agent)
			json_object_del(
				json_object_get(json_object_get(tool, "inputSchema"),
						"properties"),
				"team");
		leave_out_said(said, tool);
		json_array_append_new(list, tool);
	}
	for (const struct extra *e = extras.tools; e->name; e++)
		json_array_append_new(list, json_loads(e->listed, 0, NULL));
	text = json_dumps(list, JSON_COMPACT);
	text_addf(&m->tools, "\"tools\":%s", text);
	free(text);
	json_decref(said);
	json_decref(list);
}

size_t mcp_cost(struct mcp *m, size_t *bytes)
{
	size_t n = 0, none;

	for (size_t i = 0; i < tool_count; i++) {
		none = 0;
		n += tools_is_offered(m, &tool_table[i]) &&
		     (tools_next_op(&tool_table[i], &none) || face_of(&tool_table[i]));
	}
	if (!m->tools.len)
		build_list(m);
	*bytes = m->tools.len + strlen("{}");
	return n;
}

void tools_list(struct request *r, json_t *params)
{
	struct mcp *m = r->mcp;
	struct text *out;

	if (!cursor_none(r, params))
		return;
	if (!m->tools.len)
		build_list(m);
	out = answer_begin(r, CACHE_MINE);
	text_add(out, m->tools.data, m->tools.len);
	answer_end(r);
}

/* --- tools/call -------------------------------------------------------------------- */

/* Answers a call of a face with the result or the fault, in the form of the face. */
static void face_end(struct request *r, const char *result, const struct fault *f)
{
	char *text = result ? face_answer(r->face, r->said, result)
			    : face_refusal(r->face, r->said, f, HINT_TOOL);

	if (text)
		write_parts(r, text, !result, result); /* hints only with a result */
	else
		result_fault(r, f);
	free(text);
}

/* If the answer says that mail waits, calls the operation that hands the mail out. The model
 * then needs no second call. Returns false for any other answer. */
static bool tools_hands(struct request *r, const char *result)
{
	const struct op *op = r->op;
	const char *const *value = op->hands_values;
	json_t *answer, *args, *team;
	const char *what;

	if (!op->hands || r->face || !result)
		return false;
	answer = json_take(result, strlen(result), 0, &(json_error_t){ 0 });
	what = json_text_at(answer, op->out->fields[0].name);
	while (*value && strcmp(*value, what))
		value++;
	json_decref(answer);
	if (!*value)
		return false;
	args = json_object();
	team = json_object_get(r->args, "team");
	if (team)
		json_object_set(args, "team", team);
	request_next(r, op->hands, args);
	return true;
}

static void tool_end(struct request *r, const char *result, const struct fault *f)
{
	char *told;
	struct fault moved;

	if (tools_hands(r, result) || (!result && who_begins_anew(r, f)))
		return;
	told = result ? who_result(r, result) : NULL;
	who_settle(r);
	if (result) {
		request_log(r, LEVEL_DEBUG, "%s done", r->op->name);
		if (r->face && r->face->answer)
			face_end(r, result, f);
		else
			result_write(r, told ? told : result);
		free(told);
		return;
	}
	request_log(r,
		    f->code == FAULT_INTERNAL || f->code == FAULT_IO ? LEVEL_ERROR
								     : LEVEL_INFO,
		    "%s: %s: %s", r->op->name, fault_info(f->code)->name, f->text);
	if (r->face) {
		moved = *f;
		face_move(r->face, &moved);
		face_end(r, NULL, &moved);
	} else
		result_fault(r, f);
}

/* Returns the operation that `action` names. If the tool has no such action, returns NULL and a
 * fault that lists the tool's actions. */
static const struct op *pick_action(struct request *r, const struct tool *tool,
				    const char *action, struct fault *f)
{
	const struct op *op = action ? tool_name_action(tool, action) : NULL;
	struct text actions = { 0 };

	r->face = !op && action ? face_tool(tool->name, action) : NULL;
	if (op || r->face)
		return op ? op : r->face->op;
	if (action)
		fault_set(f, FAULT_INVALID, "/action", "%s has no action %.60s",
			  tool->name, action);
	else
		fault_set(f, FAULT_INVALID, "/action", "action is missing");
	tool_name_hint(tool, action, &actions);
	fault_hint(f, "%s", actions.data);
	text_release(&actions);
	return NULL;
}

/* Returns the operation that a tool call means. Returns NULL and a fault if the tool has
 * actions and the call names none of them. Removes the key `action` from the arguments, because
 * `action` is not an argument of the operation. */
static const struct op *pick_op(struct request *r, const struct tool *tool,
				const char *action, json_t *args, struct fault *f)
{
	const struct op *op;

	r->face = face_of(tool);
	if (r->face)
		return r->face->op;
	if (!is_bundle(tool))
		return op_tool(tool->name, NULL);
	op = pick_action(r, tool, action ? action : json_find_text(args, "action"), f);
	json_object_del(args, "action");
	return op;
}

/* Whether the configuration switches the face off. */
static bool is_off(const struct mcp *m, const struct face *face)
{
	const struct field *key = face->only ? field_find(&record_config, face->only)
					     : NULL;

	return key && !*(const bool *)((const char *)&m->options.home->settings.config +
				       key->at);
}

/* Turns the arguments of the called face into the arguments of its operation. Keeps the face's
 * arguments in r->said for the answer. The function takes over `args`. If the arguments are
 * invalid or the face is switched off, answers the request and returns NULL. */
static json_t *tools_unface(struct request *r, json_t *args)
{
	struct fault f = { 0 };

	r->said = args;
	if (r->face->answer)
		r->form.brief = r->form.tells = false;
	if (is_off(r->mcp, r->face))
		fault_set(&f, FAULT_DENIED, "", "%s", r->face->without);
	args = f.code ? NULL : face_args(r->face, r->said, &f);
	if (!args)
		face_end(r, NULL, &f);
	else if (tools_level_of(r->mcp) == WHO_OPERATOR)
		face_operator(r->face, args);
	return args;
}

/* Whether a JSON value has the type of the field. */
static bool is_of(const struct field *field, const json_t *v)
{
	const enum kind kind = field->type->kind;

	if (field->flags & FIELD_LIST)
		return json_is_array(v);
	return kind == KIND_INT    ? json_is_integer(v)
	       : kind == KIND_BOOL ? json_is_boolean(v)
				   : json_is_object(v);
}

/* Some models write a list, an object, a number or a flag as JSON within a string. Replaces
 * such a string by the value that the string contains. The string "null" counts as an absent
 * argument if the argument is optional. */
static void take_strings(const struct op *op, json_t *args)
{
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(args, next, name, value)
	{
		const struct field *field = field_find(op->in, name);
		const char *text = json_string_value(value);
		json_error_t error;
		json_t *meant;

		if (!field || !text ||
		    (!(field->flags & FIELD_LIST) && field->type->kind != KIND_INT &&
		     field->type->kind != KIND_BOOL && field->type->kind != KIND_RECORD &&
		     field->type->kind != KIND_JSON && field->type->kind != KIND_MAP))
			continue;
		meant = json_take(text, json_string_length(value),
				  JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
		if (meant && is_of(field, meant))
			json_object_set(args, name, meant);
		else if (json_is_null(meant) &&
			 field->flags & (FIELD_OPTIONAL | FIELD_DEFAULT))
			json_object_del(args, name);
		json_decref(meant);
	}
}

/* A brief list has its own length on the first page, unless the call names a length. */
static void tools_first_page(const struct request *r, const struct op *op, json_t *args)
{
	const struct field *page = page_argument(op);

	if (r->form.brief && op->pages && !json_object_get(args, "limit") &&
	    !json_object_get(args, page->name))
		json_object_set_new(args, "limit", json_integer(op->pages));
}

void tools_call(struct request *r, json_t *params)
{
	const char *name = json_find_text(params, "name");
	json_t *given = json_object_get(params, "arguments"),
	       *args = json_is_null(given) ? NULL : given;
	const char *action = NULL;
	const struct tool *tool = name ? tool_named(r->mcp, name, &action) : NULL;
	struct fault f = { 0 };
	const struct extra *extra = name ? extra_find(extras.tools, name) : NULL;
	const struct op *op;

	if (extra) {
		extra->run(r, params);
		return;
	}
	if (!tool) {
		tool_name_refuse(r, name);
		return;
	}
	if (args && !json_is_object(args)) {
		answer_error(r, RPC_INVALID_PARAMS, NULL, "`arguments` is not an object");
		return;
	}
	args = args ? json_incref(args) : json_object();
	op = result_form(r, args, &f) < 0 ? NULL : pick_op(r, tool, action, args, &f);
	if (!op) {
		result_fault(r, &f);
		json_decref(args);
		return;
	}
	if (r->face && !(args = tools_unface(r, args)))
		return;
	take_strings(op, args);
	tools_first_page(r, op, args);
	wait_cut(r, op, args);
	who_joins(r, op, args);
	request_call(r, op, args, tool_end);
}
