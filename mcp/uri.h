/*
 * uri - the URIs of resources: cadre://team/{name}, cadre://board/{team},
 * cadre://inbox/{team}/{agent}, cadre://task/{team}/{id}.
 */
#ifndef MCP_URI_H
#define MCP_URI_H

#include <stdbool.h>
#include <stddef.h>

#include "core/op/op.h"

enum uri_kind { URI_TEAM, URI_INBOX, URI_BOARD, URI_TASK, URI_KINDS };

struct uri {
	enum uri_kind kind;
	char team[65];
	char rest[65]; /* the agent or the task; "": the URI names only a team */
};

struct uri_kind_text {
	const char *scheme; /* start of the URI, up to the team */
	const char *template; /* URI template of RFC 6570 */
	const char *name, *title, *doc;
	const char *op; /* name of the operation that reads the resource */
	const char *field; /* argument of the operation for `rest`; NULL: no rest */
	const char *team_name; /* the template's variable for the team */
	const char *rest_name; /* the template's variable for `rest`; NULL: no rest */
};

extern const struct uri_kind_text uri_kinds[URI_KINDS];

/* Takes a URI apart. Returns false if the URI names no readable resource. */
bool uri_read(struct uri *uri, const char *text);
/* Returns the operation that reads the resource, and sets `*args` to its arguments, which the
 * caller frees. */
const struct op *uri_op(const struct uri *uri, json_t **args);

#endif
