/* Statements and what stands above them: storage/README.md has the rules. */
#include "core/base/alloc.h"
#include "tools/build/sqlgen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *sqlgen_read_word(const char *s)
{
	s += strspn(s, " \t");
	return sqlgen_copy(s, strcspn(s, " \t\r\n"));
}

static void read_types(struct sqlgen_statement *s, const char *names, enum type type)
{
	for (;;) {
		size_t len;

		names += strspn(names, " \t,");
		len = strcspn(names, " \t,\r\n");
		if (len == 0)
			return;
		columns_add(&s->said, names, len)->type = type;
		names += len;
	}
}

/* Whether a line is one of the comments that are a word alone. */
static bool heading_is(const char *line, const char *mark)
{
	size_t n = strlen(mark);

	return strncmp(line, mark, n) == 0 && line[n + strspn(line + n, " \t")] == '\n';
}

/* Reads a comment line above a statement. */
static void read_heading(struct sqlgen_statement *s, const char *line)
{
	if (strncmp(line, "-- row:", 7) == 0 && !s->row)
		s->row = sqlgen_read_word(line + 7);
	else if (strncmp(line, "-- into:", 8) == 0 && !s->into)
		s->into = sqlgen_read_word(line + 8);
	else if (strncmp(line, "-- text:", 8) == 0)
		read_types(s, line + 8, TYPE_TEXT);
	else if (strncmp(line, "-- int:", 7) == 0)
		read_types(s, line + 7, TYPE_INT);
	else if (strncmp(line, "-- blob:", 8) == 0)
		read_types(s, line + 8, TYPE_BLOB);
	else if (strncmp(line, "-- scan ok:", 11) == 0)
		s->scan_ok = true;
	else if (strncmp(line, "-- kept:", 8) == 0)
		s->kept = true;
	else if (heading_is(line, "-- late"))
		s->late = true;
	else if (heading_is(line, "-- always"))
		s->always = true;
}

static void append(char **text, const char *line, size_t len)
{
	size_t have = *text ? strlen(*text) : 0;

	*text = xreallocarray(*text, have + len + 1, 1);
	memcpy(*text + have, line, len);
	(*text)[have + len] = '\0';
}

static void read_sql(struct sqlgen_build *b, struct sqlgen_statement *s, int at,
		     const char *line, size_t len)
{
	char *sql = sqlgen_put_numbers(b, s->file, at, line, len);

	if (!s->written)
		s->sql_line = at;
	append(&s->written, line, len);
	append(&s->sql, sql, strlen(sql));
	free(sql);
}

static struct sqlgen_statement *sqlgen_read_name(struct sqlgen_build *b, const char *file,
						 int line, const char *text)
{
	struct sqlgen_statement *s;
	char *name = sqlgen_read_word(text + 8);

	b->statements = sqlgen_grow(b->statements, b->n_statements, sizeof(*s));
	s = &b->statements[b->n_statements++];
	s->file = file;
	s->line = line;
	s->name = name;
	if (!sqlgen_is_identifier(name))
		sqlgen_refuse(b, s, "not a name");
	for (int i = 0; i < b->n_statements - 1; i++)
		if (strcmp(b->statements[i].name, name) == 0)
			sqlgen_refuse(b, s, "duplicate of %s:%d", b->statements[i].file,
				      b->statements[i].line);
	return s;
}

void read_file(struct sqlgen_build *b, const char *file)
{
	char *text = sqlgen_slurp(file), *next;
	struct sqlgen_statement *s = NULL;
	int line = 1;

	for (char *at = text; *at; at = next, line++) {
		size_t blank = strspn(at, " \t\r"), len = strcspn(at, "\n");

		next = at + len + (at[len] == '\n');
		if (strncmp(at, "-- name:", 8) == 0)
			s = sqlgen_read_name(b, file, line, at);
		else if (strncmp(at + blank, "--", 2) == 0 && s && !s->sql)
			read_heading(s, at + blank);
		else if (blank == len || strncmp(at + blank, "--", 2) == 0) {
			if (s && s->written)
				append(&s->written, "\n", 1);
		} else if (s)
			read_sql(b, s, line, at, (size_t)(next - at));
		else
			sqlgen_refuse(b,
				      &(struct sqlgen_statement){ .file = file,
								  .line = line },
				      "SQL without `-- name:` above it");
	}
	free(text);
}
