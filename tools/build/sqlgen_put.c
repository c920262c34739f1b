/* The two generated files; storage/stmt.h describes the tables they fill. */
#include "tools/build/sqlgen.h"

#include <stdio.h>

static const struct {
	const char *c, *slot;
} types[] = {
	[TYPE_INT] = { "int64_t ", "SLOT_INT" },
	[TYPE_TEXT] = { "const char *", "SLOT_TEXT" },
	[TYPE_BLOB] = { "struct blob ", "SLOT_BLOB" },
};

/* How structs are named; an operation of the schema has a NAME_in already. */
static const struct shape {
	const char *prefix, *suffix;
} in_shape = { "sql_", "_in" }, row_shape = { "", "_row" };

void put_string(const char *s)
{
	printf("\n\t\t\"");
	for (; *s; s++) {
		if (*s == '\n')
			fputs(s[1] ? "\\n\"\n\t\t\"" : "\\n", stdout);
		else if (*s == '\t')
			fputs("\\t", stdout);
		else if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if (*s != '\r')
			putchar(*s);
	}
	putchar('"');
}

static void put_struct(const struct shape *shape, const char *name,
		       const struct columns *c)
{
	printf("struct %s%s%s {\n", shape->prefix, name, shape->suffix);
	if (!c->n)
		printf("\tchar none;\n");
	for (int i = 0; i < c->n; i++)
		printf("\t%s%s;\n", types[c->at[i].type].c, c->at[i].name);
	printf("};\n\n");
}

void put_header(const struct build *b)
{
	printf("#ifndef SQL_GEN_H\n#define SQL_GEN_H\n\n#include <stdint.h>\n\n"
	       "enum sql {\n");
	for (int i = 0; i < b->n_statements; i++)
		printf("\tsql_%s,\n", b->statements[i].name);
	printf("\tSQL_COUNT\n};\n\n");
	for (int i = 0; i < b->n_statements; i++) {
		const struct statement *s = &b->statements[i];

		printf("/* %s - %s:%d */\n", s->name, s->file, s->line);
		put_struct(&in_shape, s->name, &s->in);
		if (s->first_of_row)
			put_struct(&row_shape, s->row, &s->out);
	}
	printf("#endif\n");
}

static void put_slots(const struct shape *shape, const char *name,
		      const struct columns *c)
{
	if (!c->n)
		return;
	printf("static const struct slot %s%s[] = {\n", name, shape->suffix);
	for (int i = 0; i < c->n; i++)
		printf("\t{ .kind = %s, .at = offsetof(struct %s%s%s, %s) },\n",
		       types[c->at[i].type].slot, shape->prefix, name, shape->suffix,
		       c->at[i].name);
	printf("};\n");
}

/* The schema's structs are not known here; the C compiler finds a column that
 * is no field, and the store finds where the fields are. */
static void put_into(const struct statement *s)
{
	if (!s->into)
		return;
	printf("extern const struct record record_%s;\n", s->into);
	for (int i = 0; i < s->out.n; i++)
		printf("_Static_assert(offsetof(struct %s, %s) < 65536, \"%s:%d\");\n",
		       s->into, s->out.at[i].name, s->file, s->line);
}

static void put_statement(const struct statement *s)
{
	printf("\t[sql_%s] = {\n\t\t.name = \"%s\",\n\t\t.readonly = %s,\n", s->name,
	       s->name, s->readonly ? "true" : "false");
	if (s->kept_number)
		printf("\t\t.kept = %d,\n", s->kept_number);
	if (s->spoils)
		printf("\t\t.spoils = 0x%x,\n", s->spoils);
	if (s->in.n)
		printf("\t\t.params = %s_in,\n\t\t.n_params = %d,\n", s->name, s->in.n);
	if (s->out.n)
		printf("\t\t.n_columns = %d,\n", s->out.n);
	if (s->into)
		printf("\t\t.record = &record_%s,\n", s->into);
	else if (s->out.n)
		printf("\t\t.columns = %s_row,\n\t\t.row_size = sizeof(struct %s_row),\n",
		       s->row, s->row);
	printf("\t\t.text =");
	put_string(s->sql);
	printf(",\n\t},\n");
}

void put_source(const struct build *b)
{
	bool records = false;

	for (int i = 0; i < b->n_statements; i++)
		records |= b->statements[i].into != NULL;
	printf("#include <stddef.h>\n\n%s#include \"storage/stmt.h\"\n\n"
	       "const struct migration migration_table[] = {\n",
	       records ? "#include \"core/op/op.h\"\n#include \"ops.gen.h\"\n" : "");
	for (int i = 0; i < b->n_migrations; i++) {
		printf("\t{ .version = %d, .name = \"%s\", .text =", i + 1,
		       b->migrations[i].name);
		put_string(b->migrations[i].text);
		printf("\n\t\t\"\\nPRAGMA user_version = %d;\" },\n", i + 1);
	}
	printf("};\nconst int migration_count = %d;\n\n", b->n_migrations);
	printf("_Static_assert(KEPT_STATEMENTS == %d, \"as sqlgen has it\");\n\n",
	       KEPT_STATEMENTS);
	for (int i = 0; i < b->n_statements; i++) {
		const struct statement *s = &b->statements[i];

		put_slots(&in_shape, s->name, &s->in);
		if (s->first_of_row)
			put_slots(&row_shape, s->row, &s->out);
		put_into(s);
	}
	printf("\nconst struct statement statement_table[SQL_COUNT] = {\n");
	for (int i = 0; i < b->n_statements; i++)
		put_statement(&b->statements[i]);
	printf("};\n");
	put_schema(b);
}
