/*
 * sqlgen_portable - the SQL that two engines understand alike: see sqlgen_portable.c.
 */
#ifndef TOOLS_BUILD_SQLGEN_PORTABLE_H
#define TOOLS_BUILD_SQLGEN_PORTABLE_H

#include "tools/build/sqlgen.h"

/* Kinds of values, as an engine with types tells them apart. */
enum sqlgen_kind {
	IS_ANY, /* not known here */
	IS_TRUTH, /* of a comparison: no number elsewhere */
	IS_NUMBER,
	IS_SMALL, /* a literal or CAST AS INTEGER, which may say how far to shift */
	IS_TEXT,
	IS_BYTES,
};

struct sqlgen_word {
	const char *at;
	size_t len;
};

/* The enums of which a number may be, a bit each: see sqlgen_held.c. */
typedef unsigned long long sqlgen_lists;

#define SQLGEN_NONE ((sqlgen_lists)1 << 63) /* the number is of no enum */
#define SQLGEN_OTHER ((sqlgen_lists)1 << 62) /* the number's enum is in no column */
enum { SQLGEN_HELD_MOST = 62 }; /* columns in storage/enums */
#define SQLGEN_ALL (~(sqlgen_lists)0) /* a parameter, or NULL */

/* An expression that was read: the kind, the possible enums, and the text. */
struct sqlgen_value {
	enum sqlgen_kind kind;
	sqlgen_lists lists;
	struct sqlgen_word text;
};

struct sqlgen_column {
	struct sqlgen_word table, name;
};

enum { SQLGEN_ITEMS_MOST = 64 };

/* A SELECT: its items, and its columns outside of sums. */
struct sqlgen_select {
	struct sqlgen_value items[SQLGEN_ITEMS_MOST];
	struct sqlgen_word names[SQLGEN_ITEMS_MOST]; /* of the items */
	struct sqlgen_column bare[SQLGEN_ITEMS_MOST];
	int n_items, n_bare;
	int in_sum; /* an expression within a sum is being read */
	bool sums, distinct, done; /* done: all items are read */
	bool by_name; /* an item of ORDER BY is being read, which is a name alone */
};

enum { SQLGEN_NAMES_MOST = 256 };

/* A name that a statement gives to values, of these lists wherever it does so. */
struct sqlgen_renamed {
	struct sqlgen_word name;
	sqlgen_lists lists;
};

struct sqlgen_reader {
	struct sqlgen_build *b;
	const struct sqlgen_statement *s;
	const char *text;
	int line; /* of the text's beginning */
	struct sqlgen_word w; /* the next word; its length is 0 at the end */
	const char *read_to; /* behind the last word that was taken */
	struct sqlgen_select *select; /* the innermost one */
	struct sqlgen_select outside; /* stands for it where there is none */
	struct sqlgen_renamed renamed[SQLGEN_NAMES_MOST];
	int n_renamed;
	bool lost; /* the rest was not understood */
	bool collects; /* only names of values are collected: nothing is refused */
	bool collected; /* a new one was found */
	bool plain; /* names of values that are of no enum are collected, too */
	bool shared; /* a second engine is to understand it */
	struct sqlgen_word cte; /* the name of WITH that is being read, not RECURSIVE */
	bool conflict; /* a value of DO UPDATE is being read */
	bool named; /* numbers have their names still, in braces */
};

/* A function: its numbers of arguments, the kind of its result, or its replacement. */
struct sqlgen_function {
	const char *name;
	int least, most;
	enum sqlgen_kind gives; /* IS_ANY: what it takes */
	bool sum;
	const char *instead;
};

bool sqlgen_word_is(struct sqlgen_word w, const char *s);
bool sqlgen_word_same(struct sqlgen_word a, struct sqlgen_word b);
struct sqlgen_word sqlgen_word_next(const char *at);
void sqlgen_take(struct sqlgen_reader *r);
bool sqlgen_take_if(struct sqlgen_reader *r, const char *word);
void sqlgen_expect(struct sqlgen_reader *r, const char *word);
/* A name of a table, column or alias; others end the reading. */
struct sqlgen_word sqlgen_take_name(struct sqlgen_reader *r);

/* Refuses what stands at `at`, by its line, for a second engine's sake. */
void sqlgen_refuse_at(struct sqlgen_reader *r, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same of a number in place of a name, in statements of SQLite's own, too. */
void sqlgen_refuse_number(struct sqlgen_reader *r, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The next word has no place here in the common subset: ends the reading. */
void sqlgen_lose(struct sqlgen_reader *r);

struct sqlgen_value sqlgen_read_value(struct sqlgen_reader *r);
void sqlgen_read_truth(struct sqlgen_reader *r); /* of a WHERE, an ON */
void sqlgen_read_order(struct sqlgen_reader *r); /* behind ORDER BY */
void sqlgen_read_select(struct sqlgen_reader *r, struct sqlgen_select *select);
/* Refuses a value that a column, or another value, does not take as it is. */
void sqlgen_check_fit(struct sqlgen_reader *r, struct sqlgen_value v,
		      struct sqlgen_value with);
/* The value that a column may hold, as the statement's tables and names have it. */
struct sqlgen_value sqlgen_column_value(struct sqlgen_reader *r, struct sqlgen_column c);
/* Notes that the statement calls a value so. */
void sqlgen_rename(struct sqlgen_reader *r, struct sqlgen_word name, sqlgen_lists lists);

/* The lists of a name in braces, of a column as the statement's tables have it (0: they do
 * not hold an enum there), of a table's column; the name of the first of some lists. */
sqlgen_lists sqlgen_lists_named(const struct sqlgen_build *b, const char *name);
sqlgen_lists sqlgen_lists_held(const struct sqlgen_build *b, const char *sql,
			       struct sqlgen_column c);
sqlgen_lists sqlgen_lists_of_table(const struct sqlgen_build *b, struct sqlgen_word table,
				   struct sqlgen_word column);
/* Whether one of the statement's tables declares the column without NOT NULL; columns of
 * views, and those that an outer join leaves out, are not seen. */
bool sqlgen_is_nullable(const struct sqlgen_build *b, const char *sql,
			struct sqlgen_column c);
const char *sqlgen_list_name(const struct sqlgen_build *b, sqlgen_lists lists);

const struct sqlgen_function *sqlgen_function_find(struct sqlgen_word name);
/* Whether a function takes values of one enum, and gives one of it or counts them. */
bool sqlgen_takes_alike(struct sqlgen_word name);
bool sqlgen_is_reserved(struct sqlgen_word w); /* no name without an AS in front */
bool sqlgen_is_clause(struct sqlgen_word w); /* a word that begins or joins clauses */

#endif
