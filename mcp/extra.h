/*
 * extra - tools, prompts and resources that are not in the schema.
 *
 * The program `cadre` has no extras. The official MCP test suite needs a server with tools that
 * return images, tools that ask the client for input, and tools that fail. For that suite, a
 * test program links its own tables in place of no_extra.c.
 */
#ifndef MCP_EXTRA_H
#define MCP_EXTRA_H

#include "mcp/mcp_peer.h"

struct extra {
	const char *name; /* name of a tool or prompt, URI of a resource, or start of a
			     template's URIs */
	const char *listed; /* entry of this extra in lists, as JSON */
	method_run *run; /* answers tools/call, prompts/get or resources/read */
};

/* Each table ends with an entry whose `name` is NULL. */
struct extras {
	const struct extra *tools, *prompts, *resources, *templates;
	/* Takes the client's answer to a question that a tool has asked the client; NULL: no
	 * tool asks questions. */
	void (*answered)(struct mcp *m, json_t *answer);
};

extern const struct extras extras;

const struct extra *extra_find(const struct extra *table, const char *name);
/* Returns the resource with the URI `uri`. If there is none, returns the template whose `name`
 * is the beginning of `uri`. Returns NULL if there is no such template. */
const struct extra *extra_resource(const char *uri);
/* Appends the entries of a table to a JSON list that is being written. */
void extra_list(const struct extra *table, struct text *out);

#endif
