/*
 * face - an operation under other names, with an answer of another form.
 *
 * Clients of earlier systems call tools and routes of their own, and read answers of a
 * certain form.  Each is a `struct face`, generated from schema/: which argument of the
 * operation each of its own stands for, and templates in JSON of what is answered.  A door
 * turns the arguments with face_args(), calls the operation as ever, and turns what it
 * answers, or its fault.
 *
 * In a template a text "{PATH}" stands for a value:
 * - in an answer for a part of the operation's answer, else for the argument of that name;
 * - in a fault for `error` (the argument at fault, and what was wrong), `hint`, `retry_after_ms` or
 *   `available`, else for an argument.
 * A value that is not there is null; with "{PATH?}" its member is left out, also where the value is
 * false, 0 or an empty list.  A number in a path is a place in a list.  Within a longer text a
 * value is put in as text.  A list of one template is filled once for each value of the list that
 * its first path leads through.
 */
#ifndef CORE_OP_FACE_H
#define CORE_OP_FACE_H

#include "core/op/op.h"

struct face_fault {
	enum fault_code code; /* FAULT_NONE: any */
	const char *where; /* the face's argument at fault, as a JSON pointer; "": any */
	const char *body; /* template; NULL ends the table */
};

struct face {
	const char *name, *doc;
	const struct op *op;
	const struct record *in; /* describes its arguments; no struct has these fields */
	const char *const *own; /* the operation's name of each; NULL: they are its own */
	const char *sets; /* arguments that the operation gets besides, in JSON; or NULL */
	const char *
	operator; /* default arguments of the operator's calls, in JSON; or NULL */
	const char *only; /* the key of the configuration that offers it, or NULL... */
	const char *without; /* ...and what is said where that is false */
	const char *answer; /* template; NULL: it is the operation's own */
	const struct face_fault *faults; /* the first that fits is taken */
	const char *tool, *action; /* NULL: in no tool; action NULL: alone */
	const char *http_method, *http_path; /* NULL: no route */
};

extern const struct face face_table[]; /* in schema order */
extern const size_t face_count;

/* The face that `action` (or NULL) of an MCP tool names; NULL if none. */
const struct face *face_tool(const char *tool, const char *action);

/* The operation's arguments for those of a face, new; NULL and a fault, at the face's
 * argument, where one is unknown or missing, or no value of its type's form.  The
 * operation checks the rest.  A face that renames arguments takes an unknown choice as
 * the first choice, rounds a fraction up, and lowers a number to its type's maximum. */
json_t *face_args(const struct face *face, const json_t *args, struct fault *f);

/* Adds to the operation's arguments those that are the operator's. */
void face_operator(const struct face *face, json_t *args);

/* Moves a fault that the operation found at one of its arguments to the face's. */
void face_move(const struct face *face, struct fault *f);

/* The face's answer where the operation answered `result`, JSON text: JSON text, malloc'd;
 * `args` are those of the face. */
char *face_answer(const struct face *face, const json_t *args, const char *result);

/* The face's answer for a fault, which has been moved, with its hint in the words of a door: JSON
 * text, malloc'd, always with `code`; NULL where the face has no form for it. */
char *face_refusal(const struct face *face, const json_t *args, const struct fault *f,
		   enum hint_style style);

/* JSON Schema of the face's answer. */
json_t *face_schema(const struct face *face);

#endif
