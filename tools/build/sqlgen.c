/*
 * sqlgen - compiles the statements of a database into tables.
 *
 *     sqlgen -h schema/x.op ... storage/enums storage/exports migrations/x.sql ...
 *               -- storage/y.sql ...
 *     sqlgen    schema/x.op ... storage/enums migrations/x.sql ... -- storage/y.sql ...
 *     sqlgen -p PREFIX_ ...: not the state, but a database beside it
 *
 * The first writes build/sql.gen.h, the other one build/sql.gen.c.  With -m in the place of
 * -h the migrations are written as they are run, each behind a line `-- migration NAME`;
 * with -l the statements, each behind `-- statement FILE:LINE NAME PARAMETER:TYPE...`.
 *
 * The migrations (or schemas, whose names have no number) are applied to an empty database, and
 * every statement is prepared against the result.  So a misspelt column, a view that lost its
 * table, or a statement that would read a whole table stops the build with
 * `file:line: name: reason`, and not a running service.  storage/README.md says which lines may
 * stand above a statement; the output fills the structs of storage/stmt.h.
 */
#include "tools/build/sqlgen.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/build/opgen.h"

#include "core/base/alloc.h"

void *sqlgen_grow(void *array, int n, size_t size)
{
	char *p = xreallocarray(array, (size_t)n + 1, size);

	memset(p + (size_t)n * size, 0, size);
	return p;
}

char *sqlgen_copy(const char *s, size_t n)
{
	return xasprintf("%.*s", (int)n, s);
}

struct column *columns_add(struct columns *c, const char *name, size_t len)
{
	c->at = sqlgen_grow(c->at, c->n, sizeof(*c->at));
	c->at[c->n].name = sqlgen_copy(name, len);
	return &c->at[c->n++];
}

struct column *columns_find(const struct columns *c, const char *name)
{
	for (int i = 0; i < c->n; i++)
		if (strcmp(c->at[i].name, name) == 0)
			return &c->at[i];
	return NULL;
}

static void columns_free(struct columns *c)
{
	for (int i = 0; i < c->n; i++)
		free(c->at[i].name);
	free(c->at);
}

void sqlgen_refuse(struct sqlgen_build *b, const struct sqlgen_statement *s,
		   const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%d: %s: ", s->file, s->line, s->name ? s->name : "-");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	b->n_errors++;
}

bool sqlgen_is_identifier(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	while (isalnum((unsigned char)*s) || *s == '_')
		s++;
	return !*s;
}

char *sqlgen_slurp(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *s = NULL;
	size_t room = 0;
	ssize_t n = f ? getdelim(&s, &room, '\0', f) : -1;

	if (!f || (n < 0 && ferror(f))) {
		perror(path);
		exit(1);
	}
	fclose(f);
	if (n < 0) {
		free(s);
		s = sqlgen_copy("", 0);
	}
	return s;
}

/* --- migrations --------------------------------------------------------------- */

static void check_views(struct sqlgen_build *b, const struct sqlgen_statement *file)
{
	sqlite3_stmt *views = NULL, *st;

	sqlite3_prepare_v2(b->db,
			   "SELECT name, printf('SELECT * FROM \"%w\"', name)"
			   " FROM sqlite_schema WHERE type = 'view'",
			   -1, &views, NULL);
	while (sqlite3_step(views) == SQLITE_ROW) {
		const char *sql = (const char *)sqlite3_column_text(views, 1);

		if (sqlite3_prepare_v2(b->db, sql, -1, &st, NULL) != SQLITE_OK)
			sqlgen_refuse(b, file, "view %s: %s",
				      sqlite3_column_text(views, 0),
				      sqlite3_errmsg(b->db));
		sqlite3_finalize(st);
	}
	sqlite3_finalize(views);
}

/* Bytes up to the semicolon that ends a statement, which stands in no comment or text. */
static size_t statement_length(const char *text)
{
	const char *s = text;

	while (*s && *s != ';') {
		if (strncmp(s, "--", 2) == 0)
			s += strcspn(s, "\n");
		else if (*s == '\'')
			s += 1 + strcspn(s + 1, "'");
		s += *s != '\0';
	}
	return (size_t)(s - text);
}

/* Refuses numbers in place of names, statement by statement. */
static void check_written(struct sqlgen_build *b, const char *file, const char *text)
{
	struct sqlgen_statement s = { .file = file,
				      .line = 1,
				      .name = (char *)"migration" };

	for (size_t n; *text; text += n + (text[n] == ';')) {
		const char *line = text;

		n = statement_length(text);
		s.written = sqlgen_copy(text, n);
		s.sql_line = s.line;
		sqlgen_check_numbers(b, &s);
		free(s.written);
		for (; line < text + n; line++)
			s.line += *line == '\n';
	}
}

/* A second engine writes triggers in another language: a statement has to do their work. */
static void check_triggers(struct sqlgen_build *b)
{
	struct sqlgen_statement at = { .file = "migrations", .line = 1 };
	sqlite3_stmt *triggers = NULL;

	sqlite3_prepare_v2(b->db, "SELECT name FROM sqlite_schema WHERE type = 'trigger'",
			   -1, &triggers, NULL);
	while (sqlite3_step(triggers) == SQLITE_ROW)
		sqlgen_refuse(b, &at, "trigger %s: write a statement that C runs",
			      sqlite3_column_text(triggers, 0));
	sqlite3_finalize(triggers);
}

/* Statement by statement, so that an error has its line. */
static void sqlgen_apply(struct sqlgen_build *b, const char *file, const char *text)
{
	struct sqlgen_statement at = { .file = file,
				       .line = 1,
				       .name = (char *)"migration" };
	const char *from = text, *tail;

	for (const char *sql = text; *sql; sql = tail) {
		sqlite3_stmt *st;
		int rc = sqlite3_prepare_v2(b->db, sql, -1, &st, &tail);

		while (rc == SQLITE_OK && st && (rc = sqlite3_step(st)) == SQLITE_ROW)
			;
		if (rc != SQLITE_OK && rc != SQLITE_DONE) {
			for (; from < tail; from++)
				at.line += *from == '\n';
			sqlgen_refuse(b, &at, "%s (in the statement that ends here)",
				      sqlite3_errmsg(b->db));
			exit(1);
		}
		sqlite3_finalize(st);
	}
	at.line = 1;
	check_views(b, &at);
}

static void read_migration(struct sqlgen_build *b, const char *file)
{
	struct sqlgen_migration *m;
	const char *slash = strrchr(file, '/');
	char *written;

	b->migrations = sqlgen_grow(b->migrations, b->n_migrations, sizeof(*m));
	m = &b->migrations[b->n_migrations++];
	m->file = file;
	m->name = slash ? slash + 1 : file;
	written = sqlgen_slurp(file);
	m->text = sqlgen_put_numbers(b, file, 1, written, strlen(written));
	check_written(b, file, written);
	free(written);
	m->version = (int)strtol(m->name, NULL, 10);
	if (m->version && m->version != b->n_migrations)
		sqlgen_refuse(b, &(struct sqlgen_statement){ .file = file, .line = 1 },
			      "its number is not %04d, the next", b->n_migrations);
	sqlgen_apply(b, file, m->text);
}

/* --- arguments ------------------------------------------------------------------- */

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static void read_schema(struct sqlgen_build *b, const char *name)
{
	FILE *in = fopen(name, "r");

	if (!in) {
		perror(name);
		exit(1);
	}
	schema_parse(b->schema, name, in);
	fclose(in);
}

/* Reads the files in front of the statements: schema, enums, exports, migrations, in this order. */
static int read_ground(struct sqlgen_build *b, char **argv, int i)
{
	for (; argv[i] && ends_with(argv[i], ".op"); i++)
		read_schema(b, argv[i]);
	if (!b->schema->n_errors)
		schema_check_all(b->schema);
	if (b->schema->n_errors)
		exit(1);
	for (; argv[i] && strcmp(argv[i], "--") != 0; i++)
		if (ends_with(argv[i], "/enums"))
			sqlgen_read_enums(b, argv[i]);
		else if (ends_with(argv[i], "/exports"))
			sqlgen_read_transfer(b, argv[i]);
		else
			read_migration(b, argv[i]);
	return argv[i] ? i + 1 : i;
}

static void build_free(struct sqlgen_build *b)
{
	for (int i = 0; i < b->n_migrations; i++)
		free(b->migrations[i].text);
	for (int i = 0; i < b->n_statements; i++) {
		struct sqlgen_statement *s = &b->statements[i];

		columns_free(&s->said);
		columns_free(&s->in);
		columns_free(&s->out);
		free(s->name);
		free(s->row);
		free(s->into);
		free(s->sql);
		free(s->written);
	}
	columns_free(&b->known);
	sqlgen_free_enums(b);
	sqlgen_free_transfer(b);
	schema_release(b->schema);
	free(b->migrations);
	free(b->statements);
	sqlite3_close(b->db);
}

int main(int argc, char **argv)
{
	struct schema schema;
	struct sqlgen_build b = { .prefix = "", .schema = &schema };
	bool header = false, migrations = false, list = false;
	int i;

	while ((i = getopt(argc, argv, "+hmlp:")) > 0)
		if (i == 'p')
			b.prefix = optarg;
		else if (i == 'h')
			header = true;
		else if (i == 'm')
			migrations = true;
		else if (i == 'l')
			list = true;
		else
			return 2;
	i = optind;
	if (sqlite3_open(":memory:", &b.db) != SQLITE_OK)
		return 1;
	/* As the store opens it: a view must not need what it forbids. */
	sqlite3_db_config(b.db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(b.db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(b.db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	schema_init(&schema, stderr);
	for (i = read_ground(&b, argv, i); i < argc; i++)
		read_file(&b, argv[i]);
	for (i = 0; i < b.n_statements; i++)
		check_statement(&b, &b.statements[i]);
	if (!b.n_errors)
		check_rows(&b);
	if (!*b.prefix) {
		sqlgen_check_held(&b);
		check_triggers(&b);
	}
	sqlgen_check_kept(&b);
	sqlgen_check_transfer(&b);
	for (i = 0; migrations && i < b.n_migrations; i++)
		printf("-- migration %s\n%s", b.migrations[i].name, b.migrations[i].text);
	if (!b.n_errors && list)
		put_statements(&b);
	if (!b.n_errors && !migrations && !list) {
		printf("/* Generated by sqlgen from what `make` names for it. */\n");
		header ? put_header(&b) : put_source(&b);
		if (!header)
			sqlgen_put_transfer(&b);
	}
	i = b.n_errors != 0;
	build_free(&b);
	return i;
}
