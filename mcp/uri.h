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
	char rest[65]; /* name of the agent, or id of the task; "" for a team's URI */
};

struct uri_kind_text {
	const char *scheme; /* start of the URI, before the team's name */
	const char *template; /* URI template of RFC 6570 */
	const char *name, *title, *doc;
	const char *op; /* name of the operation that reads the resource */
	const char *field; /* the operation's argument for uri.rest; NULL: no rest */
	const char *team_name; /* name of the template's variable for the team */
	const char *rest_name; /* name of the variable for uri.rest; NULL: no rest */
};

extern const struct uri_kind_text uri_kinds[URI_KINDS];

/* Takes a URI apart. Returns false if the URI has none of the forms above. */
bool uri_read(struct uri *uri, const char *text);
/* Returns the operation that reads the resource, and sets `*args` to its arguments, which the
 * caller frees. */
const struct op *uri_op(const struct uri *uri, json_t **args);

#endif
