/*
 * opgen_face - faces: an operation under other names, with an answer of another form.
 */
#include "tools/build/opgen_parse.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

/* --- reading ------------------------------------------------------------------------- */

void parse_face(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	if (strcmp(l->words[2], "of") != 0)
		refuse(p, "expected: face NAME of NOUN.VERB");
	d->of_name = l->words[3];
}

/* An argument stands for one of the operation's, which is in brackets, or has the same name.
 * No struct has these fields: their names may be anything that a client says. */
static void parse_argument(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	size_t before = d->in.n;
	struct member *m;
	char *id;

	parse_op_member(p, d, l);
	if (d->in.n == before)
		return;
	m = d->in.items[before];
	if (m->aliases.n > 1)
		refuse(p, "%s stands for one argument", m->name);
	m->own = m->aliases.n ? m->aliases.items[0] : m->name;
	m->aliases.n = 0;
	m->id = id = arena_strdup(&p->schema->arena, m->id);
	for (; *id; id++)
		*id = (char)tolower((unsigned char)*id);
}

static void parse_json(struct parser *p, const char **slot, const struct opgen_line *l)
{
	if (l->n != 2 || *l->words[1] != '{')
		refuse(p, "expected: %s {JSON}", l->words[0]);
	else if (*slot)
		refuse(p, "a second '%s'", l->words[0]);
	else
		*slot = l->words[1];
}

static void parse_fault(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	struct opgen_refusal *r;

	if (l->n < 2 || l->n > 4 || *l->words[l->n - 1] != '{') {
		refuse(p, "expected: fault [CODE [POINTER]] {JSON}");
		return;
	}
	r = arena_push(&p->schema->arena, &d->refusals, &d->n_refusals, sizeof(*r));
	*r = (struct opgen_refusal){ .code = l->n > 2 ? l->words[1] : NULL,
				     .where = l->n > 3 ? l->words[2] : NULL,
				     .body = l->words[l->n - 1],
				     .place = p->at };
}

void parse_face_member(struct parser *p, struct decl *d, const struct opgen_line *l)
{
	const char *word = l->words[0];

	if (strcmp(word, "sets") == 0)
		parse_json(p, &d->sets, l);
	else if (strcmp(word, "operator") == 0)
		parse_json(p, &d->operator, l);
	else if (strcmp(word, "only") == 0 && l->n == 3)
		d->only = l->words[1], d->without = l->words[2];
	else if (strcmp(word, "answer") == 0)
		parse_json(p, &d->answers, l);
	else if (strcmp(word, "fault") == 0)
		parse_fault(p, d, l);
	else if (strcmp(word, "in") == 0)
		parse_argument(p, d, l);
	else if (strcmp(word, "http") == 0 || strcmp(word, "tool") == 0)
		parse_op_member(p, d, l);
	else
		refuse(p, "unknown word '%s' in a face", word);
}

/* --- checking ------------------------------------------------------------------------ */

/* Whether the record that a field holds, and those in it, have the rest of a path. */
static bool has_path(const struct member *m, const char *path, const char *end)
{
	size_t n;

	while (m && path < end) {
		n = strcspn(++path, ".?}");
		if (m->list && n && strspn(path, "0123456789") >= n)
			; /* one of the list */
		else if (!m->type || m->type->kind != DECL_RECORD)
			return false;
		else
			m = member_part(&m->type->in, path, n);
		path += n;
	}
	return m != NULL;
}

/* Whether a path names a part of the answer, an argument or, of a fault, a part of that. */
static bool opgen_face_is_known(const struct decl *d, const char *path, const char *end,
				bool of_fault)
{
	static const char *const parts[] = { "error", "hint", "retry_after_ms",
					     "available" };
	size_t n = strcspn(path, ".?}");

	for (size_t i = 0; of_fault && i < sizeof(parts) / sizeof(*parts); i++)
		if (strncmp(parts[i], path, n) == 0 && !parts[i][n])
			return path + n == end;
	if (!of_fault && member_part(&d->of->out, path, n))
		return has_path(member_part(&d->of->out, path, n), path + n, end);
	return has_path(member_part(d->in.n ? &d->in : &d->of->in, path, n), path + n,
			end);
}

static void opgen_face_json(struct schema *s, const struct decl *d, struct opgen_place at,
			    const char *text)
{
	json_error_t error;
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!json)
		schema_refuse(s, at, "%s: no JSON: %s", d->name, error.text);
	json_decref(json);
}

/* Refuses a part, such as {card.name} or {thread?}, that is not there.  Braces of the JSON
 * itself have no letter behind them. */
static void check_parts(struct schema *s, const struct decl *d, struct opgen_place at,
			const char *json, bool of_fault)
{
	opgen_face_json(s, d, at, json);
	for (const char *p = json; (p = strchr(p, '{')); p++) {
		size_t n = strspn(p + 1, "abcdefghijklmnopqrstuvwxyz"
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789_.?");
		const char *end = p + 1 + n;

		if (!n)
			continue;
		end -= end[-1] == '?';
		if (p[1 + n] != '}' || !opgen_face_is_known(d, p + 1, end, of_fault))
			schema_refuse(s, at, "%s: no part '%.*s'", d->name, (int)n,
				      p + 1);
	}
}

static void opgen_face_arguments(struct schema *s, const struct decl *d)
{
	for (size_t i = 0; i < d->in.n; i++) {
		const struct member *m = d->in.items[i];

		if (!member_find(&d->of->in, m->own))
			schema_refuse(s, m->place, "%s has no argument '%s'", d->of_name,
				      m->own);
		if (m->def)
			decl_refuse(s, m,
				    ": a face's arguments have the operation's defaults");
	}
}

/* Demands what the operation cannot do without: of the face's arguments, or set. */
static void check_needs(struct schema *s, const struct decl *d)
{
	json_t *sets = d->sets ? json_loads(d->sets, 0, NULL) : NULL;

	for (size_t i = 0; d->in.n && i < d->of->in.n; i++) {
		const struct member *m = d->of->in.items[i];
		bool there = m->optional || m->def || json_object_get(sets, m->name);

		for (size_t j = 0; j < d->in.n; j++)
			there |= strcmp(d->in.items[j]->own, m->name) == 0;
		if (!there)
			decl_refuse(s, d, " lacks '%s', which %s needs", m->name,
				    d->of_name);
	}
	json_decref(sets);
}

/* The place of a fault begins with an argument. */
static void opgen_face_place(struct schema *s, const struct decl *d,
			     const struct opgen_refusal *r)
{
	const struct members *all = d->in.n ? &d->in : &d->of->in;

	if (*r->where != '/' ||
	    !member_part(all, r->where + 1, strcspn(r->where + 1, "/")))
		schema_refuse(s, r->place, "%s: no argument '%s'", d->name, r->where);
}

/* Whether a key of the configuration is true or false. */
static bool is_switch(struct schema *s, const char *key)
{
	const struct decl *config = schema_find(s, DECL_RECORD, "config");
	const struct member *m = config ? member_find(&config->in, key) : NULL;

	return m && strcmp(m->type_name, "bool") == 0;
}

void face_check(struct schema *s, struct decl *d)
{
	d->of = schema_find(s, DECL_OP, d->of_name);
	if (!d->of) {
		decl_refuse(s, d, ": undeclared operation '%s'", d->of_name);
		return;
	}
	if (!d->tool && !d->method)
		decl_refuse(s, d, " has neither tool nor route");
	d->mode = d->of->mode;
	op_check_places(s, d);
	opgen_face_arguments(s, d);
	if (d->sets)
		opgen_face_json(s, d, d->place, d->sets);
	if (d->operator)
		opgen_face_json(s, d, d->place, d->operator);
	if (d->only && !is_switch(s, d->only))
		decl_refuse(s, d, ": no bool '%s' in the configuration", d->only);
	check_needs(s, d);
	if (d->answers)
		check_parts(s, d, d->place, d->answers, false);
	for (size_t i = 0; i < d->n_refusals; i++) {
		const struct opgen_refusal *r = &d->refusals[i];

		if (r->code && !opgen_is_fault(r->code))
			schema_refuse(s, r->place, "%s: unknown fault '%s'", d->name,
				      r->code);
		if (r->where)
			opgen_face_place(s, d, r);
		check_parts(s, d, r->place, r->body, true);
	}
}
