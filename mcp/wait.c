/*
 * wait - how long a tool call may wait.
 *
 * Clients give a call about a minute; who has asked for progress hears of us
 * in between and may wait as long as the operation lets it.
 */
#include "mcp/peer.h"

#include <string.h>

enum { WAIT_S = 50 };

/* The spelling under which a field stands among the arguments. */
static const char *spelling(const struct field *field, json_t *args)
{
	for (size_t i = 0; field->aliases && field->aliases[i]; i++)
		if (json_object_get(args, field->aliases[i]))
			return field->aliases[i];
	return field->name;
}

/* Some operations wait only when asked to: `wait_for_reply`. */
static bool is_asked(const struct op *op, json_t *args)
{
	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *field = &op->in->fields[i];

		if (field->type->kind == KIND_BOOL &&
		    strncmp(field->name, "wait", 4) == 0)
			return json_is_true(json_object_get(args, field->name));
	}
	return true;
}

void wait_cut(struct request *r, const struct op *op, json_t *args)
{
	const char *name;
	json_t *value;

	if (!op->wait || !is_asked(op, args))
		return;
	name = spelling(op->wait, args);
	value = json_object_get(args, name);
	if (value && !json_is_integer(value))
		return; /* the checks will say so */
	r->wait_s = value ? json_integer_value(value) : op->wait->def_int;
	/* A value out of range is left for the checks, too. */
	if (r->token || r->wait_s <= WAIT_S || r->wait_s > op->wait->type->max)
		return;
	request_log(r, LEVEL_INFO, "%s is cut to %d; with a progressToken it may be more",
		    name, WAIT_S);
	r->wait_s = WAIT_S;
	json_object_set_new(args, name, json_integer(WAIT_S));
}
