/*
 * face - an operation under other names, with an answer of another form.
 *
 * Clients of earlier systems call tools and routes of their own, and read answers of another
 * form. Each tool or route of an earlier system is a `struct face`, generated from schema/. A
 * face maps each of its arguments to an argument of the operation, and has JSON templates for
 * the answers. A door converts the arguments with face_args(), calls the operation as usual,
 * and converts the answer or the fault.
 *
 * In a template a text "{PATH}" stands for a value. In an answer, PATH names a part of the
 * operation's answer or, if there is no such part, an argument. In a fault, PATH names `error`,
 * `hint`, `retry_after_ms`, `available` or an argument. `error` holds the name of the argument
 * at fault and the cause of the fault.
 *
 * A missing value becomes null. A member with "{PATH?}" is left out if the value is missing,
 * false, 0 or an empty list. A number in a path is an index in a list. Within a longer text, a
 * value is inserted as text. A list in a template holds one inner template, which is filled
 * once for each item of a list of values. The first path in the inner template names the list
 * of values.
 */
#ifndef CORE_OP_FACE_H
#define CORE_OP_FACE_H

#include "core/op/op.h"

struct face_fault {
	enum fault_code code; /* FAULT_NONE fits any code */
	const char *where; /* JSON pointer to the face's argument at fault; "" fits any
			      argument */
	const char *body; /* template of the answer; NULL ends the table */
};

struct face {
	const char *name, *doc;
	const struct op *op;
	const struct record *in; /* describes the face's arguments, which are in no
				    struct */
	const char *const *own; /* the name that the operation gives to each argument, or
				   NULL if the face renames no argument */
	bool lax; /* unknown arguments are passed over, and two arguments that the operation
		     knows as one are joined */
	const char *sets; /* fixed arguments that the face adds for the operation, in
			     JSON, or NULL */
	const char *
	operator; /* default arguments for the operator's calls, in JSON, or NULL */
	const char *only; /* configuration key that switches the face on, or NULL */
	const char *without; /* text of the refusal if the key `only` is false */
	const char *answer; /* template, or NULL for the operation's own answer */
	const struct face_fault *faults; /* the first entry that fits the fault is
					    used */
	const char *tool, *action; /* `tool` is NULL if no tool has the face; `action` is
				      NULL if the tool has only one action */
	const char *http_method, *http_path; /* NULL if the face has no route */
};

extern const struct face face_table[]; /* in schema order */
extern const size_t face_count;

/* Finds the face for `action` of an MCP tool. `action` is NULL if the tool has only one action.
 * Returns NULL if there is no such face. */
const struct face *face_tool(const char *tool, const char *action);

/* Makes the operation's arguments from the arguments of a face. Returns NULL and sets a fault
 * at the face's argument if an argument is missing, or is unknown to a face that is not lax. If the face renames arguments, a
 * text in the wrong form for its type is refused, too. An unknown choice then becomes the first
 * choice, a fraction is rounded up, and a number is lowered to the maximum of its type. The
 * operation checks everything else. */
json_t *face_args(const struct face *face, const json_t *args, struct fault *f);

/* Adds the default arguments for calls by the operator to the operation's arguments. */
void face_operator(const struct face *face, json_t *args);

/* If a fault names an argument of the operation, makes the fault name the face's argument
 * instead. */
void face_move(const struct face *face, struct fault *f);

/* Makes the face's answer from the operation's answer `result`, which is JSON text. Returns
 * JSON text that the caller frees. `args` are the arguments of the face. */
char *face_answer(const struct face *face, const json_t *args, const char *result);

/* Makes the face's answer to a fault, after face_move(). The hint is written in the style
 * `style`. Returns JSON text that the caller frees, or NULL if the face has no template for the
 * fault. The text always has the member `code`. */
char *face_refusal(const struct face *face, const json_t *args, const struct fault *f,
		   enum hint_style style);

/* Makes the JSON Schema of the face's answer. */
json_t *face_schema(const struct face *face);

#endif
