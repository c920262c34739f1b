/*
 * space - how much an answer may hold, as JSON.
 *
 * Every door sends an answer in one frame of at most 4 MiB, and a caller may allow less
 * (call->form).  So an operation decides inside its transaction which items to hand out,
 * by their size as JSON.  Whole items go out as far as they fit, then `more`.  Of an item
 * that is too large by itself, the answer holds the first part and the size; the caller
 * reads the rest by range.  A call without a host gets the same answer.
 */
#ifndef CORE_CALL_SPACE_H
#define CORE_CALL_SPACE_H

#include "core/call/call.h"

enum {
	/* Bytes of an answer: a frame of 4 MiB without its head and a caller's id. */
	ROOM_ANSWER = (4 << 20) - 1024,
	/* Bytes of the answer's lists and long texts; the rest is for its other
	 * fields. */
	ROOM_ITEMS = ROOM_ANSWER - 15360,
	/* The least that a caller may allow, and what of it is for the other fields. */
	ROOM_LEAST = 2000,
	ROOM_FIELDS = 1000,
};

/* Makes all room of an answer free again; op_perform() does so before it runs a
 * handler. */
void space_open(struct call *call);

/* Takes the place of one more value of a list: false where it does not fit; the
 * rest of the list is for the next page. */
bool space_take(struct call *call, const struct record *r, const void *item);
/* Takes the place of a value and adds the value to a list of `*n`; false where it does not fit,
 * or the list has `limit` values: `*more` is set. */
bool space_add(struct call *call, const struct record *r, const void *item, void *list,
	       size_t *n, int64_t limit, bool *more);
/* space_add() for a list of the answer `out`. */
#define space_put(call, out, list, record, item, limit)                        \
	space_add(call, record, item, &(out)->list, &(out)->n_##list, (limit), \
		  &(out)->more)
/* space_take() for a value whose size in JSON is known, and for a text of a list. */
bool space_take_bytes(struct call *call, size_t size);
bool space_take_text(struct call *call, const char *text);

/* Takes the place of a text or of as much of it as `most` bytes of JSON and what
 * is left have room for; it is cut at a character.  `*size` is its whole length when
 * it was cut, else 0.  NULL stays NULL. */
const char *space_text(struct call *call, const char *text, size_t most, int64_t *size);

/* Bytes of a value of the answer's lists. */
size_t space_size(const struct call *call, const struct record *r, const void *item);

/* Bytes of a text in JSON, its quotes included. */
size_t text_json_size(const char *text);

/* A part of a text, from a byte on.  It begins and ends at a character. */
struct space_range {
	int64_t offset, length; /* asked for */
	const char *text;
	int64_t size, next; /* bytes of the whole text; the offset behind the part */
};
void space_range(struct call *call, const char *whole, struct space_range *r);

/* Bytes for the items of an answer, in total; whether no item has taken bytes yet. */
size_t space_all(const struct call *call);
bool space_is_whole(const struct call *call);

/* A text, or as much of it as takes at most `most` bytes of JSON, cut at a character.
 * `*size` is its whole length when it was cut, else 0.  Takes no place; NULL stays NULL. */
const char *space_cut(struct call *call, const char *text, size_t most, int64_t *size);

/* How many of the `len` bytes at `s`, up to a whole character, take at most `room`
 * bytes in a JSON text. */
size_t space_fit(const char *s, size_t len, size_t room);

/* A fault unless the answer fits: its transaction has to be undone. */
int space_check(struct call *call);

#endif
