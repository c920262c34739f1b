/*
 * extra - tools, prompts and resources that are not in the schema.
 *
 * The program itself has no extras. The official test suite needs a server with tools that
 * draw, ask and fail. For that suite, a test program links a table of its own in place of
 * no_extra.c.
 */
#ifndef MCP_EXTRA_H
#define MCP_EXTRA_H

#include "mcp/mcp_peer.h"

struct extra {
	const char *name; /* resource: its URI; template: the start of its URIs */
	const char *listed; /* its entry in lists, as JSON */
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
/* The resource with this URI, or the template whose URIs begin like `uri`. NULL if there is
 * neither. */
const struct extra *extra_resource(const char *uri);
/* Appends a table to a JSON list that is being written. */
void extra_list(const struct extra *table, struct text *out);

#endif
