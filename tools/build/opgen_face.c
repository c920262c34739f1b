/*
 * opgen_face - checks faces. A face is an operation under other names, with an answer of
 * another form.
 */
#include "tools/build/opgen.h"

#include <jansson.h>
#include <string.h>

/* Whether the rest of a path names a field of the record `m`, or a field of a record inside
 * `m`. */
static bool has_path(const struct member *m, const char *path, const char *end)
{
	size_t n;

	while (m && path < end) {
		n = strcspn(++path, ".?}");
		if (m->list && n && strspn(path, "0123456789") >= n)
			; /* an index into the list */
		else if (!m->type || m->type->kind != DECL_RECORD)
			return false;
		else
			m = member_part(&m->type->in, path, n);
		path += n;
	}
	return m != NULL;
}

/* Whether a path names an argument. In the text for an answer, the path may also name a part of
 * the answer. In the text for a fault, the path may also name a part of the fault. */
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

/* Refuses a placeholder, such as {card.name} or {thread?}, if the named part does not exist.
 * The opening brace of a placeholder stands directly before a letter. No opening brace of the
 * JSON itself does. */
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

/* Demands a value for each argument that the operation needs. The value is an argument of the
 * face, or is set by the face. */
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

/* Checks that the JSON pointer of a fault begins with the name of an argument. */
static void opgen_face_place(struct schema *s, const struct decl *d,
			     const struct opgen_refusal *r)
{
	const struct members *all = d->in.n ? &d->in : &d->of->in;

	if (*r->where != '/' ||
	    !member_part(all, r->where + 1, strcspn(r->where + 1, "/")))
		schema_refuse(s, r->place, "%s: no argument '%s'", d->name, r->where);
}

/* Whether a key of the configuration has a boolean value. */
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
