/*
 * rpc - reads lines, and takes JSON-RPC 2.0 messages of MCP apart.
 *
 * A message is one line of UTF-8. The length of a line is limited. A line that is longer than
 * the limit is skipped up to its newline and reported as LINE_TOO_LONG. The limit keeps a
 * faulty peer from filling the memory. The line after a skipped line is read as usual. An id is
 * a text or a whole number. The answer repeats the id unchanged, so the id is kept as JSON
 * text.
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
	RPC_NO_RESOURCE = -32002, /* only legacy peers get this code */
	RPC_HEADER = -32020, /* only modern peers get this code and the next two */
	RPC_NO_CAPABILITY = -32021,
	RPC_NO_VERSION = -32022,
};

enum rpc_kind {
	RPC_REQUEST,
	RPC_NOTIFICATION,
	RPC_ANSWER, /* the client's answer to a request of the server */
	RPC_BROKEN, /* `code` and `why` name the error */
};

/* The parts of a message, all borrowed from the message's JSON. */
struct rpc {
	enum rpc_kind kind;
	const char *method;
	json_t *id; /* NULL: the message has no valid id */
	json_t *params; /* a JSON object, or NULL */
	enum rpc_code code;
	const char *why;
};

/* Reads the parts of a message. An invalid message gets the kind RPC_BROKEN. */
void rpc_read(struct rpc *rpc, json_t *message);

/* Whether `v` is valid as an id or as a progress token. */
bool rpc_is_id(const json_t *v);
/* Appends an id, for which rpc_is_id() must be true. */
void rpc_add_id(struct text *out, const json_t *id);

/* Appends the id of a line that is not valid JSON, for example because a text has an invalid
 * character. The id is the value of the first member "id" in the object at the start of the
 * line. If no id is found, appends nothing. */
void rpc_find_id(struct text *out, const char *line, size_t len);

/* Appends a whole error message without a newline at the end. `id` is JSON text or NULL. `data`
 * is JSON text or NULL. */
void rpc_add_error(struct text *out, const char *id, int code, const char *why,
		   const char *data);

/* Appends the text `s`, which ends with a NUL. */
void text_adds(struct text *t, const char *s);

/* --- lines --------------------------------------------------------------- */

enum { LINE_MAX_BYTES = 8 << 20 };

struct lines {
	char *data;
	size_t from, len, room; /* the bytes data[from..len) are not yet returned */
	size_t seen; /* bytes after `from` that contain no newline */
	uint64_t total; /* number of all bytes read so far */
	uint64_t at; /* number of bytes before the line returned last */
	bool skipping; /* the rest of a too long line is being skipped */
	bool ended;
};

enum line { LINE_NONE, LINE_TAKEN, LINE_TOO_LONG };

/* Reads once from `fd`. Returns false if read() fails. Sets l->ended at the end of the input. A
 * last line without a newline counts as a line, too. */
bool lines_read(struct lines *l, int fd);
/* Sets `*line` to the next line, which ends with a NUL. The text is valid until the next
 * lines_read(). */
enum line lines_next(struct lines *l, char **line, size_t *len);
void lines_release(struct lines *l);

#endif
