#include "tools/build/opgen_parse.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- lines ---------------------------------------------------------------------- */

/* A text in quotes; `s` is behind the first one.  Returns the rest. */
static char *opgen_parse_take_text(struct parser *p, struct opgen_line *l, char *s)
{
	char *out = s, *in = s;

	for (; *in && *in != '"'; in++) {
		if (*in == '\\' && in[1])
			in++;
		*out++ = *in;
	}
	if (!*in)
		refuse(p, "a text is not closed");
	else
		in++;
	*out = '\0';
	l->quoted[l->n] = true;
	l->words[l->n++] = s;
	return in;
}

/* A plain word.  Brackets around aliases are words of their own. */
static char *opgen_parse_take_word(struct parser *p, struct opgen_line *l, char *s)
{
	size_t n = strcspn(s, " \t");
	char *end = s + n;
	bool closes = n > 1 && end[-1] == ')' && *s != '/' && !memchr(s, '(', n - 1);

	if (*s == '(')
		n = 1;
	else if (closes)
		n--;
	l->words[l->n++] = arena_strndup(&p->schema->arena, s, n);
	return s + n;
}

/* Whether JSON may stand behind a word, to the end of the line. */
static bool takes_json(const char *word)
{
	return strcmp(word, "sets") == 0 || strcmp(word, "operator") == 0 ||
	       strcmp(word, "answer") == 0 || strcmp(word, "fault") == 0;
}

static void take_apart(struct parser *p, struct opgen_line *l, char *s)
{
	*l = (struct opgen_line){ .doc = "", .indented = *s == ' ' || *s == '\t' };
	for (;;) {
		s += strspn(s, " \t");
		if (!*s || (strncmp(s, "--", 2) == 0 && (!s[2] || s[2] == ' ')))
			return;
		if (*s == '#') {
			s++;
			l->plain = *s == '-';
			s += l->plain;
			l->doc = arena_strdup(&p->schema->arena, s + strspn(s, " \t"));
			return;
		}
		if (l->n == WORDS) {
			refuse(p, "more than %d words", WORDS);
			return;
		}
		if (*s == '{' && l->n && takes_json(l->words[0])) {
			l->words[l->n++] = arena_strdup(&p->schema->arena, s);
			return;
		}
		s = *s == '"' ? opgen_parse_take_text(p, l, s + 1)
			      : opgen_parse_take_word(p, l, s);
	}
}

/* --- declarations ----------------------------------------------------------------------- */

static void parse_range(struct parser *p, struct decl *d, const char *w)
{
	int end = 0;

	d->ranged = true;
	if (sscanf(w, "%" SCNd64 "..%" SCNd64 "%n", &d->min, &d->max, &end) != 2 ||
	    w[end] || d->min > d->max)
		refuse(p, "bad range '%s'; expected LO..HI", w);
}

/* A slash may be written `\/`, from habit. */
static const char *take_pattern(struct parser *p, const char *s, size_t n)
{
	char *copy = arena_alloc(&p->schema->arena, n + 1), *q = copy;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\\' && i + 1 < n && s[i + 1] != '/')
			*q++ = s[i++];
		else if (s[i] == '\\')
			i++;
		*q++ = s[i];
	}
	return copy;
}

static void parse_type(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	d->base = l->words[2];
	for (size_t i = 3; i < l->n; i++) {
		size_t n = strlen(l->words[i]);

		if (strcmp(l->words[i], "names") == 0 && i + 1 < l->n)
			d->names = l->words[++i];
		else if (strcmp(l->words[i], "by") == 0 && d->names && i + 1 < l->n)
			d->by = l->words[++i];
		else if (strcmp(l->words[i], "given") == 0 && i + 1 < l->n)
			d->given = l->words[++i];
		else if (l->words[i][0] != '/')
			parse_range(p, d, l->words[i]);
		else if (n < 3 || l->words[i][n - 1] != '/')
			refuse(p, "the pattern '%s' does not end with a /", l->words[i]);
		else
			d->pattern = take_pattern(p, l->words[i] + 1, n - 2);
	}
}

static void parse_event(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	char *end;
	long n = strtol(l->words[1], &end, 10);

	if (*end || n < 1 || n > 99999)
		refuse(p, "bad event number '%s'", l->words[1]);
	d->number = (int)n;
	for (size_t i = 3; i < l->n; i++)
		if (l->quoted[i])
			d->says = l->words[i];
		else
			list_add(p->schema, &d->wakes, l->words[i]);
}

/* The block has the name of its first noun. */
static void parse_events(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	parse_range(p, d, l->words[2]);
	list_add(p->schema, &d->nouns, d->name);
	for (size_t i = 3; i < l->n; i++)
		list_add(p->schema, &d->nouns, l->words[i]);
}

static void parse_topic(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	struct list *to = &d->nouns;

	for (size_t i = 2; i < l->n; i++)
		if (to == &d->nouns && strcmp(l->words[i], "first") == 0)
			to = &d->first;
		else
			list_add(p->schema, to, l->words[i]);
}

#define WIRE_USAGE "wire NAME [PORT SENDER [-> ANSWER [ANSWER_TO_GUEST]]]"

static void parse_wire(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (l->n == 2) /* only ever an answer */
		return;
	if (l->n != 4 && !(l->n >= 6 && strcmp(l->words[4], "->") == 0)) {
		refuse(p, "expected: %s", WIRE_USAGE);
		return;
	}
	d->port = l->words[2];
	d->sender = l->words[3];
	d->answer_name = l->n >= 6 ? l->words[5] : NULL;
	d->guest_answer_name = l->n == 7 ? l->words[6] : NULL;
}

/* The rest of the line is a field under the declaration's own name. */
static void parse_param(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	parse_field(p, &d->in, l, 1);
}

static const struct {
	const char *word;
	size_t name, least, most; /* which word is the name; how many words */
	const char *usage;
	void (*parse)(struct parser *, struct decl *, const struct opgen_line *);
} decl_words[DECL_KINDS] = {
	[DECL_TYPE] = { "type", 1, 3, 11,
			"type NAME text|int|bool|time|json|map [LO..HI] "
			"[/PATTERN/] [names NOUN [by FIELD]] [given WORD]",
			parse_type },
	[DECL_ENUM] = { "enum", 1, 2, 2, "enum NAME", NULL },
	[DECL_RECORD] = { "record", 1, 2, 2, "record NAME", NULL },
	[DECL_PARAM] = { "param", 1, 3, WORDS, "param NAME TYPE...", parse_param },
	[DECL_EVENT] = { "event", 2, 3, WORDS, "event NUMBER NAME [WAKES...] [\"TEXT\"]",
			 parse_event },
	[DECL_EVENTS] = { "events", 1, 3, WORDS, "events NOUN LO..HI [NOUN...]",
			  parse_events },
	[DECL_WIRE] = { "wire", 1, 2, 7, WIRE_USAGE, parse_wire },
	[DECL_SET] = { "set", 1, 2, 2, "set NAME", NULL },
	[DECL_TOPIC] = { "topic", 1, 3, WORDS, "topic NAME NOUN... [first OPERATION...]",
			 parse_topic },
	[DECL_OP] = { "op", 1, 2, 2, "op NOUN.VERB", NULL },
	[DECL_FACE] = { "face", 1, 4, 4, "face NAME of NOUN.VERB", parse_face },
};

static void parse_decl(struct parser *p, const struct opgen_line *l)
{
	struct schema *s = p->schema;
	struct decl *d, *twin;
	size_t k = 0;

	while (k < DECL_KINDS && strcmp(decl_words[k].word, l->words[0]) != 0)
		k++;
	p->open = NULL;
	if (k == DECL_KINDS) {
		refuse(p, "unknown declaration '%s'", l->words[0]);
		return;
	}
	if (l->n < decl_words[k].least || l->n > decl_words[k].most) {
		refuse(p, "expected: %s", decl_words[k].usage);
		return;
	}
	twin = schema_find(s, (enum decl_kind)k, l->words[decl_words[k].name]);
	if (twin)
		refuse(p, "'%s' is already declared at %s:%d", twin->name,
		       twin->place.file, twin->place.line);
	d = p->open = decl_add(s);
	d->kind = (enum decl_kind)k;
	d->name = l->words[decl_words[k].name];
	d->id = opgen_c_name(&s->arena, d->name, k == DECL_WIRE);
	d->place = p->at;
	d->doc = p->doc ? p->doc : l->doc;
	p->last_doc = &d->doc;
	if (decl_words[k].parse)
		decl_words[k].parse(p, d, l);
	if (k == DECL_PARAM && d->in.n && !*d->in.items[0]->doc)
		d->in.items[0]->doc = d->doc;
}

static void parse_member(struct parser *p, const struct opgen_line *l)
{
	struct decl *d = p->open;
	struct member *m;

	switch (d->kind) {
	case DECL_RECORD:
	case DECL_WIRE:
		parse_field(p, &d->in, l, 0);
		break;
	case DECL_OP:
		parse_op_member(p, d, l);
		break;
	case DECL_FACE:
		parse_face_member(p, d, l);
		break;
	case DECL_ENUM:
	case DECL_SET:
		if (l->n != (d->kind == DECL_SET ? 2 : 1) ||
		    (d->kind == DECL_SET && strcmp(l->words[0], "tool") != 0)) {
			refuse(p, "expected: %s",
			       d->kind == DECL_SET ? "tool NAME" : "VALUE  # meaning");
			break;
		}
		m = members_add(p->schema, &d->in);
		m->name = l->words[l->n - 1];
		m->id = opgen_c_name(&p->schema->arena, m->name, false);
		m->doc = l->doc;
		m->place = p->at;
		p->last_doc = &m->doc;
		break;
	case DECL_TYPE:
	case DECL_PARAM:
	case DECL_EVENT:
	case DECL_EVENTS:
	case DECL_TOPIC:
	case DECL_KINDS:
		refuse(p, "'%s' takes no members", d->name);
	}
}

/* --- files --------------------------------------------------------------------------------- */

/* Documentation above a declaration keeps its lines. */
static void take_doc(struct parser *p, const char *s)
{
	s += *s == ' ';
	p->doc = p->doc ? arena_printf(&p->schema->arena, "%s\n%s", p->doc, s)
			: arena_strdup(&p->schema->arena, s);
}

/* Documentation behind a member goes on as one paragraph. */
static void continue_doc(struct parser *p, const char *s)
{
	s += strspn(s, " \t");
	if (p->last_doc)
		*p->last_doc = arena_printf(&p->schema->arena, "%s%s%s", *p->last_doc,
					    **p->last_doc ? " " : "", s);
	else
		refuse(p, "documentation without anything in front of it");
}

static void parse_line(struct parser *p, char *s)
{
	char *first = s + strspn(s, " \t");
	struct opgen_line l;

	if (*s == '#') {
		take_doc(p, s + 1);
		return;
	}
	if (*first == '#') {
		continue_doc(p, first + 1);
		return;
	}
	take_apart(p, &l, s);
	if (p->doc && (!l.n || l.indented)) {
		if (strncmp(first, "--", 2) == 0)
			return;
		refuse(p, "the documentation above belongs to no declaration "
			  "(a note to maintainers begins with --)");
		p->doc = NULL;
	}
	if (!l.n)
		return;
	p->last_doc = NULL;
	if (!l.indented)
		parse_decl(p, &l);
	else if (p->open)
		parse_member(p, &l);
	p->doc = NULL;
}

void schema_parse(struct schema *s, const char *name, FILE *in)
{
	struct parser p = { .schema = s, .at = { arena_strdup(&s->arena, name), 0 } };
	char *buf = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&buf, &room, in)) >= 0) {
		p.at.line++;
		while (n > 0 && isspace((unsigned char)buf[n - 1]))
			buf[--n] = '\0';
		if (strlen(buf) != (size_t)n)
			refuse(&p, "a NUL byte");
		/* Words are kept, so each line needs memory of its own. */
		parse_line(&p, arena_strndup(&s->arena, buf, strlen(buf)));
	}
	if (p.doc)
		refuse(&p, "the documentation above belongs to no declaration");
	free(buf);
}
