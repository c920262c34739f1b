/*
 * wire - the messages of host and guest as structs.
 *
 * A message is a JSON object whose `type` names a row of wire_table[]; the
 * struct is `struct wire_NAME` of ops.gen.h.  Unknown fields pass, null is
 * absent, U+0000 and invalid UTF-8 are faults.  `id` is echoed as it came.
 * A peer that said no Hello speaks the older dialect, which knows fewer error
 * codes.  No sockets here.
 */
#ifndef CORE_WIRE_WIRE_H
#define CORE_WIRE_WIRE_H

#include <jansson.h>

#include "core/op/op.h"

enum { WIRE_CONTROL = 1, WIRE_RELAY = 2 }; /* bits of wire.ports */
enum { WIRE_ID_MAX = 256 }; /* bytes of JSON of an id: an answer has room for it */

/* A received message. */
struct packet {
	json_t *json; /* owned */
	const char *type; /* its tag; NULL if there was none */
	const json_t *id; /* of json; NULL if there was none */
	const struct wire *wire; /* NULL for an unknown type */
	/* Set by packet_take(): the bytes of a file, in `body` and not in `json`. */
	char *body; /* owned */
	const char *lifted, *key; /* NULL: none */
};

/* Reads a frame's body into `p`, to be released also after a fault.  On a fault, id is
 * set if it could be read; an id too long to be repeated is a fault and not set. */
int packet_read(struct packet *p, const char *body, size_t size, struct fault *f);
/* packet_read() for a frame that a reader has whole.  The bytes of a file do not go
 * through the parser, which would take most of the time: they are set by
 * packet_decode(). */
struct frame_reader;
int packet_take(struct packet *p, struct frame_reader *r, struct fault *f);
/* Frees the contents of the packet and zeroes the packet. */
void packet_release(struct packet *p);

/* Whether the id, a number or a text, is `text` when it is written down. */
bool wire_id_is(const json_t *id, const char *text);

/* Whether the message had this field, even if empty; null is absent. */
bool packet_has(const struct packet *p, const char *field);

/* Checks that `sender` may send this request on `port` (a WIRE_ bit): 0 or a fault, which
 * says where it belongs.  An answer is a fault, too. */
int packet_belongs(const struct packet *p, enum side sender, unsigned port,
		   struct fault *f);

/* Fills `dst`, the zeroed struct of a message (`struct wire_NAME *`); texts are
 * borrowed.  A message of another type is a fault: its record can never be written
 * into this struct.  For users of ops.gen.h. */
#define packet_decode(p, dst, a, f) packet_decode_as(p, wire_record_of(dst), dst, a, f)
/* packet_decode() for a type that is known at run time: `dst` has as->size bytes. */
int packet_decode_as(struct packet *p, const struct record *as, void *dst,
		     struct arena *a, struct fault *f);

/* Appends a whole frame.  `src` is the type's struct, or NULL for a type without fields;
 * `id` may be NULL.  A message that does not fit a frame is a fault and leaves `out` as
 * it was. */
int wire_write(struct text *out, const char *type, const void *src, const json_t *id,
	       struct fault *f);

/* Appends an Error frame.  `old`: the peer said no Hello. */
void wire_write_fault(struct text *out, const struct fault *why, bool old,
		      const json_t *id);

/* Fills a fault from an Error message; returns the fault's code. */
struct wire_error;
int wire_fault(const struct wire_error *e, struct fault *f);
/* Fills a fault from the JSON of the host's Error, whose words are believed. */
void wire_read_fault(const json_t *error, struct fault *f);

#endif
