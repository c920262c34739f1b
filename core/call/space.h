/*
 * space - how many bytes of JSON an answer may hold.
 *
 * Every door sends an answer in one frame of at most 4 MiB, and a caller may allow less
 * (call->form). So an operation decides inside its transaction which items fit the answer, by
 * the size of each item in JSON. The answer has as many whole items as fit. If items are left,
 * the answer has `more`. If a single item is too large, the answer holds the item's first part
 * and size. The caller reads the rest of the item by range. A call without a host gets the same
 * answer.
 */
#ifndef CORE_CALL_SPACE_H
#define CORE_CALL_SPACE_H

#include "core/call/call.h"

enum {
	/* Bytes of an answer: a frame of 4 MiB without the frame's head and the caller's
	 * request id. */
	ROOM_ANSWER = (4 << 20) - 1024,
	/* Bytes of the answer's lists and long texts; the other bytes of the answer are for its
	 * other fields. */
	ROOM_ITEMS = ROOM_ANSWER - 15360,
	/* The smallest size that a caller may allow, and the part of this size that is for
	 * fields other than lists and long texts. */
	ROOM_LEAST = 2000,
	ROOM_FIELDS = 1000,
};

/* Makes all space of the call's answer free again. op_perform() calls this function before it
 * runs a handler. */
void space_open(struct call *call);

/* Takes space for one more value of a list. Returns false if the value does not fit. The list's
 * other values are left for the next page. */
bool space_take(struct call *call, const struct record *r, const void *item);
/* Takes space for a value and adds the value to a list of `*n` values. Returns false, and sets
 * `*more`, if the value does not fit or the list has `limit` values already. */
bool space_add(struct call *call, const struct record *r, const void *item, void *list,
	       size_t *n, int64_t limit, bool *more);
/* Calls space_add() for a list of the answer `out`. */
#define space_put(call, out, list, record, item, limit)                        \
	space_add(call, record, item, &(out)->list, &(out)->n_##list, (limit), \
		  &(out)->more)
/* space_take_bytes() takes space for a value of a list if the value's size in JSON is known.
 * space_take_text() takes space for a text of a list. */
bool space_take_bytes(struct call *call, size_t size);
bool space_take_text(struct call *call, const char *text);

/* Takes space for a text. A text that is too long is cut between two characters. The text takes
 * at most `most` bytes of JSON, and no more than the free space. If the text was cut, `*size`
 * is the whole text's length, else 0. A NULL text stays NULL. */
const char *space_text(struct call *call, const char *text, size_t most, int64_t *size);

/* The bytes that a value of a list takes in the answer. */
size_t space_size(const struct call *call, const struct record *r, const void *item);

/* Bytes of a text in JSON, its quotes included. */
size_t text_json_size(const char *text);

/* A part of a text. The part begins and ends at the border of a character. */
struct space_range {
	int64_t offset, length; /* the range that the caller asked for */
	const char *text;
	int64_t size, next; /* size: bytes of the whole text; next: offset of the first
			       byte after the part */
};
void space_range(struct call *call, const char *whole, struct space_range *r);

/* space_all(): the bytes for all items of an answer. space_is_whole(): whether the whole space
 * of the answer is still free. */
size_t space_all(const struct call *call);
bool space_is_whole(const struct call *call);

/* Cuts a text between two characters, so that the text takes at most `most` bytes of JSON. If
 * the text was cut, `*size` is the whole text's length, else 0. Takes no space in the answer. A
 * NULL text stays NULL. */
const char *space_cut(struct call *call, const char *text, size_t most, int64_t *size);

/* How many of the `len` bytes at `s` fit into `room` bytes of a JSON text. Counts whole
 * characters only. */
size_t space_fit(const char *s, size_t len, size_t room);

/* Returns a fault if the answer does not fit. The caller has to undo the transaction. */
int space_check(struct call *call);

#endif
