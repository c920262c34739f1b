#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tools/build/opgen.h"

/* Checks of the words that doors read in the declaration of an operation. */

static bool opgen_is_value(const struct member *m, const char *base)
{
	return m && !m->list && m->type && opgen_same(m->type->base, base);
}

const struct opgen_pointer opgen_pointers[] = {
	{ "wait", offsetof(struct decl, wait), false, "int" },
	{ "when", offsetof(struct decl, when), false, "bool" },
	{ "within", offsetof(struct decl, within), false, "int" },
	{ "misses", offsetof(struct decl, misses), true, NULL },
	{ "reached", offsetof(struct decl, reached), true, "bool" },
	{ "over", offsetof(struct decl, over), true, "bool" },
	{ "hostless", offsetof(struct decl, hostless), true, "bool" },
	{ "runs", offsetof(struct decl, runs), false, NULL },
	{ "follows", offsetof(struct decl, follows), false, "bool" },
	{ "bytes_in", offsetof(struct decl, bytes_in), false, "text" },
	{ "bytes_out", offsetof(struct decl, bytes_out), true, "text" },
	{ "prints", offsetof(struct decl, prints), true, NULL },
	{ "editor", offsetof(struct decl, editor), false, "text" },
	{ "owner", offsetof(struct decl, owner), false, NULL },
	{ NULL, 0, false, NULL },
};

static const char *opgen_pointer_name(const struct decl *d, const struct opgen_pointer *p)
{
	return *(const char *const *)(const void *)((const char *)d + p->name);
}

const struct member *opgen_field(const struct decl *d, const struct opgen_pointer *p)
{
	const char *name = opgen_pointer_name(d, p);

	return name ? member_find(p->answers ? &d->out : &d->in, name) : NULL;
}

/* Checks the words that name fields. `bytes` names an argument. If there is no such argument,
 * `bytes` names a part of the answer. */
static void check_pointers(struct schema *s, struct decl *d)
{
	if (d->bytes)
		*(member_find(&d->in, d->bytes) ? &d->bytes_in : &d->bytes_out) =
			d->bytes;
	for (const struct opgen_pointer *p = opgen_pointers; p->member; p++) {
		const char *name = opgen_pointer_name(d, p);
		const struct member *m = opgen_field(d, p);

		if (name && (!m || (p->base && !opgen_is_value(m, p->base))))
			decl_refuse(s, d, ": `%s` names '%s', which is no %s of the %s",
				    p->member, name, p->base ? p->base : "field",
				    p->answers ? "answer" : "arguments");
	}
}

const struct member *opgen_rows(const struct decl *d)
{
	for (size_t i = 0; i < d->out.n; i++) {
		const struct member *m = d->out.items[i];

		if (m->list && m->type && m->type->kind == DECL_RECORD)
			return m;
	}
	return NULL;
}

static void check_flags(struct schema *s, const struct decl *d)
{
	static const char *const gifts[] = { "messages", "claim", NULL };
	const bool writes = opgen_same(d->mode, "write");
	const struct opgen_rule rules[] = {
		{ d->within && !d->needs_host,
		  " is answered within a time: only an operation that needs a host" },
		{ d->reached && (!d->wait || writes),
		  " reaches: only a read that waits" },
		{ d->reached && !d->waits_for,
		  " reaches, and does not say what the command waits `for`" },
		{ d->moves && !writes, " moves workspaces, and only reads" },
		{ d->needs_cursor && !writes, " needs the cursor, and only reads" },
		{ d->needs_folders && !member_find(&d->in, "confirm"),
		  " needs folders, and has no 'confirm'" },
		{ d->prefers_host && (writes || d->needs_host),
		  " prefers a host: only of a read that needs none" },
		{ d->above && writes, " is for those above: only of a read" },
		{ d->gives && !opgen_among(d->gives, gifts),
		  " gives what is not messages or claim" },
		{ d->gives && (!writes || (!d->request && !d->wait)),
		  " gives: only a write that waits, or has a request_id" },
		{ d->above && !member_find(&d->in, "team"), ": `above` needs 'team'" },
		{ d->overview.n && !d->empty,
		  ": an overview has a text for an `empty` answer" },
		{ d->lists.n && !opgen_rows(d), " lists: only a list of records" },
		{ d->message_name && !d->needs_host, " asks a guest and needs no host" },
	};

	opgen_rules(s, d, rules, sizeof(rules) / sizeof(*rules));
}

/* Whether a call or its answer has a value of this name. */
static bool opgen_is_known(const struct decl *d, const char *name)
{
	return member_find(&d->in, name) || member_find(&d->out, name);
}

/* Finds the operation `name`. A door calls this operation with values from the call of the
 * operation `d`, and from the answer of `d`. */
static const struct decl *opgen_find_next(struct schema *s, const struct decl *d,
					  const char *name)
{
	const struct decl *next = name ? schema_find(s, DECL_OP, name) : NULL;

	if (name && !next)
		decl_refuse(s, d, ": undeclared operation '%s'", name);
	for (size_t i = 0; next && i < next->in.n; i++) {
		const struct member *m = next->in.items[i];
		bool known = m->optional || m->def || m->list ||
			     opgen_is_known(d, m->name);

		for (size_t j = 0; j < m->aliases.n; j++)
			known |= opgen_is_known(d, m->aliases.items[j]);
		if (!known)
			decl_refuse(s, d,
				    ": %s needs '%s', which neither the call nor its "
				    "answer has",
				    next->name, m->name);
	}
	return next;
}

/* Finds the other declarations that the operation names. */
static void check_others(struct schema *s, struct decl *d)
{
	d->rest = opgen_find_next(s, d, d->rest_name);
	d->signals = opgen_find_next(s, d, d->signals_name);
	d->waiter = opgen_find_next(s, d, d->until.n ? d->until.items[0] : NULL);
	if (d->waiter && !d->waiter->reached)
		decl_refuse(s, d, ": '%s' is no operation that `reaches`",
			    d->waiter->name);
	d->handed = opgen_find_next(s, d, d->hands.n ? d->hands.items[0] : NULL);
	d->many = d->many_name ? schema_find(s, DECL_OP, d->many_name) : NULL;
	if (d->many_name && (!d->many || !member_find(&d->many->in, d->many_field)))
		decl_refuse(s, d, ": many '%s %s' is no argument of an operation",
			    d->many_name, d->many_field);
	d->message = d->message_name ? schema_find(s, DECL_WIRE, d->message_name) : NULL;
	if (d->message_name && !d->message)
		decl_refuse(s, d, ": undeclared message '%s'", d->message_name);
}

/* --- words ------------------------------------------------------------------- */

static void check_words(struct schema *s, const struct decl *d)
{
	static const char *const whos[] = { "host",   "operator", "lead",
					    "member", "observer", NULL };
	static const char *const rates[] = { "create",  "exec", "team_message",
					     "default", "free", NULL };

	if (!d->mode)
		decl_refuse(s, d, " says neither read nor write");
	if (!d->who)
		decl_refuse(s, d, " does not say who");
	else if (!opgen_among(d->who, whos))
		decl_refuse(s, d, ": unknown who '%s'", d->who);
	if (d->rate && !opgen_among(d->rate, rates))
		decl_refuse(s, d, ": unknown rate '%s'", d->rate);
	if (!strchr(d->name, '.') || strchr(d->name, '.') != strrchr(d->name, '.'))
		schema_refuse(s, d->place, "an operation is called NOUN.VERB, not '%s'",
			      d->name);
}

/* The number of characters in `n` bytes of UTF-8. */
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
		return; /* check_decl() has refused the missing documentation */
	if (columns(d->doc, n) > 80)
		schema_refuse(s, d->place, "the summary of %s is longer than 80 columns",
			      d->name);
	if (d->doc[n - 1] != '.' || (d->doc[n] && d->doc[n + 1] != '\n' && d->doc[n + 1]))
		schema_refuse(s, d->place,
			      "the summary of %s is not one line that ends with a period",
			      d->name);
	d->doc += n;
	while (*d->doc == '\n')
		d->doc++;
}

static void check_faults(struct schema *s, const struct decl *d)
{
	for (size_t i = 0; i < d->fails.n; i++)
		if (!opgen_is_fault(d->fails.items[i]))
			decl_refuse(s, d, ": undeclared fault '%s'", d->fails.items[i]);
	for (size_t i = 0; i < d->emits.n; i++) {
		if (!schema_find(s, DECL_EVENT, d->emits.items[i]))
			decl_refuse(s, d, ": undeclared event '%s'", d->emits.items[i]);
		for (size_t j = 0; j < i; j++)
			if (opgen_same(d->emits.items[i], d->emits.items[j]))
				decl_refuse(s, d, ": '%s' appears twice",
					    d->emits.items[i]);
	}
}

/* --- routes -------------------------------------------------------------------- */

/* Whether two paths are equal, apart from the names of the fields in the paths. */
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
			decl_refuse(s, d, ": a {field} is a whole step of a path");
			return;
		}
		m = member_find(&d->in, arena_strndup(&s->arena, p + 1, n - 1));
		if (!m || m->def)
			decl_refuse(s, d,
				    ": the path names %.*s, which is no field without a "
				    "default",
				    (int)n + 1, p);
	}
}

static void check_route(struct schema *s, const struct decl *d)
{
	static const char *const methods[] = { "GET",   "POST",   "PUT",
					       "PATCH", "DELETE", NULL };

	if (!opgen_among(d->method, methods))
		decl_refuse(s, d, ": unknown method '%s'", d->method);
	if (opgen_same(d->method, "GET") && opgen_same(d->mode, "write"))
		decl_refuse(s, d, ": a write on GET");
	if (*d->path != '/')
		decl_refuse(s, d, ": a path begins with /");
	check_path(s, d);
	for (size_t i = 0; i < s->n && s->decls[i] != d; i++)
		if (opgen_same(s->decls[i]->method, d->method) &&
		    same_path(s->decls[i]->path, d->path))
			decl_refuse(s, d, " has the route of %s", s->decls[i]->name);
}

/* --- tools ------------------------------------------------------------------------ */

static void check_bundle(struct schema *s, const struct decl *d, const struct decl *other)
{
	if (!d->action != !other->action)
		decl_refuse(s, d, ": tool '%s' stands alone in one of %s and %s", d->tool,
			    d->name, other->name);
	else if (!d->action || opgen_same(d->action, other->action))
		decl_refuse(s, d, " has the place of %s in tool '%s'", other->name,
			    d->tool);
}

static void check_tool(struct schema *s, const struct decl *d)
{
	const struct decl *set;
	size_t at = 0;

	while ((set = schema_next(s, DECL_SET, &at)) && !member_find(&set->in, d->tool))
		;
	if (!set)
		decl_refuse(s, d, ": no set has a tool '%s'", d->tool);
	if (set && set->unlisted && (d->kind != DECL_FACE || !d->in.n))
		decl_refuse(s, d,
			    " is in the unlisted set %s, but no face with arguments",
			    set->name);
	if (d->action && member_find(&d->in, "action"))
		decl_refuse(s, d, ": 'action' says which operation of the tool is meant");
	for (size_t i = 0; i < s->n && s->decls[i] != d; i++)
		if (opgen_same(s->decls[i]->tool, d->tool))
			check_bundle(s, d, s->decls[i]);
}

/* --- commands ------------------------------------------------------------------------ */

/* Finds the argument that a word names. The word may be written in small letters or in
 * capitals. */
static const struct member *cli_field(const struct decl *d, const char *word)
{
	char name[64];
	size_t i = 0;

	for (; word[i] && i + 1 < sizeof(name); i++)
		name[i] = (char)tolower((unsigned char)word[i]);
	name[i] = '\0';
	return member_find(&d->in, name);
}

/* Whether the second word is part of the command. A second word in capitals is an argument. If
 * the second word is the last word and ends with `...`, the second word is an argument, too.
 * Any other second word is part of the command, unless it names an argument. A second word that
 * names an argument is still part of the command if the same word follows again, as in `cli
 * agent status status`. */
static bool second_is_word(const struct decl *d)
{
	if (d->cli.n < 2 || isupper((unsigned char)d->cli.items[1][0]))
		return false;
	if (!cli_field(d, d->cli.items[1]))
		return d->cli.n > 2 || !d->cli_rest;
	for (size_t i = 2; i < d->cli.n; i++)
		if (opgen_same(d->cli.items[i], d->cli.items[1]))
			return true;
	return false;
}

static void take_cli_field(struct schema *s, struct decl *d, const char *word)
{
	const struct member *m = cli_field(d, word);

	if (!m) {
		decl_refuse(s, d, ": '%s' is no argument", word);
		return;
	}
	if (list_has(&d->cli_fields, m->name))
		decl_refuse(s, d, ": '%s' appears twice", m->name);
	list_add(s, &d->cli_fields, m->name);
}

static void opgen_check_op_rest(struct schema *s, const struct decl *d)
{
	size_t n = d->cli_fields.n;
	const struct member *m = n ? member_find(&d->in, d->cli_fields.items[n - 1])
				   : NULL;

	if (m && m->type && !m->list &&
	    !(m->type->base && opgen_same(m->type->base, "text")))
		decl_refuse(s, d, ": only a list or a text takes the rest");
}

static bool same_command(const struct decl *a, const struct decl *b)
{
	if (a->cli.n != b->cli.n)
		return false;
	for (size_t i = 0; i < a->cli.n; i++)
		if (!opgen_same(a->cli.items[i], b->cli.items[i]))
			return false;
	return a->cli.n > 0;
}

static bool begins_command(const struct decl *d, const char *word)
{
	return list_has(&d->also, word) ||
	       (d->cli.n && opgen_same(d->cli.items[0], word));
}

/* Refuses an alternative word for a command if another command begins with the same word. */
static void check_also(struct schema *s, const struct decl *d)
{
	for (size_t i = 0; i < d->also.n; i++) {
		if (!d->cli.n)
			decl_refuse(s, d, " is no command");
		for (size_t j = 0; j < s->n; j++)
			if (s->decls[j] != d &&
			    begins_command(s->decls[j], d->also.items[i]))
				decl_refuse(s, d, ": '%s' begins %s", d->also.items[i],
					    s->decls[j]->name);
	}
}

/* If the schema has topics, checks that the noun of a command belongs to exactly one topic. */
static void check_topic(struct schema *s, const struct decl *d)
{
	size_t n = strcspn(d->name, "."), topics = 0, found = 0;
	const struct decl *t;

	for (size_t i = 0; (t = schema_next(s, DECL_TOPIC, &i));) {
		topics++;
		for (size_t j = 0; j < t->nouns.n; j++)
			found += strlen(t->nouns.items[j]) == n &&
				 strncmp(t->nouns.items[j], d->name, n) == 0;
	}
	if (d->cli.n && topics && found != 1)
		decl_refuse(s, d, ": %zu topics have its noun, not one", found);
}

static void check_cli(struct schema *s, struct decl *d)
{
	size_t words = 1 + second_is_word(d);

	for (size_t i = words; i < d->cli.n; i++)
		take_cli_field(s, d, d->cli.items[i]);
	d->cli.n = words; /* the words before the arguments are the command */
	if (d->cli_rest)
		opgen_check_op_rest(s, d);
	for (size_t i = 0; i < d->lacks.n; i += 2)
		if (cli_field(d, d->lacks.items[i]))
			decl_refuse(s, d, ": '%s' is an argument", d->lacks.items[i]);
	for (size_t i = 0; i < s->n && s->decls[i] != d; i++)
		if (same_command(s->decls[i], d))
			decl_refuse(s, d, " has the command of %s", s->decls[i]->name);
	check_also(s, d);
	check_topic(s, d);
}

/* --- keys ------------------------------------------------------------------------------- */

/* Adds an argument, such as idempotency_key, that an operation has without a declaration. */
static void add_key(struct schema *s, struct decl *d, const char *name, const char *doc)
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

/* Refuses arguments with names that a door uses itself. A door takes its own arguments out of a
 * call, so the operation would never get arguments of the same names. `team` and `operator` are
 * allowed, since the command passes them on. */
static void check_taken(struct schema *s, const struct decl *d)
{
	static const char *const of_mcp[] = { "action", "max_result_tokens", NULL };
	/* options that the command keeps for itself: `wait`, and all options of option_table
	 * except team and operator */
	static const char *const of_command[] = {
		"utc",  "json",     "direct",   "home", "create", "as",      "key",
		"wait", "no_color", "no_pager", "help", "table",  "columns", NULL
	};

	for (size_t i = 0; i < d->in.n; i++) {
		const char *name = d->in.items[i]->name;

		if ((d->tool && opgen_among(name, of_mcp)) ||
		    (d->cli.n && opgen_among(name, of_command)))
			decl_refuse(s, d, ": a door has an argument '%s', too", name);
	}
}

void op_check(struct schema *s, struct decl *d)
{
	check_words(s, d);
	check_taken(s, d);
	check_summary(s, d);
	check_faults(s, d);
	op_check_places(s, d);
	if (d->cli.n)
		check_cli(s, d); /* splits the command from its arguments */
	screen_check(s, d);
	check_pointers(s, d);
	check_flags(s, d);
	check_others(s, d);
	if (op_takes_key(d))
		add_key(s, d, "idempotency_key",
			"Names this call; the same one again changes nothing "
			"more and returns what the first did.");
	if (d->request)
		add_key(s, d, "request_id",
			"Names this call; the same one again returns what the "
			"first handed out and is still held.");
}
