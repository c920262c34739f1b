/*
 * opgen_write - writes C: the header, the types and the records, the tables of operations,
 * events, tools and wire messages, and the table of faces.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fault.h"
#include "tools/build/opgen.h"

/* --- pieces ------------------------------------------------------------------ */

/* Writes a member with a text for the doors. */
static void opgen_put_text(FILE *out, const char *member, const char *text)
{
	if (!text)
		return;
	fprintf(out, "\t  .%s = ", member);
	opgen_put_string(out, text);
	fputs(",\n", out);
}

static void opgen_put_words(FILE *out, const char *member, const struct list *l)
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
	return opgen_same(m->type->base, base);
}

/* Writes the C type of one value. A type that ends with a star needs no blank before the name. */
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

/* Whether a member needs a flag `has_…`. A text or json needs no flag, since NULL means that
 * the value is absent. */
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
		opgen_put_constant(out, "\t", d->id, "_");
		opgen_put_constant(out, "", d->in.items[i]->name, ",\n");
	}
	fputs("};\n\n", out);
}

static void put_event_numbers(FILE *out, const struct schema *s)
{
	const char *before = "enum {\n\tEVENT_";
	const struct decl *d;

	for (size_t i = 0; (d = schema_next(s, DECL_EVENT, &i)); before = "\tEVENT_") {
		opgen_put_constant(out, before, d->id, " = ");
		fprintf(out, "%d,\n", d->number);
	}
	if (before[0] == '\t')
		fputs("};\n\n", out);
}

/* Writes the enum of the nouns of events. opgen_tables_put_event_nouns() writes the function
 * events_of(). */
static void opgen_write_put_event_nouns(FILE *out, const struct schema *s)
{
	const struct decl *d;

	fputs("enum events {\n\tEVENTS_NONE,\n", out);
	for (size_t i = 0; (d = schema_next(s, DECL_EVENTS, &i));)
		opgen_put_constant(out, "\tEVENTS_", d->id, ",\n");
	fputs("};\nenum events events_of(int64_t number); /* the noun of an event */\n\n",
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

/* Writes the macro wire_record_of(). The macro gets a pointer to a message's struct, and finds
 * the message's record by the type of the struct. The compiler refuses a struct that is not
 * listed. */
static void put_record_of(FILE *out, const struct schema *s)
{
	const struct decl *d;

	fputs("#define wire_record_of(message) _Generic(*(message)", out);
	for (size_t i = 0; (d = schema_next(s, DECL_WIRE, &i));)
		fprintf(out, ", \\\n\tstruct %s: &record_%s", d->id, d->id);
	fputs(")\n\n", out);
}

void schema_write_header(const struct schema *s, FILE *out)
{
	const struct decl *d;

	fputs("/* Written by opgen from schema/; not to be edited. */\n"
	      "#ifndef OPS_GEN_H\n#define OPS_GEN_H\n\n#include \"core/op/op.h\"\n\n",
	      out);
	for (size_t i = 0; (d = schema_next(s, DECL_ENUM, &i));)
		put_enum(out, d);
	put_event_numbers(out, s);
	opgen_write_put_event_nouns(out, s);
	for (size_t i = 0; i < s->n_records; i++)
		opgen_write_put_struct(out, s->records[i]->id, "", &s->records[i]->in);
	for (size_t i = 0; (d = schema_next(s, DECL_WIRE, &i));)
		opgen_write_put_struct(out, d->id, "", &d->in);
	put_record_of(out, s);
	for (size_t i = 0; (d = schema_next(s, DECL_OP, &i));)
		put_op_declarations(out, d);
	fputs("#endif\n", out);
}

/* --- types and records ------------------------------------------------------------- */

static void opgen_write_put_choices(FILE *out, const struct decl *d)
{
	fprintf(out, "static const struct choice choices_%s[] = {\n", d->id);
	for (size_t i = 0; i < d->in.n; i++) {
		fprintf(out, "\t{ \"%s\", ", d->in.items[i]->name);
		opgen_put_string(out, d->in.items[i]->doc);
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
		".index = %d, .kind = ",
		d->id, d->name, d->index);
	opgen_put_constant(out, "KIND_", d->kind == DECL_TYPE ? d->base : kinds[d->kind],
			   ",\n");
	opgen_put_text(out, "doc", d->doc);
	if (d->ranged)
		fprintf(out,
			"\t.min = INT64_C(%" PRId64 "), .max = INT64_C(%" PRId64 "),\n",
			d->min, d->max);
	opgen_put_text(out, "pattern", d->pattern);
	if (d->given)
		opgen_put_constant(out, "\t.given = GIVEN_", d->given, ",\n");
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
		opgen_put_text(out, "def_text", m->def);
		return;
	}
	if (t->kind == DECL_ENUM) {
		opgen_put_constant(out, "\t  .def_int = ", t->id, "_");
		opgen_put_constant(out, "", m->def, ",\n");
	} else if (based(m, "bool")) {
		fprintf(out, "\t  .def_int = %s,\n", m->def);
	} else {
		fprintf(out, "\t  .def_int = INT64_C(%lld),\n",
			strtoll(m->def, NULL, 10));
	}
}

/* Writes the description of a field in a record's struct. If `record` is NULL, there is no
 * struct, and the field only describes an argument. */
static void opgen_put_field(FILE *out, const char *record, const struct member *m)
{
	fprintf(out, "\t{ .name = \"%s\", .type = &type_%s,\n", m->name, m->type->id);
	opgen_put_text(out, "doc", m->doc);
	fprintf(out, "\t  .flags = 0%s%s%s%s%s%s,\n",
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
	opgen_put_text(out, "doc", *suffix ? "" : d->doc);
	if (all == &d->in)
		opgen_put_words(out, "lacks", &d->lacks);
	fputs("};\n\n", out);
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

/*
 * Writes the table of faces.
 */

/* Writes the arguments of a face as a record. The record only describes the arguments, and no
 * struct holds the arguments. */
static void put_arguments(FILE *out, const struct decl *d)
{
	fprintf(out, "static const struct field fields_face_%s[] = {\n", d->id);
	for (size_t i = 0; i < d->in.n; i++)
		opgen_put_field(out, NULL, d->in.items[i]);
	fprintf(out, "};\n\nstatic const char *const own_face_%s[] = { ", d->id);
	for (size_t i = 0; i < d->in.n; i++)
		fprintf(out, "\"%s\", ", d->in.items[i]->own);
	fprintf(out,
		"};\n\nstatic const struct record record_face_%s = {\n\t.name = \"%s\", "
		".doc = \"\",\n\t.fields = fields_face_%s, .n_fields = %zu,\n",
		d->id, d->name, d->id, d->in.n);
	opgen_put_words(out, "lacks", &d->of->lacks);
	fputs("};\n\n", out);
}

static void opgen_write_face_put_faults(FILE *out, const struct decl *d)
{
	fprintf(out, "static const struct face_fault faults_face_%s[] = {\n", d->id);
	for (size_t i = 0; i < d->n_refusals; i++) {
		const struct opgen_refusal *r = &d->refusals[i];

		opgen_put_constant(out, "\t{ .code = FAULT_", r->code ? r->code : "none",
				   ", ");
		fprintf(out, ".where = \"%s\", .body = ", r->where ? r->where : "");
		opgen_put_string(out, r->body);
		fputs(" },\n", out);
	}
	fputs("\t{ .body = NULL },\n};\n\n", out);
}

/* Whether the face is a tool of an unlisted set. */
static bool opgen_write_is_lax(const struct schema *s, const struct decl *d)
{
	const struct decl *set;

	for (size_t i = 0; d->tool && (set = schema_next(s, DECL_SET, &i));)
		if (set->unlisted && member_find(&set->in, d->tool))
			return true;
	return false;
}

static void opgen_write_face_put(FILE *out, const struct schema *s, const struct decl *d)
{
	fprintf(out, "\t{ .name = \"%s\", .op = &op_table[%zu],\n", d->name, d->of->row);
	opgen_put_text(out, "doc", d->doc);
	if (opgen_write_is_lax(s, d))
		fputs("\t  .lax = true,\n", out);
	if (d->in.n)
		fprintf(out, "\t  .in = &record_face_%s, .own = own_face_%s,\n", d->id,
			d->id);
	else
		fprintf(out, "\t  .in = &record_%s_in,\n", d->of->id);
	opgen_put_text(out, "sets", d->sets);
	opgen_put_text(out, "operator", d->operator);
	opgen_put_text(out, "only", d->only);
	opgen_put_text(out, "without", d->without);
	opgen_put_text(out, "answer", d->answers);
	fprintf(out, "\t  .faults = faults_face_%s,\n", d->id);
	opgen_put_text(out, "tool", d->tool);
	opgen_put_text(out, "action", d->action);
	opgen_put_text(out, "http_method", d->method);
	opgen_put_text(out, "http_path", d->path);
	fputs("\t},\n", out);
}

static void write_faces(FILE *out, const struct schema *s)
{
	const struct decl *d;
	size_t n = 0;

	for (size_t i = 0; (d = schema_next(s, DECL_FACE, &i));) {
		if (d->in.n)
			put_arguments(out, d);
		opgen_write_face_put_faults(out, d);
	}
	fputs("const struct face face_table[] = {\n", out);
	for (size_t i = 0; (d = schema_next(s, DECL_FACE, &i)); n++)
		opgen_write_face_put(out, s, d);
	fprintf(out, "\t{ .name = NULL },\n};\n\nconst size_t face_count = %zu;\n\n", n);
}

/* --- operations ----------------------------------------------------------------------- */

/* Whether an operation may return a fault even if its declaration does not list the fault. */
static bool always(const struct decl *d, const char *fault)
{
	if (strcmp(fault, "rate_limited") == 0)
		return !d->rate || strcmp(d->rate, "free") != 0;
	return strcmp(fault, "invalid") == 0 || strcmp(fault, "denied") == 0 ||
	       strcmp(fault, "unavailable") == 0;
}

static void opgen_tables_put_faults(FILE *out, const struct decl *d)
{
	static const struct {
		const char *name, *id;
	} rows[] = {
#define X(id, name, exit, http, wire, doc, hint) { name, #id },
		FAULT_LIST(X)
#undef X
	};

	fputs("\t  .faults = (const enum fault_code[]){ ", out);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (always(d, rows[i].name) || list_has(&d->fails, rows[i].name))
			fprintf(out, "FAULT_%s, ", rows[i].id);
	fputs("FAULT_NONE },\n\t  .events = (const int[]){ ", out);
	for (size_t i = 0; i < d->emits.n; i++)
		opgen_put_constant(out, "EVENT_", d->emits.items[i], ", ");
	fputs("0 },\n", out);
}

static void put_pointer(FILE *out, const struct decl *d, const char *member,
			const struct member *m, bool answers)
{
	const struct members *all = answers ? &d->out : &d->in;

	for (size_t i = 0; i < all->n; i++)
		if (all->items[i] == m)
			fprintf(out, "\t  .%s = &fields_%s_%s[%zu],\n", member, d->id,
				answers ? "out" : "in", i);
}

static void opgen_tables_put_doors(FILE *out, const struct decl *d)
{
	for (const struct opgen_pointer *p = opgen_pointers; p->member; p++)
		put_pointer(out, d, p->member, opgen_field(d, p), p->answers);
	if (d->gives)
		opgen_put_constant(out, "\t  .gives = GIVES_", d->gives, ",\n");
	if (d->method)
		fprintf(out, "\t  .http_method = \"%s\", .http_path = \"%s\",\n",
			d->method, d->path);
	opgen_put_text(out, "tool", d->tool);
	opgen_put_text(out, "action", d->action);
	opgen_put_words(out, "cli", &d->cli);
	opgen_put_words(out, "cli_fields", &d->cli_fields);
	opgen_put_words(out, "also", &d->also);
	if (d->cli_rest)
		fputs("\t  .cli_rest = true,\n", out);
	if (d->pages)
		fprintf(out, "\t  .pages = %s,\n", d->pages);
	opgen_put_words(out, "columns", &d->columns);
	opgen_put_words(out, "lines", &d->lines);
	opgen_put_text(out, "below", d->below);
	opgen_put_words(out, "reads", &d->reads);
	opgen_put_words(out, "page", &d->page);
	opgen_put_words(out, "awaits", &d->awaits);
	opgen_put_words(out, "overview", &d->overview);
	opgen_put_text(out, "says", d->says);
	opgen_put_text(out, "empty", d->empty);
	opgen_put_text(out, "next", d->next);
	opgen_put_text(out, "waits_for", d->waits_for);
	opgen_put_text(out, "example", d->example);
	if (d->quiet)
		fputs("\t  .quiet = true,\n", out);
	if (d->clock)
		fputs("\t  .clock = true,\n", out);
}

/* Returns a number with one bit for each field of a record. A bit is set if a word of `brief`
 * names the field as PREFIX.FIELD. A word that is `prefix` alone names the whole record, so all
 * bits are set. */
static unsigned long long brief_bits(const struct decl *d, const char *prefix,
				     const struct members *of)
{
	unsigned long long bits = 0;
	size_t n = strlen(prefix);

	for (size_t i = 0; i < d->brief.n; i++) {
		const char *word = d->brief.items[i];

		if (n && strcmp(word, prefix) == 0)
			return ~0ull;
		if (n && (strncmp(word, prefix, n) != 0 || word[n] != '.'))
			continue;
		word += n ? n + 1 : 0;
		for (size_t j = 0; j < of->n; j++)
			if (strncmp(of->items[j]->name, word, strcspn(word, ".")) == 0 &&
			    !of->items[j]->name[strcspn(word, ".")])
				bits |= 1ull << j;
	}
	return bits;
}

/* Writes, as bits in numbers, which fields a brief answer keeps. The first number has the bits
 * of the answer's own fields. For each field of the answer, one more number follows. This
 * number has the bits of the fields of the record that the answer's field holds. */
static void put_brief(FILE *out, const struct decl *d)
{
	static const struct members none;

	if (!d->brief.n)
		return;
	fprintf(out, "\t  .brief = (const uint64_t[]){ 0x%llx",
		brief_bits(d, "", &d->out));
	for (size_t i = 0; i < d->out.n; i++) {
		const struct decl *type = d->out.items[i]->type;

		fprintf(out, ", 0x%llx",
			brief_bits(d, d->out.items[i]->name,
				   type && type->kind == DECL_RECORD ? &type->in
								     : &none));
	}
	fputs(" },\n", out);
}

/* Writes a pointer to another declaration's row in a table. */
static void put_row(FILE *out, const char *member, const char *table,
		    const struct decl *d)
{
	if (d)
		fprintf(out, "\t  .%s = &%s_table[%zu],\n", member, table, d->row);
}

/* Writes pointers to the operations that doors call on behalf of this operation. */
static void put_helpers(FILE *out, const struct decl *d)
{
	put_row(out, "many", "op", d->many);
	if (d->many)
		put_pointer(out, d->many, "many_list",
			    member_find(&d->many->in, d->many_field), false);
	put_row(out, "rest", "op", d->rest);
	put_row(out, "signals", "op", d->signals);
	put_row(out, "hands", "op", d->handed);
	if (d->handed)
		opgen_put_words(out, "hands_values",
				&(struct list){ d->hands.items + 1, d->hands.n - 1 });
	put_row(out, "until", "op", d->waiter);
	if (d->waiter)
		opgen_put_words(out, "until_values",
				&(struct list){ d->until.items + 1, d->until.n - 1 });
}

static void opgen_tables_put_op(FILE *out, const struct decl *d)
{
	fprintf(out, "\t{ .name = \"%s\", .index = %zu,\n", d->name, d->row);
	opgen_put_text(out, "summary", d->summary);
	opgen_put_text(out, "doc", d->doc);
	fprintf(out, "\t  .flags = 0%s%s%s%s%s%s%s%s%s%s%s,\n\t  .who = ",
		strcmp(d->mode, "write") == 0 ? " | OP_WRITE" : "",
		d->idempotent ? " | OP_IDEMPOTENT" : "",
		d->destructive ? " | OP_DESTRUCTIVE" : "",
		d->needs_host ? " | OP_NEEDS_HOST" : "",
		d->request ? " | OP_REQUEST" : "", d->lax ? " | OP_LAX" : "",
		d->prefers_host ? " | OP_PREFERS_HOST" : "",
		d->needs_cursor ? " | OP_NEEDS_CURSOR" : "",
		d->moves ? " | OP_MOVES_WORKSPACES" : "",
		d->identifies ? " | OP_IDENTIFIES" : "", d->above ? " | OP_ABOVE" : "");
	opgen_put_constant(out, "WHO_", d->who, ", .rate = RATE_");
	opgen_put_constant(out, "", d->rate ? d->rate : "default", ",\n");
	fprintf(out, "\t  .in = &record_%s_in, .out = &record_%s_out,\n", d->id, d->id);
	opgen_tables_put_doors(out, d);
	put_brief(out, d);
	put_helpers(out, d);
	put_row(out, "message", "wire", d->message);
	opgen_tables_put_faults(out, d);
	fprintf(out, "\t  .run = OP_HANDLER(run_%s),\n", d->id);
	if (d->needs_vault)
		fputs("\t  .steps = OP_HANDLER(vault_run),\n", out);
	if (d->needs_folders)
		fputs("\t  .steps = OP_HANDLER(removal_run),\n", out);
	fputs("\t},\n", out);
}

/* Writes a function that passes the untyped structs to the typed handler. */
static void put_thunk(FILE *out, const struct decl *d)
{
	fprintf(out,
		"static int run_%s(struct call *call, const void *in, "
		"void *out)\n{\n\treturn %s(call, in, out);\n}\n\n",
		d->id, d->id);
}

static int opgen_tables_by_name(const void *a, const void *b)
{
	return strcmp((*(struct decl *const *)a)->name, (*(struct decl *const *)b)->name);
}

static int opgen_tables_by_number(const void *a, const void *b)
{
	return (*(struct decl *const *)a)->number - (*(struct decl *const *)b)->number;
}

/* Returns the declarations of one kind, in the order that bsearch needs. Sets `row` of each
 * declaration to the declaration's index in this order. */
static struct decl **sorted(const struct schema *s, struct arena *a, enum decl_kind kind,
			    size_t *n)
{
	struct decl **some = arena_alloc(a, (s->n + 1) * sizeof(*some)), *d;

	*n = 0;
	for (size_t i = 0; (d = schema_next(s, kind, &i));)
		some[(*n)++] = d;
	qsort(some, *n, sizeof(*some),
	      kind == DECL_EVENT ? opgen_tables_by_number : opgen_tables_by_name);
	for (size_t i = 0; i < *n; i++)
		some[i]->row = i;
	return some;
}

/* A table may be empty, but a C array may not. So each table gets one more row at its end. */
static void opgen_tables_put_table(FILE *out, const char *name, size_t n)
{
	fprintf(out, "\t{ 0 },\n};\n\nconst size_t %s_count = %zu;\n\n", name, n);
}

static void opgen_tables_put_ops(FILE *out, struct arena *a, const struct schema *s)
{
	size_t n;
	struct decl **ops;

	sorted(s, a, DECL_WIRE, &n); /* sets `row` of each message, since operations refer
					to this row */
	ops = sorted(s, a, DECL_OP, &n);

	/* A program without a state has the table of operations, but runs no operation itself. */
	fputs("#ifdef OPS_WITHOUT_HANDLERS\n#define OP_HANDLER(run) NULL\n#else\n"
	      "#define OP_HANDLER(run) run\n",
	      out);
	for (size_t i = 0; i < n; i++)
		put_thunk(out, ops[i]);
	fputs("int vault_run(struct call *call);\nint removal_run(struct call *call);\n"
	      "#endif\n\nconst struct op op_table[] = {\n",
	      out);
	for (size_t i = 0; i < n; i++)
		opgen_tables_put_op(out, ops[i]);
	opgen_tables_put_table(out, "op", n);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "const struct op *const op_%s = &op_table[%zu];\n",
			ops[i]->id, i);
	fputc('\n', out);
}

/* --- events, tools, wire ---------------------------------------------------------------- */

static void opgen_tables_put_events(FILE *out, struct arena *a, const struct schema *s)
{
	size_t n;
	struct decl **events = sorted(s, a, DECL_EVENT, &n);

	fputs("const struct event_kind event_table[] = {\n", out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "\t{ .number = %d, .name = \"%s\", .wakes = 0",
			events[i]->number, events[i]->name);
		for (size_t j = 0; j < events[i]->wakes.n; j++)
			opgen_put_constant(out, " | 1u << WAKE_",
					   events[i]->wakes.items[j], "");
		fputs(",\n", out);
		opgen_put_text(out, "tells", events[i]->tells);
		opgen_put_text(out, "says", events[i]->says);
		opgen_put_text(out, "doc", events[i]->doc);
		fputs("\t},\n", out);
	}
	opgen_tables_put_table(out, "event", n);
}

/* Returns the operation that finds a thing of a noun by the thing's name, or NULL if there is
 * no such operation. */
static const struct decl *finder(const struct schema *s, const char *noun)
{
	const struct decl *d;

	for (size_t i = 0; (d = schema_next(s, DECL_OP, &i));)
		if (d->finds.n && strcmp(d->finds.items[0], noun) == 0)
			break;
	return d;
}

static void put_nouns(FILE *out, const struct schema *s)
{
	const struct decl *d, *find;
	size_t n = 0;

	fputs("const struct noun noun_table[] = {\n", out);
	for (size_t i = 0; (d = schema_next(s, DECL_OP, &i));) {
		const char *const *word = d->lists.items;

		if (!d->lists.n)
			continue;
		fprintf(out, "\t{ .name = \"%s\", .list = \"%s\", .rows = \"%s\", ",
			word[0], d->name, opgen_rows(d)->name);
		fprintf(out, ".called = \"%s\", .doc = \"%s\"", word[1],
			word[d->lists.n - 1]);
		find = finder(s, word[0]);
		if (find)
			fprintf(out, ", .find = \"%s\", .found_by = \"%s\"", find->name,
				find->finds.items[1]);
		fputs(" },\n", out);
		n++;
	}
	opgen_tables_put_table(out, "noun", n);
}

static void put_topics(FILE *out, const struct schema *s)
{
	const struct decl *d;
	size_t n = 0;

	fputs("const struct topic topic_table[] = {\n", out);
	for (size_t i = 0; (d = schema_next(s, DECL_TOPIC, &i)); n++) {
		fprintf(out, "\t{ .name = \"%s\",\n", d->name);
		opgen_put_text(out, "doc", d->doc);
		opgen_put_words(out, "nouns", &d->nouns);
		opgen_put_words(out, "first", &d->first);
		fputs("\t},\n", out);
	}
	opgen_tables_put_table(out, "topic", n);
}

static void opgen_tables_put_event_nouns(FILE *out, const struct schema *s)
{
	const struct decl *d;

	fputs("enum events events_of(int64_t number)\n{\n", out);
	for (size_t i = 0; (d = schema_next(s, DECL_EVENTS, &i));) {
		fprintf(out, "\tif (number >= %" PRId64 " && number <= %" PRId64 ")\n",
			d->min, d->max);
		opgen_put_constant(out, "\t\treturn EVENTS_", d->id, ";\n");
	}
	fputs("\t(void)number;\n\treturn EVENTS_NONE;\n}\n\n", out);
}

static void opgen_tables_put_tools(FILE *out, const struct schema *s)
{
	const struct decl *d;
	size_t n = 0;

	fputs("const struct tool tool_table[] = {\n", out);
	for (size_t i = 0; (d = schema_next(s, DECL_SET, &i));)
		for (size_t j = 0; j < d->in.n; j++, n++) {
			fprintf(out, "\t{ .name = \"%s\", .set = \"%s\",\n",
				d->in.items[j]->name, d->name);
			opgen_put_text(out, "doc", d->in.items[j]->doc);
			if (d->unlisted)
				fputs("\t  .unlisted = true,\n", out);
			fputs("\t},\n", out);
		}
	opgen_tables_put_table(out, "tool", n);
}

static unsigned bits(const char *word, const char *first)
{
	if (!word)
		return 0;
	return strcmp(word, "both") == 0 ? 3 : strcmp(word, first) == 0 ? 1 : 2;
}

static void opgen_tables_put_wires(FILE *out, struct arena *a, const struct schema *s)
{
	size_t n;
	struct decl **wires = sorted(s, a, DECL_WIRE, &n);

	fputs("const struct wire wire_table[] = {\n", out);
	for (size_t i = 0; i < n; i++) {
		const struct decl *d = wires[i];

		fprintf(out,
			"\t{ .name = \"%s\", .ports = %u, .senders = %u, "
			".record = &record_%s,\n",
			d->name, bits(d->port, "5000"), bits(d->sender, "host"), d->id);
		opgen_put_text(out, "doc", d->doc);
		put_row(out, "answer", "wire", d->answer);
		put_row(out, "guest_answer", "wire", d->guest_answer);
		fputs("\t},\n", out);
	}
	opgen_tables_put_table(out, "wire", n);
}

void schema_write_source(const struct schema *s, FILE *out)
{
	struct arena a = { 0 };

	fputs("/* Written by opgen from schema/; not to be edited. */\n"
	      "#include \"core/op/face.h\"\n\n#include \"ops.gen.h\"\n\n",
	      out);
	opgen_write_put_types(out, &a, s);
	opgen_tables_put_ops(out, &a, s);
	opgen_tables_put_events(out, &a, s);
	put_nouns(out, s);
	put_topics(out, s);
	opgen_tables_put_event_nouns(out, s);
	opgen_tables_put_tools(out, s);
	write_faces(out, s);
	opgen_tables_put_wires(out, &a, s);
	arena_release(&a);
}
