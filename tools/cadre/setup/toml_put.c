/*
 * toml_put - the entry of the MCP server in a file of TOML: a table at its end.
 */
#include <string.h>

#include "core/config/toml.h"
#include "tools/cadre/setup/setup.h"

/* Our entry in a file. */
struct entry {
	const struct toml_value *command; /* NULL: there is no entry */
	bool as_operator; /* it makes its agents act as the operator */
	bool yours; /* it says something else, too, or is not in a table of its own */
	const struct toml_value *braces; /* around servers, where no table can be added */
};

static bool is_text(const struct toml_value *v, const char *text)
{
	return v->kind == TOML_TEXT && v->text.len == strlen(text) &&
	       !memcmp(v->text.data, text, v->text.len);
}

static const struct toml_value *toml_put_value_of(const struct toml_table *t,
						  const char *key)
{
	const struct toml_entry *e = toml_find(t, key, strlen(key));

	return e ? &e->value : NULL;
}

static size_t offset_of(const struct setup_draft *d, struct toml_place at)
{
	const char *s = d->text.data + draft_start(d);

	for (int line = 1; line < at.line; line++)
		s = strchr(s, '\n') + 1;
	return (size_t)(s - d->text.data) + (size_t)at.column - 1;
}

/* Whether it runs `cadre mcp`. */
static bool toml_put_is_ours(const struct setup_words *w,
			     const struct toml_value *command,
			     const struct toml_value *args)
{
	return command && command->kind == TOML_TEXT &&
	       setup_is_cadre(w, command->text.data) && args &&
	       args->kind == TOML_ARRAY && args->array->n &&
	       is_text(&args->array->items[0], "mcp");
}

static int read_entry(struct arena *a, const struct setup_client *c,
		      const struct setup_words *w, const struct setup_draft *d,
		      struct entry *out, struct fault *f)
{
	const struct toml_value *servers, *entry, *args;
	struct toml_table *root;

	*out = (struct entry){ 0 };
	if (toml_read(a, d->name, d->text.len ? d->text.data : "", d->text.len, &root,
		      f) < 0)
		return f->code;
	servers = toml_put_value_of(root, c->servers);
	if (!servers)
		return 0;
	if (servers->kind != TOML_TABLE)
		return toml_refuse(d->name, servers->at, f, "%s is no table", c->servers);
	entry = toml_put_value_of(servers->table, "cadre");
	out->braces = servers->table->made == TOML_MADE_INLINE ? servers : NULL;
	if (!entry)
		return 0;
	if (entry->kind == TOML_TABLE)
		out->command = toml_put_value_of(entry->table, "command");
	args = out->command ? toml_put_value_of(entry->table, "args") : NULL;
	if (!toml_put_is_ours(w, out->command, args))
		return setup_foreign(d, offset_of(d, entry->at), f);
	for (size_t i = 0; i < args->array->n; i++)
		out->as_operator |= is_text(&args->array->items[i], "--operator");
	out->yours = out->braces || entry->table->n != 2 || args->array->n != 1 ||
		     !setup_wrote(w, out->command->text.data);
	return 0;
}

/* The byte behind a string of one line. */
static size_t toml_put_string_end(const struct setup_draft *d, size_t at)
{
	const char *s = d->text.data, quote = s[at];

	for (at++; s[at] != quote; at++)
		at += s[at] == '\\' && quote == '"';
	return at + 1;
}

static int set_command(struct setup_draft *d, const struct toml_value *v,
		       const char *command, struct fault *f)
{
	size_t from = offset_of(d, v->at);
	const char *s = d->text.data + from;
	struct text out = { 0 };

	if (!strncmp(s, "\"\"\"", 3) || !strncmp(s, "'''", 3))
		return toml_refuse(d->name, v->at, f,
				   "the command is a text of several lines");
	text_add_json(&out, command);
	draft_splice(d, from, toml_put_string_end(d, from), out.data, out.len);
	text_release(&out);
	return 0;
}

static void toml_put_add_entry(const struct setup_client *c, const char *command,
			       struct setup_draft *d)
{
	json_t *entry = setup_fill(c->entry, command), *v, *word;
	struct text out = { 0 };
	const char *key;
	size_t i;

	text_addf(&out, "[%s.cadre]", c->servers);
	json_object_foreach(entry, key, v) {
		text_addf(&out, "\n%s = ", key);
		if (json_is_string(v))
			text_add_json(&out, json_string_value(v));
		json_array_foreach(v, i, word) {
			text_addf(&out, "%s", i ? ", " : "[");
			text_add_json(&out, json_string_value(word));
		}
		if (json_is_array(v))
			text_add(&out, "]", 1);
	}
	draft_append(d, out.data);
	text_release(&out);
	json_decref(entry);
}

int setup_put_toml(const struct setup_client *c, const struct setup_words *w,
		   struct setup_draft *d, struct setup_tally *t, struct fault *f)
{
	struct arena a = { 0 };
	struct entry entry;

	if (read_entry(&a, c, w, d, &entry, f) == 0 && entry.command) {
		setup_found(t, w, entry.command->text.data);
		t->as_operator = entry.as_operator;
		t->yours += entry.yours;
		if (!entry.yours && !is_text(entry.command, w->command)) {
			t->changed++;
			set_command(d, entry.command, w->command, f);
		}
	} else if (entry.braces) {
		toml_refuse(d->name, entry.braces->at, f,
			    "%s is in braces, where no table can be added", c->servers);
	} else if (!f->code) {
		t->missing++;
		toml_put_add_entry(c, w->command, d);
	}
	arena_release(&a);
	return f->code;
}

/* --- taking away ----------------------------------------------------------------------------------- */

/* The runs of lines that are our entry. */
struct runs {
	struct arena *arena;
	const char *servers;
	struct run {
		size_t from, to;
	} * v;
	size_t n;
	bool goes_on; /* the line before was of the entry */
};

static bool toml_put_is_key(const struct toml_text *t, const char *key)
{
	return t->len == strlen(key) && !memcmp(t->data, key, t->len);
}

static void toml_put_take_line(void *arg, const struct toml_line *line)
{
	struct runs *r = arg;
	bool ours = line->n >= 2 && toml_put_is_key(&line->path[0], r->servers) &&
		    toml_put_is_key(&line->path[1], "cadre");

	if (ours && !r->goes_on)
		*(struct run *)arena_push(r->arena, &r->v, &r->n, sizeof(*r->v)) =
			(struct run){ line->from, line->to };
	if (ours)
		r->v[r->n - 1].to = line->to;
	r->goes_on = ours;
}

int setup_cut_toml(const struct setup_client *c, const struct setup_words *w,
		   struct setup_draft *d, struct fault *f)
{
	struct arena a = { 0 };
	struct runs r = { .arena = &a, .servers = c->servers };
	struct fault none = { 0 };
	struct entry entry;

	/* Another's entry, or none, is nothing to take away. */
	if (read_entry(&a, c, w, d, &entry, &none) < 0 && none.code == FAULT_INVALID)
		*f = none;
	else if (!none.code && entry.command && !entry.yours)
		toml_lines(&a, d->text.data, d->text.len, toml_put_take_line, &r, f);
	while (!f->code && r.n--)
		draft_cut(d, r.v[r.n].from, r.v[r.n].to);
	arena_release(&a);
	return f->code;
}
