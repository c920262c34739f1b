/*
 * opgen - compiles schema/ into the tables that core/op/op.h declares.
 *
 *     opgen schema/A.op schema/B.op ... > build/ops.gen.c
 *     opgen -h schema/A.op ...          > build/ops.gen.h
 *
 * The grammar is in schema/README.md.  opgen_parse.c reads text into declarations.
 * opgen_check.c, opgen_check_op.c and opgen_face.c refuse wrong declarations.  opgen_write.c
 * writes C: data and declarations only, all behaviour is in core/.  A refusal is one line
 * `file:line: reason` on stderr; one run tells every refusal.
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
	const char *type_name; /* NULL: the param of its name stands for it */
	const char *def;
	bool quoted; /* the default was a "text" */
	bool optional, list;
	int64_t most; /* values of a list; 0: any number */
	bool plain; /* needs no description; written #- */
	bool unlisted; /* no tool of MCP shows it */
	bool callers; /* a key of the configuration that concerns the caller alone */
	struct list aliases;
	const char *own; /* of a face: the operation's name of the argument */
	const char *names, *makes; /* noun of the thing that the value names, or makes */
	struct opgen_place place;
	const struct decl *type; /* found by the check */
	const struct decl *noun; /* operation that lists the named things, found too */
	const char *by; /* of its type: FIELD:VALUE names those with that value */
};

struct members {
	struct member **items;
	size_t n;
};

/* The form in which a face tells a fault. */
struct opgen_refusal {
	const char *code, *where; /* NULL: any */
	const char *body; /* JSON */
	struct opgen_place place;
};

struct decl {
	enum decl_kind kind;
	const char *name, *id, *doc; /* id: the name as C has it */
	struct opgen_place place;
	struct members in, out; /* fields, values or tools are in `in` */

	/* type */
	const char *base, *pattern, *names, *by, *given;
	int64_t min, max;
	bool ranged;
	int index; /* of types, enums and records in type_table */
	size_t row; /* in the table of its kind, once that is sorted */
	bool visiting, ordered; /* for finding loops among records */

	/* event, events (LO..HI is in min and max), topic (its nouns), wire */
	int number;
	struct list wakes, nouns, first;
	const char *port, *sender, *answer_name, *guest_answer_name;
	const struct decl *answer, *guest_answer;

	/* op */
	const char *summary;
	const char *mode, *who, *rate, *within, *runs, *rest_name, *prints, *gives;
	const char *owner, *message_name, *says, *empty, *next, *example, *misses;
	const char *wait, *when, *editor, *bytes, *bytes_in, *bytes_out;
	/* The words of one line fill the members of each of these. */
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
		/* flags of the answer: it is so, it never will be, no host runs that has to
		 * do it */
		const char *reached, *over, *hostless;
	};
	bool idempotent, destructive, request, lax, cli_rest;
	bool needs_host, needs_vault, needs_folders, needs_cursor, prefers_host, moves;
	bool quiet; /* says nothing where no state is */
	bool clock; /* times are told by the clock */
	bool identifies; /* its answer has the name, team and token of an agent */
	bool above; /* leads of teams above may call it as well */
	struct list cli, cli_fields, also, columns, brief, page, overview, reads, fails,
		emits;
	struct list lists; /* noun, field that is its name, field that says more */
	struct list awaits; /* parts of the answer, one of which a call waits for */
	struct list finds; /* noun, argument that has the name */
	struct list until; /* operation that waits for this one's work, and its values */
	const struct decl *rest, *signals, *many, *message,
		*waiter; /* found by the check */

	/* face */
	const char *of_name, *sets, *operator, * answers; /* the last three are JSON */
	struct {
		/* a key of the configuration, and what is said where it is false */
		const char *only, *without;
	};
	const struct decl *of; /* found by the check */
	struct opgen_refusal *refusals;
	size_t n_refusals;
};

/* A word of an operation that names a field of the operation's own: struct op of core/op has a
 * pointer to the field. */
struct opgen_pointer {
	const char *member; /* of struct op; a table of these ends with NULL */
	size_t name; /* place of the word in struct decl */
	bool answers; /* the field is of the answer */
	const char *base; /* the type that the field has; NULL: any */
};
extern const struct opgen_pointer opgen_pointers[];

struct schema {
	struct arena arena;
	struct decl **decls;
	size_t n;
	struct decl **records; /* sorted: a record stands behind its parts */
	size_t n_records;
	FILE *errors;
	int n_errors;
};

void schema_init(struct schema *s, FILE *errors); /* with the base types */
void schema_release(struct schema *s);
void schema_parse(struct schema *s, const char *name, FILE *in);
void schema_read(struct schema *s, const char *name); /* opens and parses a file */
void schema_check_all(struct schema *s);
void op_check(struct schema *s, struct decl *d); /* a part of it */
void op_check_places(struct schema *s, const struct decl *d); /* its route and its tool */
void face_check(struct schema *s,
		struct decl *d); /* a part of it too, after all operations */
void screen_check(struct schema *s, const struct decl *d); /* a part of that */
/* The field that a word of the operation names; NULL where there is none. */
const struct member *opgen_field(const struct decl *d, const struct opgen_pointer *p);
/* The first list of records in an operation's answer; NULL if there is none. */
const struct member *opgen_rows(const struct decl *d);
void schema_write_header(const struct schema *s, FILE *out);
void schema_write_source(const struct schema *s, FILE *out);

/* Says what is wrong at a place, and counts it. */
void schema_refuse(struct schema *s, struct opgen_place at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* schema_refuse() of a declaration, with whose name the sentence begins. */
#define decl_refuse(s, d, fmt, ...) \
	schema_refuse((s), (d)->place, "%s" fmt, (d)->name, ##__VA_ARGS__)

/* A rule of the grammar, and the words behind the name of a declaration that breaks the rule. */
struct opgen_rule {
	bool broken;
	const char *says;
};
void opgen_rules(struct schema *s, const struct decl *d, const struct opgen_rule *rules,
		 size_t n);

/* The next declaration of a kind from place `*i` on, which moves behind the declaration; NULL at the
 * end. */
struct decl *schema_next(const struct schema *s, enum decl_kind kind, size_t *i);
/* The declaration of that kind and name; NULL if there is none.  Types, enums
 * and records have one name space: any of the three kinds finds all three. */
struct decl *schema_find(const struct schema *s, enum decl_kind kind, const char *name);
struct decl *decl_add(struct schema *s);
bool decl_is_type(const struct decl *d);
struct member *member_find(const struct members *m, const char *name);
/* The member whose name is the first `n` bytes of a path. */
struct member *member_part(const struct members *m, const char *path, size_t n);
struct member *members_add(struct schema *s, struct members *m);
/* The numbers that are kept for the events of a noun; NULL if none are. */
const struct decl *schema_events(const struct schema *s, const char *noun, size_t len);
void list_add(struct schema *s, struct list *l, const char *item);
bool list_has(const struct list *l, const char *item);
/* Whether a word is one of a set, which ends with NULL. */
bool opgen_among(const char *word, const char *const *set);
bool opgen_same(const char *a, const char *b); /* neither is NULL, and they are equal */
bool opgen_is_fault(const char *code);
/* `task.claim` is task_claim in C; a wire's ExecResult, wire_exec_result. */
const char *opgen_c_name(struct arena *a, const char *name, bool wire);
/* Writes a name as part of a constant, between two texts of C. */
void opgen_put_constant(FILE *out, const char *before, const char *name,
			const char *after);
void opgen_put_string(FILE *out, const char *s); /* in quotes, as C has a text */
/* Whether an operation gets an argument `idempotency_key`: a `write` that names no
 * `request`, and is not the host's own. */
bool op_takes_key(const struct decl *d);

#endif
