/*
 * put - the parts of a client in one file: the entry of its MCP server, its hooks, and a
 * block of instructions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/home/paths.h"
#include "tools/cadre/setup/setup.h"

/* --- what is ours ------------------------------------------------------------------------- */

bool setup_is_cadre(const struct setup_words *w, const char *word)
{
	const char *name = strrchr(word, '/');

	return !strcmp(name ? name + 1 : word, "cadre") || !strcmp(word, w->command);
}

bool setup_wrote(const struct setup_words *w, const char *command)
{
	return setup_is_cadre(w, command) && (command[0] == '/' || !strchr(command, '/'));
}

/* Finds the file that a command runs. */
static bool stat_command(const char *command, struct stat *st)
{
	char path[4096];

	if (!strchr(command, '/'))
		return setup_in_path(command, path) && !stat(path, st);
	return setup_is_program(command, st);
}

void setup_found(struct setup_tally *t, const struct setup_words *w, const char *command)
{
	struct stat st, own;

	t->found++;
	if (!stat_command(command, &st))
		snprintf(t->gone, sizeof(t->gone), "%.199s", command);
	else if (!stat_command(w->command, &own) || st.st_ino != own.st_ino ||
		 st.st_dev != own.st_dev)
		snprintf(t->other, sizeof(t->other), "%.199s", command);
}

int setup_foreign(const struct setup_draft *d, size_t at, struct fault *f)
{
	struct fault found = { 0 };

	jsonc_refuse(d, at, &found, "an entry named cadre is there, and not cadre's own");
	fault_set(f, FAULT_CONFLICT, "", "%s", found.text);
	return fault_hint(f, "Rename or remove that entry.");
}

static void put_fill(json_t *v, const char *text)
{
	const char *key;
	json_t *part;
	size_t i;

	json_object_foreach(v, key, part) {
		if (json_is_string(part) && !strcmp(json_string_value(part), "@"))
			json_string_set(part, text);
		else
			put_fill(part, text);
	}
	json_array_foreach(v, i, part) {
		if (json_is_string(part) && !strcmp(json_string_value(part), "@"))
			json_string_set(part, text);
		else
			put_fill(part, text);
	}
}

json_t *setup_fill(const char *json, const char *text)
{
	json_t *v = json_loads(json, 0, NULL);

	put_fill(v, text);
	return v;
}

/* --- the entry of the MCP server, in JSON ---------------------------------------------------- */

/* The command of an entry that runs `cadre mcp`, as a string or the first word of an array;
 * NULL: it is another's. */
static struct jsonc *put_find_command(struct arena *a, const struct setup_words *w,
				      const struct setup_draft *d,
				      const struct jsonc *entry)
{
	struct jsonc *command = jsonc_member(d, entry, "command"), *word;
	const struct jsonc *args = jsonc_member(d, entry, "args");
	const char *name, *first;

	if (command && command->kind == '[') {
		word = command->first;
		first = word ? jsonc_text(a, d, word->next) : NULL;
	} else {
		word = command;
		first = args ? jsonc_text(a, d, args->first) : NULL;
	}
	name = jsonc_text(a, d, word);
	return name && first && !strcmp(first, "mcp") && setup_is_cadre(w, name) ? word
										 : NULL;
}

/* Whether an entry's words make its agents act as the operator. */
static bool put_is_operators(struct arena *a, const struct setup_draft *d,
			     const struct jsonc *entry)
{
	static const char *const keys[] = { "command", "args" };

	for (int i = 0; i < 2; i++) {
		const struct jsonc *v = jsonc_member(d, entry, keys[i]);

		for (v = v ? v->first : NULL; v; v = v->next) {
			const char *word = jsonc_text(a, d, v);

			if (word && !strcmp(word, "--operator"))
				return true;
		}
	}
	return false;
}

/* Whether the bytes of a value are a value of JSON. */
static bool put_is_value(struct arena *a, const struct setup_draft *d,
			 const struct jsonc *v, const json_t *want)
{
	const struct jsonc *part = v->first;
	const char *text = jsonc_text(a, d, v), *key;
	const json_t *item;
	size_t i, n = 0;

	if (json_is_string(want))
		return text && !strcmp(text, json_string_value(want));
	if (json_is_boolean(want))
		return v->kind == (json_is_true(want) ? 't' : 'f');
	if (v->kind != (json_is_object(want) ? '{' : '['))
		return false;
	for (; part; part = part->next)
		n++;
	json_object_foreach((json_t *)want, key, item) {
		part = jsonc_member(d, v, key);
		if (!part || !put_is_value(a, d, part, item))
			return false;
	}
	part = v->first;
	json_array_foreach(want, i, item) {
		if (!part || !put_is_value(a, d, part, item))
			return false;
		part = part->next;
	}
	return n ==
	       (json_is_object(want) ? json_object_size(want) : json_array_size(want));
}

/* Whether an entry with that command is as setup writes it, so that no person's is in it. */
static bool is_as_written(struct arena *a, const struct setup_client *c,
			  const struct setup_words *w, const struct setup_draft *d,
			  const struct jsonc *entry, const struct jsonc *command)
{
	const char *name = jsonc_text(a, d, command);
	json_t *want = setup_fill(c->entry, name);
	bool is = setup_wrote(w, name) && put_is_value(a, d, entry, want);

	json_decref(want);
	return is;
}

/* The member that a client's entry is, or NULL. */
static struct jsonc *find_entry(const struct setup_client *c, const struct setup_draft *d,
				const struct jsonc *root)
{
	const struct jsonc *servers = root ? jsonc_member(d, root, c->servers) : NULL;

	return servers ? jsonc_member(d, servers, "cadre") : NULL;
}

static int put_client_entry(const struct setup_client *c, const struct setup_words *w,
			    struct setup_draft *d, struct setup_tally *t, struct fault *f)
{
	const struct jsonc_place place = { .keys = { c->servers, "cadre" } };
	struct jsonc *root, *entry = NULL, *command;
	struct arena a = { 0 };
	const char *name;
	json_t *value;

	if (jsonc_read(&a, d, &root, f) == 0)
		entry = find_entry(c, d, root);
	command = entry ? put_find_command(&a, w, d, entry) : NULL;
	if (command) {
		name = jsonc_text(&a, d, command);
		setup_found(t, w, name);
		t->as_operator = put_is_operators(&a, d, entry);
		if (!is_as_written(&a, c, w, d, entry, command))
			t->yours++;
		else if (strcmp(name, w->command) != 0) {
			t->changed++;
			jsonc_set(d, command, w->command);
		}
	} else if (entry) {
		setup_foreign(d, jsonc_start(entry), f);
	} else if (!f->code) {
		t->missing++;
		value = setup_fill(c->entry, w->command);
		jsonc_put(d, &place, value, &c->beside[PART_MCP], f);
		json_decref(value);
	}
	arena_release(&a);
	return f->code;
}

/* Takes the entry away, and says whether there was one: behind it may stand another one, which the
 * client would see then. */
static bool cut_one_entry(const struct setup_client *c, const struct setup_words *w,
			  struct setup_draft *d, struct fault *f)
{
	struct jsonc *root, *entry = NULL, *command;
	struct arena a = { 0 };
	bool ours;

	if (jsonc_read(&a, d, &root, f) == 0)
		entry = find_entry(c, d, root);
	command = entry ? put_find_command(&a, w, d, entry) : NULL;
	ours = command && is_as_written(&a, c, w, d, entry, command);
	if (ours)
		jsonc_cut(d, entry, &c->beside[PART_MCP]);
	arena_release(&a);
	return ours;
}

static void cut_entry(const struct setup_client *c, const struct setup_words *w,
		      struct setup_draft *d, struct fault *f)
{
	while (d->there && cut_one_entry(c, w, d, f))
		;
}

/* --- a file of code ---------------------------------------------------------------------------- */

static const char plugin_head[] =
	"// Made by `cadre setup`, which `cadre setup --remove` undoes.\n";

static bool is_plugin(const struct setup_draft *d)
{
	return d->text.len >= sizeof(plugin_head) - 1 &&
	       !memcmp(d->text.data, plugin_head, sizeof(plugin_head) - 1);
}

static int put_plugin(const struct setup_words *w, struct setup_draft *d,
		      struct setup_tally *t, struct fault *f)
{
	struct text whole = { 0 };

	if (d->there && !is_plugin(d)) {
		fault_set(f, FAULT_CONFLICT, "", "%.150s is there, and not cadre's own",
			  d->name);
		return fault_hint(f, "Rename that file.");
	}
	text_addf(&whole, "%s%s", plugin_head, w->plugin);
	t->found += d->there;
	t->missing += !d->there;
	if (d->there && (whole.len != d->text.len ||
			 memcmp(whole.data, d->text.data, whole.len) != 0))
		t->changed++;
	draft_splice(d, 0, d->text.len, whole.data, whole.len);
	d->there = true;
	text_release(&whole);
	return 0;
}

static void cut_plugin(struct setup_draft *d)
{
	if (!is_plugin(d))
		return;
	draft_splice(d, 0, d->text.len, "", 0);
	d->there = false;
}

/* --- instructions --------------------------------------------------------------------------------- */

/* Blocks that a file may hold; each is found by reading the whole file. */
enum { BLOCKS = 8 };

static const char block_begin[] = "<!-- cadre setup: begin -->";
static const char block_end[] = "<!-- cadre setup: end -->";
static const char block[] =
	"<!-- cadre setup: begin -->\n"
	"## Other agents (cadre)\n"
	"\n"
	"Agents share this project through cadre: its MCP server `cadre`, or the command `cadre`.\n"
	"\n"
	"- Begin with the tool `agents`, action `start`; it says who you are, or how to register.\n"
	"- Claim a task (`task`, action `claim`) before you work on it; complete or release it.\n"
	"- When an answer or a hook says that messages wait, read them with `inbox`; write to\n"
	"  others with `team_message`.\n"
	"<!-- cadre setup: end -->";

/* Whether the bytes of a line, without its end, are a text. */
static bool is_line(const char *line, size_t n, const char *text)
{
	n -= n && line[n - 1] == '\r';
	return n == strlen(text) && !memcmp(line, text, n);
}

/* Whether a line is one that git puts around a conflict. */
static bool is_conflict(const char *line, size_t n)
{
	return n >= 7 && (!memcmp(line, "<<<<<<<", 7) || !memcmp(line, ">>>>>>>", 7));
}

/* Finds the last block that ends before `below`: 1 with its first byte and the byte behind its
 * last, 0: there is none, or a fault.  A mark is a line of its own.  A mark without its partner is
 * a fault, because a person's text could be taken for the block. */
static int find_block(const struct setup_draft *d, size_t below, size_t *from, size_t *to,
		      struct fault *f)
{
	size_t begin = SIZE_MAX, next;
	int there = 0, n_blocks = 0;

	for (size_t at = draft_start(d); at < d->text.len; at = next) {
		const char *s = d->text.data + at;
		const char *end = memchr(s, '\n', d->text.len - at);
		size_t n = end ? (size_t)(end - s) : d->text.len - at;

		next = at + n + 1;
		if (begin != SIZE_MAX &&
		    (is_line(s, n, block_begin) || is_conflict(s, n)))
			return jsonc_refuse(
				d, at, f,
				"this is within the block of cadre that begins above");
		if (is_line(s, n, block_begin)) {
			begin = at;
		} else if (is_line(s, n, block_end)) {
			if (begin == SIZE_MAX)
				return jsonc_refuse(
					d, at, f,
					"the block of cadre that ends here has no begin");
			if (++n_blocks > BLOCKS)
				return jsonc_refuse(
					d, begin, f,
					"more than %d blocks of cadre are here", BLOCKS);
			if (at < below) {
				*from = begin;
				*to = at + sizeof(block_end) - 1;
				there = 1;
			}
			begin = SIZE_MAX;
		}
	}
	return begin == SIZE_MAX
		       ? there
		       : jsonc_refuse(d, begin, f,
				      "the block of cadre that begins here has no end");
}

/* Whether a line has `@NAME` or `@./NAME` as a word. */
static bool has_import(const char *line, size_t n, const char *name)
{
	const char *end = line + n;

	for (const char *at = line; (at = memchr(at, '@', (size_t)(end - at)));) {
		bool begins = at == line || at[-1] == ' ' || at[-1] == '\t';
		size_t left;

		at += end - at > 2 && !memcmp(at + 1, "./", 2) ? 3 : 1;
		left = (size_t)(end - at);
		if (begins && left >= strlen(name) && !memcmp(at, name, strlen(name)) &&
		    (left == strlen(name) || strchr(" \t\r", at[strlen(name)])))
			return true;
	}
	return false;
}

bool setup_imports(const struct setup_draft *d, const char *name)
{
	struct fault broken = { 0 };
	size_t from, to, next;
	bool fenced = false;

	if (find_block(d, SIZE_MAX, &from, &to, &broken) != 0)
		return false;
	for (size_t at = draft_start(d); at < d->text.len; at = next) {
		const char *s = d->text.data + at;
		const char *end = memchr(s, '\n', d->text.len - at);
		size_t n = end ? (size_t)(end - s) : d->text.len - at;

		next = at + n + 1;
		fenced ^= n >= 3 && (!memcmp(s, "```", 3) || !memcmp(s, "~~~", 3));
		if (!fenced && has_import(s, n, name))
			return true;
	}
	return false;
}

/* Puts the block in the place of another one, with the line ends of that. */
static void renew_block(struct setup_draft *d, size_t from, size_t to,
			struct setup_tally *t)
{
	const char *line = memchr(d->text.data + from, '\n', to - from);
	bool returns = line && line[-1] == '\r';
	struct text out = { 0 };

	for (const char *s = block; *s; s++)
		text_addf(&out, "%s%c", returns && *s == '\n' ? "\r" : "", *s);
	if (out.len != to - from || memcmp(out.data, d->text.data + from, out.len) != 0) {
		draft_splice(d, from, to, out.data, out.len);
		t->changed++;
	}
	text_release(&out);
}

static int put_block(struct setup_draft *d, struct setup_tally *t, struct fault *f)
{
	size_t from = SIZE_MAX, to;
	int there;

	while ((there = find_block(d, from, &from, &to, f)) > 0) {
		t->found = 1;
		renew_block(d, from, to, t);
	}
	if (there < 0 || t->found)
		return there;
	t->missing++;
	draft_append(d, block);
	return 0;
}

static int cut_block(struct setup_draft *d, struct fault *f)
{
	size_t from, to;
	int there;

	while ((there = find_block(d, SIZE_MAX, &from, &to, f)) > 0)
		draft_cut(d, from, to);
	return there;
}

/* --- any part -------------------------------------------------------------------------------------- */

int setup_put(const struct setup_client *c, enum setup_part part,
	      const struct setup_words *w, struct setup_draft *d, struct setup_tally *t,
	      struct fault *f)
{
	if (part == PART_TEXT)
		return put_block(d, t, f);
	if (part == PART_HOOKS)
		return c->plugin ? put_plugin(w, d, t, f)
				 : setup_put_hooks(c, w, d, t, f);
	return c->toml ? setup_put_toml(c, w, d, t, f) : put_client_entry(c, w, d, t, f);
}

int setup_cut(const struct setup_client *c, enum setup_part part,
	      const struct setup_words *w, struct setup_draft *d, struct fault *f)
{
	if (part == PART_TEXT)
		return cut_block(d, f);
	if (part == PART_HOOKS && c->plugin)
		cut_plugin(d);
	else if (part == PART_HOOKS)
		setup_cut_hooks(c, w, d, f);
	else if (c->toml)
		setup_cut_toml(c, w, d, f);
	else
		cut_entry(c, w, d, f);
	return f->code;
}
