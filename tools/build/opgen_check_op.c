#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fault.h"
#include "tools/build/opgen.h"

/* The words of an operation that are for the doors. */

static bool opgen_is_value(const struct member *m, const char *base)
{
	return m && !m->list && m->type && opgen_same(m->type->base, base);
}

/* Whether its value is a string outside of the program. */
static bool is_string(const struct member *m)
{
	return opgen_is_value(m, "text") || opgen_is_value(m, "time") ||
	       (m && !m->list && m->type && m->type->kind == DECL_ENUM);
}

static bool is_argument(const struct decl *d, const char *name, const char *base)
{
	return opgen_is_value(member_find(&d->in, name), base);
}

/* --- what a word takes for granted ---------------------------------------------- */

/* Demands every one of `names` of a list of fields, since the door that serves `word` reads
 * them by these names (schema/README.md). `NAME:BASE` also says the type. */
static void need(struct schema *s, const struct decl *d, const char *word,
		 const struct members *of, const char *names)
{
	char name[32], base[8];
	int n;

	for (; sscanf(names, " %31[a-z_]%n", name, &n) == 1; names += n) {
		const struct member *m = member_find(of, name);
		bool right = m != NULL;

		names += n, n = 0;
		if (sscanf(names, ":%7[a-z]%n", base, &n) == 1)
			right = opgen_is_value(m, base);
		if (!right)
			decl_refuse(s, d, ": `%s` needs '%s'%s%s", word, name,
				    n ? ", one " : "", n ? base : "");
	}
}

/* Demands what doors need to take back what was given: the task and the epoch of a claim,
 * the earlier requests of a receive, the reply that a send waited for. */
static void need_given(struct schema *s, const struct decl *d)
{
	const struct member *task = member_find(&d->out, "task");

	if (strcmp(d->gives, "claim") == 0) {
		need(s, d, "gives claim", &d->in, "agent:text team:text");
		need(s, d, "gives claim", &d->out, "task epoch:int");
		if (task && task->type)
			need(s, d, "gives claim", &task->type->in, "id:text");
	} else if (d->request) {
		need(s, d, "gives messages", &d->in,
		     "agent:text team:text lease_seconds:int seen");
		need(s, d, "gives messages", &d->out, "messages");
	} else {
		need(s, d, "gives messages", &d->in, "from:text team:text");
		need(s, d, "gives messages", &d->out, "reply");
	}
}

/* A command's streams, which the operation of `rest` reads on from an offset. */
static void need_streams(struct schema *s, const struct decl *d)
{
	need(s, d, "rest", &d->in, "max_output_bytes:int");
	need(s, d, "rest", &d->out,
	     "stdout:text stderr:text stdout_size:int stderr_size:int exit_code:int "
	     "job_id");
	need(s, d, "rest", &d->rest->in, "stdout_offset:int stderr_offset:int");
	need(s, d, "rest", &d->rest->out, "stdout:text stderr:text");
}

/* --- time --------------------------------------------------------------------- */

static void check_wait(struct schema *s, const struct decl *d)
{
	if (d->wait && !is_argument(d, d->wait, "int"))
		decl_refuse(s, d, " waits by '%s', which is no argument in seconds",
			    d->wait);
	if (d->when && !is_argument(d, d->when, "bool"))
		decl_refuse(s, d, " waits when '%s', which is no flag", d->when);
	if (d->within && (!d->needs_host || !is_argument(d, d->within, "int")))
		decl_refuse(
			s, d,
			" is answered within '%s': an operation that needs a host, and "
			"its argument in seconds",
			d->within);
}

/* A read that waits says in its answer whether it is so, or never will be. */
static void check_reaches(struct schema *s, const struct decl *d)
{
	if (!d->wait || !opgen_same(d->mode, "read"))
		decl_refuse(s, d, " reaches '%s': only a read that waits",
			    d->reaches.items[0]);
	for (size_t i = 0; i < d->reaches.n; i++)
		if (!opgen_is_value(member_find(&d->out, d->reaches.items[i]), "bool"))
			decl_refuse(s, d, ": '%s' is no flag of the answer",
				    d->reaches.items[i]);
	if (!d->says)
		decl_refuse(s, d, " reaches '%s', and says nothing", d->reaches.items[0]);
}

/* Whether a call or its answer has a value of that name. */
static bool opgen_is_known(const struct decl *d, const char *name)
{
	return member_find(&d->in, name) || member_find(&d->out, name);
}

/* Demands that a call and its answer say what `next` is called with; `aliased`: under any of
 * its arguments' names. */
static void opgen_check_called(struct schema *s, const struct decl *d,
			       const struct decl *next, bool aliased)
{
	for (size_t i = 0; i < next->in.n; i++) {
		const struct member *m = next->in.items[i];
		bool known = m->optional || m->def || m->list ||
			     opgen_is_known(d, m->name);

		for (size_t j = 0; aliased && j < m->aliases.n; j++)
			known |= opgen_is_known(d, m->aliases.items[j]);
		if (!known)
			decl_refuse(s, d,
				    ": %s needs '%s', which neither the call nor its "
				    "answer has",
				    next->name, m->name);
	}
}

/* The values behind the name are those of the other operation's argument `until`. */
static void check_values(struct schema *s, const struct decl *d)
{
	const struct member *m = member_find(&d->waiter->in, "until");

	for (size_t i = 1; i < d->until.n; i++)
		if (!m || !m->type || m->type->kind != DECL_ENUM ||
		    !member_find(&m->type->in, d->until.items[i]))
			decl_refuse(s, d, ": %s does not wait for '%s'", d->waiter->name,
				    d->until.items[i]);
}

/* The operation that waits is called with what the call and its answer say. */
static void check_until(struct schema *s, struct decl *d)
{
	d->waiter = schema_find(s, DECL_OP, d->until.items[0]);
	if (!d->waiter || !d->waiter->reaches.n) {
		decl_refuse(s, d, ": '%s' is no operation that `reaches`",
			    d->until.items[0]);
		d->waiter = NULL;
		return;
	}
	opgen_check_called(s, d, d->waiter, true);
	check_values(s, d);
}

/* A command tells by its exit status that a part of the answer is not there. */
static void check_misses(struct schema *s, const struct decl *d)
{
	const struct member *m = member_find(&d->out, d->misses);

	if (!m || !m->optional)
		decl_refuse(s, d, " misses '%s', which is no optional part", d->misses);
}

/* A wait whose answer lacks a part of its own ran out of time. */
static void check_awaits(struct schema *s, const struct decl *d)
{
	for (size_t i = 0; i < d->awaits.n; i++) {
		const struct member *m = member_find(&d->out, d->awaits.items[i]);

		if (!d->wait || !m || (!m->optional && !m->list))
			decl_refuse(s, d,
				    " awaits '%s': only an optional part or a list of a "
				    "call that waits",
				    d->awaits.items[i]);
	}
}

/* --- what it is about ----------------------------------------------------------- */

static void check_flags(struct schema *s, const struct decl *d)
{
	bool writes = opgen_same(d->mode, "write");

	if (d->moves && !writes)
		decl_refuse(s, d, " moves workspaces, and only reads");
	if (d->needs_cursor && !writes)
		decl_refuse(s, d, " needs the cursor, and only reads");
	if (d->prefers_host && (writes || d->needs_host))
		decl_refuse(s, d, " prefers a host: only of a read that needs none");
	if (d->above && writes)
		decl_refuse(s, d, " is for those above: only of a read");
	if (d->above)
		need(s, d, "above", &d->in, "team");
	if (d->identifies)
		need(s, d, "identifies", &d->out, "name team token:text you:text");
	if (!d->gives)
		return;
	if (strcmp(d->gives, "messages") != 0 && strcmp(d->gives, "claim") != 0)
		decl_refuse(s, d, " gives '%s', which is not messages or claim",
			    d->gives);
	if (!writes || (!d->request && !d->wait))
		decl_refuse(s, d,
			    " gives %s: only a write that waits, or has a request_id",
			    d->gives);
	else
		need_given(s, d);
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

static void opgen_check_door_lists(struct schema *s, const struct decl *d)
{
	const struct member *rows = opgen_rows(d);

	if (!rows || !opgen_same(d->mode, "read"))
		decl_refuse(s, d, " lists '%s': only a read with a list of records",
			    d->lists.items[0]);
	for (size_t i = 1; rows && i < d->lists.n; i++)
		if (!is_string(member_find(&rows->type->in, d->lists.items[i])))
			decl_refuse(s, d, ": no '%s' that completion can show",
				    d->lists.items[i]);
	for (size_t i = 0; i < s->n && s->decls[i] != d; i++)
		if (s->decls[i]->lists.n &&
		    strcmp(s->decls[i]->lists.items[0], d->lists.items[0]) == 0)
			decl_refuse(s, d, " lists '%s', as %s does", d->lists.items[0],
				    s->decls[i]->name);
}

static void check_finds(struct schema *s, const struct decl *d)
{
	bool listed = false;

	if (!opgen_same(d->mode, "read") || !is_argument(d, d->finds.items[1], "text"))
		decl_refuse(s, d, " finds '%s': only a read by a text",
			    d->finds.items[0]);
	for (size_t i = 0; i < s->n; i++) {
		const struct decl *o = s->decls[i];

		listed |= o->lists.n && strcmp(o->lists.items[0], d->finds.items[0]) == 0;
		if (o != d && o->finds.n &&
		    strcmp(o->finds.items[0], d->finds.items[0]) == 0)
			decl_refuse(s, d, " finds '%s', as %s does", d->finds.items[0],
				    o->name);
	}
	if (!listed)
		decl_refuse(s, d, " finds '%s', which nothing lists", d->finds.items[0]);
}

/* --- how it is carried ------------------------------------------------------------ */

static void check_runs(struct schema *s, const struct decl *d)
{
	size_t n = d->cli_fields.n;

	if (!d->cli_rest || !n || strcmp(d->cli_fields.items[n - 1], d->runs) != 0)
		decl_refuse(s, d,
			    " runs '%s', which does not take the rest of the command",
			    d->runs);
}

/* An operation that is called with what this one's call and answer say. */
static const struct decl *opgen_find_next(struct schema *s, const struct decl *d,
					  const char *name)
{
	const struct decl *next = schema_find(s, DECL_OP, name);

	if (!next)
		decl_refuse(s, d, ": undeclared operation '%s'", name);
	else
		opgen_check_called(s, d, next, false);
	return next;
}

static void opgen_check_door_rest(struct schema *s, struct decl *d)
{
	d->rest = opgen_find_next(s, d, d->rest_name);
	if (d->rest)
		need_streams(s, d);
}

/* A command that is followed while it runs, and gets signals. */
static void check_follows(struct schema *s, struct decl *d)
{
	if (!is_argument(d, d->follows, "bool"))
		decl_refuse(s, d, ": '%s' is no bool of the arguments", d->follows);
	d->signals = opgen_find_next(s, d, d->signals_name);
	if (d->signals)
		need(s, d, "follows", &d->signals->in, "signal:int");
	if (!d->rest) {
		decl_refuse(s, d, ": `follows` needs a `rest`");
		return;
	}
	need(s, d, "follows", &d->out, "running:bool");
	need(s, d, "follows", &d->rest->in, "wait_seconds:int");
	need(s, d, "follows", &d->rest->out,
	     "running:bool exit_code:int timed_out:bool more:bool");
}

/* Checks the operation that takes many at once.  Its list has records, and one text of a record
 * fills the command's first bare word; with many, that word is a line of standard input. */
static void check_many(struct schema *s, struct decl *d)
{
	const struct member *list, *text;

	d->many = schema_find(s, DECL_OP, d->many_name);
	list = d->many ? member_find(&d->many->in, d->many_field) : NULL;
	if (!list || !list->list || !list->type || list->type->kind != DECL_RECORD) {
		decl_refuse(s, d, ": many '%s %s' is no list of records", d->many_name,
			    d->many_field);
		return;
	}
	text = d->cli_fields.n ? member_find(&list->type->in, d->cli_fields.items[0])
			       : NULL;
	if (!opgen_is_value(text, "text"))
		decl_refuse(s, d, ": the first word of its command is no text of '%s'",
			    list->type->name);
}

static void check_bytes(struct schema *s, const struct decl *d)
{
	bool in = is_argument(d, d->bytes, "text");

	if (in == opgen_is_value(member_find(&d->out, d->bytes), "text"))
		decl_refuse(s, d,
			    ": '%s' is to be a text of the arguments, or of the answer",
			    d->bytes);
	if (in && member_find(&d->in, "upload"))
		need(s, d, "bytes", &d->in, "offset:int size:int");
	if (!in && member_find(&d->out, "more"))
		need(s, d, "bytes", &d->in, "offset:int length:int");
}

static void check_prints(struct schema *s, const struct decl *d)
{
	const struct member *m = member_find(&d->out, d->prints);

	if (m && m->type && m->type->kind == DECL_RECORD)
		need(s, d, "prints", &m->type->in,
		     "from:text to:text message_type:text priority thread:text "
		     "attempt:int timestamp message_id:text content:text");
	else if (!opgen_is_value(m, "text"))
		decl_refuse(s, d, " prints '%s', which is no text and no message",
			    d->prints);
	else if (member_find(&d->out, "more")) {
		need(s, d, "prints", &d->in, "offset:int length:int");
		need(s, d, "prints", &d->out, "next:int");
	}
}

/* The editor writes a text that the command cannot do without. */
static void check_editor(struct schema *s, const struct decl *d)
{
	const struct member *m = member_find(&d->in, d->editor);

	if (!d->cli.n || !is_argument(d, d->editor, "text") || m->optional || m->def)
		decl_refuse(s, d,
			    ": '%s' is no text that its command needs, for an editor",
			    d->editor);
}

static void check_owner(struct schema *s, const struct decl *d)
{
	const struct member *m = member_find(&d->in, d->owner);

	if (!m || !m->type || !m->type->base || strcmp(m->type->base, "text") != 0)
		decl_refuse(s, d,
			    " is a door's, whose owner is '%s': no text of the arguments",
			    d->owner);
}

static void opgen_check_door_guest(struct schema *s, struct decl *d)
{
	d->message = schema_find(s, DECL_WIRE, d->message_name);
	if (!d->message)
		decl_refuse(s, d, ": undeclared message '%s'", d->message_name);
	else if (!d->message->sender || strcmp(d->message->sender, "guest") == 0)
		decl_refuse(s, d, ": no host sends %s", d->message->name);
	else if (!d->needs_host)
		decl_refuse(s, d, " asks a guest and needs no host");
}

static void doors_check(struct schema *s, struct decl *d)
{
	check_wait(s, d);
	check_flags(s, d);
	if (d->reaches.n)
		check_reaches(s, d);
	if (d->until.n)
		check_until(s, d);
	if (d->misses)
		check_misses(s, d);
	check_awaits(s, d);
	if (d->lists.n)
		opgen_check_door_lists(s, d);
	if (d->finds.n)
		check_finds(s, d);
	if (d->runs)
		check_runs(s, d);
	if (d->rest_name)
		opgen_check_door_rest(s, d);
	if (d->follows)
		check_follows(s, d);
	if (d->many_name)
		check_many(s, d);
	if (d->bytes)
		check_bytes(s, d);
	if (d->prints)
		check_prints(s, d);
	if (d->editor)
		check_editor(s, d);
	if (d->owner)
		check_owner(s, d);
	if (d->message_name)
		opgen_check_door_guest(s, d);
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
			decl_refuse(s, d, " reads '%s', which is no field with a _size",
				    d->reads.items[i]);
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
			decl_refuse(s, d, ": a {field} is a whole step of a path");
			return;
		}
		m = member_find(&d->in, arena_strndup(&s->arena, p + 1, n - 1));
		if (!m || m->def || m->list)
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

/* Whether two fields look alike in a bundle, which shows no limits. */
static bool look_alike(const struct member *a, const struct member *b)
{
	if (!a->type || !b->type)
		return true; /* said already */
	return a->list == b->list &&
	       (a->type == b->type ||
		(a->type->base && opgen_same(a->type->base, b->type->base)));
}

static void check_bundle(struct schema *s, const struct decl *d, const struct decl *other)
{
	if (!d->action != !other->action) {
		decl_refuse(s, d, ": tool '%s' stands alone in one of %s and %s", d->tool,
			    d->name, other->name);
		return;
	}
	if (!d->action || opgen_same(d->action, other->action))
		decl_refuse(s, d, " has the place of %s in tool '%s'", other->name,
			    d->tool);
	for (size_t i = 0; i < d->in.n; i++) {
		const struct member *m = d->in.items[i];
		const struct member *twin = member_find(&other->in, m->name);

		if (twin && !look_alike(m, twin))
			schema_refuse(s, m->place,
				      "%s: '%s' has another type in %s of the same tool",
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
		decl_refuse(s, d, ": no set has a tool '%s'", d->tool);
	if (d->action && member_find(&d->in, "action"))
		decl_refuse(s, d, ": 'action' says which operation of the tool is meant");
	for (size_t i = 0; i < s->n && s->decls[i] != d; i++)
		if (opgen_same(s->decls[i]->tool, d->tool))
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

/* The second word is part of the command, unless it names an argument.  If the same
 * argument follows once more, the second word is still part of the command, as in
 * `cli agent status status`. */
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

/* Refuses another word for a command that begins one already. */
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
		decl_refuse(s, d, ": %zu topics have its noun, not one", found);
}

static void check_cli(struct schema *s, struct decl *d)
{
	size_t words = 1 + second_is_word(d);

	for (size_t i = words; i < d->cli.n; i++)
		take_cli_field(s, d, d->cli.items[i]);
	d->cli.n = words; /* the other words are the command */
	if (d->cli_rest)
		opgen_check_op_rest(s, d);
	for (size_t i = 0; i < s->n && s->decls[i] != d; i++)
		if (same_command(s->decls[i], d))
			decl_refuse(s, d, " has the command of %s", s->decls[i]->name);
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
	check_reads(s, d);
	if (d->needs_folders && !member_find(&d->in, "confirm"))
		decl_refuse(s, d, " needs folders, and has no 'confirm'");
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
