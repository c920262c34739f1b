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
#ifndef CORE_ID_H
#define CORE_ID_H

#include "core/call.h"

enum id_noun { ID_MESSAGE = 1, ID_TEAM, ID_WORKSPACE, ID_SNAPSHOT };

enum { ID_SIZE = 37 };

/* The public id of a row made at `at`, in the call's arena; NULL on failure
 * (call->fault is filled). */
const char *id_public(struct call *call, enum id_noun noun, int64_t row, int64_t at);

/* The row and time that `text` names: 1, 0 if it is no such id, negative. */
int id_parse(struct call *call, enum id_noun noun, const char *text, int64_t *row,
	     int64_t *at);

#endif
