#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fault.h"
#include "tools/build/opgen.h"

/* The words of an operation that are for the doors. */

static bool opgen_check_door_is_value(const struct member *m, const char *base)
{
	return m && !m->list && m->type && m->type->base &&
	       strcmp(m->type->base, base) == 0;
}

/* Whether its value is a string outside of the program. */
static bool is_string(const struct member *m)
{
	return opgen_check_door_is_value(m, "text") ||
	       opgen_check_door_is_value(m, "time") ||
	       (m && !m->list && m->type && m->type->kind == DECL_ENUM);
}

static bool is_argument(const struct decl *d, const char *name, const char *base)
{
	return opgen_check_door_is_value(member_find(&d->in, name), base);
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
			right = opgen_check_door_is_value(m, base);
		if (!right)
			schema_refuse(s, d->place, "%s: `%s` needs '%s'%s%s", d->name,
				      word, name, n ? ", one " : "", n ? base : "");
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
	     "stdout:text stderr:text stdout_size:int stderr_size:int exit_code:int job_id");
	need(s, d, "rest", &d->rest->in, "stdout_offset:int stderr_offset:int");
	need(s, d, "rest", &d->rest->out, "stdout:text stderr:text");
}

/* --- time --------------------------------------------------------------------- */

static void check_wait(struct schema *s, const struct decl *d)
{
	if (d->wait && !is_argument(d, d->wait, "int"))
		schema_refuse(s, d->place,
			      "%s waits by '%s', which is no argument in seconds",
			      d->name, d->wait);
	if (d->when && !is_argument(d, d->when, "bool"))
		schema_refuse(s, d->place, "%s waits when '%s', which is no flag",
			      d->name, d->when);
	if (d->within && (!d->needs_host || !is_argument(d, d->within, "int")))
		schema_refuse(s, d->place,
			      "%s is answered within '%s': an operation that needs a "
			      "host, and its argument in seconds",
			      d->name, d->within);
}

/* A read that waits says in its answer whether it is so, or never will be. */
static void check_reaches(struct schema *s, const struct decl *d)
{
	if (!d->wait || !d->mode || strcmp(d->mode, "read") != 0)
		schema_refuse(s, d->place, "%s reaches '%s': only a read that waits",
			      d->name, d->reaches.items[0]);
	for (size_t i = 0; i < d->reaches.n; i++)
		if (!opgen_check_door_is_value(member_find(&d->out, d->reaches.items[i]),
					       "bool"))
			schema_refuse(s, d->place, "%s: '%s' is no flag of the answer",
				      d->name, d->reaches.items[i]);
	if (!d->says)
		schema_refuse(s, d->place, "%s reaches '%s', and says nothing", d->name,
			      d->reaches.items[0]);
}

/* Whether a call or its answer has a value of that name, or of one of the aliases. */
static bool opgen_check_door_is_known(const struct decl *d, const struct member *m)
{
	bool known = member_find(&d->in, m->name) || member_find(&d->out, m->name);

	for (size_t i = 0; i < m->aliases.n; i++)
		known = known || member_find(&d->in, m->aliases.items[i]) ||
			member_find(&d->out, m->aliases.items[i]);
	return known;
}

/* The values behind the name are those of the other operation's argument `until`. */
static void check_values(struct schema *s, const struct decl *d)
{
	const struct member *m = member_find(&d->waiter->in, "until");

	for (size_t i = 1; i < d->until.n; i++)
		if (!m || !m->type || m->type->kind != DECL_ENUM ||
		    !member_find(&m->type->in, d->until.items[i]))
			schema_refuse(s, d->place, "%s: %s does not wait for '%s'",
				      d->name, d->waiter->name, d->until.items[i]);
}

/* The operation that waits is called with what the call and its answer say. */
static void check_until(struct schema *s, struct decl *d)
{
	d->waiter = schema_find(s, DECL_OP, d->until.items[0]);
	if (!d->waiter || !d->waiter->reaches.n) {
		schema_refuse(s, d->place, "%s: '%s' is no operation that `reaches`",
			      d->name, d->until.items[0]);
		d->waiter = NULL;
		return;
	}
	for (size_t i = 0; i < d->waiter->in.n; i++) {
		const struct member *m = d->waiter->in.items[i];

		if (!m->optional && !m->def && !m->list &&
		    !opgen_check_door_is_known(d, m))
			schema_refuse(s, d->place,
				      "%s: %s needs '%s', which neither the call nor its "
				      "answer has",
				      d->name, d->waiter->name, m->name);
	}
	check_values(s, d);
}

/* A command tells by its exit status that a part of the answer is not there. */
static void check_misses(struct schema *s, const struct decl *d)
{
	const struct member *m = member_find(&d->out, d->misses);

	if (!m || !m->optional)
		schema_refuse(s, d->place, "%s misses '%s', which is no optional part",
			      d->name, d->misses);
}

/* A wait whose answer lacks a part of its own ran out of time. */
static void check_awaits(struct schema *s, const struct decl *d)
{
	for (size_t i = 0; i < d->awaits.n; i++) {
		const struct member *m = member_find(&d->out, d->awaits.items[i]);

		if (!d->wait || !m || (!m->optional && !m->list))
			schema_refuse(s, d->place,
				      "%s awaits '%s': only an optional part or a list "
				      "of a call that waits",
				      d->name, d->awaits.items[i]);
	}
}

/* --- what it is about ----------------------------------------------------------- */

static void check_flags(struct schema *s, const struct decl *d)
{
	bool writes = d->mode && strcmp(d->mode, "write") == 0;

	if (d->moves && !writes)
		schema_refuse(s, d->place, "%s moves workspaces, and only reads",
			      d->name);
	if (d->needs_cursor && !writes)
		schema_refuse(s, d->place, "%s needs the cursor, and only reads",
			      d->name);
	if (d->prefers_host && (writes || d->needs_host))
		schema_refuse(s, d->place,
			      "%s prefers a host: only of a read that needs none",
			      d->name);
	if (d->above && writes)
		schema_refuse(s, d->place, "%s is for those above: only of a read",
			      d->name);
	if (d->above)
		need(s, d, "above", &d->in, "team");
	if (d->identifies)
		need(s, d, "identifies", &d->out, "name team token:text you:text");
	if (!d->gives)
		return;
	if (strcmp(d->gives, "messages") != 0 && strcmp(d->gives, "claim") != 0)
		schema_refuse(s, d->place,
			      "%s gives '%s', which is not messages or claim", d->name,
			      d->gives);
	if (!writes || (!d->request && !d->wait))
		schema_refuse(s, d->place,
			      "%s gives %s: only a write that waits, or has a request_id",
			      d->name, d->gives);
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

static void opgen_check_door_check_lists(struct schema *s, const struct decl *d)
{
	const struct member *rows = opgen_rows(d);

	if (!rows || !d->mode || strcmp(d->mode, "read") != 0)
		schema_refuse(s, d->place,
			      "%s lists '%s': only a read with a list of "
			      "records",
			      d->name, d->lists.items[0]);
	for (size_t i = 1; rows && i < d->lists.n; i++)
		if (!is_string(member_find(&rows->type->in, d->lists.items[i])))
			schema_refuse(s, d->place, "%s: no '%s' that completion can show",
				      d->name, d->lists.items[i]);
	for (size_t i = 0; i < s->n && s->decls[i] != d; i++)
		if (s->decls[i]->lists.n &&
		    strcmp(s->decls[i]->lists.items[0], d->lists.items[0]) == 0)
			schema_refuse(s, d->place, "%s lists '%s', as %s does", d->name,
				      d->lists.items[0], s->decls[i]->name);
}

static void check_finds(struct schema *s, const struct decl *d)
{
	bool listed = false;

	if (!d->mode || strcmp(d->mode, "read") != 0 ||
	    !is_argument(d, d->finds.items[1], "text"))
		schema_refuse(s, d->place, "%s finds '%s': only a read by a text",
			      d->name, d->finds.items[0]);
	for (size_t i = 0; i < s->n; i++) {
		const struct decl *o = s->decls[i];

		listed |= o->lists.n && strcmp(o->lists.items[0], d->finds.items[0]) == 0;
		if (o != d && o->finds.n &&
		    strcmp(o->finds.items[0], d->finds.items[0]) == 0)
			schema_refuse(s, d->place, "%s finds '%s', as %s does", d->name,
				      d->finds.items[0], o->name);
	}
	if (!listed)
		schema_refuse(s, d->place, "%s finds '%s', which nothing lists", d->name,
			      d->finds.items[0]);
}

/* --- how it is carried ------------------------------------------------------------ */

static void check_runs(struct schema *s, const struct decl *d)
{
	size_t n = d->cli_fields.n;

	if (!d->cli_rest || !n || strcmp(d->cli_fields.items[n - 1], d->runs) != 0)
		schema_refuse(s, d->place,
			      "%s runs '%s', which does not take the rest of the command",
			      d->name, d->runs);
}

static bool is_rest_known(const struct decl *d, const char *name)
{
	return member_find(&d->in, name) || member_find(&d->out, name);
}

/* An operation that is called with what this one's call and answer say. */
static const struct decl *
opgen_check_door_find_next(struct schema *s, const struct decl *d, const char *name)
{
	const struct decl *next = schema_find(s, DECL_OP, name);

	if (!next)
		schema_refuse(s, d->place, "%s: undeclared operation '%s'", d->name,
			      name);
	for (size_t i = 0; next && i < next->in.n; i++) {
		const struct member *m = next->in.items[i];

		if (!m->optional && !m->def && !m->list && !is_rest_known(d, m->name))
			schema_refuse(s, d->place,
				      "%s: %s needs '%s', which neither the call nor its "
				      "answer has",
				      d->name, next->name, m->name);
	}
	return next;
}

static void opgen_check_door_check_rest(struct schema *s, struct decl *d)
{
	d->rest = opgen_check_door_find_next(s, d, d->rest_name);
	if (d->rest)
		need_streams(s, d);
}

/* A command that is followed while it runs, and gets signals. */
static void check_follows(struct schema *s, struct decl *d)
{
	if (!is_argument(d, d->follows, "bool"))
		schema_refuse(s, d->place, "%s: '%s' is no bool of the arguments",
			      d->name, d->follows);
	d->signals = opgen_check_door_find_next(s, d, d->signals_name);
	if (d->signals)
		need(s, d, "follows", &d->signals->in, "signal:int");
	if (!d->rest) {
		schema_refuse(s, d->place, "%s: `follows` needs a `rest`", d->name);
		return;
	}
	need(s, d, "follows", &d->out, "running:bool");
	need(s, d, "follows", &d->rest->in, "wait_seconds:int");
	need(s, d, "follows", &d->rest->out,
	     "running:bool exit_code:int timed_out:bool more:bool");
}

/* The operation that takes many at once: its list is of records, one of whose texts fills the
 * command's first bare word, which is a line of standard input then. */
static void check_many(struct schema *s, struct decl *d)
{
	const struct member *list, *text;

	d->many = schema_find(s, DECL_OP, d->many_name);
	list = d->many ? member_find(&d->many->in, d->many_field) : NULL;
	if (!list || !list->list || !list->type || list->type->kind != DECL_RECORD) {
		schema_refuse(s, d->place, "%s: many '%s %s' is no list of records",
			      d->name, d->many_name, d->many_field);
		return;
	}
	text = d->cli_fields.n ? member_find(&list->type->in, d->cli_fields.items[0])
			       : NULL;
	if (!opgen_check_door_is_value(text, "text"))
		schema_refuse(s, d->place,
			      "%s: the first word of its command is no text of '%s'",
			      d->name, list->type->name);
}

static void check_bytes(struct schema *s, const struct decl *d)
{
	bool in = is_argument(d, d->bytes, "text");

	if (in == opgen_check_door_is_value(member_find(&d->out, d->bytes), "text"))
		schema_refuse(s, d->place,
			      "%s: '%s' is to be a text of the arguments, or of the "
			      "answer",
			      d->name, d->bytes);
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
	else if (!opgen_check_door_is_value(m, "text"))
		schema_refuse(s, d->place,
			      "%s prints '%s', which is no text and no message", d->name,
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
		schema_refuse(s, d->place,
			      "%s: '%s' is no text that its command needs, for an editor",
			      d->name, d->editor);
}

static void check_owner(struct schema *s, const struct decl *d)
{
	const struct member *m = member_find(&d->in, d->owner);

	if (!m || !m->type || !m->type->base || strcmp(m->type->base, "text") != 0)
		schema_refuse(s, d->place,
			      "%s is a door's, whose owner is '%s': no text of the "
			      "arguments",
			      d->name, d->owner);
}

static void opgen_check_door_check_guest(struct schema *s, struct decl *d)
{
	d->message = schema_find(s, DECL_WIRE, d->message_name);
	if (!d->message)
		schema_refuse(s, d->place, "%s: undeclared message '%s'", d->name,
			      d->message_name);
	else if (!d->message->sender || strcmp(d->message->sender, "guest") == 0)
		schema_refuse(s, d->place, "%s: no host sends %s", d->name,
			      d->message->name);
	else if (!d->needs_host)
		schema_refuse(s, d->place, "%s asks a guest and needs no host", d->name);
}

/* a part of that */
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
		opgen_check_door_check_lists(s, d);
	if (d->finds.n)
		check_finds(s, d);
	if (d->runs)
		check_runs(s, d);
	if (d->rest_name)
		opgen_check_door_check_rest(s, d);
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
		opgen_check_door_check_guest(s, d);
}

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
