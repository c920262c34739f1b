/*
 * opgen - compiles schema/ into the tables that core/op/op.h and core/op/face.h declare.
 *
 *     opgen schema/A.op schema/B.op ... > build/ops.gen.c
 *     opgen -h schema/A.op ...          > build/ops.gen.h
 *
 * The grammar is in schema/README.md. opgen_parse.c reads text into declarations.
 * opgen_check.c, opgen_check_op.c and opgen_face.c refuse wrong declarations. opgen_write.c
 * writes C with data and declarations only, since all behaviour is in core/. A refusal is one
 * line `file:line: reason` on stderr. One run prints every refusal.
 */
#ifndef TOOLS_BUILD_OPGEN_H
#define TOOLS_BUILD_OPGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/arena.h"

enum decl_kind {
	DECL_TYPE,
	DECL_ENUM,
	DECL_RECORD,
	DECL_PARAM,
	DECL_EVENT,
	DECL_EVENTS,
	DECL_WIRE,
	DECL_SET,
	DECL_TOPIC,
	DECL_OP,
	DECL_FACE,
	DECL_KINDS
};

struct opgen_place {
	const char *file;
	int line;
};

struct list {
	const char **items;
	size_t n;
};

/* A field, a value of an enum, or a tool of a set. */
struct member {
	const char *name, *id, *doc;
	const char *type_name; /* NULL: the param with the field's name gives the type */
	const char *def;
	bool quoted; /* the schema has the default in quotes */
	bool optional, list;
	int64_t most; /* maximum number of a list's values; 0: any number */
	bool plain; /* needs no description; the schema marks such a member by #- */
	bool unlisted; /* no tool of MCP shows the member */
	bool callers; /* a key of the configuration that concerns only the caller */
	struct list aliases;
	const char *own; /* for a face: the argument's name in the operation */
	const char *names, *makes; /* noun of the thing that the value names or makes */
	struct opgen_place place;
	const struct decl *type; /* the declaration of type_name, found by the check */
	const struct decl *noun; /* operation that lists the named things; found by
				    the check */
	const char *by; /* a field; FIELD:VALUE in a call names all things whose field
			   FIELD has the value VALUE */
};

struct members {
	struct member **items;
	size_t n;
};

/* The form in which a face answers a fault. */
struct opgen_refusal {
	const char *code, *where; /* NULL `code`: all codes; NULL `where`: all
				     arguments */
	const char *body; /* JSON */
	struct opgen_place place;
};

struct decl {
	enum decl_kind kind;
	const char *name, *id, *doc; /* id: the name in C */
	struct opgen_place place;
	struct members in, out; /* `in` has the fields, values or tools */

	/* members of a type */
	const char *base, *pattern, *names, *by, *given;
	int64_t min, max;
	bool ranged;
	int index; /* index in type_table, for types, enums and records */
	size_t row; /* row in the sorted table of the declaration's kind */
	bool visiting, ordered; /* used to find loops among records */

	/* members of the declarations event, events, topic and wire. For events, min and max
	 * hold LO..HI. For topic, `nouns` holds the topic's nouns */
	int number;
	struct list wakes, nouns, first;
	const char *port, *sender, *answer_name, *guest_answer_name;
	const struct decl *answer, *guest_answer;

	/* members of an op */
	const char *summary;
	const char *mode, *who, *rate, *within, *runs, *rest_name, *prints, *gives;
	const char *owner, *message_name, *says, *empty, *next, *waits_for, *below,
		*tells, *example, *misses;
	const char *pages; /* length of a first page where few words are asked for */
	const char *wait, *when, *editor, *bytes, *bytes_in, *bytes_out;
	/* The words of one line of the schema fill the members of each struct below. */
	struct {
		const char *method, *path;
	};
	struct {
		const char *tool, *action;
	};
	struct {
		const char *many_name, *many_field;
	};
	struct {
		const char *follows, *signals_name;
	};
	struct {
		/* Flags of the answer. `reached`: the awaited state is reached. `over`: the
		 * awaited state can never be reached. `hostless`: the host that has to do the
		 * work does not run. */
		const char *reached, *over, *hostless;
	};
	bool idempotent, destructive, request, lax, cli_rest;
	bool needs_host, needs_vault, needs_folders, needs_cursor, prefers_host, moves;
	bool quiet; /* prints nothing if no state exists */
	bool clock; /* prints times as clock times */
	bool unlisted; /* of a set: its tools are in no list */
	bool identifies; /* the answer has the name, team and token of an agent */
	bool above; /* leads of the teams above may call the operation, too */
	struct list cli, cli_fields, also, columns, lines, brief, page, overview, reads,
		fails, emits;
	struct list lists; /* a noun, the field with a thing's name, and the field with a
			      text about the thing */
	struct list lacks; /* names that are no arguments, each with its hint */
	struct list awaits; /* parts of the answer; if a call waits and its answer has
			       none of these parts, the call's time ran out */
	struct list finds; /* a noun, and the argument with a thing's name */
	struct list until; /* operation that waits for the work of this operation, and the
			      values to wait for */
	struct list hands; /* operation whose answer replaces the answer over MCP, and the
			      values of the answer's first field for which it does */
	const struct decl *rest, *signals, *many, *message, *handed,
		*waiter; /* found by the check */

	/* members of a face */
	const char *of_name, *sets, *operator, * answers; /* `sets`, `operator` and
							     `answers` are JSON */
	struct {
		/* a key of the configuration, and the text to show if the key is false */
		const char *only, *without;
	};
	const struct decl *of; /* found by the check */
	struct opgen_refusal *refusals;
	size_t n_refusals;
};

/* A word in the declaration of an operation. The word names a field of the same operation.
 * struct op of core/op has a pointer to that field. */
struct opgen_pointer {
	const char *member; /* member of struct op; a table of pointers ends with NULL */
	size_t name; /* offset of the word in struct decl */
	bool answers; /* true: a field of the answer; false: an argument */
	const char *base; /* the required type of the field; NULL: any type */
};
extern const struct opgen_pointer opgen_pointers[];

struct schema {
	struct arena arena;
	struct decl **decls;
	size_t n;
	struct decl **records; /* sorted: a record follows the records that it holds */
	size_t n_records;
	FILE *errors;
	int n_errors;
};

void schema_init(struct schema *s, FILE *errors); /* adds the base types */
void schema_release(struct schema *s);
void schema_parse(struct schema *s, const char *name, FILE *in);
void schema_read(struct schema *s, const char *name); /* opens and parses a file */
void schema_check_all(struct schema *s);
void op_check(struct schema *s, struct decl *d); /* see opgen_check_op.c */
void op_check_places(struct schema *s, const struct decl *d); /* checks the route and the
								 tool */
void face_check(struct schema *s,
		struct decl *d); /* checks a face, after all operations */
void screen_check(struct schema *s, const struct decl *d); /* checks the words for
							      people */
/* Returns the field that a word of the operation names, or NULL if there is no such field. */
const struct member *opgen_field(const struct decl *d, const struct opgen_pointer *p);
/* Returns the first list of records in an operation's answer, or NULL if there is no such list. */
const struct member *opgen_rows(const struct decl *d);
void schema_write_header(const struct schema *s, FILE *out);
void schema_write_source(const struct schema *s, FILE *out);

/* Prints a refusal about a place, and counts the refusal. */
void schema_refuse(struct schema *s, struct opgen_place at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Refuses a declaration, like schema_refuse(). The printed sentence begins with the
 * declaration's name. */
#define decl_refuse(s, d, fmt, ...) \
	schema_refuse((s), (d)->place, "%s" fmt, (d)->name, ##__VA_ARGS__)

/* A rule of the grammar, and the text that a refusal prints behind the declaration's name. */
struct opgen_rule {
	bool broken;
	const char *says;
};
void opgen_rules(struct schema *s, const struct decl *d, const struct opgen_rule *rules,
		 size_t n);

/* Returns the next declaration of a kind from index `*i` on, or NULL at the end. Moves `*i`
 * behind the declaration. */
struct decl *schema_next(const struct schema *s, enum decl_kind kind, size_t *i);
/* Returns the declaration with this kind and name, or NULL if there is no such declaration.
 * Types, enums and records share one name space, so a search for one of these kinds also finds
 * the other two. */
struct decl *schema_find(const struct schema *s, enum decl_kind kind, const char *name);
struct decl *decl_add(struct schema *s);
bool decl_is_type(const struct decl *d);
struct member *member_find(const struct members *m, const char *name);
/* The member whose name is the first `n` bytes of a path. */
struct member *member_part(const struct members *m, const char *path, size_t n);
struct member *members_add(struct schema *s, struct members *m);
/* The numbers that are reserved for the events of a noun, or NULL if no numbers are reserved. */
const struct decl *schema_events(const struct schema *s, const char *noun, size_t len);
void list_add(struct schema *s, struct list *l, const char *item);
bool list_has(const struct list *l, const char *item);
/* Whether a word is in a set that ends with NULL. */
bool opgen_among(const char *word, const char *const *set);
bool opgen_same(const char *a, const char *b); /* both texts are equal, and not NULL */
bool opgen_is_fault(const char *code);
/* Returns a name in the form for C. `task.claim` is task_claim in C, and the wire message
 * ExecResult is wire_exec_result. */
const char *opgen_c_name(struct arena *a, const char *name, bool wire);
/* Writes `name` in capitals, as part of a C constant, between the texts `before` and `after`. */
void opgen_put_constant(FILE *out, const char *before, const char *name,
			const char *after);
void opgen_put_string(FILE *out, const char *s); /* writes `s` in quotes, as a string of
						    C */
/* Whether an operation gets an argument `idempotency_key`. Such an operation is a `write`, has
 * no `request`, and may be called by callers other than the host. */
bool op_takes_key(const struct decl *d);

#endif
