/*
 * wire - the messages of host and guest as structs.
 *
 * A message is a JSON object whose `type` names a row of wire_table[]; the struct is `struct
 * wire_NAME` of ops.gen.h. Unknown fields are ignored, and null counts as absent. U+0000 and
 * invalid UTF-8 are faults. An answer repeats the `id` of its request unchanged. A peer that
 * sent no Hello speaks the older dialect, which has fewer error codes. This file uses no
 * sockets.
 */
#ifndef CORE_WIRE_WIRE_H
#define CORE_WIRE_WIRE_H

#include <jansson.h>

#include "core/op/op.h"

enum { WIRE_CONTROL = 1, WIRE_RELAY = 2 }; /* bits of wire.ports */
enum { WIRE_ID_MAX = 256 }; /* most bytes of an id in JSON: an answer has room for them */

/* A received message. */
struct packet {
	json_t *json; /* owned */
	const char *type; /* the `type` field; NULL if absent */
	const json_t *id; /* the `id` in `json`; NULL if absent */
	const struct wire *wire; /* NULL for an unknown type */
	/* Set by packet_take(): the bytes of a file, which are in `body` and not in `json`. */
	char *body; /* owned */
	const char *lifted, *key; /* file text and its field; NULL: no file text */
};

/* Reads a frame's body into `p`. The caller releases `p`, also after a fault. After a fault,
 * p->id is set if the id could be read. An id that is too long to be repeated is a fault and is
 * not set. */
int packet_read(struct packet *p, const char *body, size_t size, struct fault *f);
/* As packet_read(), for a whole frame in a reader. The bytes of a file skip the JSON parser,
 * which would take most of the time. packet_decode() puts these bytes into the struct. */
struct frame_reader;
int packet_take(struct packet *p, struct frame_reader *r, struct fault *f);
/* Frees the contents of the packet and zeroes the packet. */
void packet_release(struct packet *p);

/* Whether the id, a number or a text, equals `text` when the id is written as text. */
bool wire_id_is(const json_t *id, const char *text);

/* Whether the message had this field, even if empty; null is absent. */
bool packet_has(const struct packet *p, const char *field);

/* Checks that `sender` may send this request on `port` (a WIRE_ bit). Returns 0 or a fault,
 * which names the right sender or port. A message that is an answer is a fault, too. */
int packet_belongs(const struct packet *p, enum side sender, unsigned port,
		   struct fault *f);

/* Fills `dst`, the zeroed struct of a message (`struct wire_NAME *`); texts are
 * borrowed. A message of another type is a fault, so a message is never decoded into a wrong
 * struct. The caller must include ops.gen.h. */
#define packet_decode(p, dst, a, f) packet_decode_as(p, wire_record_of(dst), dst, a, f)
/* As packet_decode(), for a type that is known only at run time: `dst` has as->size bytes. */
int packet_decode_as(struct packet *p, const struct record *as, void *dst,
		     struct arena *a, struct fault *f);

/* Appends a whole frame. `src` is the type's struct, or NULL for a type without fields; `id`
 * may be NULL. A message that does not fit a frame is a fault; `out` is then unchanged. */
int wire_write(struct text *out, const char *type, const void *src, const json_t *id,
	       struct fault *f);

/* Appends an Error frame. `old`: the peer sent no Hello. */
void wire_write_fault(struct text *out, const struct fault *why, bool old,
		      const json_t *id);

/* Fills a fault from an Error message; returns the fault's code. */
struct wire_error;
int wire_fault(const struct wire_error *e, struct fault *f);
/* Fills a fault from the JSON of the host's Error. The texts of the Error are taken unchecked. */
void wire_read_fault(const json_t *error, struct fault *f);

#endif
