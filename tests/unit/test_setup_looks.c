/*
 * setup with hundreds of files of different forms. A file keeps its other values when cadre's
 * entries are added, and has its former bytes again after these entries are removed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "core/config/toml.h"
#include "tests/lib/setup.h"

enum { FILES = 500 };

/* --- JSON ---------------------------------------------------------------------- */

/* Removes comments and extra commas, which JSON does not allow, and reads the rest as JSON. The
 * removal recognizes strings, but no other part of the grammar. */
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

/* Removes cadre's entries from the value, and adds their number to `*found`. */
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

/* Removes from a value all empty members, since setup may have made some of these members. */
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
		       const struct setup_client *c, enum setup_part part, int own)
{
	json_t *a = read_plain(before), *b = read_plain(after);
	int found = 0, events = 0;

	if (!a || !b)
		fail_msg("no JSON: %s", a ? after->data : before->data);
	if (part == PART_HOOKS || !own)
		take_ours(b, c, part, &found);
	while (part == PART_HOOKS && setup_event(c, events))
		events++;
	assert_int_equal(found, (part == PART_HOOKS ? events : 1) - own);
	if (c->beside[part].key && !json_object_get(a, c->beside[part].key))
		json_object_del(b, c->beside[part].key);
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
			struct setup_look l = { .dice = &dice };

			setup_throw_json(&l, c);
			for (int part = PART_MCP; part <= PART_HOOKS; part++) {
				struct text with = { 0 };

				if (part == PART_MCP ? c->toml : !c->hook)
					continue;
				setup_round_trip(c->name, (enum setup_part)part,
						 l.out.data, l.out.len, &with);
				same_value(&l.out, &with, c, (enum setup_part)part,
					   l.own[part]);
				text_release(&with);
			}
			text_release(&l.out);
			text_release(&l.plain);
		}
}

/* All parts of a client that share a file are added, and then removed again. */
static void parts_share_a_file(void **state)
{
	const struct setup_client *c = setup_client_named("gemini");
	struct dice dice = { .state = 21 };

	(void)state;
	for (int i = 0; i < FILES; i++) {
		struct setup_look l = { .dice = &dice };
		struct setup_tally t = { 0 };
		struct fault f = { 0 };
		struct setup_draft d;

		setup_throw_json(&l, c);
		d = setup_draft_of(l.out.data, l.out.len);
		for (int part = PART_MCP; part <= PART_HOOKS; part++)
			assert_int_equal(setup_put(c, (enum setup_part)part,
						   SETUP_COMMAND, &d, &t, &f),
					 0);
		assert_int_equal(t.yours, l.own[PART_MCP] + l.own[PART_HOOKS]);
		assert_int_equal(t.missing, 6 - t.yours);
		for (int part = PART_HOOKS; part >= PART_MCP; part--)
			assert_int_equal(setup_cut(c, (enum setup_part)part,
						   SETUP_COMMAND, &d, &f),
					 0);
		setup_same(&d, l.out.data, l.out.len);
		text_release(&d.text);
		text_release(&l.out);
		text_release(&l.plain);
	}
}

/* --- TOML ---------------------------------------------------------------------- */

static json_t *looks_toml_json(const struct toml_value *v);

static json_t *toml_object(const struct toml_table *t)
{
	json_t *out = json_object();

	for (const struct toml_entry *e = t->first; e; e = e->next)
		json_object_set_new(out, e->key.data, looks_toml_json(&e->value));
	return out;
}

/* Converts a value to JSON. Tables, arrays, texts and integers keep their value. Any other
 * value becomes a negative number that stands for the kind of the value. */
static json_t *looks_toml_json(const struct toml_value *v)
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
		json_array_append_new(out, looks_toml_json(&v->array->items[i]));
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
		struct setup_look l = { .dice = &dice };
		struct text with = { 0 };
		json_t *a, *b, *servers, *ours;

		setup_throw_toml(&l);
		text_add(&l.out, "", 0);
		a = read_toml(&l.out);
		setup_round_trip("codex", PART_MCP, l.out.data, l.out.len, &with);
		b = read_toml(&with);
		servers = json_object_get(b, "mcp_servers");
		ours = json_pack("{ss,s[s]}", "command", "/opt/bin/cadre", "args", "mcp");
		if (!l.own[PART_MCP]) {
			assert_true(json_equal(json_object_get(servers, "cadre"), ours));
			json_object_del(servers, "cadre");
		}
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
	static const char *const some[] = { "# Head", "- a *b*",
					    "",       "",
					    "```",    "é\xf0\x9f\x98\x80",
					    "\xff",   "\r",
					    " ",      "> <!-- cadre setup: begin -->" };
	struct dice dice = { .state = 23 };

	(void)state;
	for (int i = 0; i < FILES; i++) {
		const char *eol = dice_percent(&dice, 30) ? "\r\n" : "\n";
		struct text page = { 0 };

		if (dice_percent(&dice, 20))
			text_addf(&page, "\xef\xbb\xbf");
		for (int n = dice_below(&dice, 8); n--;)
			text_addf(&page, "%s%s", some[dice_below(&dice, 10)],
				  n || dice_percent(&dice, 60) ? eol : "");
		text_add(&page, "", 0);
		setup_round_trip("claude", PART_TEXT, page.data, page.len, NULL);
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

/* A damaged file is refused, or is read with its damage.  No call crashes, and setup can remove
 * every entry that setup could add. */
static void garbage_is_survived(void **state)
{
	struct dice dice = { .state = 24 };
	int refusals = 0;

	(void)state;
	for (int i = 0; i < 4 * FILES; i++) {
		const struct setup_client *c = &setup_clients[dice_below(&dice, 6)];
		enum setup_part part =
			(enum setup_part)dice_below(&dice, c->hook ? 3 : 1);
		struct setup_look l = { .dice = &dice };
		struct setup_tally t = { 0 };
		struct fault f = { 0 };
		struct setup_draft d;

		if (c->toml && part == PART_MCP)
			setup_throw_toml(&l);
		else
			setup_throw_json(&l, c);
		d = setup_draft_of(l.out.data ? l.out.data : "", l.out.len);
		if (dice_percent(&dice, 50))
			setup_put(c, part, SETUP_COMMAND, &d, &t, &f);
		spoil(&d.text, &dice);
		if (setup_put(c, part, SETUP_COMMAND, &d, &t, &f) < 0)
			refusals++;
		else if (setup_cut(c, part, SETUP_COMMAND, &d, &f) < 0)
			fail_msg("%s: %s in:\n%s", c->name, f.text, d.text.data);
		text_release(&d.text);
		text_release(&l.out);
		text_release(&l.plain);
	}
	assert_true(refusals > FILES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_files_of_every_look),
		cmocka_unit_test(parts_share_a_file),
		cmocka_unit_test(toml_files_of_every_look),
		cmocka_unit_test(pages_of_every_look),
		cmocka_unit_test(garbage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
