#include "tools/build/opgen_write.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- pieces ------------------------------------------------------------------ */

void put_upper(FILE *out, const char *s)
{
	for (; *s; s++)
		fputc(isalnum((unsigned char)*s) ? toupper((unsigned char)*s) : '_', out);
}

void put_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '\n')
			fputs(s[1] ? "\\n\"\n\t\t\"" : "\\n", out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if ((unsigned char)*s < ' ' || *s == 127)
			fprintf(out, "\\%03o", (unsigned)*s);
		else
			fputc(*s, out);
	}
	fputc('"', out);
}

void opgen_put_words(FILE *out, const char *member, const struct list *l)
{
	if (!l->n)
		return;
	fprintf(out, "\t  .%s = (const char *const[]){ ", member);
	for (size_t i = 0; i < l->n; i++)
		fprintf(out, "\"%s\", ", l->items[i]);
	fputs("NULL },\n", out);
}

static bool based(const struct member *m, const char *base)
{
	return m->type->base && strcmp(m->type->base, base) == 0;
}

/* Writes the C type of one value; a star at its end needs no blank before the name. */
static void put_c_type(FILE *out, const struct member *m)
{
	if (m->type->kind == DECL_RECORD)
		fprintf(out, "struct %s ", m->type->id);
	else if (based(m, "text") || based(m, "json"))
		fputs("const char *", out);
	else if (based(m, "map"))
		fputs("struct pair *", out);
	else
		fputs(based(m, "bool") ? "bool " : "int64_t ", out);
}

/* A text or json that is absent is NULL. */
static bool has_flag(const struct member *m)
{
	return m->optional && !m->list && !based(m, "text") && !based(m, "json") &&
	       !based(m, "map");
}

static bool has_count(const struct member *m)
{
	return m->list || based(m, "map");
}

/* --- the header ---------------------------------------------------------------- */

static void opgen_write_put_struct(FILE *out, const char *id, const char *suffix,
				   const struct members *all)
{
	fprintf(out, "struct %s%s {\n", id, suffix);
	for (size_t i = 0; i < all->n; i++) {
		const struct member *m = all->items[i];

		fputc('\t', out);
		put_c_type(out, m);
		fprintf(out, "%s%s;\n", m->list ? "*" : "", m->id);
		if (has_count(m))
			fprintf(out, "\tsize_t n_%s;\n", m->id);
		if (has_flag(m))
			fprintf(out, "\tbool has_%s;\n", m->id);
	}
	fprintf(out, "%s};\nextern const struct record record_%s%s;\n\n",
		all->n ? "" : "\tchar none;\n", id, suffix);
}

static void put_enum(FILE *out, const struct decl *d)
{
	fprintf(out, "enum %s {\n", d->id);
	for (size_t i = 0; i < d->in.n; i++) {
		fputc('\t', out);
		put_upper(out, d->id);
		fputc('_', out);
		put_upper(out, d->in.items[i]->name);
		fputs(",\n", out);
	}
	fputs("};\n\n", out);
}

static void put_event_numbers(FILE *out, const struct schema *s)
{
	bool any = false;

	for (size_t i = 0; i < s->n; i++) {
		if (s->decls[i]->kind != DECL_EVENT)
			continue;
		fputs(any ? "\tEVENT_" : "enum {\n\tEVENT_", out);
		put_upper(out, s->decls[i]->id);
		fprintf(out, " = %d,\n", s->decls[i]->number);
		any = true;
	}
	if (any)
		fputs("};\n\n", out);
}

/* Writes the enum of nouns of events; opgen_tables.c writes the function. */
static void opgen_write_put_event_nouns(FILE *out, const struct schema *s)
{
	fputs("enum events {\n\tEVENTS_NONE,\n", out);
	for (size_t i = 0; i < s->n; i++) {
		if (s->decls[i]->kind != DECL_EVENTS)
			continue;
		fputs("\tEVENTS_", out);
		put_upper(out, s->decls[i]->id);
		fputs(",\n", out);
	}
	fputs("};\nenum events events_of(int64_t number); /* the noun's, by its numbers */\n\n",
	      out);
}

static void put_op_declarations(FILE *out, const struct decl *d)
{
	fprintf(out, "/* %s - %s:%d */\n", d->name, d->place.file, d->place.line);
	opgen_write_put_struct(out, d->id, "_in", &d->in);
	opgen_write_put_struct(out, d->id, "_out", &d->out);
	fprintf(out,
		"int %s(struct call *call, const struct %s_in *in, "
		"struct %s_out *out);\nextern const struct op *const op_%s;\n\n",
		d->id, d->id, d->id, d->id);
}

/* Writes a macro that finds a message's record by the type of the pointer to its struct.  The
 * compiler refuses a struct that is not listed. */
static void put_record_of(FILE *out, const struct schema *s)
{
	fputs("#define wire_record_of(message) _Generic(*(message)", out);
	for (size_t i = 0; i < s->n; i++)
		if (s->decls[i]->kind == DECL_WIRE)
			fprintf(out, ", \\\n\tstruct %s: &record_%s", s->decls[i]->id,
				s->decls[i]->id);
	fputs(")\n\n", out);
}

void schema_write_header(const struct schema *s, FILE *out)
{
	fputs("/* Written by opgen from schema/; not to be edited. */\n"
	      "#ifndef OPS_GEN_H\n#define OPS_GEN_H\n\n#include \"core/op/op.h\"\n\n",
	      out);
	for (size_t i = 0; i < s->n; i++)
		if (s->decls[i]->kind == DECL_ENUM)
			put_enum(out, s->decls[i]);
	put_event_numbers(out, s);
	opgen_write_put_event_nouns(out, s);
	for (size_t i = 0; i < s->n_records; i++)
		opgen_write_put_struct(out, s->records[i]->id, "", &s->records[i]->in);
	for (size_t i = 0; i < s->n; i++)
		if (s->decls[i]->kind == DECL_WIRE)
			opgen_write_put_struct(out, s->decls[i]->id, "",
					       &s->decls[i]->in);
	put_record_of(out, s);
	for (size_t i = 0; i < s->n; i++)
		if (s->decls[i]->kind == DECL_OP)
			put_op_declarations(out, s->decls[i]);
	fputs("#endif\n", out);
}

/* --- types and records ------------------------------------------------------------- */

static void opgen_write_put_choices(FILE *out, const struct decl *d)
{
	fprintf(out, "static const struct choice choices_%s[] = {\n", d->id);
	for (size_t i = 0; i < d->in.n; i++) {
		fprintf(out, "\t{ \"%s\", ", d->in.items[i]->name);
		put_string(out, d->in.items[i]->doc);
		fputs(" },\n", out);
	}
	fputs("\t{ NULL, NULL },\n};\n\n", out);
}

static void opgen_write_put_type(FILE *out, const struct decl *d)
{
	static const char *const kinds[] = {
		[DECL_ENUM] = "enum", [DECL_RECORD] = "record"
	};

	if (d->kind == DECL_ENUM)
		opgen_write_put_choices(out, d);
	fprintf(out,
		"static const struct type type_%s = {\n\t.name = \"%s\", "
		".index = %d, .kind = KIND_",
		d->id, d->name, d->index);
	put_upper(out, d->kind == DECL_TYPE ? d->base : kinds[d->kind]);
	fputs(",\n\t.doc = ", out);
	put_string(out, d->doc);
	fputs(",\n", out);
	if (d->ranged)
		fprintf(out,
			"\t.min = INT64_C(%" PRId64 "), .max = INT64_C(%" PRId64 "),\n",
			d->min, d->max);
	if (d->pattern) {
		fputs("\t.pattern = ", out);
		put_string(out, d->pattern);
		fputs(",\n", out);
	}
	if (d->given) {
		fputs("\t.given = GIVEN_", out);
		put_upper(out, d->given);
		fputs(",\n", out);
	}
	if (d->kind == DECL_ENUM)
		fprintf(out, "\t.choices = choices_%s,\n", d->id);
	if (d->kind == DECL_RECORD)
		fprintf(out, "\t.record = &record_%s,\n", d->id);
	fputs("};\n\n", out);
}

static void opgen_write_put_default(FILE *out, const struct member *m)
{
	const struct decl *t = m->type;

	if (m->list || based(m, "map"))
		return;
	if (based(m, "text") || based(m, "json")) {
		fputs("\t  .def_text = ", out);
		put_string(out, m->def);
		fputs(",\n", out);
		return;
	}
	fputs("\t  .def_int = ", out);
	if (t->kind == DECL_ENUM)
		put_upper(out, t->id), fputc('_', out), put_upper(out, m->def);
	else if (based(m, "bool"))
		fputs(m->def, out);
	else
		fprintf(out, "INT64_C(%lld)", strtoll(m->def, NULL, 10));
	fputs(",\n", out);
}

void opgen_put_field(FILE *out, const char *record, const struct member *m)
{
	fprintf(out, "\t{ .name = \"%s\", .type = &type_%s,\n\t  .doc = ", m->name,
		m->type->id);
	put_string(out, m->doc);
	fprintf(out, ",\n\t  .flags = 0%s%s%s%s%s%s,\n",
		m->optional ? " | FIELD_OPTIONAL" : "", m->list ? " | FIELD_LIST" : "",
		m->def ? " | FIELD_DEFAULT" : "", m->plain ? " | FIELD_PLAIN" : "",
		m->callers ? " | FIELD_CALLER" : "",
		m->unlisted ? " | FIELD_UNLISTED" : "");
	if (record)
		fprintf(out, "\t  .at = offsetof(struct %s, %s),\n", record, m->id);
	if (record && (has_count(m) || has_flag(m)))
		fprintf(out, "\t  .at2 = offsetof(struct %s, %s_%s),\n", record,
			has_count(m) ? "n" : "has", m->id);
	if (m->most)
		fprintf(out, "\t  .most = %" PRId64 ",\n", m->most);
	if (m->def)
		opgen_write_put_default(out, m);
	if (m->noun)
		fprintf(out, "\t  .names = \"%s\",\n", m->noun->lists.items[0]);
	if (m->by)
		fprintf(out, "\t  .by = \"%s\",\n", m->by);
	opgen_put_words(out, "aliases", &m->aliases);
	fputs("\t},\n", out);
}

static void put_record(FILE *out, struct arena *a, const struct decl *d,
		       const char *suffix, const struct members *all)
{
	const char *id = arena_printf(a, "%s%s", d->id, suffix);

	if (all->n)
		fprintf(out, "static const struct field fields_%s[] = {\n", id);
	for (size_t i = 0; i < all->n; i++)
		opgen_put_field(out, id, all->items[i]);
	if (all->n)
		fputs("};\n\n", out);
	fprintf(out,
		"const struct record record_%s = {\n\t.name = \"%s%s\", "
		".size = sizeof(struct %s),\n",
		id, d->name, suffix, id);
	if (all->n)
		fprintf(out, "\t.fields = fields_%s, .n_fields = %zu,\n", id, all->n);
	fputs("\t.doc = ", out);
	put_string(out, *suffix ? "" : d->doc);
	fputs(",\n};\n\n", out);
}

static void opgen_write_put_types(FILE *out, struct arena *a, const struct schema *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (decl_is_type(s->decls[i]))
			opgen_write_put_type(out, s->decls[i]);
	for (size_t i = 0; i < s->n_records; i++)
		put_record(out, a, s->records[i], "", &s->records[i]->in);
	for (size_t i = 0; i < s->n; i++) {
		const struct decl *d = s->decls[i];

		if (d->kind == DECL_WIRE)
			put_record(out, a, d, "", &d->in);
		if (d->kind != DECL_OP)
			continue;
		put_record(out, a, d, "_in", &d->in);
		put_record(out, a, d, "_out", &d->out);
	}
	fputs("const struct type *const type_table[] = {\n", out);
	for (size_t i = 0; i < s->n; i++)
		if (decl_is_type(s->decls[i]))
			fprintf(out, "\t&type_%s,\n", s->decls[i]->id);
	fputs("};\n\nconst size_t type_count = sizeof(type_table) / "
	      "sizeof(type_table[0]);\n\n",
	      out);
}

void schema_write_source(const struct schema *s, FILE *out)
{
	struct arena a = { 0 };

	fputs("/* Written by opgen from schema/; not to be edited. */\n"
	      "#include \"core/op/face.h\"\n\n#include \"ops.gen.h\"\n\n",
	      out);
	opgen_write_put_types(out, &a, s);
	write_tables(out, &a, s);
	arena_release(&a);
}
