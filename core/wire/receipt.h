/*
 * receipt - keeps each sent answer until the answer's caller sends Arrived or Cancel.
 *
 * At most a thousand answers are kept, so a caller that never confirms an answer uses only a
 * bounded amount of memory. If more answers are sent, the oldest answer counts as lost. The
 * code that keeps receipts has a struct of its own for each answer. The receipt is the first
 * member of this struct, and the code's own data follow.
 */
#ifndef CORE_WIRE_RECEIPT_H
#define CORE_WIRE_RECEIPT_H

#include <jansson.h>

/* A sent answer. The code that keeps receipts makes the receipt the first member of a larger
 * struct. */
struct receipt {
	struct receipt *next;
	json_t *id; /* id of the request */
};

struct receipts {
	struct receipt *first; /* the newest receipt */
	size_t n;
};

/* Adds an answer. If there are too many answers, removes the oldest answer from the list and
 * returns this answer. Otherwise returns NULL. */
void *receipt_keep(struct receipts *all, struct receipt *r, const json_t *id);
/* Removes the answer to the request `id` from the list, or the newest answer if `id` is NULL.
 * Returns the answer, or NULL if the list has no such answer. */
void *receipt_take(struct receipts *all, const char *id);

#endif
