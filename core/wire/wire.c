#include "core/wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/op/op.h"
#include "core/wire/frame.h"
#include "ops.gen.h"

/*
 * lift - finds the bytes of a file in a message without parsing the message.
 *
 * A file's bytes are a long text without escapes in the message's field `content` or `data`. A
 * message without a long text is no fault, and is parsed as a whole.
 */

enum { LIFT_LEAST = 32 << 10 };

struct lift {
	const char *key;
	size_t at, len; /* offset and length of the text without quotes */
};

static const char *const keys[] = { "content", "data" };

/* Returns the offset of the closing quote of the text that begins at `at`, or `size` if there
 * is no closing quote. */
static size_t end_of_text(const char *body, size_t at, size_t size)
{
	while (at < size) {
		const char *quote = memchr(body + at, '"', size - at);
		size_t end = quote ? (size_t)(quote - body) : size, escapes = 0;

		while (end - escapes > at && body[end - escapes - 1] == '\\')
			escapes++;
		if (escapes % 2 == 0)
			return end;
		at = end + 1;
	}
	return size;
}

static const char *known_key(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strlen(keys[i]) == len && memcmp(keys[i], text, len) == 0)
			return keys[i];
	return NULL;
}

/* Returns false if a JSON text has an escape or a NUL. Other bytes that are not base64 are not
 * checked here, since the base64 decoder finds them later. */
static bool lift_is_plain(const char *s, size_t len)
{
	return !memchr(s, '\\', len) && !memchr(s, '\0', len);
}

/* Finds the text of a file in the `size` bytes of a message. Returns false if the message must
 * be parsed as a whole. */
static bool lift_find(struct lift *l, const char *body, size_t size)
{
	const char *key = NULL;
	int depth = 0;

	if (size < LIFT_LEAST)
		return false;
	for (size_t at = 0; at < size; at++) {
		char c = body[at];
		size_t end;

		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		if (c == ',')
			key = NULL;
		if (c != '"')
			continue;
		end = end_of_text(body, ++at, size);
		if (end == size)
			return false;
		if (depth == 1 && key && end - at >= LIFT_LEAST) {
			*l = (struct lift){ key, at, end - at };
			return lift_is_plain(body + at, end - at);
		}
		key = depth == 1 ? known_key(body + at, end - at) : NULL;
		at = end;
	}
	return false;
}

/* Appends the message to `rest`, with an empty text in place of the file's text. */
static void lift_rest(const struct lift *l, const char *body, size_t size,
		      struct text *rest)
{
	size_t behind = l->at + l->len;

	text_add(rest, body, l->at);
	text_add(rest, body + behind, size - behind);
}

enum { RETRY_MOST_MS = 3600000 }; /* a longer retry_after_ms is ignored */

/* --- in --------------------------------------------------------------------- */

/* Fills the fault with the reason why jansson refused a body. A message must be I-JSON (RFC
 * 7493). A message with a number or a text that cannot be represented is refused as a whole. */
static int not_read(const json_error_t *error, struct fault *f)
{
	if (json_error_code(error) == json_error_numeric_overflow)
		return fault_set(f, FAULT_INVALID, "", "a number beyond 64 bits: %s",
				 error->text);
	return fault_set(f, FAULT_INVALID, "", "not JSON: %s", error->text);
}

/* Whether an id is at most WIRE_ID_MAX bytes of JSON. Numbers and short texts need no
 * measurement. For other ids, the function measures the length of the JSON. */
static bool is_short(const json_t *id)
{
	if (json_is_string(id) && json_string_length(id) <= WIRE_ID_MAX / 6 - 1)
		return true;
	if (json_is_number(id) || json_is_boolean(id))
		return true;
	return json_dumpb(id, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) <= WIRE_ID_MAX;
}

int packet_read(struct packet *p, const char *body, size_t size, struct fault *f)
{
	json_error_t error;
	const json_t *tag;

	*p = (struct packet){ 0 };
	/* U+0000 is accepted here and refused later, so that the answer can contain the id of
	 * the refused message. */
	p->json = json_take(body, size, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
	if (!p->json)
		return not_read(&error, f);
	if (!json_is_object(p->json))
		return fault_set(f, FAULT_INVALID, "", "not a JSON object");
	p->id = json_object_get(p->json, "id");
	if (json_is_null(p->id))
		p->id = NULL;
	if (p->id && !is_short(p->id)) {
		p->id = NULL;
		return fault_set(f, FAULT_INVALID, "/id",
				 "an id takes at most %d bytes of JSON", WIRE_ID_MAX);
	}
	tag = json_object_get(p->json, "type");
	if (!json_is_string(tag))
		return fault_set(f, FAULT_INVALID, "/type", "a message must have a type");
	p->type = json_string_value(tag);
	p->wire = wire_find(p->type);
	return 0;
}

int packet_take(struct packet *p, struct frame_reader *r, struct fault *f)
{
	struct lift lift;
	struct text rest = { 0 };
	struct fault ignored = { 0 };
	char *body;

	if (!lift_find(&lift, r->body, r->size))
		return packet_read(p, r->body, r->size, f);
	lift_rest(&lift, r->body, r->size, &rest);
	packet_read(p, rest.data, rest.len, &ignored);
	text_release(&rest);
	if (!p->wire || strncmp(p->wire->name, "File", 4) != 0) {
		packet_release(p);
		return packet_read(p, r->body, r->size, f);
	}
	p->body = body = frame_take(r);
	body[lift.at + lift.len] = '\0'; /* overwrites the quote after the text */
	p->lifted = body + lift.at;
	p->key = lift.key;
	return 0;
}

void packet_release(struct packet *p)
{
	free(p->body);
	json_decref(p->json);
	*p = (struct packet){ 0 };
}

bool wire_id_is(const json_t *id, const char *text)
{
	char number[24];

	if (json_is_string(id))
		return strcmp(json_string_value(id), text) == 0;
	snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(id));
	return json_is_integer(id) && strcmp(number, text) == 0;
}

bool packet_has(const struct packet *p, const char *field)
{
	const json_t *v = json_object_get(p->json, field);

	return v && !json_is_null(v);
}

static const char *port_name(unsigned ports)
{
	return ports == WIRE_CONTROL ? "5000"
	       : ports == WIRE_RELAY ? "5001"
				     : "5000 and 5001";
}

int packet_belongs(const struct packet *p, enum side sender, unsigned port,
		   struct fault *f)
{
	const struct wire *w = p->wire;

	if (!w)
		return fault_set(f, FAULT_INVALID, "/type", "unknown type %.64s",
				 p->type);
	if (w->ports == 0)
		return fault_set(f, FAULT_INVALID, "/type",
				 "%s is an answer, not a request", w->name);
	if (!(w->senders & sender))
		return fault_set(f, FAULT_INVALID, "/type", "%s goes from %s, on port %s",
				 w->name,
				 sender == SIDE_HOST ? "guest to host" : "host to guest",
				 port_name(w->ports));
	if (!(w->ports & port))
		return fault_set(f, FAULT_INVALID, "/type", "%s belongs on port %s",
				 w->name, port_name(w->ports));
	return 0;
}

int packet_decode_as(struct packet *p, const struct record *as, void *dst,
		     struct arena *a, struct fault *f)
{
	const struct field *fd;
	int rc;

	if (!p->wire || p->wire->record != as)
		return fault_set(f, FAULT_INVALID, "/type", "a %.64s, not a %s",
				 p->type ? p->type : "message without a type", as->name);
	rc = op_decode(as, p->json, dst, DECODE_LENIENT, a, f);
	if (rc || !p->lifted)
		return rc;
	fd = field_find(as, p->key);
	if (fd && fd->type->kind == KIND_TEXT)
		memcpy((char *)dst + fd->at, &p->lifted, sizeof(p->lifted));
	return 0;
}

/* --- out -------------------------------------------------------------------- */

static void wire_add_id(struct text *out, const json_t *id)
{
	char *s = id ? json_dumps(id, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	if (s)
		text_addf(out, ",\"id\":%s", s);
	free(s);
}

int wire_write(struct text *out, const char *type, const void *src, const json_t *id,
	       struct fault *f)
{
	size_t start = frame_open(out), fields;

	text_addf(out, "{\"type\":\"%s\"", type);
	wire_add_id(out, id);
	fields = out->len;
	if (src) {
		op_encode(wire_find(type)->record, src, out);
		if (out->data[fields + 1] == '}')
			out->len = fields;
		else
			out->data[fields] = ',';
	}
	if (!src || out->len == fields)
		text_add(out, "}", 1);
	return frame_close(out, start, f);
}

/* The name of a fault code. The older dialect has no names for the four codes below. For these
 * codes, the older dialect uses the name Internal if the call may succeed later, or
 * InvalidRequest if the caller must change the call. */
static const char *code_name(enum fault_code code, bool old)
{
	if (old && (code == FAULT_CONFLICT || code == FAULT_EXHAUSTED))
		code = FAULT_INVALID;
	if (old && (code == FAULT_RATE_LIMITED || code == FAULT_UNAVAILABLE))
		code = FAULT_INTERNAL;
	return fault_info(code)->wire;
}

void wire_write_fault(struct text *out, const struct fault *why, bool old,
		      const json_t *id)
{
	struct wire_error e = {
		.code = code_name(why->code, old),
		.message = why->text,
		.where = why->where[0] ? why->where : NULL,
		.hint = why->hint[0] ? why->hint : NULL,
		.retry_after_ms = why->retry_after_ms,
		.has_retry_after_ms = why->retry_after_ms != 0,
		.available = why->available[0] ? why->available : NULL,
	};
	struct fault f = { 0 };

	/* An Error fits a frame unless the id is very long. A very long id is left out of the
	 * Error. */
	if (wire_write(out, "Error", &e, id, &f))
		wire_write(out, "Error", &e, NULL, &f);
}

int wire_fault(const struct wire_error *e, struct fault *f)
{
	enum fault_code code = fault_named(e->code);

	fault_set(f, code, e->where ? e->where : "", "%s", e->message);
	if (e->hint)
		fault_hint(f, "%s", e->hint);
	if (e->has_retry_after_ms && e->retry_after_ms > 0 &&
	    e->retry_after_ms <= RETRY_MOST_MS)
		f->retry_after_ms = e->retry_after_ms;
	if (e->available)
		snprintf(f->available, sizeof(f->available), "%s", e->available);
	return code;
}

void wire_read_fault(const json_t *error, struct fault *f)
{
	const char *text = json_find_text(error, "message");

	fault_set(f, fault_named(json_text_at(error, "code")),
		  json_text_at(error, "where"), "%s",
		  text ? text : "the host refuses it");
	if (*json_text_at(error, "hint"))
		fault_hint(f, "%s", json_text_at(error, "hint"));
	f->retry_after_ms = json_int_at(error, "retry_after_ms");
	snprintf(f->available, sizeof(f->available), "%s",
		 json_text_at(error, "available"));
}
