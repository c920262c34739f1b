/*
 * wire - reads and writes the messages of host and guest as structs.
 *
 * A message is a JSON object whose `type` names a row of wire_table[]. The message's struct is
 * `struct wire_NAME` of ops.gen.h. Unknown fields are ignored, and null counts as absent.
 * U+0000 and invalid UTF-8 are faults. An answer repeats the `id` of its request unchanged. A
 * peer that sent no Hello speaks the older dialect, which has fewer error codes. This file uses
 * no sockets.
 */
#ifndef CORE_WIRE_WIRE_H
#define CORE_WIRE_WIRE_H

#include <jansson.h>

#include "core/op/op.h"

enum { WIRE_CONTROL = 1, WIRE_RELAY = 2 }; /* bits of wire.ports */
enum { WIRE_ID_MAX = 256 }; /* maximum number of bytes of an id in JSON */

/* A received message. */
struct packet {
	json_t *json; /* owned */
	const char *type; /* field `type`, or NULL if the message has no type */
	const json_t *id; /* field `id` in `json`, or NULL if the message has no id */
	const struct wire *wire; /* NULL for an unknown type */
	/* packet_take() stores the bytes of a file here; `json` does not contain these bytes. */
	char *body; /* owned */
	/* The text of a file and the name of the text's field, or NULL without a file. */
	const char *lifted, *key;
};

/* Reads a frame's body into `p`. The caller releases `p`, also after a fault. After a fault,
 * p->id is set if the id could be read. If the id is longer than WIRE_ID_MAX, the function
 * fails, and p->id stays NULL. */
int packet_read(struct packet *p, const char *body, size_t size, struct fault *f);
/* Like packet_read(), for a whole frame in a reader. The JSON parser does not read the bytes of
 * a file, since parsing these bytes would take most of the time. packet_decode() later sets the
 * field of the message's struct to the bytes of the file. */
struct frame_reader;
int packet_take(struct packet *p, struct frame_reader *r, struct fault *f);
/* Frees the contents of the packet and zeroes the packet. */
void packet_release(struct packet *p);

/* Whether the id equals `text`. An id that is a number is compared in decimal digits. */
bool wire_id_is(const json_t *id, const char *text);

/* Whether the message had this field, even with an empty value; a field that is null counts as
 * absent. */
bool packet_has(const struct packet *p, const char *field);

/* Checks that `sender` may send this request on `port` (a WIRE_ bit). Returns 0, or a fault
 * whose text names the right sender or port. An answer is not a request, so an answer is a
 * fault, too. */
int packet_belongs(const struct packet *p, enum side sender, unsigned port,
		   struct fault *f);

/* Fills `dst`, the zeroed struct of a message (`struct wire_NAME *`); the struct's texts point
 * into the packet. If the message has another type than the struct, the result is a fault, so
 * no message is decoded into a wrong struct. The caller must include ops.gen.h. */
#define packet_decode(p, dst, a, f) packet_decode_as(p, wire_record_of(dst), dst, a, f)
/* Like packet_decode(), for a type that is known only at run time. `dst` has as->size bytes. */
int packet_decode_as(struct packet *p, const struct record *as, void *dst,
		     struct arena *a, struct fault *f);

/* Appends a whole frame. `src` is the type's struct, or NULL for a type without fields. `id`
 * may be NULL. If the message does not fit a frame, the function fails and leaves `out`
 * unchanged. */
int wire_write(struct text *out, const char *type, const void *src, const json_t *id,
	       struct fault *f);

/* Appends an Error frame. `old` means that the peer sent no Hello. */
void wire_write_fault(struct text *out, const struct fault *why, bool old,
		      const json_t *id);

/* Fills a fault from an Error message, and returns the fault's code. */
struct wire_error;
int wire_fault(const struct wire_error *e, struct fault *f);
/* Fills a fault from the JSON of the host's Error. The function does not check the texts of the
 * Error. */
void wire_read_fault(const json_t *error, struct fault *f);

#endif
