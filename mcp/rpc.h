/*
 * rpc - JSON-RPC 2.0 as MCP uses it: lines in, messages out.
 *
 * A message is one line of UTF-8.  A reader of lines has a bound: a longer line is
 * skipped up to its newline and reported as LINE_TOO_LONG.  So a broken peer costs no
 * memory, and the next line is read as usual.  An id is a text or a
 * whole number; it goes back as it came, so it is kept as JSON text.
 */
#ifndef MCP_RPC_H
#define MCP_RPC_H

#include "core/op/op.h"

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_NO_METHOD = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_NO_RESOURCE = -32002, /* legacy only */
	RPC_HEADER = -32020, /* modern only, and the next */
	RPC_NO_CAPABILITY = -32021,
	RPC_NO_VERSION = -32022,
};

enum rpc_kind {
	RPC_REQUEST,
	RPC_NOTIFICATION,
	RPC_ANSWER, /* to something that we asked; we never ask */
	RPC_BROKEN, /* code and why say how */
};

/* A message taken apart; everything is borrowed from its JSON. */
struct rpc {
	enum rpc_kind kind;
	const char *method;
	json_t *id; /* NULL: none, or not a valid id */
	json_t *params; /* an object, or NULL */
	enum rpc_code code;
	const char *why;
};

/* Takes a message apart; a bad one is RPC_BROKEN. */
void rpc_read(struct rpc *rpc, json_t *message);

/* Whether `v` is what an id or a progress token may be. */
bool rpc_is_id(const json_t *v);
/* Appends an id that rpc_is_id(). */
void rpc_add_id(struct text *out, const json_t *id);

/* Appends the id of a line that is no JSON, such as one with half an emoji in a text: the
 * first "id" of the object that the line begins.  Appends nothing if no id is found. */
void rpc_find_id(struct text *out, const char *line, size_t len);

/* Appends a whole error message without its newline; `id` is JSON text or NULL, `data`
 * JSON text or NULL. */
void rpc_add_error(struct text *out, const char *id, int code, const char *why,
		   const char *data);

/* Appends a text that ends with a NUL. */
void text_adds(struct text *t, const char *s);

/* --- lines --------------------------------------------------------------- */

enum { LINE_MAX_BYTES = 8 << 20 };

struct lines {
	char *data;
	size_t from, len, room; /* data[from..len) is not handed out yet */
	size_t seen; /* bytes behind from that hold no newline */
	uint64_t total; /* bytes read in all */
	uint64_t at; /* of those, before the line that was handed out last */
	bool skipping; /* in the middle of a line that is too long */
	bool ended;
};

enum line { LINE_NONE, LINE_TAKEN, LINE_TOO_LONG };

/* Reads once from `fd`: false on a broken descriptor.  Sets ended at the end
 * of input; a rest without a newline is a line, too. */
bool lines_read(struct lines *l, int fd);
/* The next line, NUL-terminated, borrowed until the next lines_read(). */
enum line lines_next(struct lines *l, char **line, size_t *len);
void lines_release(struct lines *l);

#endif
