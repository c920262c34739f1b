/*
 * mcp_wait - how long a tool call may wait.
 *
 * Clients give a call about a minute, so a wait ends by itself before that
 * (mcp.max_wait_seconds), and its answer says how to go on.  A client that asks for progress
 * sees that the call goes on, and is given as long as it asks for.
 */
#include "core/base/clock.h"
#include "mcp/mcp_peer.h"

#include <string.h>

/* A wait that ends so close to its time has ended with it. */
enum { NEAR_MS = 250 };

void wait_cut(struct request *r, const struct op *op, json_t *args)
{
	int64_t most = r->mcp->options.home->settings.config.mcp_max_wait_seconds;
	const char *name;
	json_t *value;

	if (r->token)
		most = INT64_MAX;
	if (!op_waits(op, args))
		return;
	name = field_spelling(op->wait, args);
	value = json_object_get(args, name);
	if (value && !json_is_integer(value))
		return; /* the checks will say so */
	r->wait_s = value ? json_integer_value(value) : op->wait->def_int;
	/* A value out of range is left for the checks, too. */
	if (r->wait_s > most && r->wait_s <= op->wait->type->max) {
		r->wait_s = most;
		request_log(r, LEVEL_INFO, "%s is cut to %lld", name, (long long)most);
		json_object_set_new(args, name, json_integer(most));
	}
	r->wait_ends = clock_steady_ms() + r->wait_s * 1000;
}

void wait_hint(const struct request *r, const char *json, struct text *hint)
{
	bool ended = r->wait_s > 0 && clock_steady_ms() >= r->wait_ends - NEAR_MS;

	/* A call that sends would send once more. */
	if (ended && r->op->flags & OP_WRITE && !(r->op->flags & OP_REQUEST) &&
	    r->op->gives == GIVES_MESSAGES)
		text_addf(hint, "No answer came in %lld s. It will be in your inbox.",
			  (long long)r->wait_s);
	else if (ended)
		text_addf(hint, "Nothing came in %lld s. Call again to go on waiting.",
			  (long long)r->wait_s);
	else if (!r->wait_s && r->op->gives == GIVES_CLAIM && !strstr(json, "\"epoch\":"))
		text_addf(hint, "Nothing to take now. With %s the call waits for it.",
			  r->op->wait->name);
}
