/*
 * Bytes from the wire: whatever comes, the reader faults or waits, and a
 * message decodes or faults; what decoded can be written again.
 */
#include <stdint.h>
#include <stdlib.h>

#include "core/wire/frame.h"
#include "core/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_message(const char *body, size_t size)
{
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct text out = { 0 };
	struct packet p;

	if (packet_read(&p, body, size, &f) == 0 && p.wire) {
		void *dst = arena_alloc(&a, p.wire->record->size + 1);

		packet_belongs(&p, SIDE_HOST, WIRE_CONTROL, &f);
		f = (struct fault){ 0 };
		if (packet_decode(&p, dst, &a, &f) == 0)
			wire_write(&out, p.type, dst, p.id, &f);
	}
	if (f.code)
		wire_write_fault(&out, &f, true, p.id);
	packet_release(&p);
	text_release(&out);
	arena_release(&a);
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
			try_message(r.body, r.size);
		at += used;
	}
	frame_finish(&r, &f);
	frame_release(&r);
	/* Most noise is no frame: the same bytes as a message, too. */
	try_message((const char *)data, size);
	return 0;
}
