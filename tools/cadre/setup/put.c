/*
 * put - puts a part of a client into one file: the entry of the MCP server, the hooks, or a
 * block of instructions.
 */
#include <ctype.h>
#include <string.h>

#include "core/config/toml.h"
#include "tools/cadre/hook/hook.h"
#include "tools/cadre/setup/setup.h"

/* A part of a client in a file. */
struct put {
	const struct setup_client *c;
	const char *command; /* see setup_put() */
	const char *line; /* shell command that runs the hook; NULL: hooks are removed */
	struct setup_draft *d;
	struct setup_tally *t; /* NULL: the part is removed */
	struct fault *f;
	struct arena a; /* memory of the last tree that was read */
};

/* Reads the draft as JSON, and frees the former tree. NULL: the draft is blank, or there is a
 * fault. */
static struct jsonc *put_read(struct put *p)
{
	struct jsonc *root;

	arena_release(&p->a);
	return jsonc_read(&p->a, p->d, &root, p->f) == 0 ? root : NULL;
}

/* --- entries of setup and of others ------------------------------------------------------- */

/* An entry or hook that is already in a file is of one of three kinds:
 *
 *	another's   The entry does not run cadre: put_is_cadre() is false for its program.  If
 *	            the entry is named `cadre`, there is a conflict.  A hook is ignored.
 *	setup's     put_wrote() is true for the program, and the entry has no other content
 *	            (see put_is_as_written() and put_program_of()).  The entry does not tell
 *	            which cadre wrote the entry.  So setup changes the entry's program to this
 *	            program, and --remove removes the entry, whichever cadre it runs.
 *	            A file of code belongs to setup as a whole if its first line says so.
 *	a person's  The entry runs cadre in any other way (see put_calls_hook() for hooks).  The
 *	            entry stays, and setup and --remove report the entry.
 */

/* Whether a program's name, or the last part of its path, is `cadre`, or `word` is the path of
 * this program. The file of this program may have another name. */
static bool put_is_cadre(const struct put *p, const char *word)
{
	const char *name = strrchr(word, '/');

	return !strcmp(name ? name + 1 : word, "cadre") || !strcmp(word, p->command);
}

/* Whether the program is cadre, in a form that setup writes. Setup writes a name, or an
 * absolute path. */
static bool put_wrote(const struct put *p, const char *command)
{
	return put_is_cadre(p, command) && (command[0] == '/' || !strchr(command, '/'));
}

/* Counts an entry that was found. If the entry's command runs no program, or a program other
 * than this program, notes the command. */
static void put_found(const struct put *p, const char *command)
{
	enum setup_runs runs = setup_runs(command, p->command);

	p->t->found++;
	if (runs == RUNS_NONE)
		snprintf(p->t->gone, sizeof(p->t->gone), "%.199s", command);
	else if (runs == RUNS_ANOTHER)
		snprintf(p->t->other, sizeof(p->t->other), "%.199s", command);
}

/* --- the entry of the MCP server ---------------------------------------------------------------- */

static size_t offset_of(const struct setup_draft *d, struct toml_place at)
{
	const char *s = d->text.data + draft_start(d);

	for (int line = 1; line < at.line; line++)
		s = strchr(s, '\n') + 1;
	return (size_t)(s - d->text.data) + (size_t)at.column - 1;
}

/* A value of TOML as JSON; null: setup's entries have no values of this kind. */
static json_t *put_toml_value(const struct toml_value *v)
{
	json_t *out = v->kind == TOML_TABLE   ? json_object()
		      : v->kind == TOML_ARRAY ? json_array()
		      : v->kind == TOML_TEXT  ? json_stringn(v->text.data, v->text.len)
		      : v->kind == TOML_BOOL  ? json_boolean(v->boolean)
					      : json_null();

	if (v->kind == TOML_TABLE)
		for (const struct toml_entry *e = v->table->first; e; e = e->next)
			json_object_set_new(out, e->key.data, put_toml_value(&e->value));
	for (size_t i = 0; v->kind == TOML_ARRAY && i < v->array->n; i++)
		json_array_append_new(out, put_toml_value(&v->array->items[i]));
	return out;
}

static int put_find_toml(struct arena *a, const struct setup_draft *d, char *keys,
			 struct setup_value *out, struct fault *f)
{
	const char *text = d->text.len ? d->text.data : "", *key;
	const struct toml_entry *e = NULL;
	struct toml_table *t;

	if (toml_read(a, d->name, text, d->text.len, &t, f) < 0)
		return f->code;
	for (; (key = strsep(&keys, ".")); t = e->value.table) {
		if (e && e->value.kind != TOML_TABLE)
			return toml_refuse(d->name, e->value.at, f, "%s is no table",
					   e->key.data);
		if (e && t->made == TOML_MADE_INLINE)
			out->braces = &e->value;
		if (!(e = toml_find(t, key, strlen(key))))
			return 0;
	}
	out->value = put_toml_value(&e->value);
	out->at = offset_of(d, e->at);
	out->from = offset_of(d, e->value.at);
	return 0;
}

int setup_find_value(struct arena *a, const struct setup_draft *d, bool toml,
		     const char *path, struct setup_value *out, struct fault *f)
{
	char *keys = arena_strdup(a, path), *key;
	struct jsonc *v;

	*out = (struct setup_value){ 0 };
	if (toml)
		return put_find_toml(a, d, keys, out, f);
	if (jsonc_read(a, d, &v, f) < 0)
		return f->code;
	while (v && (key = strsep(&keys, ".")))
		v = jsonc_member(d, v, key);
	if (v)
		*out = (struct setup_value){ .value = jsonc_value(a, d, v),
					     .at = jsonc_start(v),
					     .from = v->from,
					     .node = v };
	return 0;
}

/* The entry named `cadre` in a file. */
struct entry {
	struct setup_value v;
	const char *name; /* the entry's program if it runs `cadre mcp`, else NULL */
};

/* The program of an entry that runs `cadre mcp`: a string, or the first word of an array. NULL:
 * the entry does not run `cadre mcp`. */
static const char *put_name_of(const struct put *p, const struct setup_value *v)
{
	const json_t *command = json_object_get(v->value, "command");
	const json_t *args = json_is_array(command) ? command
						    : json_object_get(v->value, "args");
	const char *name = json_string_value(
		json_is_array(command) ? json_array_get(command, 0) : command);
	const char *first = json_string_value(json_array_get(args, args == command));

	return name && first && !strcmp(first, "mcp") && put_is_cadre(p, name) ? name
									       : NULL;
}

/* Whether an entry has the word --operator. The MCP server of such an entry acts as the
 * operator. */
static bool put_is_operators(const struct entry *e)
{
	static const char *const keys[] = { "command", "args" };
	const json_t *word;
	size_t k;

	for (int i = 0; i < 2; i++)
		json_array_foreach(json_object_get(e->v.value, keys[i]), k, word)
			if (json_is_string(word) &&
			    !strcmp(json_string_value(word), "--operator"))
				return true;
	return false;
}

/* Whether an entry is exactly as setup writes it, without any change by a person. */
static bool put_is_as_written(const struct put *p, const struct entry *e)
{
	json_t *want = json_loads(p->c->entry, 0, NULL), *command;
	bool is;

	command = json_object_get(want, "command");
	json_string_set(json_is_array(command) ? json_array_get(command, 0) : command,
			e->name);
	is = !e->v.braces && put_wrote(p, e->name) && json_equal(e->v.value, want);
	json_decref(want);
	return is;
}

static struct entry put_find_entry(struct put *p)
{
	struct entry e;
	char path[64];

	arena_release(&p->a);
	snprintf(path, sizeof(path), "%s.cadre", p->c->servers);
	setup_find_value(&p->a, p->d, p->c->toml, path, &e.v, p->f);
	e.name = put_name_of(p, &e.v);
	return e;
}

static void put_set_command(struct put *p)
{
	struct setup_value v;
	char path[64];

	snprintf(path, sizeof(path), "%s.cadre.command", p->c->servers);
	setup_find_value(&p->a, p->d, p->c->toml, path, &v, p->f);
	draft_quote(p->d, v.node && v.node->first ? v.node->first->from : v.from,
		    p->command);
	p->t->changed++;
	json_decref(v.value);
}

static void put_toml_entry(const struct put *p)
{
	struct text out = { 0 };

	text_addf(&out, "[%s.cadre]\ncommand = ", p->c->servers);
	text_add_json(&out, p->command);
	text_addf(&out, "\nargs = [\"mcp\"]");
	draft_append(p->d, out.data);
	text_release(&out);
}

static void put_entry(struct put *p)
{
	const struct jsonc_place place = { .keys = { p->c->servers, "cadre" } };
	struct entry e = put_find_entry(p);
	struct fault foreign = { 0 };

	if (e.name) {
		put_found(p, e.name);
		p->t->as_operator = put_is_operators(&e);
		if (!put_is_as_written(p, &e)) {
			p->t->yours++;
		} else if (strcmp(e.name, p->command) != 0) {
			put_set_command(p);
		}
	} else if (e.v.value) {
		jsonc_refuse(p->d, e.v.at, &foreign,
			     "an entry named cadre is there, but it does not run cadre");
		fault_set(p->f, FAULT_CONFLICT, "", "%s", foreign.text);
		fault_hint(p->f, "Rename or remove that entry.");
	} else if (e.v.braces) {
		toml_refuse(p->d->name, e.v.braces->at, p->f,
			    "%s is in braces, where no table can be added",
			    p->c->servers);
	} else if (!p->f->code) {
		p->t->missing++;
		if (p->c->toml)
			put_toml_entry(p);
		else
			jsonc_put(p->d, &place, p->c->entry, p->command,
				  &p->c->beside[PART_MCP], p->f);
	}
	json_decref(e.v.value);
}

/* The runs of lines that make up setup's entry in TOML. */
struct runs {
	struct arena *arena;
	const char *servers;
	struct run {
		size_t from, to;
	} * v;
	size_t n;
	bool goes_on; /* the line before belongs to the entry */
};

static bool put_is_key(const struct toml_text *t, const char *key)
{
	return t->len == strlen(key) && !memcmp(t->data, key, t->len);
}

static void put_take_line(void *arg, const struct toml_line *line)
{
	struct runs *r = arg;
	bool ours = line->n >= 2 && put_is_key(&line->path[0], r->servers) &&
		    put_is_key(&line->path[1], "cadre");

	if (ours && !r->goes_on)
		arena_add(r->arena, r->v, r->n, (struct run){ line->from, line->to });
	if (ours)
		r->v[r->n - 1].to = line->to;
	r->goes_on = ours;
}

/* Removes the entry if the entry is as setup wrote it. Returns whether there was such an entry.
 * A second entry may follow, which the client would use after the removal. */
static bool put_cut_entry(struct put *p)
{
	struct entry e = put_find_entry(p);
	struct runs r = { .arena = &p->a, .servers = p->c->servers };
	bool ours = e.name && put_is_as_written(p, &e);

	if (ours && e.v.node)
		jsonc_cut(p->d, e.v.node, &p->c->beside[PART_MCP]);
	else if (ours)
		toml_lines(&p->a, p->d->text.data, p->d->text.len, put_take_line, &r,
			   p->f);
	while (!p->f->code && r.n--)
		draft_cut(p->d, r.v[r.n].from, r.v[r.n].to);
	json_decref(e.v.value);
	return ours;
}

/* --- hooks: commands of events, as items of arrays in JSON --------------------------------- */

/* If a line runs the client's hook of cadre and does nothing else, returns the line's program.
 * NULL: the line does something else. */
static const char *put_program_of(struct put *p, const char *line)
{
	const char *end = arena_printf(&p->a, " hook %s", p->c->name), *word;
	size_t n = strlen(line), tail = strlen(end);

	if (n <= tail || strcmp(line + n - tail, end) != 0)
		return NULL;
	word = shell_text(&p->a, arena_strndup(&p->a, line, n - tail));
	return word && put_wrote(p, word) ? word : NULL;
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* Whether a line contains the text `words`, and the text neither begins nor ends inside a
 * longer name. */
static bool has_words(const char *line, const char *words)
{
	for (const char *s = line; (s = strstr(s, words)); s++)
		if ((s == line || !is_of_name(s[-1])) && !is_of_name(s[strlen(words)]))
			return true;
	return false;
}

/* Whether a line, perhaps written by a person, runs the client's hook of cadre. */
static bool put_calls_hook(struct put *p, const char *line)
{
	const char *bare = shell_bare(&p->a, line);

	return has_words(bare, arena_printf(&p->a, "cadre hook %s", p->c->name)) ||
	       has_words(bare, shell_bare(&p->a, p->line));
}

/* The string with the command of a handler. With `ours`, setup must have written the handler.
 * Without `ours`, any handler that runs cadre's hook is accepted. NULL: the handler does not
 * fulfil this condition. */
static struct jsonc *put_find_line(struct put *p, const struct jsonc *handler, bool ours)
{
	struct jsonc *line = jsonc_member(p->d, handler, "command");
	const char *text = jsonc_text(&p->a, p->d, line);

	return text && (ours ? put_program_of(p, text) != NULL : put_calls_hook(p, text))
		       ? line
		       : NULL;
}

/* The event's last handler that put_find_line() accepts. `*line` gets the handler's command.
 * NULL: there is no such handler. `event` may be NULL. An item of an event is a handler, or has
 * an array of handlers. */
static struct jsonc *put_find_handler(struct put *p, const struct jsonc *event, bool ours,
				      struct jsonc **line)
{
	for (struct jsonc *item = event ? event->last : NULL; item; item = item->prev) {
		const struct jsonc *group = jsonc_member(p->d, item, "hooks");

		if ((*line = put_find_line(p, item, ours)))
			return item;
		for (struct jsonc *h = group ? group->last : NULL; h; h = h->prev)
			if ((*line = put_find_line(p, h, ours)))
				return h;
	}
	return NULL;
}

static void put_event(struct put *p, const char *name)
{
	const struct jsonc_place place = { .keys = { "hooks", name }, .push = true };
	const struct jsonc *hooks = jsonc_member(p->d, put_read(p), "hooks");
	const struct jsonc *event = jsonc_member(p->d, hooks, name);
	struct jsonc *line;
	const char *text;

	if (put_find_handler(p, event, true, &line)) {
		text = jsonc_text(&p->a, p->d, line);
		put_found(p, put_program_of(p, text));
		if (strcmp(text, p->line) != 0) {
			p->t->changed++;
			draft_quote(p->d, line->from, p->line);
		}
	} else if (put_find_handler(p, event, false, &line)) {
		p->t->found++;
		p->t->yours++;
	} else if (!p->f->code) {
		p->t->missing++;
		jsonc_put(p->d, &place, p->c->hook, p->line, &p->c->beside[PART_HOOKS],
			  p->f);
	}
}

/* The maximum number of handlers in a file, limited because the whole file is read again for
 * each handler. */
enum { HANDLERS = 32 };

/* Removes the last handler in the text that belongs to setup. `n` counts the calls. False:
 * there is no such handler. */
static bool put_cut_last(struct put *p, int n)
{
	const struct jsonc *hooks = jsonc_member(p->d, put_read(p), "hooks");
	struct jsonc *handler = NULL, *line;

	for (struct jsonc *event = hooks ? hooks->last : NULL; event && !handler;
	     event = event->prev)
		handler = put_find_handler(p, event, true, &line);
	if (handler && n > HANDLERS)
		jsonc_refuse(p->d, jsonc_start(handler), p->f,
			     "more than %d hooks of cadre are here", HANDLERS);
	else if (handler)
		jsonc_cut(p->d, handler, &p->c->beside[PART_HOOKS]);
	return handler != NULL;
}

/* --- hooks in a file of code ------------------------------------------------------------------- */

static const char plugin_head[] =
	"// Made by `cadre setup`, which `cadre setup --remove` undoes.\n";

static bool is_plugin(const struct setup_draft *d)
{
	return d->text.len && !strncmp(d->text.data, plugin_head, strlen(plugin_head));
}

static void put_plugin(const struct put *p)
{
	static const char name[] = "'cadre'"; /* the command replaces this text */
	const char *from = plugin_opencode, *at;
	struct setup_draft *d = p->d;
	struct text whole = { 0 };

	if (d->there && !is_plugin(d)) {
		fault_set(p->f, FAULT_CONFLICT, "",
			  "%.150s exists, and does not belong to cadre", d->name);
		fault_hint(p->f, "Rename that file.");
		return;
	}
	text_addf(&whole, "%s", plugin_head);
	for (; strcmp(p->command, "cadre") && (at = strstr(from, name));
	     from = at + strlen(name)) {
		text_add(&whole, from, (size_t)(at - from));
		text_add_json(&whole, p->command);
	}
	text_addf(&whole, "%s", from);
	p->t->found += d->there;
	p->t->missing += !d->there;
	p->t->changed += d->there && (whole.len != d->text.len ||
				      memcmp(whole.data, d->text.data, whole.len) != 0);
	draft_splice(d, 0, d->text.len, whole.data, whole.len);
	d->there = true;
	text_release(&whole);
}

static void put_hooks(struct put *p)
{
	const struct hook_client *h = hook_clients;

	if (!p->c->hook) {
		put_plugin(p);
		return;
	}
	while (strcmp(h->name, p->c->name) != 0)
		h++;
	for (const struct hook_rule *r = h->rules; r->event && !p->f->code; r++)
		if (r->kind != HOOK_END)
			put_event(p, r->event);
}

static void put_cut_hooks(struct put *p)
{
	if (p->c->hook) {
		for (int n = 1; !p->f->code && put_cut_last(p, n); n++)
			;
	} else if (is_plugin(p->d)) {
		draft_splice(p->d, 0, p->d->text.len, "", 0);
		p->d->there = false;
	}
}

/* --- instructions --------------------------------------------------------------------------------- */

/* The maximum number of blocks in a file, limited because the whole file is read again for each
 * block. */
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

/* Whether a line, without its line end, is equal to a text. */
static bool is_line(const char *line, size_t n, const char *text)
{
	n -= n && line[n - 1] == '\r';
	return n == strlen(text) && !memcmp(line, text, n);
}

/* Whether a line is a mark that git puts around a conflict. */
static bool is_conflict(const char *line, size_t n)
{
	return n >= 7 && (!memcmp(line, "<<<<<<<", 7) || !memcmp(line, ">>>>>>>", 7));
}

/* Finds the last block that ends before `below`. Returns 1 if a block was found, 0 if there is
 * no block, or a fault. `*from` is the block's first byte, `*to` the byte behind the block's
 * last byte. The begin and the end of a block are marked by lines of their own. A mark without
 * its partner is a fault, because a person's text could be taken for a part of the block. */
static int find_block(const struct setup_draft *d, size_t below, size_t *from, size_t *to,
		      struct fault *f)
{
	size_t begin = SIZE_MAX, wrong = 0, next;
	const char *why = NULL;
	int there = 0, n_blocks = 0;

	for (size_t at = draft_start(d); at < d->text.len && !why; at = next) {
		const char *s = d->text.data + at;
		const char *end = memchr(s, '\n', d->text.len - at);
		size_t n = end ? (size_t)(end - s) : d->text.len - at;
		bool begins = is_line(s, n, block_begin), ends = is_line(s, n, block_end);

		next = at + n + 1;
		wrong = at;
		if (begin != SIZE_MAX && (begins || is_conflict(s, n))) {
			why = "this is within the block of cadre that begins above";
		} else if (begins) {
			begin = at;
		} else if (ends && begin == SIZE_MAX) {
			why = "the block of cadre that ends here has no begin";
		} else if (ends && ++n_blocks > BLOCKS) {
			why = "more than 8 blocks of cadre are here";
			wrong = begin;
		} else if (ends) {
			if (at < below) {
				*from = begin;
				*to = at + sizeof(block_end) - 1;
				there = 1;
			}
			begin = SIZE_MAX;
		}
	}
	if (!why && begin != SIZE_MAX) {
		why = "the block of cadre that begins here has no end";
		wrong = begin;
	}
	return why ? jsonc_refuse(d, wrong, f, "%s", why) : there;
}

/* Whether a line has `@NAME` or `@./NAME` as a word. */
static bool has_import(const char *line, size_t n, const char *name)
{
	for (const char *s = line, *next; s < line + n; s = next) {
		size_t len = strcspn(s, " \t\r\n"), at = strncmp(s, "@./", 3) ? 1 : 3;

		next = s + len + 1;
		if (*s == '@' && len == at + strlen(name) &&
		    !memcmp(s + at, name, len - at))
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

/* Replaces a former block by the current block, and keeps the former block's line ends. */
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

static void put_block(struct put *p)
{
	size_t from = SIZE_MAX, to;
	int there;

	while ((there = find_block(p->d, from, &from, &to, p->f)) > 0) {
		p->t->found = 1;
		renew_block(p->d, from, to, p->t);
	}
	if (there == 0 && !p->t->found) {
		p->t->missing++;
		draft_append(p->d, block);
	}
}

/* --- putting and removing any part ----------------------------------------------------------------- */

int setup_put(const struct setup_client *c, enum setup_part part, const char *command,
	      struct setup_draft *d, struct setup_tally *t, struct fault *f)
{
	struct put p = { .c = c, .command = command, .d = d, .t = t, .f = f };
	struct arena a = { 0 };

	p.line = arena_printf(&a, "%s hook %s", shell_word(&a, command), c->name);
	(part == PART_MCP ? put_entry : part == PART_HOOKS ? put_hooks : put_block)(&p);
	arena_release(&p.a);
	arena_release(&a);
	return f->code;
}

int setup_cut(const struct setup_client *c, enum setup_part part, const char *command,
	      struct setup_draft *d, struct fault *f)
{
	struct put p = { .c = c, .command = command, .d = d, .f = f };
	size_t from, to;

	if (part == PART_TEXT)
		while (find_block(d, SIZE_MAX, &from, &to, f) > 0)
			draft_cut(d, from, to);
	else if (part == PART_HOOKS)
		put_cut_hooks(&p);
	else
		while (d->there && !f->code && put_cut_entry(&p))
			;
	arena_release(&p.a);
	return f->code;
}
