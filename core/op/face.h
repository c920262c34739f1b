/*
 * face - an operation under other names, with an answer of another form.
 *
 * Clients of earlier systems call tools and routes of their own, and read answers of a certain
 * form. Each such tool or route is a `struct face`, generated from schema/. A face says for
 * each of its arguments which argument of the operation it stands for, and has JSON templates
 * of the answers. A door converts the arguments with face_args(), calls the operation as usual,
 * and converts its answer or its fault.
 *
 * In a template a text "{PATH}" stands for a value:
 * - in an answer for a part of the operation's answer, or else for the argument with that name;
 * - in a fault for `error` (the argument at fault, and what was wrong), `hint`, `retry_after_ms` or
 *   `available`, else for an argument.
 * A missing value is null. With "{PATH?}" the member is left out instead, even if the value is
 * false, 0 or an empty list. A number in a path is an index in a list. Within a longer text, a
 * value is inserted as text. A list with one template is filled once for each item of a list:
 * the list on the template's first path.
 */
#ifndef CORE_OP_FACE_H
#define CORE_OP_FACE_H

#include "core/op/op.h"

struct face_fault {
	enum fault_code code; /* FAULT_NONE: any code */
	const char *where; /* the face's argument at fault, as a JSON pointer; "": any */
	const char *body; /* template; NULL ends the table */
};

struct face {
	const char *name, *doc;
	const struct op *op;
	const struct record *in; /* describes the face's arguments; no struct has these
				    fields */
	const char *const *own; /* the operation's name for each argument; NULL: the
				   same names */
	const char *sets; /* more arguments for the operation, in JSON; or NULL */
	const char *
	operator; /* default arguments of the operator's calls, in JSON; or NULL */
	const char *only; /* the configuration key that switches the face on, or
			     NULL... */
	const char *without; /* ...and the text of the refusal if the key is false */
	const char *answer; /* template; NULL: the operation's own answer */
	const struct face_fault *faults; /* the first entry that fits the fault is
					    used */
	const char *tool, *action; /* tool NULL: in no tool; action NULL: the tool's
				      only action */
	const char *http_method, *http_path; /* NULL: no route */
};

extern const struct face face_table[]; /* in schema order */
extern const size_t face_count;

/* Finds the face that `action` (or NULL) of an MCP tool names; NULL if there is no such face. */
const struct face *face_tool(const char *tool, const char *action);

/* Makes the operation's arguments from the arguments of a face. Returns NULL and a fault at the
 * face's argument if an argument is unknown or missing, or has the wrong form for its type. The
 * operation checks the rest. A face that renames arguments takes an unknown choice as the first
 * choice, rounds a fraction up, and lowers a number to its type's maximum. */
json_t *face_args(const struct face *face, const json_t *args, struct fault *f);

/* Adds the default arguments for calls by the operator to the operation's arguments. */
void face_operator(const struct face *face, json_t *args);

/* Moves a fault from an argument of the operation to the face's argument. */
void face_move(const struct face *face, struct fault *f);

/* Makes the face's answer from the operation's answer `result`, which is JSON text. Returns
 * JSON text, malloc'd. `args` are the arguments of the face. */
char *face_answer(const struct face *face, const json_t *args, const char *result);

/* Makes the face's answer for a fault that face_move() has moved. The hint is in the words of a
 * door. Returns JSON text, malloc'd, always with `code`; NULL if the face has no form for the
 * fault. */
char *face_refusal(const struct face *face, const json_t *args, const struct fault *f,
		   enum hint_style style);

/* The JSON Schema of the face's answer. */
json_t *face_schema(const struct face *face);

#endif
