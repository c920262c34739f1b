/*
 * sqlgen - declarations that the parts of the statement compiler share.
 *
 * sqlgen.c applies the migrations, and reads the statements in storage/NOUN.sql. sqlgen.c also
 * finds the types of parameters and columns, and refuses wrong statements. sqlgen_names.c
 * replaces names by the numbers of schema/, and refuses numbers in place of names. sqlgen_put.c
 * writes the C code, and the tables with which the state is exported. If memory runs out, the
 * program aborts. The program frees no memory, since it ends as soon as the files are written.
 */
#ifndef TOOLS_BUILD_SQLGEN_H
#define TOOLS_BUILD_SQLGEN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

enum type { TYPE_UNSAID, TYPE_INT, TYPE_TEXT, TYPE_BLOB, TYPE_UNKNOWN };

/* The names of a type in SQL, in a comment above a statement, in C and in storage/stmt.h. */
extern const struct sqlgen_type {
	const char *sql, *word, *c, *slot;
} sqlgen_types[];

struct column {
	char *name;
	enum type type;
	bool used;
};

struct columns {
	struct column *at;
	int n;
};

enum { KEPT_STATEMENTS = 8 }; /* the same value as in storage/stmt.h */

struct sqlgen_statement {
	const char *file;
	int line;
	char *name, *row, *into, *sql;
	char *written; /* the SQL with names in braces, and with empty lines in place of comments */
	int sql_line; /* line at which `sql` begins */
	bool scan_ok, readonly;
	bool late; /* nobody uses the statement's result */
	bool always; /* the statement gives a row, unless the state is damaged */
	bool kept; /* see struct kept in storage/store_inside.h */
	int kept_number; /* number of a kept statement, from 1 on */
	unsigned invalidates; /* bits of the kept statements whose rows this statement changes */
	bool first_of_row; /* this statement defines struct ROW_row */
	struct columns said, in, out; /* said: from the statement's comments */
	struct columns reads, writes; /* TABLE.COLUMN, or TABLE.* for whole rows */
};

struct sqlgen_migration {
	const char *file, *name;
	char *text;
	int version; /* number of the migration; 0: a schema without versions */
};

/* A column that holds the number of an enum's value, or the number of an event. */
struct held {
	char *table, *column, *list;
};

/* The values of a set that storage/enums declares, or the columns of a list. */
struct set {
	char *list, *name, *values;
};

struct sqlgen_build {
	sqlite3 *db;
	const char *prefix; /* prefix of the database's names in C; "": the state */
	struct schema *schema; /* see tools/build/opgen.h */
	struct held *held;
	struct set *sets;
	int n_held, n_sets;
	struct columns known; /* for each column name, the type that the columns of this
				 name have in all tables */
	struct sqlgen_migration *migrations;
	struct sqlgen_statement *statements;
	int n_migrations, n_statements, n_errors;
	struct transfer *transfer; /* contents of storage/exports; NULL: no exports */
};

/* A token of SQL: a name (with the table's name in front, if written), a number, a text, a name
 * in braces, or a sign. */
struct word {
	const char *at;
	size_t len;
};

struct word sqlgen_next(struct word w); /* the next word; its length is 0 at the end */
bool sqlgen_same(struct word a, struct word b);
bool sqlgen_is(struct word w, const char *s);

/* Returns `array` with room for one more item behind its `n` items. The new item is zeroed. */
void *sqlgen_grow(void *array, int n, size_t size);
char *sqlgen_copy(const char *s, size_t n);
char *sqlgen_slurp(const char *path); /* ends the program on failure */
void sqlgen_append(char **text, const char *more, size_t len);

/* Prepares a query of the database that is built. Ends the program if the query is wrong. */
sqlite3_stmt *sqlgen_query(const struct sqlgen_build *b, const char *sql);
/* Steps a query. Returns whether there is another row; at the end, finalizes the query. */
bool sqlgen_row(const struct sqlgen_build *b, sqlite3_stmt *st);
const char *sqlgen_text(sqlite3_stmt *st, int column);

/* Prints `file:line: name: reason` and counts the refusal, so that one run shows every refusal. */
void sqlgen_refuse(struct sqlgen_build *b, const struct sqlgen_statement *s,
		   const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Returns the text with numbers in place of the names in braces. */
char *sqlgen_put_numbers(struct sqlgen_build *b, const char *file, int line,
			 const char *text, size_t len);
void sqlgen_read_enums(struct sqlgen_build *b, const char *file); /* storage/enums */
/* The values of a set of the enum `list`, with blanks between the values; NULL: there is no
 * such set. */
const char *sqlgen_set_find(const struct sqlgen_build *b, const char *list,
			    const char *name);
void sqlgen_check_held(struct sqlgen_build *b); /* refuses a column that storage/enums
						   should list */
/* Refuses a number in a place where the name of an enum's value belongs. */
void sqlgen_check_numbers(struct sqlgen_build *b, const struct sqlgen_statement *s);

void put_header(const struct sqlgen_build *b);
void put_source(const struct sqlgen_build *b);
void put_statements(const struct sqlgen_build *b);
void sqlgen_read_transfer(struct sqlgen_build *b, const char *file);
void sqlgen_check_transfer(struct sqlgen_build *b);
void sqlgen_put_transfer(struct sqlgen_build *b);

#endif
