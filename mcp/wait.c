/*
 * wait - how long a tool call may wait.
 *
 * Clients give a call about a minute; who has asked for progress hears of us
 * in between and may wait as long as the operation lets it.
 */
#include "mcp/peer.h"

#include <string.h>

enum { WAIT_S = 50 };

void wait_cut(struct request *r, const struct op *op, json_t *args)
{
	const char *name;
	json_t *value;

	if (!op_waits(op, args))
		return;
	name = field_spelling(op->wait, args);
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
