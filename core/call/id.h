/*
 * id - public ids: UUIDv7 texts that carry a row's number.
 *
 * The 48 bits of time are the time at which the row was made. The other bits hold the noun,
 * three keys of the state, and the row's number. The row's number is scrambled with the time
 * and one of the keys. So no index is needed to find the row, and SQL can compute the id in a
 * view.
 *
 *   tttttttt-tttt-7aaa-bbbb-nnnnnnnnnnnn
 *   a = id_a, b = 0x8000 | noun << 10 | id_b,
 *   n = ((row + t * 2442737) mod 2^48) xor id_c
 */
#ifndef CORE_CALL_ID_H
#define CORE_CALL_ID_H

#include "core/call/call.h"

enum id_noun { ID_MESSAGE = 1, ID_TEAM, ID_WORKSPACE, ID_SNAPSHOT };

/* The size of an id with its NUL, and the least number of characters that a shortened id may
 * have. The shortened id of a message needs more characters (message_name.c). */
enum { ID_SIZE = 37, ID_SHORTEST = 4 };

/* The public id of a row that was made at the time `at`. The id is in the call's arena. Returns
 * NULL and fills call->fault on failure. */
const char *id_public(struct call *call, enum id_noun noun, int64_t row, int64_t at);

/* Reads the row and the time from the id `text`, in small letters or capitals. Returns 1 if the
 * text is an id of this noun, 0 if the text is no id of this noun, or a negative fault code. */
int id_parse(struct call *call, enum id_noun noun, const char *text, int64_t *row,
	     int64_t *at);

/* The first and the last time that ids beginning with `text` can have. Returns false if no id
 * begins with `text`, or if `text` is shorter than ID_SHORTEST. */
bool id_times(const char *text, int64_t *from, int64_t *until);

/* The rows that a shortened id may stand for. */
struct id_among {
	enum id_noun noun; /* ID_TEAM, ID_WORKSPACE or ID_SNAPSHOT */
	int64_t own; /* row of the team or workspace that limits the search; 0: all rows */
	bool ended; /* destroyed teams and workspaces are found, too */
	const char *where; /* the argument that names the id */
};

/* Finds the only id that begins with `text`. Returns 1 if there is such an id, 0 if no id
 * begins with `text`, or a negative fault code. The fault is `invalid` if several ids begin
 * with `text`. A name has precedence over an id, so callers look up only a text that is no
 * name. */
int id_short(struct call *call, const struct id_among *among, const char *text,
	     const char **id);

/* Rows as a JSON array in the arena, for a statement with json_each(). */
const char *id_list(struct arena *a, const int64_t *rows, size_t n);

#endif
