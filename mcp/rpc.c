#include "mcp/rpc.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WHOLE_MOST 9007199254740992.0 /* 2^53 */

void text_adds(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

/* Whether a real number is whole. Some clients write each number with a decimal point, so 1.0
 * means 1. */
static bool rpc_is_whole(const json_t *v)
{
	const double x = json_real_value(v);

	return json_is_real(v) && x >= -WHOLE_MOST && x <= WHOLE_MOST &&
	       x == (double)(long long)x;
}

bool rpc_is_id(const json_t *v)
{
	return json_is_string(v) || json_is_integer(v) || rpc_is_whole(v);
}

static void rpc_broken(struct rpc *rpc, enum rpc_code code, const char *why)
{
	rpc->kind = RPC_BROKEN;
	rpc->code = code;
	rpc->why = why;
}

static void read_id(struct rpc *rpc, json_t *id)
{
	if (rpc_is_id(id))
		rpc->id = id;
	else
		rpc_broken(rpc, RPC_INVALID_REQUEST,
			   "`id` is neither a string nor an integer");
}

/* Reads the params. Invalid params are an error only in a request, because a notification gets
 * no answer, not even if it is malformed. */
static void read_params(struct rpc *rpc, json_t *params)
{
	if (json_is_object(params))
		rpc->params = params;
	else if (rpc->kind == RPC_REQUEST)
		rpc_broken(rpc, RPC_INVALID_PARAMS, "`params` is not an object");
}

void rpc_read(struct rpc *rpc, json_t *message)
{
	json_t *id = json_object_get(message, "id");
	/* Some clients write null for absent params. */
	json_t *said = json_object_get(message, "params"),
	       *params = json_is_null(said) ? NULL : said;
	const char *version = json_find_text(message, "jsonrpc");

	*rpc = (struct rpc){ .kind = id ? RPC_REQUEST : RPC_NOTIFICATION };
	rpc->method = json_find_text(message, "method");
	if (id)
		read_id(rpc, id);
	if (rpc->kind == RPC_BROKEN)
		return;
	if (!json_is_object(message) || !version || strcmp(version, "2.0") != 0)
		rpc_broken(rpc, RPC_INVALID_REQUEST, "not a JSON-RPC 2.0 message");
	else if (rpc->method && params)
		read_params(rpc, params);
	else if (!rpc->method && (json_object_get(message, "result") ||
				  json_object_get(message, "error")))
		rpc->kind = RPC_ANSWER;
	else if (!rpc->method)
		rpc_broken(rpc, RPC_INVALID_REQUEST, "method is missing");
}

void rpc_add_id(struct text *out, const json_t *id)
{
	assert(rpc_is_id(id));
	if (json_is_integer(id))
		text_addf(out, "%lld", (long long)json_integer_value(id));
	else if (json_is_real(id))
		text_addf(out, "%lld", (long long)json_real_value(id));
	else
		text_add_json(out, json_string_value(id));
}

/* Returns a pointer behind the closing quote of the JSON string at `at`, or `end` if the string
 * is not closed. */
static const char *rpc_string_end(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		at += *at == '\\' && at + 1 < end;
	return at < end ? at + 1 : end;
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

/* Returns the start of the value of the member "id" in the outermost object, or NULL. To find
 * the member, looks only at strings, brackets and commas. */
static const char *id_begins(const char *at, const char *end)
{
	const char *next;
	int depth = 0;

	for (bool key = false; at < end; at = next) {
		next = *at == '"' ? rpc_string_end(at, end) : at + 1;
		depth += *at == '{' || *at == '[';
		depth -= *at == '}' || *at == ']';
		if (depth == 1 && key && next - at == 4 && memcmp(at, "\"id\"", 4) == 0) {
			next = skip_blanks(next, end);
			return next < end && *next == ':' ? skip_blanks(next + 1, end)
							  : NULL;
		}
		if (*at != ' ' && *at != '\t')
			key = *at == '{' || *at == ',';
	}
	return NULL;
}

void rpc_find_id(struct text *out, const char *line, size_t len)
{
	const char *end = line + len, *at = skip_blanks(line, end), *behind;
	json_t *id;

	if (at == end || *at != '{' || !(at = id_begins(at, end)) || at == end)
		return;
	behind = *at == '"' ? rpc_string_end(at, end) : at;
	while (behind < end && !strchr(",} \t", *behind))
		behind++;
	if (behind == end)
		return; /* the id may be incomplete */
	id = json_loadb(at, (size_t)(behind - at), JSON_DECODE_ANY, NULL);
	if (rpc_is_id(id))
		rpc_add_id(out, id);
	json_decref(id);
}

void rpc_add_error(struct text *out, const char *id, int code, const char *why,
		   const char *data)
{
	text_adds(out, "{\"jsonrpc\":\"2.0\",");
	if (id)
		text_addf(out, "\"id\":%s,", id);
	text_addf(out, "\"error\":{\"code\":%d,\"message\":", code);
	text_add_json(out, why);
	if (data)
		text_addf(out, ",\"data\":%s", data);
	text_adds(out, "}}");
}

/* --- lines --------------------------------------------------------------- */

/* Makes room in the buffer for one more read(), and for a NUL after the bytes. */
static bool rpc_make_room(struct lines *l)
{
	size_t room = l->room ? l->room : 64 << 10;
	char *data;

	if (l->from) {
		memmove(l->data, l->data + l->from, l->len - l->from);
		l->len -= l->from;
		l->from = 0;
	}
	while (room - l->len < 4096)
		room *= 2;
	if (room == l->room)
		return true;
	data = realloc(l->data, room);
	if (!data)
		return false;
	l->data = data;
	l->room = room;
	return true;
}

bool lines_read(struct lines *l, int fd)
{
	ssize_t n;

	if (!rpc_make_room(l))
		return false;
	do
		n = read(fd, l->data + l->len, l->room - l->len - 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN;
	if (n == 0)
		l->ended = true;
	l->len += (size_t)n;
	l->total += (size_t)n;
	return true;
}

/* Finds the next newline. At the end of the input, the end of the data counts as a newline. */
static char *rpc_find_end(const struct lines *l)
{
	char *from = l->data + l->from + l->seen;
	char *end = l->data + l->len;
	char *newline = from < end ? memchr(from, '\n', (size_t)(end - from)) : NULL;

	return newline || !l->ended || l->from == l->len ? newline : end;
}

enum line lines_next(struct lines *l, char **line, size_t *len)
{
	while (l->data) {
		char *end = rpc_find_end(l), *start = l->data + l->from;
		bool skipped = l->skipping;

		if (!end) {
			l->seen = l->len - l->from;
			if (l->seen <= LINE_MAX_BYTES && !l->skipping)
				return LINE_NONE;
			l->skipping = true;
			l->from = l->len;
			l->seen = 0;
			return LINE_NONE;
		}
		l->from += (size_t)(end - start) + (end < l->data + l->len);
		l->seen = 0;
		l->skipping = false;
		l->at = l->total - (size_t)(l->data + l->len - start);
		*line = start;
		*len = (size_t)(end - start);
		*end = '\0';
		if (skipped || *len > LINE_MAX_BYTES)
			return LINE_TOO_LONG;
		if (strspn(start, " \t\r") != *len)
			return LINE_TAKEN;
	}
	return LINE_NONE;
}

void lines_release(struct lines *l)
{
	free(l->data);
	*l = (struct lines){ 0 };
}
