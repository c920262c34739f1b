#include <ctype.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "core/op/op.h"
#include "tools/build/opgen.h"

/* Checks of the words that decide what people see. Columns, overviews and brief answers must
 * name parts of the answer. If a page or a line lacks a part of the answer, only the tests of
 * screens find this error. */

static bool is_records(const struct member *m)
{
	return m->type && m->type->kind == DECL_RECORD;
}

/* Whether a word, FIELD or FIELD.FIELD, is a part of the answer. */
static bool is_part(const struct decl *d, const char *word)
{
	size_t n = strcspn(word, ".");
	const struct member *m = member_part(&d->out, word, n);

	return m &&
	       (!word[n] || (is_records(m) && member_find(&m->type->in, word + n + 1)));
}

/* Whether the answer, or a list of records in the answer, has a column of this name. */
static bool is_column(const struct decl *d, const char *word)
{
	for (size_t i = 0; i < d->out.n; i++) {
		const struct member *m = d->out.items[i];

		if (m->list && is_records(m) && member_find(&m->type->in, word))
			return true;
	}
	return member_find(&d->out, word) != NULL;
}

/* Refuses each word of a list that is no part of the answer. The word "|" between two parts is
 * allowed. */
static void opgen_check_parts(struct schema *s, const struct decl *d,
			      const struct list *words,
			      bool (*is_there)(const struct decl *d, const char *word),
			      const char *what)
{
	for (size_t i = 0; i < words->n; i++)
		if (strcmp(words->items[i], "|") != 0 && !is_there(d, words->items[i]))
			decl_refuse(s, d, ": the answer%s '%s'", what, words->items[i]);
}

/* Refuses each {?FIELD=VALUE} of a line whose VALUE is no value of the field's enum. */
static void check_conditions(struct schema *s, const struct decl *d, const char *line)
{
	for (; line && (line = strstr(line, "{?")); line++) {
		const char *name = line + 2;
		const size_t n = strcspn(name, "=}"), end = strcspn(name, "}"),
			     whole = strcspn(name, ".=}");
		const struct member *m = member_part(&d->out, name, whole);
		char value[64];

		if (name[n] != '=')
			continue;
		if (m && whole < n)
			m = is_records(m) ? member_part(&m->type->in, name + whole + 1,
							n - whole - 1)
					  : NULL;
		snprintf(value, sizeof(value), "%.*s", (int)(end - n - 1), name + n + 1);
		if (!m || !m->type || m->type->kind != DECL_ENUM ||
		    !member_find(&m->type->in, value))
			decl_refuse(s, d, ": '%.*s' cannot be '%s'", (int)n, name, value);
	}
}

void screen_check(struct schema *s, const struct decl *d)
{
	check_conditions(s, d, d->says);
	check_conditions(s, d, d->next);
	opgen_check_parts(s, d, &d->columns, is_column, "'s list has no column");
	opgen_check_parts(s, d, &d->lines, is_column, "'s list has no column");
	if (d->below && !is_column(d, d->below))
		decl_refuse(s, d, ": the answer's list has no column '%s'", d->below);
	opgen_check_parts(s, d, &d->brief, is_part, " has no part");
	opgen_check_parts(s, d, &d->awaits, is_part, " has no part");
	opgen_check_parts(s, d, &d->overview, is_part, " has no part");
}

/* --- words of fixed sets --------------------------------------------------------- */

static const char *const c_words[] = {
	"auto",     "bool",     "break",  "case",    "char",   "const",    "continue",
	"default",  "do",       "double", "else",    "enum",   "extern",   "false",
	"float",    "for",      "goto",   "if",      "inline", "int",      "long",
	"register", "restrict", "return", "short",   "signed", "sizeof",   "static",
	"struct",   "switch",   "true",   "typedef", "union",  "unsigned", "void",
	"volatile", "while",    "asm",    "typeof",  "linux",  "unix",     NULL,
};

/* Names of structs that exist already in core/ and storage/. */
static const char *const taken_structs[] = {
	"arena",  "arena_block", "arena_mark", "blob",       "call",     "caller",
	"choice", "event_kind",  "fault",      "fault_info", "field",    "identity",
	"op",     "pair",        "query",      "record",     "settings", "store",
	"text",   "tool",        "type",       "wire",       NULL,
};

static bool opgen_is_name(const char *s, bool dots)
{
	bool start = true;

	for (; *s; s++) {
		if (start ? !islower((unsigned char)*s)
			  : !islower((unsigned char)*s) && !isdigit((unsigned char)*s) &&
				    *s != '_' && *s != '-' && !(dots && *s == '.'))
			return false;
		start = *s == '.';
	}
	return !start;
}

static bool is_pascal(const char *s)
{
	if (!isupper((unsigned char)*s))
		return false;
	while (isalnum((unsigned char)*s))
		s++;
	return !*s;
}

/* --- types -------------------------------------------------------------------------- */

/* Checks that a pattern has the same meaning in POSIX ERE and in ECMA-262. Returns the part
 * that POSIX ERE and ECMA-262 read differently, or NULL. */
static const char *pattern_fault(const char *s)
{
	bool set = false;

	for (; *s; s++) {
		if (set) {
			if (*s == '\\' || *s == '[')
				return "a \\ or [ inside [...]";
			set = *s != ']';
		} else if (*s == '\\') {
			if (!s[1] || !strchr("^$.*+?()[]{}|\\", s[1]))
				return "an escape that is not of a sign";
			s++;
		} else if (*s == '[') {
			s += s[1] == '^';
			if (s[1] == ']')
				return "a set that begins with ]";
			set = true;
		} else if (*s == '(' && s[1] == '?') {
			return "(?";
		} else if (strchr("*+?}", *s) && s[1] && strchr("*+?", s[1])) {
			return "a repetition of a repetition";
		}
	}
	return NULL;
}

static void check_pattern(struct schema *s, const struct decl *d)
{
	const char *bad = pattern_fault(d->pattern);
	regex_t re;

	if (bad)
		decl_refuse(
			s, d,
			": POSIX ERE and ECMA-262 do not both understand this pattern: "
			"%s",
			bad);
	else if (regcomp(&re, d->pattern, REG_EXTENDED | REG_NOSUB) != 0)
		decl_refuse(s, d, ": bad pattern /%s/", d->pattern);
	else
		regfree(&re);
}

static void check_type(struct schema *s, const struct decl *d)
{
	static const char *const bases[] = { "text", "int", "bool", "time",
					     "json", "map", NULL };
	static const char *const givens[] = { "file",   "path",   "place", "tree",
					      "secret", "event",  "kind",  "found",
					      "folder", "branch", NULL };
	static const char *const counts[] = { "number", "money", "budget",
					      "share",  "wait",  NULL };
	const int64_t exact = (INT64_C(1) << 53) - 1;
	bool text = strcmp(d->base, "text") == 0;

	const struct opgen_rule rules[] = {
		{ !opgen_among(d->base, bases),
		  ": its base is not one of text int bool time json map" },
		{ d->pattern && !text, ": only a text has a pattern" },
		{ d->given && !(text ? opgen_among(d->given, givens)
				: opgen_same(d->base, "int")
					? opgen_among(d->given, counts)
					: opgen_same(d->base, "time") &&
						  opgen_same(d->given, "rough")),
		  ": a text is given as one of file path place tree secret event kind "
		  "found folder branch, an int as number money budget share wait, a time "
		  "as rough" },
		{ d->ranged &&
			  (opgen_same(d->base, "bool") || opgen_same(d->base, "map")),
		  ": a bool or a map has no range" },
		{ d->ranged && text && d->min < 0, ": a negative length" },
		{ d->ranged && (d->min < -exact || d->max > exact),
		  ": the range leaves +-(2^53 - 1), which JSON readers keep exact" },
		{ d->ranged && !d->min && !d->max, ": 0..0 stands for no range" },
	};

	opgen_rules(s, d, rules, sizeof(rules) / sizeof(*rules));
	if (d->pattern)
		check_pattern(s, d);
}

/* --- fields ---------------------------------------------------------------------------- */

static bool int_default(const struct decl *t, const char *def)
{
	char *end;
	long long n = strtoll(def, &end, 10);

	return *def && !*end && (!t->ranged || (n >= t->min && n <= t->max));
}

static bool text_default(const struct decl *t, const char *def)
{
	int64_t n = (int64_t)strlen(def);
	bool fits = !t->ranged || (n >= t->min && n <= t->max);
	regex_t re;

	if (fits && t->pattern &&
	    regcomp(&re, t->pattern, REG_EXTENDED | REG_NOSUB) == 0) {
		fits = regexec(&re, def, 0, NULL, 0) == 0;
		regfree(&re);
	}
	return fits;
}

static bool default_fits(const struct member *m)
{
	const struct decl *t = m->type;

	if (m->list)
		return strcmp(m->def, "[]") == 0;
	if (t->kind == DECL_ENUM)
		return member_find(&t->in, m->def) != NULL;
	if (t->kind == DECL_RECORD)
		return false;
	if (strcmp(t->base, "text") == 0)
		return text_default(t, m->def);
	if (strcmp(t->base, "bool") == 0)
		return strcmp(m->def, "true") == 0 || strcmp(m->def, "false") == 0;
	if (strcmp(t->base, "json") == 0 || strcmp(t->base, "map") == 0)
		return strcmp(m->def, "{}") == 0;
	return !m->quoted && int_default(t, m->def);
}

/* A field without a type takes everything from the param of the same name. If the field has a
 * doc, a default, aliases or a noun of its own, these replace the param's doc, default, aliases
 * or noun. */
static void take_param(struct schema *s, struct member *m)
{
	const struct decl *p = schema_find(s, DECL_PARAM, m->name);
	const struct member own = *m;

	if (!p || !p->in.n) {
		decl_refuse(s, m, " has no type and is no param");
		return;
	}
	*m = *p->in.items[0];
	m->place = own.place;
	if (*own.doc) {
		m->doc = own.doc;
		m->plain = own.plain;
	}
	if (own.aliases.n)
		m->aliases = own.aliases;
	if (own.names || own.makes) {
		m->names = own.names;
		m->makes = own.makes;
	}
	m->unlisted |= own.unlisted;
	m->own = own.own;
	if (own.def) {
		m->def = own.def;
		m->quoted = own.quoted;
		m->optional = false;
	}
}

static void check_doc(struct schema *s, const struct member *m)
{
	size_t n = strlen(m->doc);

	if (!n)
		decl_refuse(s, m, " has no documentation");
	else if (!strchr(".!?", m->doc[n - 1]) && !(m->doc[n - 1] & 0x80))
		schema_refuse(s, m->place,
			      "the documentation of %s does not end with a period",
			      m->name);
}

static void check_field(struct schema *s, struct member *m)
{
	check_doc(s, m);
	if (!opgen_is_name(m->id, false) || opgen_among(m->id, c_words))
		schema_refuse(s, m->place, "'%s' cannot be a field's name", m->name);
	m->type = schema_find(s, DECL_TYPE, m->type_name);
	if (!m->type) {
		schema_refuse(s, m->place, "unknown type '%s' of '%s'", m->type_name,
			      m->name);
		return;
	}
	if (m->list && m->type->base && strcmp(m->type->base, "map") == 0)
		decl_refuse(s, m, ": a list of maps cannot be had; make it a record");
	if (m->def && m->optional)
		decl_refuse(s, m,
			    ": a default makes it optional already; leave out the ?");
	if (m->def && !default_fits(m))
		schema_refuse(s, m->place, "bad default '%s' of '%s'", m->def, m->name);
}

static bool is_called(const struct member *m, const char *name)
{
	return strcmp(m->name, name) == 0 || strcmp(m->id, name) == 0;
}

static bool goes_by(const struct member *m, const char *name)
{
	return is_called(m, name) || list_has(&m->aliases, name);
}

/* Refuses two members with the same name, and a member whose name is an alias of another
 * member. Two members may share an alias (see field_given()). */
static void check_twins(struct schema *s, const struct members *all, size_t i)
{
	const struct member *m = all->items[i];

	for (size_t j = 0; j < i; j++) {
		const struct member *other = all->items[j];

		if (goes_by(other, m->name))
			schema_refuse(s, m->place, "'%s' appears twice", m->name);
		for (size_t k = 0; k < m->aliases.n; k++)
			if (is_called(other, m->aliases.items[k]))
				schema_refuse(s, m->place, "'%s' appears twice",
					      m->aliases.items[k]);
	}
}

static void opgen_check_fields(struct schema *s, struct members *all)
{
	for (size_t i = 0; i < all->n; i++) {
		if (!all->items[i]->type_name)
			take_param(s, all->items[i]);
		if (all->items[i]->type_name)
			check_field(s, all->items[i]);
		check_twins(s, all, i);
	}
	if (all->n > FIELD_MAX)
		schema_refuse(s, all->items[FIELD_MAX]->place, "more than %d fields",
			      FIELD_MAX);
}

/* --- declarations --------------------------------------------------------------------------- */

/* Places a record behind the records that it holds. Refuses a record that holds itself. */
static void order_record(struct schema *s, struct decl *d)
{
	struct decl **place;

	if (d->ordered)
		return;
	if (d->visiting) {
		decl_refuse(s, d, " holds itself");
		return;
	}
	d->visiting = true;
	for (size_t i = 0; i < d->in.n; i++) {
		const struct decl *t = d->in.items[i]->type;

		if (t && t->kind == DECL_RECORD)
			order_record(s, schema_find(s, DECL_RECORD, t->name));
	}
	d->visiting = false;
	d->ordered = true;
	place = arena_push(&s->arena, &s->records, &s->n_records, sizeof(*place));
	*place = d;
}

static void check_choices(struct schema *s, const struct decl *d)
{
	if (!d->in.n)
		decl_refuse(s, d, " has no values");
	for (size_t i = 0; i < d->in.n; i++) {
		const struct member *m = d->in.items[i];

		check_doc(s, m);
		if (!opgen_is_name(m->name, false))
			schema_refuse(s, m->place, "'%s' cannot be a value", m->name);
		check_twins(s, &d->in, i);
	}
}

/* Checks that an event has one of the numbers that are reserved for its noun, since a query for
 * all events of a noun uses a range of numbers. */
static void opgen_check_number(struct schema *s, const struct decl *d)
{
	size_t n = strcspn(d->name, "."), first = 0;
	const struct decl *own = schema_events(s, d->name, n);

	if (!own && schema_next(s, DECL_EVENTS, &first))
		schema_refuse(s, d->place, "no numbers are kept for events of '%.*s'",
			      (int)n, d->name);
	if (own && (d->number < own->min || d->number > own->max))
		schema_refuse(s, d->place,
			      "the number of %s is not in %" PRId64 "..%" PRId64
			      ", as %s:%d keeps for it",
			      d->name, own->min, own->max, own->place.file,
			      own->place.line);
}

static void check_events(struct schema *s, const struct decl *d)
{
	const struct decl *other;

	for (size_t i = 0; i < d->nouns.n; i++)
		if (schema_events(s, d->nouns.items[i], strlen(d->nouns.items[i])) != d)
			schema_refuse(s, d->place, "'%s' has numbers already",
				      d->nouns.items[i]);
	for (size_t i = 0; (other = schema_next(s, DECL_EVENTS, &i)) != d;)
		if (other->min <= d->max && other->max >= d->min)
			schema_refuse(s, d->place, "its numbers overlap those of %s",
				      other->name);
}

static void check_event(struct schema *s, const struct decl *d)
{
	static const char *const wakes[] = { "inbox", "ready", "event", NULL };
	const struct decl *other;

	if (!strchr(d->name, '.'))
		schema_refuse(s, d->place, "an event is called NOUN.PAST, not '%s'",
			      d->name);
	for (size_t i = 0; i < d->wakes.n; i++)
		if (!opgen_among(d->wakes.items[i], wakes))
			decl_refuse(s, d, ": '%s' is not one of inbox ready event",
				    d->wakes.items[i]);
	for (size_t i = 0; (other = schema_next(s, DECL_EVENT, &i)) != d;)
		if (other->number == d->number)
			decl_refuse(s, d, " has the number of %s", other->name);
	opgen_check_number(s, d);
}

static const struct decl *find_answer(struct schema *s, const struct decl *d,
				      const char *name)
{
	const struct decl *answer = name ? schema_find(s, DECL_WIRE, name) : NULL;

	if (name && !answer)
		decl_refuse(s, d, ": undeclared answer '%s'", name);
	return answer;
}

static void check_wire(struct schema *s, struct decl *d)
{
	static const char *const ports[] = { "5000", "5001", "both", NULL };
	static const char *const senders[] = { "host", "guest", "both", NULL };

	opgen_check_fields(s, &d->in);
	if (!is_pascal(d->name))
		schema_refuse(s, d->place,
			      "a wire message is called in PascalCase, not '%s'",
			      d->name);
	for (size_t i = 0; i < d->in.n; i++)
		if (goes_by(d->in.items[i], "type") || goes_by(d->in.items[i], "id"))
			schema_refuse(s, d->in.items[i]->place,
				      "'%s' belongs to the frame", d->in.items[i]->name);
	if (d->port && !opgen_among(d->port, ports))
		decl_refuse(s, d, ": unknown port '%s'", d->port);
	if (d->sender && !opgen_among(d->sender, senders))
		decl_refuse(s, d, ": unknown sender '%s'", d->sender);
	d->answer = find_answer(s, d, d->answer_name);
	d->guest_answer = find_answer(s, d, d->guest_answer_name);
}

static bool tool_is_used(const struct schema *s, const char *tool)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->decls[i]->tool && strcmp(s->decls[i]->tool, tool) == 0)
			return true;
	return false;
}

static void check_set(struct schema *s, const struct decl *d)
{
	const struct decl *other;

	for (size_t i = 0; i < d->in.n; i++) {
		const struct member *m = d->in.items[i];

		check_doc(s, m);
		check_twins(s, &d->in, i);
		if (!tool_is_used(s, m->name))
			schema_refuse(s, m->place, "no operation is in tool '%s'",
				      m->name);
		for (size_t j = 0; (other = schema_next(s, DECL_SET, &j)) != d;)
			if (member_find(&other->in, m->name))
				schema_refuse(s, m->place,
					      "tool '%s' is in set %s already", m->name,
					      other->name);
	}
}

static void check_record(struct schema *s, struct decl *d)
{
	opgen_check_fields(s, &d->in);
	if (!d->in.n)
		decl_refuse(s, d, " has no fields");
	if (opgen_among(d->id, taken_structs))
		schema_refuse(s, d->place, "'%s' is a struct of cadre already", d->name);
}

/* The operation that lists the things of a noun. If no operation lists such things, refuses the
 * noun and returns NULL. */
static const struct decl *opgen_find_noun(struct schema *s, struct opgen_place at,
					  const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->decls[i]->lists.n &&
		    strcmp(s->decls[i]->lists.items[0], name) == 0)
			return s->decls[i];
	schema_refuse(s, at, "no operation lists the noun '%s'", name);
	return NULL;
}

/* Checks an argument whose type declares a noun: a value of the type names a thing of this
 * noun. */
static void check_named(struct schema *s, struct member *m)
{
	const struct decl *t = m->type, *list = opgen_find_noun(s, t->place, t->names);
	const struct member *rows = list ? opgen_rows(list) : NULL;

	m->noun = list;
	m->by = t->by;
	if (rows && t->by && !member_find(&rows->type->in, t->by))
		schema_refuse(s, t->place, "%s has no field %s to name a %s by",
			      rows->type->name, t->by, t->names);
}

/* Checks the noun of the thing that an argument names or makes. The noun is declared by the
 * argument or by the argument's type. */
static void check_noun(struct schema *s, const struct decl *d, struct member *m)
{
	if (m->makes && strcmp(d->mode, "write") != 0)
		decl_refuse(s, m, " makes a %s, and %s only reads", m->makes, d->name);
	if (m->makes)
		opgen_find_noun(s, m->place, m->makes);
	else if (m->names)
		m->noun = opgen_find_noun(s, m->place, m->names);
	else if (m->type && m->type->names)
		check_named(s, m);
}

static void check_nouns(struct schema *s, const struct decl *d)
{
	for (size_t i = 0; d->mode && i < d->in.n; i++)
		check_noun(s, d, d->in.items[i]);
}

/* Checks the operations that `help` prints first in a topic. Each of these operations must be a
 * command of the topic. */
static void opgen_check_first(struct schema *s, const struct decl *d)
{
	for (size_t i = 0; i < d->first.n; i++) {
		const char *name = d->first.items[i];
		const struct decl *op = schema_find(s, DECL_OP, name);
		bool mine = false;

		for (size_t j = 0; j < d->nouns.n; j++)
			mine |= strcspn(name, ".") == strlen(d->nouns.items[j]) &&
				!strncmp(name, d->nouns.items[j], strcspn(name, "."));
		if (!op || !op->cli.n || !mine)
			decl_refuse(s, d, ": %s is no command of it", name);
	}
}

static void check_decl(struct schema *s, struct decl *d)
{
	if (!*d->doc && d->kind != DECL_PARAM && d->kind != DECL_SET)
		decl_refuse(s, d, " has no documentation");
	if (d->kind != DECL_WIRE &&
	    !opgen_is_name(d->name, d->kind == DECL_OP || d->kind == DECL_EVENT ||
					    d->kind == DECL_FACE))
		schema_refuse(s, d->place, "bad name '%s'", d->name);
	switch (d->kind) {
	case DECL_TYPE:
		check_type(s, d);
		break;
	case DECL_ENUM:
		check_choices(s, d);
		break;
	case DECL_RECORD:
		check_record(s, d);
		break;
	case DECL_PARAM:
		opgen_check_fields(s, &d->in);
		break;
	case DECL_EVENT:
		check_event(s, d);
		break;
	case DECL_EVENTS:
		check_events(s, d);
		break;
	case DECL_WIRE:
		check_wire(s, d);
		break;
	case DECL_SET:
		check_set(s, d);
		break;
	case DECL_TOPIC:
		opgen_check_first(s, d);
		break;
	case DECL_OP:
	case DECL_FACE:
		opgen_check_fields(s, &d->in);
		opgen_check_fields(s, &d->out);
		break;
	case DECL_KINDS:
		break;
	}
}

void schema_check_all(struct schema *s)
{
	struct decl *d;
	int n_types = 0;

	for (size_t i = 0; i < s->n; i++) {
		d = s->decls[i];
		if (decl_is_type(d))
			d->index = n_types++;
		if (d->place.line) /* the declaration is not built in */
			check_decl(s, d);
	}
	if (n_types > TYPE_MAX)
		schema_refuse(s, s->decls[0]->place,
			      "more than %d types; raise TYPE_MAX in core/op/op.h",
			      TYPE_MAX);
	for (size_t i = 0; (d = schema_next(s, DECL_RECORD, &i));)
		order_record(s, d);
	for (size_t i = 0; (d = schema_next(s, DECL_OP, &i));) {
		op_check(s, d);
		check_nouns(s, d);
	}
	for (size_t i = 0; (d = schema_next(s, DECL_FACE, &i));) {
		face_check(s, d);
		check_nouns(s, d);
	}
}
