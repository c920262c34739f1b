#include "tools/build/opgen.h"

#include <ctype.h>
#include <string.h>

#include "core/base/fault.h"

static bool opgen_check_op_among(const char *word, const char *const *set)
{
	for (; *set; set++)
		if (strcmp(*set, word) == 0)
			return true;
	return false;
}

static bool opgen_check_op_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* --- words ------------------------------------------------------------------- */

static void check_words(struct schema *s, const struct decl *d)
{
	static const char *const whos[] = { "host",   "operator", "lead",
					    "member", "observer", NULL };
	static const char *const rates[] = { "create",  "exec", "team_message",
					     "default", "free", NULL };

	if (!d->mode)
		schema_refuse(s, d->place, "%s says neither read nor write", d->name);
	if (!d->who)
		schema_refuse(s, d->place, "%s does not say who", d->name);
	else if (!opgen_check_op_among(d->who, whos))
		schema_refuse(s, d->place, "%s: unknown who '%s'", d->name, d->who);
	if (d->rate && !opgen_check_op_among(d->rate, rates))
		schema_refuse(s, d->place, "%s: unknown rate '%s'", d->name, d->rate);
	if (!strchr(d->name, '.') || strchr(d->name, '.') != strrchr(d->name, '.'))
		schema_refuse(s, d->place,
			      "an operation is called NOUN.VERB, "
			      "not '%s'",
			      d->name);
}

/* Characters, as a terminal counts them. */
static size_t columns(const char *s, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += ((unsigned char)s[i] & 0xc0) != 0x80;
	return count;
}

static void check_summary(struct schema *s, struct decl *d)
{
	size_t n = strcspn(d->doc, "\n");

	d->summary = arena_strndup(&s->arena, d->doc, n);
	if (!n)
		return; /* said already: no documentation */
	if (columns(d->doc, n) > 80)
		schema_refuse(s, d->place,
			      "the summary of %s is longer than "
			      "80 columns",
			      d->name);
	if (d->doc[n - 1] != '.' || (d->doc[n] && d->doc[n + 1] != '\n' && d->doc[n + 1]))
		schema_refuse(s, d->place,
			      "the summary of %s is not one line "
			      "that ends with a period",
			      d->name);
	d->doc += n;
	while (*d->doc == '\n')
		d->doc++;
}

static void check_faults(struct schema *s, const struct decl *d)
{
	static const char *const names[] = {
#define X(id, name, exit, http, wire, doc, hint) name,
		FAULT_LIST(X)
#undef X
			NULL
	};

	for (size_t i = 0; i < d->fails.n; i++)
		if (!opgen_check_op_among(d->fails.items[i], names))
			schema_refuse(s, d->place, "%s: undeclared fault '%s'", d->name,
				      d->fails.items[i]);
	for (size_t i = 0; i < d->emits.n; i++) {
		if (!schema_find(s, DECL_EVENT, d->emits.items[i]))
			schema_refuse(s, d->place, "%s: undeclared event '%s'", d->name,
				      d->emits.items[i]);
		for (size_t j = 0; j < i; j++)
			if (opgen_check_op_same(d->emits.items[i], d->emits.items[j]))
				schema_refuse(s, d->place,
					      "%s: '%s' appears "
					      "twice",
					      d->name, d->emits.items[i]);
	}
}

/* Whether a word of `reads`, RECORD.FIELD, is a text with its FIELD_size beside it. */
static bool is_long_text(struct schema *s, const char *word)
{
	const char *dot = strchr(word, '.');
	const struct decl *r;

	if (!dot)
		return false;
	r = schema_find(s, DECL_RECORD,
			arena_strndup(&s->arena, word, (size_t)(dot - word)));
	return r && r->kind == DECL_RECORD && member_find(&r->in, dot + 1) &&
	       member_find(&r->in, arena_printf(&s->arena, "%s_size", dot + 1));
}

static void check_reads(struct schema *s, const struct decl *d)
{
	for (size_t i = 0; i < d->reads.n; i++)
		if (!is_long_text(s, d->reads.items[i]))
			schema_refuse(s, d->place,
				      "%s reads '%s', which is no field with a _size",
				      d->name, d->reads.items[i]);
}

/* --- routes -------------------------------------------------------------------- */

/* Whether two paths are the same but for the names of their fields. */
static bool same_path(const char *a, const char *b)
{
	while (*a && *b) {
		if (*a == '{' && *b == '{') {
			a += strcspn(a, "}");
			b += strcspn(b, "}");
		}
		if (*a != *b)
			return false;
		if (*a)
			a++, b++;
	}
	return *a == *b;
}

static void check_path(struct schema *s, const struct decl *d)
{
	for (const char *p = d->path; (p = strchr(p, '{')); p++) {
		size_t n = strcspn(p, "}");
		const struct member *m;

		if (p[-(p > d->path)] != '/' || !p[n] || (p[n + 1] && p[n + 1] != '/')) {
			schema_refuse(s, d->place,
				      "%s: a {field} is a whole "
				      "step of a path",
				      d->name);
			return;
		}
		m = member_find(&d->in, arena_strndup(&s->arena, p + 1, n - 1));
		if (!m || m->def || m->list)
			schema_refuse(s, d->place,
				      "%s: the path names %.*s, "
				      "which is no field without a default",
				      d->name, (int)n + 1, p);
	}
}

static void check_route(struct schema *s, const struct decl *d)
{
	static const char *const methods[] = { "GET",   "POST",   "PUT",
					       "PATCH", "DELETE", NULL };

	if (!opgen_check_op_among(d->method, methods))
		schema_refuse(s, d->place, "%s: unknown method '%s'", d->name, d->method);
	if (opgen_check_op_same(d->method, "GET") &&
	    opgen_check_op_same(d->mode, "write"))
		schema_refuse(s, d->place, "%s: a write on GET", d->name);
	if (*d->path != '/')
		schema_refuse(s, d->place, "%s: a path begins with /", d->name);
	check_path(s, d);
	for (size_t i = 0; i < s->n && s->decls[i] != d; i++)
		if (opgen_check_op_same(s->decls[i]->method, d->method) &&
		    same_path(s->decls[i]->path, d->path))
			schema_refuse(s, d->place, "%s has the route of %s", d->name,
				      s->decls[i]->name);
}

/* --- tools ------------------------------------------------------------------------ */

/* Whether two fields look alike in a bundle, which shows no limits. */
static bool look_alike(const struct member *a, const struct member *b)
{
	if (!a->type || !b->type)
		return true; /* said already */
	return a->list == b->list &&
	       (a->type == b->type ||
		(a->type->base && opgen_check_op_same(a->type->base, b->type->base)));
}

static void check_bundle(struct schema *s, const struct decl *d, const struct decl *other)
{
	if (!d->action != !other->action) {
		schema_refuse(s, d->place,
			      "%s: tool '%s' stands alone in one "
			      "of %s and %s",
			      d->name, d->tool, d->name, other->name);
		return;
	}
	if (!d->action || opgen_check_op_same(d->action, other->action))
		schema_refuse(s, d->place,
			      "%s has the place of %s in tool "
			      "'%s'",
			      d->name, other->name, d->tool);
	for (size_t i = 0; i < d->in.n; i++) {
		const struct member *m = d->in.items[i];
		const struct member *twin = member_find(&other->in, m->name);

		if (twin && !look_alike(m, twin))
			schema_refuse(s, m->place,
				      "%s: '%s' has another type "
				      "in %s of the same tool",
				      d->name, m->name, other->name);
	}
}

static void check_tool(struct schema *s, const struct decl *d)
{
	bool declared = false;

	for (size_t i = 0; i < s->n; i++)
		if (s->decls[i]->kind == DECL_SET &&
		    member_find(&s->decls[i]->in, d->tool))
			declared = true;
	if (!declared)
		schema_refuse(s, d->place, "%s: no set has a tool '%s'", d->name,
			      d->tool);
	if (d->action && member_find(&d->in, "action"))
		schema_refuse(s, d->place,
			      "%s: 'action' says which operation "
			      "of the tool is meant",
			      d->name);
	for (size_t i = 0; i < s->n && s->decls[i] != d; i++)
		if (opgen_check_op_same(s->decls[i]->tool, d->tool))
			check_bundle(s, d, s->decls[i]);
}

/* --- commands ------------------------------------------------------------------------ */

/* The argument that a word names, small or in capitals. */
static const struct member *cli_field(const struct decl *d, const char *word)
{
	char name[64];
	size_t i = 0;

	for (; word[i] && i + 1 < sizeof(name); i++)
		name[i] = (char)tolower((unsigned char)word[i]);
	name[i] = '\0';
	return member_find(&d->in, name);
}

/* The second word is one of the command, unless it names an argument; and it
 * is one of the command all the same when that argument comes behind it, as in
 * `cli agent status status`. */
static bool second_is_word(const struct decl *d)
{
	if (d->cli.n < 2 || isupper((unsigned char)d->cli.items[1][0]))
		return false;
	if (!cli_field(d, d->cli.items[1]))
		return d->cli.n > 2 || !d->cli_rest;
	for (size_t i = 2; i < d->cli.n; i++)
		if (opgen_check_op_same(d->cli.items[i], d->cli.items[1]))
			return true;
	return false;
}

static void take_cli_field(struct schema *s, struct decl *d, const char *word)
{
	const struct member *m = cli_field(d, word);

	if (!m) {
		schema_refuse(s, d->place, "%s: '%s' is no argument", d->name, word);
		return;
	}
	for (size_t i = 0; i < d->cli_fields.n; i++)
		if (opgen_check_op_same(d->cli_fields.items[i], m->name))
			schema_refuse(s, d->place, "%s: '%s' appears twice", d->name,
				      m->name);
	list_add(s, &d->cli_fields, m->name);
}

static void opgen_check_op_check_rest(struct schema *s, const struct decl *d)
{
	size_t n = d->cli_fields.n;
	const struct member *m = n ? member_find(&d->in, d->cli_fields.items[n - 1])
				   : NULL;

	if (m && m->type && !m->list &&
	    !(m->type->base && opgen_check_op_same(m->type->base, "text")))
		schema_refuse(s, d->place,
			      "%s: only a list or a text takes "
			      "the rest",
			      d->name);
}

static bool same_command(const struct decl *a, const struct decl *b)
{
	if (a->cli.n != b->cli.n)
		return false;
	for (size_t i = 0; i < a->cli.n; i++)
		if (!opgen_check_op_same(a->cli.items[i], b->cli.items[i]))
			return false;
	return a->cli.n > 0;
}

static bool begins_command(const struct decl *d, const char *word)
{
	for (size_t i = 0; i < d->also.n; i++)
		if (opgen_check_op_same(d->also.items[i], word))
			return true;
	return d->cli.n && opgen_check_op_same(d->cli.items[0], word);
}

/* Refuses another word for a command that begins one already. */
static void check_also(struct schema *s, const struct decl *d)
{
	for (size_t i = 0; i < d->also.n; i++) {
		if (!d->cli.n)
			schema_refuse(s, d->place, "%s is no command", d->name);
		for (size_t j = 0; j < s->n; j++)
			if (s->decls[j] != d &&
			    begins_command(s->decls[j], d->also.items[i]))
				schema_refuse(s, d->place, "%s: '%s' begins %s", d->name,
					      d->also.items[i], s->decls[j]->name);
	}
}

/* If the schema has topics, each command belongs to one topic by its noun. */
static void check_topic(struct schema *s, const struct decl *d)
{
	size_t n = strcspn(d->name, "."), topics = 0, found = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct decl *t = s->decls[i];

		if (t->kind != DECL_TOPIC)
			continue;
		topics++;
		for (size_t j = 0; j < t->nouns.n; j++)
			found += strlen(t->nouns.items[j]) == n &&
				 strncmp(t->nouns.items[j], d->name, n) == 0;
	}
	if (d->cli.n && topics && found != 1)
		schema_refuse(s, d->place, "%s: %zu topics have its noun, not one",
			      d->name, found);
}

static void check_cli(struct schema *s, struct decl *d)
{
	size_t words = 1 + second_is_word(d);

	for (size_t i = words; i < d->cli.n; i++)
		take_cli_field(s, d, d->cli.items[i]);
	d->cli.n = words; /* the other words are the command */
	if (d->cli_rest)
		opgen_check_op_check_rest(s, d);
	for (size_t i = 0; i < s->n && s->decls[i] != d; i++)
		if (same_command(s->decls[i], d))
			schema_refuse(s, d->place, "%s has the command of %s", d->name,
				      s->decls[i]->name);
	check_also(s, d);
	check_topic(s, d);
}

/* --- keys ------------------------------------------------------------------------------- */

/* Adds the argument that every write takes without declaring it. */
static void opgen_check_op_add_key(struct schema *s, struct decl *d, const char *name,
				   const char *doc)
{
	struct member *m;

	if (member_find(&d->in, name))
		return;
	m = members_add(s, &d->in);
	m->name = m->id = m->type_name = name;
	m->doc = doc;
	m->optional = true;
	m->place = d->place;
	m->type = schema_find(s, DECL_TYPE, name);
}

void op_check_places(struct schema *s, const struct decl *d)
{
	if (d->method)
		check_route(s, d);
	if (d->tool)
		check_tool(s, d);
}

/* A door takes its own arguments out of a call, so that the operation would never see one of
 * that name.  `team` and `operator` are passed on: the command is where, or who, the operation
 * is about. */
static void check_taken(struct schema *s, const struct decl *d)
{
	static const char *const of_mcp[] = { "action", "max_result_tokens", NULL };
	/* option_table of the command */
	static const char *const of_command[] = { "utc",      "json",   "direct",
						  "home",     "create", "as",
						  "key",      "wait",   "no_color",
						  "no_pager", "help",   NULL };

	for (size_t i = 0; i < d->in.n; i++) {
		const char *name = d->in.items[i]->name;

		if ((d->tool && opgen_check_op_among(name, of_mcp)) ||
		    (d->cli.n && opgen_check_op_among(name, of_command)))
			schema_refuse(s, d->place, "%s: a door has an argument '%s', too",
				      d->name, name);
	}
}

void op_check(struct schema *s, struct decl *d)
{
	check_words(s, d);
	check_taken(s, d);
	check_summary(s, d);
	check_faults(s, d);
	check_reads(s, d);
	if (d->needs_folders && !member_find(&d->in, "confirm"))
		schema_refuse(s, d->place, "%s needs folders, and has no 'confirm'",
			      d->name);
	op_check_places(s, d);
	if (d->cli.n)
		check_cli(s, d); /* splits the command from its arguments */
	screen_check(s, d);
	doors_check(s, d);
	if (op_takes_key(d))
		opgen_check_op_add_key(
			s, d, "idempotency_key",
			"Names this call; the same one again changes nothing "
			"more and returns what the first did.");
	if (d->request)
		opgen_check_op_add_key(
			s, d, "request_id",
			"Names this call; the same one again returns what the "
			"first handed out and is still held.");
}
