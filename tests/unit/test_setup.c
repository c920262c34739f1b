/*
 * setup in the text of a file: what is put in is ours alone, taking it away gives the bytes
 * back, and files that cannot be read are left as they are.  Then the same with hundreds of
 * files of every look.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "core/config/toml.h"
#include "tests/lib/dice.h"
#include "tools/cadre/setup/setup.h"

enum { FILES = 500 };

static const struct setup_words words = { .command = "/opt/bin/cadre",
					  .line = "/opt/bin/cadre hook CLIENT",
					  .plugin = "export const plugin = 1;\n" };

/* --- a text is put in and taken away ------------------------------------------------------ */

static struct setup_words words_for(struct arena *a, const struct setup_client *c)
{
	struct setup_words w = words;

	w.line = arena_printf(a, "%s hook %s", w.command, c->name);
	return w;
}

static struct setup_draft draft_of(const char *text, size_t len)
{
	struct setup_draft d = { .name = "file", .there = text != NULL };

	if (text)
		text_add(&d.text, text, len);
	return d;
}

static void same(const struct setup_draft *d, const char *text, size_t len)
{
	if (d->text.len == len && (!len || !memcmp(d->text.data, text, len)))
		return;
	fail_msg("is:\n%s\nnot:\n%s", d->text.len ? d->text.data : "", len ? text : "");
}

/* Puts a part of a client into a text (NULL: there is no file), twice, and takes it away; the
 * text with it is left in `with`, if that is wanted. */
static void round_trip(const char *client, enum setup_part part, const char *text,
		       size_t len, struct text *with)
{
	const struct setup_client *c = setup_client_named(client);
	struct setup_draft d = draft_of(text, len);
	struct setup_tally first = { 0 }, second = { 0 };
	struct arena a = { 0 };
	struct setup_words w = words_for(&a, c);
	struct fault f = { 0 };
	struct text kept = { 0 };

	if (setup_put(c, part, &w, &d, &first, &f) < 0)
		fail_msg("%s: %s in:\n%s", client, f.text, text);
	assert_true(first.missing > 0);
	assert_true(d.there);
	text_add(&kept, d.text.data, d.text.len);
	assert_int_equal(setup_put(c, part, &w, &d, &second, &f), 0);
	same(&d, kept.data, kept.len);
	assert_int_equal(second.missing + second.changed, 0);
	assert_int_equal(second.found, first.found + first.missing);
	assert_int_equal(setup_cut(c, part, &d, &f), 0);
	assert_int_equal(d.there, text != NULL);
	if (text)
		same(&d, text, len);
	if (with)
		*with = kept;
	else
		text_release(&kept);
	text_release(&d.text);
	arena_release(&a);
}

static void gives(const char *client, enum setup_part part, const char *text,
		  const char *with)
{
	struct text got = { 0 };

	round_trip(client, part, text, text ? strlen(text) : 0, &got);
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
	      "\"command\": [\"/opt/bin/cadre\", \"mcp\"],\n      \"enabled\": true\n    }\n  }\n}");
	gives("codex", PART_MCP, NULL,
	      "[mcp_servers.cadre]\ncommand = \"/opt/bin/cadre\"\nargs = [\"mcp\"]\n");
	gives("codex", PART_MCP, "a = 1 # no line end",
	      "a = 1 # no line end\n\n[mcp_servers.cadre]\ncommand = \"/opt/bin/cadre\"\nargs = "
	      "[\"mcp\"]");
	gives("codex", PART_MCP, "[mcp_servers.other]\r\ncommand = 'x'\r\n",
	      "[mcp_servers.other]\r\ncommand = 'x'\r\n\r\n[mcp_servers.cadre]\r\ncommand = "
	      "\"/opt/bin/cadre\"\r\nargs = [\"mcp\"]\r\n");
}

/* What was empty before is empty again, and not gone. */
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
				round_trip(c->name, PART_MCP, texts[i], strlen(texts[i]),
					   NULL);
			if (c->events)
				round_trip(c->name, PART_HOOKS, texts[i],
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
	round_trip("claude", PART_TEXT, NULL, 0, NULL);
	round_trip("opencode", PART_HOOKS, NULL, 0, NULL);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		round_trip("claude", PART_TEXT, texts[i], strlen(texts[i]), NULL);
		round_trip("codex", PART_MCP,
			   texts[i][0] == 'a' || strchr(texts[i], '\r') ? "" : texts[i],
			   texts[i][0] == 'a' || strchr(texts[i], '\r')
				   ? 0
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
	struct setup_draft d = draft_of(text, strlen(text));
	struct arena a = { 0 };
	struct setup_words w = words_for(&a, c);

	*t = (struct setup_tally){ 0 };
	*f = (struct fault){ 0 };
	setup_put(c, part, &w, &d, t, f);
	arena_release(&a);
	return d.text;
}

static struct text cut(const char *client, enum setup_part part, const char *text,
		       struct fault *f)
{
	struct setup_draft d = draft_of(text, strlen(text));

	*f = (struct fault){ 0 };
	setup_cut(setup_client_named(client), part, &d, f);
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
		"{\"mcpServers\":{\"cadre\":{\"env\":{},\"command\":\"/gone/cadre\",\"args\":[\"mcp\",\"-x\"]}}}",
		&t, &f);
	assert_string_equal(
		got.data,
		"{\"mcpServers\":{\"cadre\":{\"env\":{},\"command\":\"/opt/bin/cadre\",\"args\":[\"mcp\",\"-x\"]}}}");
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
	got = cut(
		"codex", PART_MCP,
		"[mcp_servers.cadre]\ncommand = \"cadre\"\nargs = [\"mcp\"]\nmore = 1\n\n[mcp_servers.mine]\nx = 1\n"
		"[mcp_servers.cadre.env]\nA = 'b'\n# end\n",
		&f);
	assert_string_equal(got.data, "\n[mcp_servers.mine]\nx = 1\n# end\n");
	text_release(&got);
	got = cut("codex", PART_MCP,
		  "mcp_servers = { cadre = { command = 'cadre', args = ['mcp'] } }\n",
		  &f);
	assert_int_equal(f.code, FAULT_INVALID);
	text_release(&got);
}

/* --- files of every look ---------------------------------------------------------------------- */

/* A file that is being thrown together. */
struct look {
	struct dice *dice;
	struct text out,
		plain; /* the file, and the same without what JSON does not have */
	const char *eol, *unit;
	bool comments, trailing, flat;
	int n; /* keys so far: none is there twice */
};

static void both(struct look *l, const char *s)
{
	text_addf(&l->out, "%s", s);
	text_addf(&l->plain, "%s", s);
}

static void throw_between(struct look *l, int depth)
{
	static const char *const some[] = { "", "", "", " ", "  ", "\t" };

	if (l->comments && dice_percent(l->dice, 12))
		text_addf(&l->out, " /* \" , } ] // %d */", dice_below(l->dice, 9));
	if (l->comments && dice_percent(l->dice, 10))
		text_addf(&l->out, " // it's {\"cadre\": [%s", l->eol);
	if (l->flat) {
		text_addf(&l->out, "%s", some[dice_below(l->dice, 6)]);
		return;
	}
	text_addf(&l->out, "%s", some[dice_below(l->dice, 4)]);
	for (int i = dice_percent(l->dice, 90) ? 1 : dice_below(l->dice, 3); i; i--)
		text_addf(&l->out, "%s", l->eol);
	for (int i = 0; i < depth; i++)
		text_addf(&l->out, "%s", l->unit);
}

static void throw_scalar(struct look *l)
{
	static const char *const some[] = { "1",
					    "-0.5e+3",
					    "true",
					    "null",
					    "\"\"",
					    "\"a\\u0000\\\"b\\\\\"",
					    "\"π\"",
					    "\"\xf0\x9f\x98\x80 // no comment\"",
					    "\"\\ud83d\\ude00\"",
					    "\"/* x */\"",
					    "\"}\"" };

	both(l, some[dice_below(l->dice, 11)]);
}

static void throw_value(struct look *l, int depth);

/* Begins a member or item; `n` were before. */
static void throw_comma(struct look *l, int depth, int n)
{
	if (n)
		both(l, ",");
	throw_between(l, depth);
}

static void throw_members(struct look *l, int depth, char open, const char *const *keys)
{
	int n = dice_below(l->dice, 4), i = 0;
	char brackets[2] = { open };

	both(l, brackets);
	while (keys && *keys) {
		throw_comma(l, depth + 1, i++);
		both(l, *keys++);
		throw_value(l, depth + 2);
	}
	for (int k = 0; k < n; k++) {
		char key[40];

		throw_comma(l, depth + 1, i++);
		snprintf(key, sizeof(key), "\"k%dé\": ", l->n++);
		if (open == '{')
			both(l, key);
		throw_value(l, depth + 1);
	}
	if (i && l->trailing)
		text_addf(&l->out, ",");
	if (i || dice_percent(l->dice, 30))
		throw_between(l, depth);
	brackets[0] = open == '{' ? '}' : ']';
	both(l, brackets);
}

static void throw_value(struct look *l, int depth)
{
	bool flat = l->flat;
	int kind = dice_below(l->dice, depth > 4 ? 1 : 4);

	l->flat = flat || dice_percent(l->dice, 25);
	if (kind == 2)
		throw_members(l, depth, '{', NULL);
	else if (kind == 3)
		throw_members(l, depth, '[', NULL);
	else
		throw_scalar(l);
	l->flat = flat;
}

/* A member of the root that setup puts something into, or NULL. */
static void throw_ours(struct look *l, const struct setup_client *c, int *i)
{
	bool flat = l->flat;
	char key[40];

	if (dice_percent(l->dice, 60)) {
		throw_comma(l, 1, (*i)++);
		snprintf(key, sizeof(key), "\"%s\": ", c->servers);
		both(l, key);
		l->flat = flat || dice_percent(l->dice, 30);
		throw_members(l, 1, '{', NULL);
		l->flat = flat;
	}
	if (!c->events || dice_percent(l->dice, 40))
		return;
	throw_comma(l, 1, (*i)++);
	both(l, "\"hooks\": {");
	for (int n = dice_below(l->dice, 3), k = 0; k < n; k++) {
		throw_comma(l, 2, k);
		snprintf(key, sizeof(key), "\"%s\": ", c->events[k * 2]);
		both(l, key);
		throw_members(l, 2, '[', NULL);
	}
	throw_between(l, 1);
	both(l, "}");
}

static void throw_json(struct look *l, const struct setup_client *c)
{
	static const char *const eols[] = { "\n", "\r\n" }, *const units[] = { "  ", "\t",
									       "    ",
									       "" };
	bool early;
	int i = 0;

	l->eol = eols[dice_below(l->dice, 2)];
	l->unit = units[dice_below(l->dice, 4)];
	l->comments = dice_percent(l->dice, 50);
	l->trailing = dice_percent(l->dice, 30);
	l->flat = dice_percent(l->dice, 15);
	if (dice_percent(l->dice, 15))
		text_addf(&l->out, "\xef\xbb\xbf");
	both(l, "{");
	early = dice_percent(l->dice, 40);
	if (early)
		throw_ours(l, c, &i);
	for (int n = dice_below(l->dice, 4); n--;) {
		char key[40];

		throw_comma(l, 1, i++);
		snprintf(key, sizeof(key), "\"k%d \\u00e9\": ", l->n++);
		both(l, key);
		throw_value(l, 1);
	}
	if (!early && dice_percent(l->dice, 80))
		throw_ours(l, c, &i);
	if (i && l->trailing)
		text_addf(&l->out, ",");
	throw_between(l, 0);
	both(l, "}");
	if (dice_percent(l->dice, 80))
		text_addf(&l->out, "%s", l->eol);
}

/* Takes out what JSON does not have, knowing nothing of its grammar but strings. */
static json_t *read_plain(const struct text *t)
{
	struct text out = { 0 };
	const char *s = t->data;
	json_t *v;

	s += !strncmp(s, "\xef\xbb\xbf", 3) ? 3 : 0;
	while (*s) {
		if (*s == '"') {
			const char *from = s++;

			while (*s != '"')
				s += *s == '\\' ? 2 : 1;
			text_add(&out, from, (size_t)(++s - from));
		} else if (s[0] == '/' && s[1] == '/') {
			s += strcspn(s, "\n");
		} else if (s[0] == '/' && s[1] == '*') {
			s = strstr(s, "*/") + 2;
		} else {
			const char c = *s++;

			while ((c == '}' || c == ']') && out.len &&
			       strchr(" \t\r\n,", out.data[out.len - 1])) {
				bool comma = out.data[out.len - 1] == ',';

				out.data[--out.len] = '\0';
				if (comma)
					break;
			}
			text_add(&out, &c, 1);
		}
	}
	v = json_loads(out.data ? out.data : "", JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
		       NULL);
	text_release(&out);
	return v;
}

/* The value without ours; `*found` counts it. */
static void take_ours(json_t *root, const struct setup_client *c, enum setup_part part,
		      int *found)
{
	json_t *servers = json_object_get(root, c->servers),
	       *hooks = json_object_get(root, "hooks"), *items;
	const char *event;
	void *next;

	if (part == PART_MCP) {
		*found += json_object_del(servers, "cadre") == 0;
		return;
	}
	json_object_foreach_safe(hooks, next, event, items)
	{
		json_t *last = json_array_get(items, json_array_size(items) - 1);
		char *text = json_dumps(last, JSON_COMPACT | JSON_ENCODE_ANY);

		if (text && strstr(text, "/opt/bin/cadre hook ")) {
			json_array_remove(items, json_array_size(items) - 1);
			(*found)++;
		}
		free(text);
	}
}

static bool is_empty(const json_t *v)
{
	return json_is_object(v) ? !json_object_size(v)
				 : json_is_array(v) && !json_array_size(v);
}

/* Removes empty members, which setup may have made, from both. */
static void drop_empty(json_t *v)
{
	const char *key;
	json_t *part;
	void *next;

	json_object_foreach_safe(v, next, key, part)
	{
		drop_empty(part);
		if (is_empty(part))
			json_object_del(v, key);
	}
}

static void same_value(const struct text *before, const struct text *after,
		       const struct setup_client *c, enum setup_part part)
{
	json_t *a = read_plain(before), *b = read_plain(after);
	int found = 0, events = 0;

	if (!a || !b)
		fail_msg("no JSON: %s", a ? after->data : before->data);
	take_ours(b, c, part, &found);
	while (part == PART_HOOKS && c->events[events])
		events++;
	assert_int_equal(found, part == PART_HOOKS ? events : 1);
	if (c->beside.key && part == PART_HOOKS && !json_object_get(a, c->beside.key))
		json_object_del(b, c->beside.key);
	drop_empty(a);
	drop_empty(b);
	if (!json_equal(a, b))
		fail_msg("another value: %s\n%s", before->data, after->data);
	json_decref(a);
	json_decref(b);
}

static void json_files_of_every_look(void **state)
{
	struct dice dice = { .state = 20 };

	(void)state;
	for (const struct setup_client *c = setup_clients; c->name; c++)
		for (int i = 0; i < FILES; i++) {
			struct look l = { .dice = &dice };

			throw_json(&l, c);
			for (int part = PART_MCP; part <= PART_HOOKS; part++) {
				struct text with = { 0 };

				if (part == PART_MCP ? c->toml : !c->events)
					continue;
				round_trip(c->name, (enum setup_part)part, l.out.data,
					   l.out.len, &with);
				same_value(&l.out, &with, c, (enum setup_part)part);
				text_release(&with);
			}
			text_release(&l.out);
			text_release(&l.plain);
		}
}

/* All parts of a client that are in one file go in and out together. */
static void parts_share_a_file(void **state)
{
	const struct setup_client *c = setup_client_named("gemini");
	struct dice dice = { .state = 21 };
	struct arena a = { 0 };
	struct setup_words w = words_for(&a, c);

	(void)state;
	for (int i = 0; i < FILES; i++) {
		struct look l = { .dice = &dice };
		struct setup_tally t = { 0 };
		struct fault f = { 0 };
		struct setup_draft d;

		throw_json(&l, c);
		d = draft_of(l.out.data, l.out.len);
		for (int part = PART_MCP; part <= PART_HOOKS; part++)
			assert_int_equal(
				setup_put(c, (enum setup_part)part, &w, &d, &t, &f), 0);
		assert_int_equal(t.missing, 6);
		for (int part = PART_HOOKS; part >= PART_MCP; part--)
			assert_int_equal(setup_cut(c, (enum setup_part)part, &d, &f), 0);
		same(&d, l.out.data, l.out.len);
		text_release(&d.text);
		text_release(&l.out);
		text_release(&l.plain);
	}
	arena_release(&a);
}

/* --- TOML of every look ------------------------------------------------------------------ */

static void throw_toml_value(struct look *l)
{
	static const char *const some[] = {
		"1",
		"0x1F",
		"true",
		"inf",
		"1979-05-27T07:32:00Z",
		"\"a\\\"b # no\"",
		"'C:\\x'",
		"\"\"\"\n[mcp_servers.cadre]\n\"\"\"",
		"'''it's'''",
		"[ 1, 2, # two\n\t3,\n]",
		"{ a = 1, b = [\"x\"] }",
		"\"π \xf0\x9f\x98\x80\"",
	};

	for (const char *s = some[dice_below(l->dice, 12)]; *s; s++)
		text_addf(&l->out, "%s%c", *s == '\n' && l->eol[0] == '\r' ? "\r" : "",
			  *s);
}

static void throw_pairs(struct look *l)
{
	static const char *const keys[][2] = { { "k", " = " },
					       { "\"k é", "\" = " },
					       { "k", ".deep.er=" },
					       { "\t'k", "'\t=\t" } };

	for (int n = dice_below(l->dice, 4); n--;) {
		int which = dice_below(l->dice, 4);

		if (dice_percent(l->dice, 20))
			text_addf(&l->out, "  # [mcp_servers.cadre]%s", l->eol);
		if (dice_percent(l->dice, 20))
			text_addf(&l->out, "%s", l->eol);
		text_addf(&l->out, "%s%d%s", keys[which][0], l->n++, keys[which][1]);
		throw_toml_value(l);
		text_addf(&l->out, "%s%s", dice_percent(l->dice, 20) ? " # why" : "",
			  l->eol);
	}
}

static void throw_toml(struct look *l)
{
	static const char *const heads[][2] = { { "[t", "]" },
						{ "[mcp_servers.s", "]" },
						{ "[[a", ".b]]" },
						{ "[ mcp_servers . \"s ", "\" ]" } };

	l->eol = dice_percent(l->dice, 30) ? "\r\n" : "\n";
	if (dice_percent(l->dice, 15))
		text_addf(&l->out, "\xef\xbb\xbf");
	throw_pairs(l);
	if (dice_percent(l->dice, 20))
		text_addf(&l->out, "mcp_servers.dotted.command = 'x'%s", l->eol);
	for (int n = dice_below(l->dice, 4); n--;) {
		int which = dice_below(l->dice, 4);

		text_addf(&l->out, "%s%d%s%s", heads[which][0], l->n++, heads[which][1],
			  l->eol);
		throw_pairs(l);
	}
	for (int n = dice_below(l->dice, 3); n--;)
		text_addf(&l->out, "%s", l->eol);
	if (dice_percent(l->dice, 15))
		text_addf(&l->out, "# end");
	else if (dice_percent(l->dice, 20) && l->out.len > 3 &&
		 l->out.data[l->out.len - 1] == '\n')
		l->out.data[l->out.len -= strlen(l->eol)] = '\0';
}

static json_t *toml_json(const struct toml_value *v);

static json_t *toml_object(const struct toml_table *t)
{
	json_t *out = json_object();

	for (const struct toml_entry *e = t->first; e; e = e->next)
		json_object_set_new(out, e->key.data, toml_json(&e->value));
	return out;
}

/* Numbers and times as their kinds. */
static json_t *toml_json(const struct toml_value *v)
{
	json_t *out;

	if (v->kind == TOML_TABLE)
		return toml_object(v->table);
	if (v->kind == TOML_TEXT)
		return json_stringn(v->text.data, v->text.len);
	if (v->kind != TOML_ARRAY)
		return json_integer(v->kind == TOML_INT ? v->integer : -(int)v->kind);
	out = json_array();
	for (size_t i = 0; i < v->array->n; i++)
		json_array_append_new(out, toml_json(&v->array->items[i]));
	return out;
}

static json_t *read_toml(const struct text *t)
{
	struct arena a = { 0 };
	struct toml_table *root;
	struct fault f = { 0 };
	json_t *out;

	if (toml_read(&a, "file", t->data, t->len, &root, &f) < 0)
		fail_msg("%s in:\n%s", f.text, t->data);
	out = toml_object(root);
	arena_release(&a);
	return out;
}

static void toml_files_of_every_look(void **state)
{
	struct dice dice = { .state = 22 };

	(void)state;
	for (int i = 0; i < FILES; i++) {
		struct look l = { .dice = &dice };
		struct text with = { 0 };
		json_t *a, *b, *servers, *ours;

		throw_toml(&l);
		text_add(&l.out, "", 0);
		a = read_toml(&l.out);
		round_trip("codex", PART_MCP, l.out.data, l.out.len, &with);
		b = read_toml(&with);
		servers = json_object_get(b, "mcp_servers");
		ours = json_pack("{ss,s[s]}", "command", "/opt/bin/cadre", "args", "mcp");
		assert_true(json_equal(json_object_get(servers, "cadre"), ours));
		json_object_del(servers, "cadre");
		drop_empty(a);
		drop_empty(b);
		assert_true(json_equal(a, b));
		json_decref(ours);
		json_decref(a);
		json_decref(b);
		text_release(&with);
		text_release(&l.out);
	}
}

static void pages_of_every_look(void **state)
{
	static const char *const some[] = { "# Head", "- a *b*", "",
					    "",       "```",     "é\xf0\x9f\x98\x80",
					    "\xff",   "\r",      " " };
	struct dice dice = { .state = 23 };

	(void)state;
	for (int i = 0; i < FILES; i++) {
		const char *eol = dice_percent(&dice, 30) ? "\r\n" : "\n";
		struct text page = { 0 };

		if (dice_percent(&dice, 20))
			text_addf(&page, "\xef\xbb\xbf");
		for (int n = dice_below(&dice, 8); n--;)
			text_addf(&page, "%s%s", some[dice_below(&dice, 9)],
				  n || dice_percent(&dice, 60) ? eol : "");
		text_add(&page, "", 0);
		round_trip("claude", PART_TEXT, page.data, page.len, NULL);
		text_release(&page);
	}
}

/* --- garbage ------------------------------------------------------------------------------- */

static void spoil(struct text *t, struct dice *dice)
{
	static const char some[] = "{}[]\",:/*\\\n\r\t #='.\0\xff"
				   "cadre";

	for (int n = 1 + dice_below(dice, 4); n-- && t->len;)
		if (dice_percent(dice, 15))
			t->data[t->len = (size_t)dice_below(dice, (int)t->len)] = '\0';
		else
			t->data[dice_below(dice, (int)t->len)] =
				some[dice_below(dice, (int)sizeof(some))];
}

/* A spoilt file is refused, or taken as what it says; nothing crashes, and what setup could
 * put it can take away. */
static void garbage_is_survived(void **state)
{
	struct dice dice = { .state = 24 };
	int refusals = 0;

	(void)state;
	for (int i = 0; i < 4 * FILES; i++) {
		const struct setup_client *c = &setup_clients[dice_below(&dice, 6)];
		enum setup_part part =
			(enum setup_part)dice_below(&dice, c->events ? 3 : 1);
		struct look l = { .dice = &dice };
		struct setup_tally t = { 0 };
		struct arena a = { 0 };
		struct setup_words w = words_for(&a, c);
		struct fault f = { 0 };
		struct setup_draft d;

		if (c->toml && part == PART_MCP)
			throw_toml(&l);
		else
			throw_json(&l, c);
		d = draft_of(l.out.data ? l.out.data : "", l.out.len);
		if (dice_percent(&dice, 50))
			setup_put(c, part, &w, &d, &t, &f);
		spoil(&d.text, &dice);
		if (setup_put(c, part, &w, &d, &t, &f) < 0)
			refusals++;
		else if (setup_cut(c, part, &d, &f) < 0)
			fail_msg("%s: %s in:\n%s", c->name, f.text, d.text.data);
		text_release(&d.text);
		text_release(&l.out);
		text_release(&l.plain);
		arena_release(&a);
	}
	assert_true(refusals > FILES);
}

/* --- how a file changes ----------------------------------------------------------------------- */

static void diffs_as(const char *before, const char *after, const char *want)
{
	struct setup_target t = { .shown = "f", .was = before != NULL };
	struct text out = { 0 };

	t.draft = draft_of(after, after ? strlen(after) : 0);
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
		cmocka_unit_test(json_files_of_every_look),
		cmocka_unit_test(parts_share_a_file),
		cmocka_unit_test(toml_files_of_every_look),
		cmocka_unit_test(pages_of_every_look),
		cmocka_unit_test(garbage_is_survived),
		cmocka_unit_test(a_diff_is_unified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
