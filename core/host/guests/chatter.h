/*
 * chatter - a guest's messages that nobody asked for, bounded.
 *
 * Heartbeats, answers to nothing, and requests that are refused cost the host a
 * little each and bring the guest nothing.  A guest that sends them without a pause
 * is not read from until what counts of them is paid off at CHATTER_SECOND.  Answers that
 * were asked for and requests that are taken cost nothing here.
 */
#ifndef CORE_HOST_GUESTS_CHATTER_H
#define CORE_HOST_GUESTS_CHATTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CHATTER_FRAME = 1 << 10, /* added to a frame's own bytes */
	CHATTER_SECOND = 1000 << 10, /* bytes that may be heard in a second */
};

/* Counts how much one connection sends; begins zeroed. */
struct chatter {
	int64_t bytes; /* heard, less what the time since was worth */
	int64_t at; /* when that was counted */
};

/* Counts a frame of `size` bytes that was heard. */
void chatter_note(struct chatter *c, size_t size, int64_t now);

/* Whether more was heard than the time allows: do not read. */
bool chatter_waits(struct chatter *c, int64_t now);

#endif
