/*
 * extra - tools, prompts and resources beside those of the schema.
 *
 * The program has none.  The official test suite wants a server with tools that draw, ask and
 * fail: a test program links a table of its own in the place of no_extra.c.
 */
#ifndef MCP_EXTRA_H
#define MCP_EXTRA_H

#include "mcp/mcp_peer.h"

struct extra {
	const char *name; /* a resource's is its URI, a template's how its URIs begin */
	const char *listed; /* as lists have it: JSON */
	method_run *run; /* answers tools/call, prompts/get or resources/read */
};

/* Tables end with a NULL name. */
struct extras {
	const struct extra *tools, *prompts, *resources, *templates;
	/* Takes the client's answer to a question of a tool; NULL: no tool asks. */
	void (*answered)(struct mcp *m, json_t *answer);
};

extern const struct extras extras;

const struct extra *extra_find(const struct extra *table, const char *name);
/* The resource of that URI, or the template whose URIs begin so; NULL: neither. */
const struct extra *extra_resource(const char *uri);
/* Appends a table to a JSON list that is being written. */
void extra_list(const struct extra *table, struct text *out);

#endif
