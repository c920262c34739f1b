#include "tools/build/opgen.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/fault.h"

void schema_refuse(struct schema *s, struct opgen_place at, const char *fmt, ...)
{
	va_list ap;

	s->n_errors++;
	fprintf(s->errors, "%s:%d: ", at.file, at.line);
	va_start(ap, fmt);
	vfprintf(s->errors, fmt, ap);
	va_end(ap);
	fputc('\n', s->errors);
}

void opgen_rules(struct schema *s, const struct decl *d, const struct opgen_rule *rules,
		 size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rules[i].broken)
			decl_refuse(s, d, "%s", rules[i].says);
}

struct decl *schema_next(const struct schema *s, enum decl_kind kind, size_t *i)
{
	while (*i < s->n)
		if (s->decls[(*i)++]->kind == kind)
			return s->decls[*i - 1];
	return NULL;
}

bool decl_is_type(const struct decl *d)
{
	return d->kind <= DECL_RECORD;
}

struct decl *schema_find(const struct schema *s, enum decl_kind kind, const char *name)
{
	for (size_t i = 0; i < s->n; i++) {
		struct decl *d = s->decls[i];

		if ((d->kind == kind || (kind <= DECL_RECORD && decl_is_type(d))) &&
		    strcmp(d->name, name) == 0)
			return d;
	}
	return NULL;
}

const struct decl *schema_events(const struct schema *s, const char *noun, size_t len)
{
	const struct decl *d;

	for (size_t i = 0; (d = schema_next(s, DECL_EVENTS, &i));)
		for (size_t j = 0; j < d->nouns.n; j++)
			if (strlen(d->nouns.items[j]) == len &&
			    strncmp(d->nouns.items[j], noun, len) == 0)
				return d;
	return NULL;
}

struct member *member_find(const struct members *m, const char *name)
{
	return member_part(m, name, strlen(name));
}

struct member *member_part(const struct members *m, const char *path, size_t n)
{
	for (size_t i = 0; i < m->n; i++)
		if (strncmp(m->items[i]->name, path, n) == 0 && !m->items[i]->name[n])
			return m->items[i];
	return NULL;
}

struct member *members_add(struct schema *s, struct members *m)
{
	struct member **place = arena_push(&s->arena, &m->items, &m->n, sizeof(*place));

	return *place = arena_alloc(&s->arena, sizeof(**place));
}

void list_add(struct schema *s, struct list *l, const char *item)
{
	const char **place = arena_push(&s->arena, &l->items, &l->n, sizeof(*place));

	*place = item;
}

bool list_has(const struct list *l, const char *item)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->items[i], item) == 0)
			return true;
	return false;
}

bool opgen_among(const char *word, const char *const *set)
{
	for (; *set; set++)
		if (strcmp(*set, word) == 0)
			return true;
	return false;
}

bool opgen_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

bool opgen_is_fault(const char *code)
{
	static const char *const names[] = {
#define X(id, name, exit, http, wire, doc, hint) name,
		FAULT_LIST(X)
#undef X
			NULL
	};

	return opgen_among(code, names);
}

void opgen_put_constant(FILE *out, const char *before, const char *name,
			const char *after)
{
	fputs(before, out);
	for (; *name; name++)
		fputc(isalnum((unsigned char)*name) ? toupper((unsigned char)*name) : '_',
		      out);
	fputs(after, out);
}

void opgen_put_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '\n')
			fputs(s[1] ? "\\n\"\n\t\t\"" : "\\n", out);
		else if (*s == '\t')
			fputs("\\t", out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if ((unsigned char)*s < ' ' || *s == 127)
			fprintf(out, "\\%03o", (unsigned)*s);
		else
			fputc(*s, out);
	}
	fputc('"', out);
}

bool op_takes_key(const struct decl *d)
{
	return opgen_same(d->mode, "write") && !d->request && d->who &&
	       strcmp(d->who, "host") != 0;
}

struct decl *decl_add(struct schema *s)
{
	struct decl **place = arena_push(&s->arena, &s->decls, &s->n, sizeof(*place));

	return *place = arena_alloc(&s->arena, sizeof(**place));
}

const char *opgen_c_name(struct arena *a, const char *name, bool wire)
{
	const char *prefix = wire ? "wire" : "";
	size_t n = strlen(prefix);
	char *id = arena_alloc(a, n + 2 * strlen(name) + 1), *q = id + n;

	memcpy(id, prefix, n);
	for (const char *p = name; *p; p++) {
		if (wire && isupper((unsigned char)*p))
			*q++ = '_';
		*q++ = *p == '.' || *p == '-' ? '_' : (char)tolower((unsigned char)*p);
	}
	return id;
}

/* Adds the types that the schema does not declare. The added types are the types of the
 * grammar, and the types of idempotency_key and request_id. */
void schema_init(struct schema *s, FILE *errors)
{
	enum { KEYS = 6 };
	static const char *const names[] = { "text",
					     "int",
					     "bool",
					     "time",
					     "json",
					     "map",
					     [KEYS] = "idempotency_key",
					     "request_id" };

	*s = (struct schema){ .errors = errors };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		*decl_add(s) = (struct decl){
			.kind = DECL_TYPE,
			.name = names[i],
			.id = names[i],
			.base = names[i < KEYS ? i : 0],
			.doc = i < KEYS
				       ? ""
				       : "A name that the caller makes; a UUIDv7 is best.",
			.ranged = i >= KEYS,
			.min = i >= KEYS,
			.max = i < KEYS ? 0 : 64,
			.place = { "built in", 0 },
		};
}

void schema_release(struct schema *s)
{
	arena_release(&s->arena);
}
