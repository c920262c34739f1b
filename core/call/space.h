/*
 * space - how many bytes of JSON an answer may hold.
 *
 * Every door sends an answer in one frame of at most 4 MiB, and a caller may allow less
 * (call->form). So an operation decides inside its transaction which items fit the answer, by
 * their size as JSON. The answer has as many whole items as fit; if items are left, it has
 * `more`. Of an item that is too large by itself, the answer holds the first part and the size.
 * The caller reads the rest by range. A call without a host gets the same answer.
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
	/* The smallest size that a caller may allow, and the part of that size for the other
	 * fields. */
	ROOM_LEAST = 2000,
	ROOM_FIELDS = 1000,
};

/* Makes all space of an answer free again. op_perform() calls this function before it runs a
 * handler. */
void space_open(struct call *call);

/* Takes space for one more value of a list. Returns false if the value does not fit: the rest
 * of the list is left for the next page. */
bool space_take(struct call *call, const struct record *r, const void *item);
/* Takes space for a value and adds the value to a list of `*n` values. Returns false, and sets
 * `*more`, if the value does not fit or the list has `limit` values already. */
bool space_add(struct call *call, const struct record *r, const void *item, void *list,
	       size_t *n, int64_t limit, bool *more);
/* Calls space_add() for a list of the answer `out`. */
#define space_put(call, out, list, record, item, limit)                        \
	space_add(call, record, item, &(out)->list, &(out)->n_##list, (limit), \
		  &(out)->more)
/* Like space_take(), for a value whose size in JSON is known, and for a text of a list. */
bool space_take_bytes(struct call *call, size_t size);
bool space_take_text(struct call *call, const char *text);

/* Takes space for a text. A text that is too long is cut at a character: it takes at most
 * `most` bytes of JSON, and no more than the space left. `*size` is the whole length of a text
 * that was cut, else 0. NULL stays NULL. */
const char *space_text(struct call *call, const char *text, size_t most, int64_t *size);

/* The bytes that a value of a list takes in the answer. */
size_t space_size(const struct call *call, const struct record *r, const void *item);

/* Bytes of a text in JSON, its quotes included. */
size_t text_json_size(const char *text);

/* A part of a text. The part begins and ends at the border of a character. */
struct space_range {
	int64_t offset, length; /* the range that the caller asked for */
	const char *text;
	int64_t size, next; /* bytes of the whole text; offset of the first byte after
			       the part */
};
void space_range(struct call *call, const char *whole, struct space_range *r);

/* space_all(): the bytes for all items of an answer. space_is_whole(): whether no item has
 * taken bytes yet. */
size_t space_all(const struct call *call);
bool space_is_whole(const struct call *call);

/* Cuts a text at a character, so that it takes at most `most` bytes of JSON. `*size` is the
 * whole length of a text that was cut, else 0. Takes no space in the answer. NULL stays NULL. */
const char *space_cut(struct call *call, const char *text, size_t most, int64_t *size);

/* The number of the `len` bytes at `s` that take at most `room` bytes in a JSON text. Counts
 * whole characters only. */
size_t space_fit(const char *s, size_t len, size_t room);

/* Returns a fault if the answer does not fit. The caller has to undo the transaction. */
int space_check(struct call *call);

#endif
