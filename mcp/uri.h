/*
 * uri - names of what can be read: cadre://team/{name}, cadre://board/{team},
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
	char rest[65]; /* the agent or the task; "" */
};

struct uri_kind_text {
	const char *scheme; /* up to the team */
	const char *template; /* RFC 6570 */
	const char *name, *title, *doc;
	const char *op; /* reads it */
	const char *field; /* of the operation, that takes rest; NULL: none */
	const char *team_name; /* the template's variable for the team */
	const char *rest_name; /* ... and for the rest; NULL: none */
};

extern const struct uri_kind_text uri_kinds[URI_KINDS];

/* Takes a URI apart; false: the URI names no readable resource. */
bool uri_read(struct uri *uri, const char *text);
/* The operation that reads the resource, and its arguments, the caller's to free. */
const struct op *uri_op(const struct uri *uri, json_t **args);

#endif
