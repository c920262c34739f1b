/* The two generated files of a database; storage/stmt.h describes the tables they fill. */
#include "tools/build/sqlgen.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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

static void sqlgen_put_struct(const struct shape *shape, const char *name,
			      const struct columns *c)
{
	printf("struct %s%s%s {\n", shape->prefix, name, shape->suffix);
	if (!c->n)
		printf("\tchar none;\n");
	for (int i = 0; i < c->n; i++)
		printf("\t%s%s;\n", types[c->at[i].type].c, c->at[i].name);
	printf("};\n\n");
}

static void sqlgen_put_upper(const char *before, const char *prefix, const char *after)
{
	fputs(before, stdout);
	for (; *prefix; prefix++)
		putchar(toupper((unsigned char)*prefix));
	fputs(after, stdout);
}

/* Names a script and, where its own text sets it, the version that it makes. */
static void put_scripts(const struct sqlgen_build *b)
{
	sqlite3_stmt *st = NULL;

	for (int i = 0; i < b->n_migrations; i++)
		if (!b->migrations[i].version)
			printf("extern const char %s%.*s[];\n", b->prefix,
			       (int)strcspn(b->migrations[i].name, "."),
			       b->migrations[i].name);
	sqlite3_prepare_v2(b->db, "PRAGMA user_version", -1, &st, NULL);
	if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0) > 0) {
		sqlgen_put_upper("enum { ", b->prefix, "VERSION");
		printf(" = %d };\n\n", sqlite3_column_int(st, 0));
	}
	sqlite3_finalize(st);
}

/* In front of the names of statements whose results nobody uses: core/call/call.h. */
static const char *late(const struct sqlgen_statement *s)
{
	return s->late ? "late_" : "";
}

void put_header(const struct sqlgen_build *b)
{
	sqlgen_put_upper("#ifndef ", b->prefix, "SQL_GEN_H\n");
	sqlgen_put_upper("#define ", b->prefix, "SQL_GEN_H\n\n#include <stdint.h>\n\n");
	put_scripts(b);
	printf("enum %ssql {\n", b->prefix);
	for (int i = 0; i < b->n_statements; i++)
		printf("\tsql_%s%s,\n", late(&b->statements[i]), b->statements[i].name);
	sqlgen_put_upper("\t", b->prefix, "SQL_COUNT\n};\n\n");
	for (int i = 0; i < b->n_statements; i++) {
		const struct sqlgen_statement *s = &b->statements[i];

		printf("/* %s - %s:%d */\n", s->name, s->file, s->line);
		sqlgen_put_struct(&in_shape, s->name, &s->in);
		if (s->first_of_row)
			sqlgen_put_struct(&row_shape, s->row, &s->out);
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
static void put_into(const struct sqlgen_statement *s)
{
	if (!s->into)
		return;
	printf("extern const struct record record_%s;\n", s->into);
	for (int i = 0; i < s->out.n; i++)
		printf("_Static_assert(offsetof(struct %s, %s) < 65536, \"%s:%d\");\n",
		       s->into, s->out.at[i].name, s->file, s->line);
}

static void sqlgen_put_statement(const struct sqlgen_statement *s)
{
	printf("\t[sql_%s%s] = {\n\t\t.name = \"%s\",\n\t\t.readonly = %s,\n", late(s),
	       s->name, s->name, s->readonly ? "true" : "false");
	if (s->kept_number)
		printf("\t\t.kept = %d,\n", s->kept_number);
	if (s->late)
		printf("\t\t.late = true,\n");
	if (s->always)
		printf("\t\t.always = true,\n");
	if (s->invalidates)
		printf("\t\t.invalidates = 0x%x,\n", s->invalidates);
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

static void put_migrations(const struct sqlgen_build *b)
{
	int n = 0;

	for (int i = 0; i < b->n_migrations; i++) {
		const struct sqlgen_migration *m = &b->migrations[i];

		if (m->version) {
			if (!n++)
				printf("const struct migration %smigration_table[] = {\n",
				       b->prefix);
			printf("\t{ .version = %d, .name = \"%s\", .text =", m->version,
			       m->name);
			put_string(m->text);
			printf("\n\t\t\"\\nPRAGMA user_version = %d;\" },\n", m->version);
			continue;
		}
		printf("const char %s%.*s[] =", b->prefix, (int)strcspn(m->name, "."),
		       m->name);
		put_string(m->text);
		printf(";\n");
	}
	if (n)
		printf("};\nconst int %smigration_count = %d;\n\n", b->prefix, n);
}

void put_source(const struct sqlgen_build *b)
{
	bool records = false;

	for (int i = 0; i < b->n_statements; i++)
		records |= b->statements[i].into != NULL;
	printf("#include <stddef.h>\n\n%s#include \"storage/stmt.h\"\n"
	       "#include \"%ssql.gen.h\"\n\n",
	       records ? "#include \"core/op/op.h\"\n#include \"ops.gen.h\"\n" : "",
	       b->prefix);
	put_migrations(b);
	printf("_Static_assert(KEPT_STATEMENTS == %d, \"as sqlgen has it\");\n\n",
	       KEPT_STATEMENTS);
	for (int i = 0; i < b->n_statements; i++) {
		const struct sqlgen_statement *s = &b->statements[i];

		put_slots(&in_shape, s->name, &s->in);
		if (s->first_of_row)
			put_slots(&row_shape, s->row, &s->out);
		put_into(s);
	}
	printf("\nconst struct statement %sstatement_table[] = {\n", b->prefix);
	for (int i = 0; i < b->n_statements; i++)
		sqlgen_put_statement(&b->statements[i]);
	printf("};\n");
	if (!*b->prefix)
		sqlgen_put_schema(b);
}

void put_statements(const struct sqlgen_build *b)
{
	static const char *const names[] = {
		[TYPE_INT] = "int",
		[TYPE_TEXT] = "text",
		[TYPE_BLOB] = "blob",
	};

	for (int i = 0; i < b->n_statements; i++) {
		const struct sqlgen_statement *s = &b->statements[i];

		printf("-- statement %s:%d %s", s->file, s->line, s->name);
		for (int j = 0; j < s->in.n; j++)
			printf(" %s:%s", s->in.at[j].name, names[s->in.at[j].type]);
		printf("\n%s\n", s->sql);
	}
}
