#include "tools/build/opgen_parse.h"

#include <stdlib.h>
#include <string.h>

/* --- fields ------------------------------------------------------------------------ */

/* `[]`, or `[N]` of at most so many values. */
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

/* Reads the words behind a type: `= DEFAULT`, `(ALIAS...)`, `names NOUN`, `caller`
 * and `unlisted`. */
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
	if (i + 1 < l->n && strcmp(l->words[i], "names") == 0) {
		m->names = l->words[i + 1];
		i += 2;
	} else if (i + 1 < l->n && strcmp(l->words[i], "makes") == 0) {
		m->makes = l->words[i + 1];
		i += 2;
	}
	if (i < l->n && strcmp(l->words[i], "caller") == 0) {
		m->callers = true;
		i++;
	}
	if (i < l->n && strcmp(l->words[i], "unlisted") == 0) {
		m->unlisted = true;
		i++;
	}
	if (i < l->n)
		refuse(p, "unexpected '%s' behind %s", l->words[i], m->name);
}

/* Whether a word stands behind the type; the param of that name has the type then. */
static bool is_tail(const char *w)
{
	return strcmp(w, "(") == 0 || strcmp(w, "=") == 0 || strcmp(w, "names") == 0 ||
	       strcmp(w, "makes") == 0 || strcmp(w, "unlisted") == 0;
}

void parse_field(struct parser *p, struct members *to, const struct opgen_line *l,
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

static void set_once(struct parser *p, const char **slot, const struct opgen_line *l)
{
	if (*slot)
		refuse(p, "a second '%s'", l->words[0]);
	*slot = l->words[1];
}

static void parse_mode(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (d->mode)
		refuse(p, "a second 'read' or 'write'");
	d->mode = l->words[0];
	for (size_t i = 1; i < l->n; i++) {
		if (strcmp(l->words[i], "idempotent") == 0)
			d->idempotent = true;
		else if (strcmp(l->words[i], "destructive") == 0)
			d->destructive = true;
		else if (strcmp(l->words[i], "request") == 0)
			d->request = true;
		else if (strcmp(l->words[i], "lax") == 0)
			d->lax = true;
		else
			refuse(p, "unknown word '%s'", l->words[i]);
	}
}

static void parse_who(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->who, l);
}

static void parse_rate(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->rate, l);
}

static void parse_wait(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->wait, l);
	if (l->n == 4 && strcmp(l->words[2], "when") == 0)
		d->when = l->words[3];
	else if (l->n > 2)
		refuse(p, "expected: wait FIELD [when FLAG]");
}

static void opgen_member_add_all(struct parser *p, struct list *to,
				 const struct opgen_line *l)
{
	for (size_t i = 1; i < l->n; i++)
		list_add(p->schema, to, l->words[i]);
}

static void parse_reaches(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (d->reaches.n)
		refuse(p, "a second 'reaches'");
	opgen_member_add_all(p, &d->reaches, l);
}

static void parse_until(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (d->until.n)
		refuse(p, "a second 'until'");
	opgen_member_add_all(p, &d->until, l);
}

static void parse_misses(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->misses, l);
}

static void parse_awaits(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (d->awaits.n)
		refuse(p, "a second 'awaits'");
	opgen_member_add_all(p, &d->awaits, l);
}

static void parse_within(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->within, l);
}

static void parse_runs(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->runs, l);
}

static void parse_rest(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->rest_name, l);
}

static void parse_follows(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->follows, l);
	d->signals_name = l->words[2];
}

static void parse_many(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->many_name, l);
	d->many_field = l->words[2];
}

static void parse_bytes(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->bytes, l);
}

static void parse_prints(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->prints, l);
}

static void parse_editor(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->editor, l);
}

static void parse_gives(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->gives, l);
}

static void parse_owner(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->owner, l);
}

static void parse_guest(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->message_name, l);
}

static void parse_moves(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (strcmp(l->words[1], "workspaces") == 0)
		d->moves = true;
	else
		refuse(p, "unknown word '%s'", l->words[1]);
}

static void parse_identifies(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	(void)p, (void)l;
	d->identifies = true;
}

static void parse_above(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	(void)p, (void)l;
	d->above = true;
}

static void parse_prefers(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (strcmp(l->words[1], "host") == 0)
		d->prefers_host = true;
	else
		refuse(p, "unknown word '%s'", l->words[1]);
}

static void parse_lists(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (d->lists.n)
		refuse(p, "a second 'lists'");
	opgen_member_add_all(p, &d->lists, l);
}

static void parse_finds(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (d->finds.n)
		refuse(p, "a second 'finds'");
	opgen_member_add_all(p, &d->finds, l);
}

static void parse_also(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	opgen_member_add_all(p, &d->also, l);
}

static void parse_needs(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (strcmp(l->words[1], "host") == 0)
		d->needs_host = true;
	else if (strcmp(l->words[1], "vault") == 0)
		d->needs_vault = true;
	else if (strcmp(l->words[1], "folders") == 0)
		d->needs_folders = true;
	else if (strcmp(l->words[1], "cursor") == 0)
		d->needs_cursor = true;
	else
		refuse(p, "unknown word '%s'", l->words[1]);
}

static void parse_request(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	(void)p, (void)l;
	d->request = true;
}

static void parse_http(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->method, l);
	d->path = l->words[2];
}

static void parse_tool(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->tool, l);
	d->action = l->n > 2 ? l->words[2] : NULL;
}

/* A word of the command is written small, a field small or in capitals; the
 * check knows the fields and tells the second word from a first field. */
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

static void parse_table(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	opgen_member_add_all(p, &d->columns, l);
}

static void parse_brief(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	opgen_member_add_all(p, &d->brief, l);
}

static void parse_page(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	opgen_member_add_all(p, &d->page, l);
}

static void parse_overview(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	opgen_member_add_all(p, &d->overview, l);
}

static void parse_says(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->says, l);
}

static void parse_empty(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->empty, l);
}

static void parse_next(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->next, l);
}

static void parse_example(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	set_once(p, &d->example, l);
}

static void parse_clock(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	(void)p, (void)l;
	d->clock = true;
}

static void parse_quiet(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	(void)p, (void)l;
	d->quiet = true;
}

static void parse_reads(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	opgen_member_add_all(p, &d->reads, l);
}

static void parse_fails(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	opgen_member_add_all(p, &d->fails, l);
}

static void parse_emits(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	opgen_member_add_all(p, &d->emits, l);
}

static void parse_in(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	parse_field(p, &d->in, l, 1);
}

static void parse_out(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	parse_field(p, &d->out, l, 1);
}

static const struct {
	const char *word;
	size_t least, most;
	const char *usage;
	void (*parse)(struct parser *, struct decl *, const struct opgen_line *);
} op_words[] = {
	{ "read", 1, 1, "read", parse_mode },
	{ "write", 1, 3, "write [idempotent] [destructive]", parse_mode },
	{ "who", 2, 2, "who host|operator|lead|member|observer", parse_who },
	{ "rate", 2, 2, "rate create|exec|team_message|default|free", parse_rate },
	{ "needs", 2, 2, "needs host|vault|folders|cursor", parse_needs },
	{ "prefers", 2, 2, "prefers host", parse_prefers },
	{ "moves", 2, 2, "moves workspaces", parse_moves },
	{ "identifies", 1, 1, "identifies", parse_identifies },
	{ "above", 1, 1, "above", parse_above },
	{ "wait", 2, 4, "wait FIELD [when FLAG]", parse_wait },
	{ "reaches", 3, 4, "reaches FIELD FIELD [FIELD]", parse_reaches },
	{ "until", 2, WORDS, "until NOUN.VERB [VALUE...]", parse_until },
	{ "misses", 2, 2, "misses FIELD", parse_misses },
	{ "awaits", 2, 3, "awaits FIELD [FIELD]", parse_awaits },
	{ "within", 2, 2, "within FIELD", parse_within },
	{ "gives", 2, 2, "gives messages|claim", parse_gives },
	{ "runs", 2, 2, "runs FIELD", parse_runs },
	{ "rest", 2, 2, "rest NOUN.VERB", parse_rest },
	{ "follows", 3, 3, "follows FLAG NOUN.VERB", parse_follows },
	{ "many", 3, 3, "many NOUN.VERB FIELD", parse_many },
	{ "bytes", 2, 2, "bytes FIELD", parse_bytes },
	{ "prints", 2, 2, "prints FIELD", parse_prints },
	{ "editor", 2, 2, "editor FIELD", parse_editor },
	{ "lists", 3, 4, "lists NOUN FIELD [FIELD]", parse_lists },
	{ "finds", 3, 3, "finds NOUN FIELD", parse_finds },
	{ "owner", 2, 2, "owner FIELD", parse_owner },
	{ "guest", 2, 2, "guest MESSAGE", parse_guest },
	{ "request", 1, 1, "request", parse_request },
	{ "http", 3, 3, "http METHOD /path/{field}", parse_http },
	{ "tool", 2, 3, "tool NAME [ACTION]", parse_tool },
	{ "cli", 2, WORDS, "cli VERB [WORD] [FIELD...]", parse_cli },
	{ "also", 2, WORDS, "also WORD...", parse_also },
	{ "table", 2, WORDS, "table FIELD... [| FIELD...]", parse_table },
	{ "page", 3, WORDS, "page FIELD FIELD... | FIELD...", parse_page },
	{ "overview", 2, WORDS, "overview FIELD... | FIELD...", parse_overview },
	{ "says", 2, 2, "says \"TEXT\"", parse_says },
	{ "empty", 2, 2, "empty \"TEXT\"", parse_empty },
	{ "next", 2, 2, "next \"TEXT\"", parse_next },
	{ "example", 2, 2, "example \"TEXT\"", parse_example },
	{ "quiet", 1, 1, "quiet", parse_quiet },
	{ "clock", 1, 1, "clock", parse_clock },
	{ "brief", 2, WORDS, "brief FIELD|FIELD.FIELD...", parse_brief },
	{ "reads", 2, WORDS, "reads RECORD.FIELD...", parse_reads },
	{ "in", 2, WORDS, "in FIELD", parse_in },
	{ "out", 2, WORDS, "out FIELD", parse_out },
	{ "fails", 2, WORDS, "fails CODE...", parse_fails },
	{ "emits", 2, WORDS, "emits EVENT...", parse_emits },
};

void parse_op_member(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	for (size_t i = 0; i < sizeof(op_words) / sizeof(op_words[0]); i++) {
		if (strcmp(op_words[i].word, l->words[0]) != 0)
			continue;
		if (l->n < op_words[i].least || l->n > op_words[i].most)
			refuse(p, "expected: %s", op_words[i].usage);
		else
			op_words[i].parse(p, d, l);
		return;
	}
	refuse(p, "unknown word '%s' in an operation", l->words[0]);
}
