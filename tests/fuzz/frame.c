/*
 * frame - reads any bytes as frames between a host and its guests, in both directions. For any
 * bytes the reader returns a frame, fails, or waits for more bytes. The decoding of a message
 * succeeds or fails, and a decoded message can be written again.
 */
#include <stdint.h>
#include <stdlib.h>

#include "core/wire/frame.h"
#include "core/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Handles a message as both the host and a guest do. */
static void try_packet(struct packet *p, struct fault *why)
{
	static const unsigned ports[] = { WIRE_CONTROL, WIRE_RELAY };
	struct arena a = { 0 };
	struct fault f = *why;
	struct text out = { 0 };

	for (int i = 0; i < 4 && !why->code; i++) {
		struct fault elsewhere = { 0 };

		if (packet_belongs(p, i & 1 ? SIDE_HOST : SIDE_GUEST, ports[i >> 1],
				   &elsewhere))
			wire_write_fault(&out, &elsewhere, i & 1, p->id);
	}
	if (p->wire && !f.code) {
		void *dst = arena_alloc(&a, p->wire->record->size + 1);

		if (packet_decode_as(p, p->wire->record, dst, &a, &f) == 0)
			wire_write(&out, p->type, dst, p->id, &f);
	}
	if (f.code)
		wire_write_fault(&out, &f, true, p->id);
	text_release(&out);
	arena_release(&a);
}

static void try_message(const char *body, size_t size)
{
	struct fault f = { 0 };
	struct packet p;

	packet_read(&p, body, size, &f);
	try_packet(&p, &f);
	packet_release(&p);
}

/* Reads the same frame twice. The first read takes all fields from the JSON. The second read
 * uses packet_take(), which moves file contents out of the frame and takes over the frame's
 * memory. */
static void try_frame(struct frame_reader *r)
{
	struct fault f = { 0 };
	struct packet p;

	try_message(r->body, r->size);
	packet_take(&p, r, &f);
	try_packet(&p, &f);
	packet_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t step = size ? 1 + data[0] % 7u : 1, at = 0;
	struct frame_reader r = { 0 };
	struct fault f = { 0 };
	size_t used;

	while (at < size && !f.code) {
		size_t n = size - at < step ? size - at : step;

		if (frame_read(&r, (const char *)data + at, n, &used, &f) > 0)
			try_frame(&r);
		at += used;
	}
	frame_release(&r);
	/* Most random bytes are no frame, so the test also reads the bytes as a message. */
	try_message((const char *)data, size);
	return 0;
}
