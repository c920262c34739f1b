/*
 * hooks - the commands that a client runs on its events, as items of arrays in JSON.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tools/cadre/setup/setup.h"

/* The path or name of this program in a line that runs the client's hook and does nothing
 * else; NULL: it is another line. */
static const char *program_of(struct arena *a, const struct setup_words *w,
			      const char *client, const char *line)
{
	const char *end = arena_printf(a, " hook %s", client), *word;
	size_t n = strlen(line), tail = strlen(end);

	if (n <= tail || strcmp(line + n - tail, end) != 0)
		return NULL;
	word = shell_text(a, arena_strndup(a, line, n - tail));
	return word && setup_wrote(w, word) ? word : NULL;
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* Whether a program's words are somewhere in a line. */
static bool has_words(const char *line, const char *words)
{
	for (const char *s = line; (s = strstr(s, words)); s++)
		if ((s == line || !is_of_name(s[-1])) && !is_of_name(s[strlen(words)]))
			return true;
	return false;
}

/* Whether a line, which may be a person's, runs the client's hook somewhere. */
static bool calls_hook(struct arena *a, const struct setup_words *w, const char *client,
		       const char *line)
{
	const char *bare = shell_bare(a, line);

	return has_words(bare, arena_printf(a, "cadre hook %s", client)) ||
	       has_words(bare, shell_bare(a, w->line));
}

/* Whether a command is of the kind that a search looks for. */
typedef bool is_hook(struct arena *a, const struct setup_words *w, const char *client,
		     const char *line);

static bool hooks_is_ours(struct arena *a, const struct setup_words *w,
			  const char *client, const char *line)
{
	return program_of(a, w, client, line) != NULL;
}

/* The string with the command of a handler, or NULL. */
static struct jsonc *hooks_find_line(struct arena *a, const struct setup_client *c,
				     const struct setup_words *w,
				     const struct setup_draft *d,
				     const struct jsonc *handler, is_hook *is)
{
	struct jsonc *line = jsonc_member(d, handler, "command");
	const char *text = jsonc_text(a, d, line);

	return text && is(a, w, c->name, text) ? line : NULL;
}

/* The last such handler in an event, and its command; NULL: there is none.  An item of an
 * event is a handler, or has an array of them. */
static struct jsonc *find_handler(struct arena *a, const struct setup_client *c,
				  const struct setup_words *w,
				  const struct setup_draft *d, const struct jsonc *event,
				  is_hook *is, struct jsonc **line)
{
	for (struct jsonc *item = event->last; item; item = item->prev) {
		const struct jsonc *group = jsonc_member(d, item, "hooks");

		*line = hooks_find_line(a, c, w, d, item, is);
		if (*line)
			return item;
		for (struct jsonc *h = group ? group->last : NULL; h; h = h->prev)
			if ((*line = hooks_find_line(a, c, w, d, h, is)))
				return h;
	}
	return NULL;
}

/* --- putting ----------------------------------------------------------------------------------- */

static int put_event(const struct setup_client *c, const char *name,
		     const struct setup_words *w, struct setup_draft *d,
		     struct setup_tally *t, struct fault *f)
{
	const struct jsonc_place place = { .keys = { "hooks", name }, .push = true };
	const struct jsonc *hooks, *event = NULL;
	struct jsonc *root, *line = NULL;
	struct arena a = { 0 };
	const char *text;
	json_t *value;

	if (jsonc_read(&a, d, &root, f) == 0 && root &&
	    (hooks = jsonc_member(d, root, "hooks")))
		event = jsonc_member(d, hooks, name);
	if (event && find_handler(&a, c, w, d, event, hooks_is_ours, &line)) {
		text = jsonc_text(&a, d, line);
		setup_found(t, w, program_of(&a, w, c->name, text));
		if (strcmp(text, w->line) != 0) {
			t->changed++;
			jsonc_set(d, line, w->line);
		}
	} else if (event && find_handler(&a, c, w, d, event, calls_hook, &line)) {
		t->found++;
		t->yours++;
	} else if (!f->code) {
		t->missing++;
		value = setup_fill(c->hook, w->line);
		jsonc_put(d, &place, value, &c->beside[PART_HOOKS], f);
		json_decref(value);
	}
	arena_release(&a);
	return f->code;
}

int setup_put_hooks(const struct setup_client *c, const struct setup_words *w,
		    struct setup_draft *d, struct setup_tally *t, struct fault *f)
{
	for (int i = 0; c->events[i] && !f->code; i++)
		put_event(c, c->events[i], w, d, t, f);
	return f->code;
}

/* --- taking away ---------------------------------------------------------------------------------- */

/* Handlers that a file may hold; each is found by reading the whole file. */
enum { HANDLERS = 32 };

/* Takes the last handler of ours in the text away, which is number `n`; false: there is none. */
static bool cut_last(const struct setup_client *c, const struct setup_words *w,
		     struct setup_draft *d, int n, struct fault *f)
{
	struct jsonc *root, *hooks = NULL, *handler = NULL, *line;
	struct arena a = { 0 };

	if (jsonc_read(&a, d, &root, f) == 0 && root)
		hooks = jsonc_member(d, root, "hooks");
	for (struct jsonc *event = hooks ? hooks->last : NULL; event && !handler;
	     event = event->prev)
		handler = find_handler(&a, c, w, d, event, hooks_is_ours, &line);
	if (handler && n > HANDLERS)
		jsonc_refuse(d, jsonc_start(handler), f,
			     "more than %d hooks of cadre are here", HANDLERS);
	else if (handler)
		jsonc_cut(d, handler, &c->beside[PART_HOOKS]);
	arena_release(&a);
	return handler != NULL;
}

int setup_cut_hooks(const struct setup_client *c, const struct setup_words *w,
		    struct setup_draft *d, struct fault *f)
{
	for (int n = 1; !f->code && cut_last(c, w, d, n, f); n++)
		;
	return f->code;
}
