#include "tools/build/opgen.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 64 };

/* A line, split into words. */
struct opgen_line {
	const char *words[WORDS];
	bool quoted[WORDS];
	size_t n;
	const char *doc; /* text behind `#` or `#-`; "" if there is no text */
	bool plain; /* the mark was `#-` */
	bool indented;
};

struct parser {
	struct schema *schema;
	struct opgen_place at;
	struct decl *open; /* declaration that gets the next members; NULL after a
			      wrong declaration */
	const char *doc; /* documentation for the next declaration, or NULL */
	const char **last_doc; /* the doc that an indented `# text` continues */
};

#define refuse(p, ...) schema_refuse((p)->schema, (p)->at, __VA_ARGS__)

/* --- fields ------------------------------------------------------------------------ */

/* Reads `[]`, or `[N]` for a list of at most N values. */
static void parse_list(struct parser *p, struct member *m, const char *w, size_t *n)
{
	const char *open = memchr(w, '[', *n);
	char *end;

	if (!open || *n < 3 || w[*n - 1] != ']')
		return;
	m->list = true;
	if (open + 2 < w + *n) {
		m->most = strtoll(open + 1, &end, 10);
		if (end != w + *n - 1 || m->most < 1)
			refuse(p, "'%s': a list is [] or [N], N being 1 or more", w);
	}
	*n = (size_t)(open - w);
}

static void parse_field_type(struct parser *p, struct member *m, const char *w)
{
	size_t n = strlen(w);

	if (n > 1 && w[n - 1] == '?') {
		m->optional = true;
		n--;
	}
	parse_list(p, m, w, &n);
	m->type_name = arena_strndup(&p->schema->arena, w, n);
}

/* Reads the words behind a type: `= DEFAULT`, `(ALIAS...)`, `names NOUN`, `makes NOUN`,
 * `caller` and `unlisted`. */
static void parse_field_tail(struct parser *p, struct member *m,
			     const struct opgen_line *l, size_t i)
{
	if (i + 1 < l->n && strcmp(l->words[i], "=") == 0) {
		m->def = l->words[i + 1];
		m->quoted = l->quoted[i + 1];
		i += 2;
	}
	if (i < l->n && strcmp(l->words[i], "(") == 0) {
		for (i++; i < l->n && strcmp(l->words[i], ")") != 0; i++)
			list_add(p->schema, &m->aliases, l->words[i]);
		if (i++ == l->n)
			refuse(p, "the aliases of %s are not closed", m->name);
	}
	for (; i < l->n; i++)
		if (i + 1 < l->n && strcmp(l->words[i], "names") == 0)
			m->names = l->words[++i];
		else if (i + 1 < l->n && strcmp(l->words[i], "makes") == 0)
			m->makes = l->words[++i];
		else if (strcmp(l->words[i], "caller") == 0)
			m->callers = true;
		else if (strcmp(l->words[i], "unlisted") == 0)
			m->unlisted = true;
		else
			break;
	if (i < l->n)
		refuse(p, "unexpected '%s' behind %s", l->words[i], m->name);
}

/* Whether a word is one of the words that may follow a type, apart from `caller`. If a field
 * has such a word in the place of its type, the param with the field's name gives the type. */
static bool is_tail(const char *w)
{
	static const char *const tails[] = {
		"(", "=", "names", "makes", "unlisted", NULL
	};

	return opgen_among(w, tails);
}

/* Reads the field that begins at word `i`. */
static void parse_field(struct parser *p, struct members *to, const struct opgen_line *l,
			size_t i)
{
	struct member *m;

	if (i >= l->n) {
		refuse(p, "expected NAME TYPE[?|[]|[N]] [= DEFAULT] [(ALIAS...)] "
			  "[names|makes NOUN]  # meaning");
		return;
	}
	m = members_add(p->schema, to);
	m->place = p->at;
	m->name = l->words[i];
	m->id = opgen_c_name(&p->schema->arena, m->name, false);
	m->doc = l->doc;
	m->plain = l->plain;
	p->last_doc = &m->doc;
	i++;
	if (i < l->n && !is_tail(l->words[i]))
		parse_field_type(p, m, l->words[i++]);
	parse_field_tail(p, m, l, i);
}

/* --- members of an operation -------------------------------------------------------- */

/* Words that may follow the first word of a line. Each word in the table sets a flag of the
 * operation. */
static const struct {
	const char *word, *option;
	size_t flag;
} op_options[] = {
	{ "write", "idempotent", offsetof(struct decl, idempotent) },
	{ "write", "destructive", offsetof(struct decl, destructive) },
	{ "write", "request", offsetof(struct decl, request) },
	{ "write", "lax", offsetof(struct decl, lax) },
	{ "needs", "host", offsetof(struct decl, needs_host) },
	{ "needs", "vault", offsetof(struct decl, needs_vault) },
	{ "needs", "folders", offsetof(struct decl, needs_folders) },
	{ "needs", "cursor", offsetof(struct decl, needs_cursor) },
	{ "prefers", "host", offsetof(struct decl, prefers_host) },
	{ "moves", "workspaces", offsetof(struct decl, moves) },
};

static void parse_options(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	const size_t n = sizeof(op_options) / sizeof(op_options[0]);

	for (size_t i = 1, k; i < l->n; i++) {
		for (k = 0; k < n; k++)
			if (strcmp(op_options[k].word, l->words[0]) == 0 &&
			    strcmp(op_options[k].option, l->words[i]) == 0)
				break;
		if (k < n)
			*(bool *)((char *)d + op_options[k].flag) = true;
		else
			refuse(p, "unknown word '%s'", l->words[i]);
	}
}

static void parse_mode(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (d->mode)
		refuse(p, "a second 'read' or 'write'");
	d->mode = l->words[0];
	parse_options(p, d, l);
}

static void parse_wait(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (d->wait)
		refuse(p, "a second 'wait'");
	d->wait = l->words[1];
	if (l->n == 4 && strcmp(l->words[2], "when") == 0)
		d->when = l->words[3];
	else if (l->n > 2)
		refuse(p, "expected: wait FIELD [when FLAG]");
}

/* A word of the command is written in small letters. A field is written in small letters or in
 * capitals. The parser does not know all fields yet, so opgen_check_op.c finds out whether the
 * second word is a field. */
static void parse_cli(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (d->cli.n)
		refuse(p, "a second 'cli'");
	for (size_t i = 1; i < l->n; i++) {
		size_t n = strlen(l->words[i]);

		if (i + 1 == l->n && n > 3 && strcmp(l->words[i] + n - 3, "...") == 0) {
			d->cli_rest = true;
			n -= 3;
		}
		list_add(p->schema, &d->cli,
			 arena_strndup(&p->schema->arena, l->words[i], n));
	}
}

/* Finds the operation's argument for a face's argument. The operation's argument gets the value
 * of the face's argument. The operation's argument is named in brackets, or has the same name.
 * No struct holds the arguments of a face, so a face may use any names that a client uses. */
static void parse_own(struct parser *p, struct member *m)
{
	char *id = arena_strdup(&p->schema->arena, m->id);

	if (m->aliases.n > 1)
		refuse(p, "%s stands for one argument", m->name);
	m->own = m->aliases.n ? m->aliases.items[0] : m->name;
	m->aliases.n = 0;
	for (m->id = id; *id; id++)
		*id = (char)tolower((unsigned char)*id);
}

static void parse_in(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	parse_field(p, &d->in, l, 1);
	if (d->kind == DECL_FACE)
		parse_own(p, d->in.items[d->in.n - 1]);
}

static void parse_out(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	parse_field(p, &d->out, l, 1);
}

/* Each `says` of an operation is a line of the text. */
static void parse_says(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	d->says =
		d->says ? arena_printf(&p->schema->arena, "%s\n%s", d->says, l->words[1])
			: l->words[1];
}

/* Each name gets a hint of its own: the text behind the last name. */
static void parse_lacks(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	for (size_t i = 1; i + 1 < l->n; i++) {
		list_add(p->schema, &d->lacks, l->words[i]);
		list_add(p->schema, &d->lacks, l->words[l->n - 1]);
	}
}

static void parse_fault(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	struct opgen_refusal *r;

	if (*l->words[l->n - 1] != '{') {
		refuse(p, "expected: fault [CODE [POINTER]] {JSON}");
		return;
	}
	r = arena_push(&p->schema->arena, &d->refusals, &d->n_refusals, sizeof(*r));
	*r = (struct opgen_refusal){ .code = l->n > 2 ? l->words[1] : NULL,
				     .where = l->n > 3 ? l->words[2] : NULL,
				     .body = l->words[l->n - 1],
				     .place = p->at };
}

/* The kind of member that a line fills. SLOT_TEXT: the line may occur once, and each word of
 * the line fills one member. SLOT_JSON: the line may occur once, and fills a member with JSON.
 * SLOT_LIST: one line fills a list. SLOT_MORE: several lines fill a list. SLOT_FLAG: the line
 * sets a flag. SLOT_OWN: a function reads the line. */
enum slot { SLOT_TEXT, SLOT_JSON, SLOT_LIST, SLOT_MORE, SLOT_FLAG, SLOT_OWN };
#define SLOT(slot, member, of) SLOT_##slot, offsetof(struct decl, member), NULL, of
#define TEXT(member) SLOT(TEXT, member, OF_OPS)
#define LIST(member) SLOT(LIST, member, OF_OPS)
#define MORE(member) SLOT(MORE, member, OF_OPS)
#define FLAG(member) SLOT(FLAG, member, OF_OPS)
#define OWN(parse, of) SLOT_OWN, 0, parse, of

static const struct {
	const char *word;
	size_t least, most;
	const char *usage;
	enum slot slot;
	size_t at; /* offset of the member in struct decl */
	void (*parse)(struct parser *, struct decl *, const struct opgen_line *);
	enum { OF_OPS, OF_FACES, OF_BOTH } of;
} op_words[] = {
	{ "read", 1, 1, "read", OWN(parse_mode, OF_OPS) },
	{ "write", 1, 3, "write [idempotent] [destructive]", OWN(parse_mode, OF_OPS) },
	{ "who", 2, 2, "who host|operator|lead|member|observer", TEXT(who) },
	{ "rate", 2, 2, "rate create|exec|team_message|default|free", TEXT(rate) },
	{ "needs", 2, 2, "needs host|vault|folders|cursor", OWN(parse_options, OF_OPS) },
	{ "prefers", 2, 2, "prefers host", OWN(parse_options, OF_OPS) },
	{ "moves", 2, 2, "moves workspaces", OWN(parse_options, OF_OPS) },
	{ "identifies", 1, 1, "identifies", FLAG(identifies) },
	{ "above", 1, 1, "above", FLAG(above) },
	{ "wait", 2, 4, "wait FIELD [when FLAG]", OWN(parse_wait, OF_OPS) },
	{ "reaches", 3, 4, "reaches FIELD FIELD [FIELD]", TEXT(reached) },
	{ "until", 2, WORDS, "until NOUN.VERB [VALUE...]", LIST(until) },
	{ "hands", 3, WORDS, "hands NOUN.VERB VALUE...", LIST(hands) },
	{ "misses", 2, 2, "misses FIELD", TEXT(misses) },
	{ "awaits", 2, 3, "awaits FIELD [FIELD]", LIST(awaits) },
	{ "within", 2, 2, "within FIELD", TEXT(within) },
	{ "gives", 2, 2, "gives messages|claim", TEXT(gives) },
	{ "runs", 2, 2, "runs FIELD", TEXT(runs) },
	{ "rest", 2, 2, "rest NOUN.VERB", TEXT(rest_name) },
	{ "follows", 3, 3, "follows FLAG NOUN.VERB", TEXT(follows) },
	{ "many", 3, 3, "many NOUN.VERB FIELD", TEXT(many_name) },
	{ "bytes", 2, 2, "bytes FIELD", TEXT(bytes) },
	{ "prints", 2, 2, "prints FIELD", TEXT(prints) },
	{ "editor", 2, 2, "editor FIELD", TEXT(editor) },
	{ "lists", 3, 4, "lists NOUN FIELD [FIELD]", LIST(lists) },
	{ "finds", 3, 3, "finds NOUN FIELD", LIST(finds) },
	{ "owner", 2, 2, "owner FIELD", TEXT(owner) },
	{ "guest", 2, 2, "guest MESSAGE", TEXT(message_name) },
	{ "request", 1, 1, "request", FLAG(request) },
	{ "http", 3, 3, "http METHOD /path/{field}", SLOT(TEXT, method, OF_BOTH) },
	{ "tool", 2, 3, "tool NAME [ACTION]", SLOT(TEXT, tool, OF_BOTH) },
	{ "cli", 2, WORDS, "cli VERB [WORD] [FIELD...]", OWN(parse_cli, OF_OPS) },
	{ "also", 2, WORDS, "also WORD...", MORE(also) },
	{ "table", 2, WORDS, "table FIELD... [| FIELD...]", MORE(columns) },
	{ "lines", 2, WORDS, "lines FIELD... [| FIELD...]", MORE(lines) },
	{ "below", 2, 2, "below FIELD", TEXT(below) },
	{ "page", 3, WORDS, "page FIELD FIELD... | FIELD...", MORE(page) },
	{ "overview", 2, WORDS, "overview FIELD... | FIELD...", MORE(overview) },
	{ "says", 2, 2, "says \"TEXT\"", OWN(parse_says, OF_OPS) },
	{ "empty", 2, 2, "empty \"TEXT\"", TEXT(empty) },
	{ "next", 2, 2, "next \"TEXT\"", TEXT(next) },
	{ "for", 2, 2, "for \"TEXT\"", TEXT(waits_for) },
	{ "example", 2, 2, "example \"TEXT\"", TEXT(example) },
	{ "quiet", 1, 1, "quiet", FLAG(quiet) },
	{ "clock", 1, 1, "clock", FLAG(clock) },
	{ "brief", 2, WORDS, "brief FIELD|FIELD.FIELD...", MORE(brief) },
	{ "pages", 2, 2, "pages NUMBER", TEXT(pages) },
	{ "reads", 2, WORDS, "reads RECORD.FIELD...", MORE(reads) },
	{ "in", 2, WORDS, "in FIELD", OWN(parse_in, OF_BOTH) },
	{ "out", 2, WORDS, "out FIELD", OWN(parse_out, OF_OPS) },
	{ "lacks", 3, WORDS, "lacks NAME... \"TEXT\"", OWN(parse_lacks, OF_OPS) },
	{ "fails", 2, WORDS, "fails CODE...", MORE(fails) },
	{ "emits", 2, WORDS, "emits EVENT...", MORE(emits) },
	{ "sets", 2, 2, "sets {JSON}", SLOT(JSON, sets, OF_FACES) },
	{ "operator", 2, 2, "operator {JSON}", SLOT(JSON, operator, OF_FACES) },
	{ "only", 3, 3, "only KEY \"TEXT\"", SLOT(TEXT, only, OF_FACES) },
	{ "answer", 2, 2, "answer {JSON}", SLOT(JSON, answers, OF_FACES) },
	{ "fault", 2, 4, "fault [CODE [POINTER]] {JSON}", OWN(parse_fault, OF_FACES) },
};

static void opgen_fill(struct parser *p, size_t word, struct decl *d,
		       const struct opgen_line *l)
{
	void *at = (char *)d + op_words[word].at;
	const enum slot slot = op_words[word].slot;

	if (slot == SLOT_OWN) {
		op_words[word].parse(p, d, l);
		return;
	}
	if (slot == SLOT_JSON && *l->words[1] != '{')
		refuse(p, "expected: %s", op_words[word].usage);
	if (slot == SLOT_LIST ? ((struct list *)at)->n > 0
			      : slot < SLOT_LIST && *(const char **)at)
		refuse(p, "a second '%s'", l->words[0]);
	if (slot == SLOT_FLAG)
		*(bool *)at = true;
	for (size_t i = 1; i < l->n; i++)
		if (slot < SLOT_LIST)
			((const char **)at)[i - 1] = l->words[i];
		else
			list_add(p->schema, at, l->words[i]);
}

static void parse_op_member(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	const bool face = d->kind == DECL_FACE;

	for (size_t i = 0; i < sizeof(op_words) / sizeof(op_words[0]); i++) {
		if (strcmp(op_words[i].word, l->words[0]) != 0 ||
		    op_words[i].of == (face ? OF_OPS : OF_FACES))
			continue;
		if (l->n < op_words[i].least || l->n > op_words[i].most)
			refuse(p, "expected: %s", op_words[i].usage);
		else
			opgen_fill(p, i, d, l);
		return;
	}
	refuse(p, "unknown word '%s' in %s", l->words[0],
	       face ? "a face" : "an operation");
}

/* --- lines ---------------------------------------------------------------------- */

/* Reads a text in quotes. `s` points behind the first quote. Returns the rest of the line. */
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

/* Reads a plain word. A bracket around aliases is a word of its own. */
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

/* Whether the rest of the line behind a word may be JSON. */
static bool takes_json(const char *word)
{
	static const char *const words[] = { "sets", "operator", "answer", "fault",
					     NULL };

	return opgen_among(word, words);
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
			d->pattern =
				arena_strndup(&p->schema->arena, l->words[i] + 1, n - 2);
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
			*(d->tells ? &d->says : &d->tells) = l->words[i];
		else
			list_add(p->schema, &d->wakes, l->words[i]);
}

/* Reads a declaration `events`, which reserves event numbers for nouns. The declaration has the
 * name of its first noun. */
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
	if (l->n == 2) /* a message that is only used as an answer */
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

static void parse_face(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (strcmp(l->words[2], "of") != 0)
		refuse(p, "expected: face NAME of NOUN.VERB");
	d->of_name = l->words[3];
}

/* Reads a param. The rest of the line is a field with the param's name. */
static void parse_param(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	parse_field(p, &d->in, l, 1);
}

static void parse_set(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	d->unlisted = l->n == 3;
	if (l->n == 3 && strcmp(l->words[2], "unlisted") != 0)
		refuse(p, "expected: set NAME [unlisted]");
}

static const struct {
	const char *word;
	size_t name, least, most; /* index of the word with the name; minimum and maximum
				     number of words */
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
	[DECL_EVENT] = { "event", 2, 3, WORDS,
			 "event NUMBER NAME [WAKES...] [\"SENTENCE\" [\"DETAIL\"]]",
			 parse_event },
	[DECL_EVENTS] = { "events", 1, 3, WORDS, "events NOUN LO..HI [NOUN...]",
			  parse_events },
	[DECL_WIRE] = { "wire", 1, 2, 7, WIRE_USAGE, parse_wire },
	[DECL_SET] = { "set", 1, 2, 3, "set NAME [unlisted]", parse_set },
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
	case DECL_FACE:
		parse_op_member(p, d, l);
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

/* Documentation above a declaration keeps its line breaks. */
static void take_doc(struct parser *p, const char *s)
{
	s += *s == ' ';
	p->doc = p->doc ? arena_printf(&p->schema->arena, "%s\n%s", p->doc, s)
			: arena_strdup(&p->schema->arena, s);
}

/* Continues the documentation behind a member. All lines of a member's documentation become one
 * paragraph. */
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
		/* The parser keeps pointers to words, so each line needs memory of its own. */
		parse_line(&p, arena_strndup(&s->arena, buf, strlen(buf)));
	}
	if (p.doc)
		refuse(&p, "the documentation above belongs to no declaration");
	free(buf);
}

void schema_read(struct schema *s, const char *name)
{
	FILE *in = fopen(name, "r");

	if (!in) {
		schema_refuse(s, (struct opgen_place){ name, 0 }, "%s", strerror(errno));
		return;
	}
	schema_parse(s, name, in);
	fclose(in);
}
