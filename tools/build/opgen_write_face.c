/*
 * opgen_write_face - writes the table of faces.
 */
#include "tools/build/opgen_write.h"

#include <string.h>

/* Writes the arguments as a record, which describes them: no struct holds them. */
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
		".doc = \"\",\n\t.fields = fields_face_%s, .n_fields = %zu,\n};\n\n",
		d->id, d->name, d->id, d->in.n);
}

static void opgen_write_face_put_faults(FILE *out, const struct decl *d)
{
	fprintf(out, "static const struct face_fault faults_face_%s[] = {\n", d->id);
	for (size_t i = 0; i < d->n_refusals; i++) {
		const struct opgen_refusal *r = &d->refusals[i];

		fputs("\t{ .code = FAULT_", out);
		put_upper(out, r->code ? r->code : "none");
		fprintf(out, ", .where = \"%s\", .body = ", r->where ? r->where : "");
		put_string(out, r->body);
		fputs(" },\n", out);
	}
	fputs("\t{ .body = NULL },\n};\n\n", out);
}

static void opgen_write_face_put_text(FILE *out, const char *member, const char *text)
{
	fprintf(out, "\t  .%s = ", member);
	put_string(out, text);
	fputs(",\n", out);
}

/* Place of an operation in its table, which is sorted by name. */
static size_t opgen_write_face_place_of(const struct schema *s, const struct decl *op)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->decls[i]->kind == DECL_OP &&
		     strcmp(s->decls[i]->name, op->name) < 0;
	return n;
}

static void opgen_write_face_put(FILE *out, const struct schema *s, const struct decl *d)
{
	fprintf(out, "\t{ .name = \"%s\", .op = &op_table[%zu],\n", d->name,
		opgen_write_face_place_of(s, d->of));
	opgen_write_face_put_text(out, "doc", d->doc);
	if (d->in.n)
		fprintf(out, "\t  .in = &record_face_%s, .own = own_face_%s,\n", d->id,
			d->id);
	else
		fprintf(out, "\t  .in = &record_%s_in,\n", d->of->id);
	if (d->sets)
		opgen_write_face_put_text(out, "sets", d->sets);
	if (d->operator)
		opgen_write_face_put_text(out, "operator", d->operator);
	if (d->only) {
		opgen_write_face_put_text(out, "only", d->only);
		opgen_write_face_put_text(out, "without", d->without);
	}
	if (d->answers)
		opgen_write_face_put_text(out, "answer", d->answers);
	fprintf(out, "\t  .faults = faults_face_%s,\n", d->id);
	if (d->tool)
		opgen_write_face_put_text(out, "tool", d->tool);
	if (d->action)
		opgen_write_face_put_text(out, "action", d->action);
	if (d->method) {
		opgen_write_face_put_text(out, "http_method", d->method);
		opgen_write_face_put_text(out, "http_path", d->path);
	}
	fputs("\t},\n", out);
}

void write_faces(FILE *out, const struct schema *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->decls[i]->kind == DECL_FACE) {
			if (s->decls[i]->in.n)
				put_arguments(out, s->decls[i]);
			opgen_write_face_put_faults(out, s->decls[i]);
		}
	fputs("const struct face face_table[] = {\n", out);
	for (size_t i = 0; i < s->n; i++)
		if (s->decls[i]->kind == DECL_FACE) {
			opgen_write_face_put(out, s, s->decls[i]);
			n++;
		}
	fprintf(out, "\t{ .name = NULL },\n};\n\nconst size_t face_count = %zu;\n\n", n);
}
