/*
 * id - public ids: UUIDv7 texts that carry a row's number.
 *
 * The 48 bits of time are the row's; the rest holds three keys of the state
 * and the row's number, scrambled with the time: no index is needed to find
 * the row, and SQL can compute the id in a view.
 *
 *   tttttttt-tttt-7aaa-bbbb-nnnnnnnnnnnn
 *   a = id_a, b = 0x8000 | noun << 10 | id_b,
 *   n = ((row + t * 2442737) mod 2^48) xor id_c
 */
#ifndef CORE_CALL_ID_H
#define CORE_CALL_ID_H

#include "core/call/call.h"

enum id_noun { ID_MESSAGE = 1, ID_TEAM, ID_WORKSPACE, ID_SNAPSHOT };

/* The size of an id with its NUL, and how many characters of it stand for it at least;
 * a message's takes more (message_name.c). */
enum { ID_SIZE = 37, ID_SHORTEST = 4 };

/* The public id of a row made at `at`, in the call's arena; NULL on failure
 * (call->fault is filled). */
const char *id_public(struct call *call, enum id_noun noun, int64_t row, int64_t at);

/* The row and time that `text` names, in small letters or capitals: 1, 0 if it is no such
 * id, negative. */
int id_parse(struct call *call, enum id_noun noun, const char *text, int64_t *row,
	     int64_t *at);

/* The times that the ids beginning with `text` can have; false where no id begins so, or
 * `text` is shorter than ID_SHORTEST. */
bool id_times(const char *text, int64_t *from, int64_t *until);

/* The rows that a shortened id may stand for. */
struct id_among {
	enum id_noun noun; /* ID_TEAM, ID_WORKSPACE or ID_SNAPSHOT */
	int64_t own; /* row: only this team, or what is in this team or workspace; 0: all */
	bool ended; /* also teams and workspaces that are destroyed */
	const char *where; /* the argument that names it */
};

/* Finds the whole id of the only one whose id begins with `text`: 1, 0 if there is none, or
 * negative, which is `invalid` where there are several.  Names come first, so callers ask
 * this only for what is no name. */
int id_short(struct call *call, const struct id_among *among, const char *text,
	     const char **id);

/* Rows as a JSON array in the arena, for json_each() of a statement. */
const char *id_list(struct arena *a, const int64_t *rows, size_t n);

#endif
