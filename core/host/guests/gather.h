/*
 * gather - puts together an answer that a guest gives in parts.
 *
 * Each part is copied once.  A stream keeps at most what it may, whole
 * characters, and counts the rest; a directory ends where a frame does.
 */
#ifndef CORE_HOST_GUESTS_GATHER_H
#define CORE_HOST_GUESTS_GATHER_H

#include "core/host/guests/hosted_answer.h"

/* A stream of a command's output. */
struct output {
	struct piece *first, **end;
	size_t len; /* bytes kept */
	int64_t size; /* of the whole, as far as is known; at least len */
	bool full; /* no more is kept */
};

/* Takes a part; true when it brought something.  `size` is what the guest says
 * of the whole, or 0; `most` bytes are kept in all. */
bool output_take(struct output *s, const char *part, int64_t size, int64_t most,
		 struct arena *a);

/* Whether a further part would bring something: `more` is what the guest says. */
bool output_wants(const struct output *s, bool more);

/* The offset at which a further part begins. */
int64_t output_offset(const struct output *s);

/* Gives two streams as texts whose JSON fits ANSWER_ROOM together.  A stream gets half of
 * the room, plus the room that the other stream leaves. */
void outputs_join(const struct output s[2], const char *text[2], size_t len[2],
		  struct arena *a);

struct dir_entry;
struct workspace_list_dir_out;
struct wire_dir_listing;

/* Whether this can be an entry of a directory. */
bool listing_is_entry(const struct dir_entry *e);

/* Adds entries while there is room (the caller's, which begins as ANSWER_ROOM);
 * false when there was too little: the list ends here, and there is more. */
bool listing_take(struct workspace_list_dir_out *out, const struct wire_dir_listing *part,
		  size_t *room, struct arena *a);

#endif
