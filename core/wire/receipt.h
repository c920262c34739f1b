/*
 * receipt - answers that were sent, until their callers say Arrived or Cancel.
 *
 * At most a thousand answers are kept, so a caller that promises to confirm and never does
 * costs only a bounded amount of memory. When there are more, the oldest answer counts as lost.
 * The messages and claims of an answer are stored after its receipt, in a struct of the user of
 * this file.
 */
#ifndef CORE_WIRE_RECEIPT_H
#define CORE_WIRE_RECEIPT_H

#include <jansson.h>

/* A sent answer. The user of this file makes it the first member of a larger struct. */
struct receipt {
	struct receipt *next;
	json_t *id; /* id of the request */
};

struct receipts {
	struct receipt *first; /* the newest */
	size_t n;
};

/* Adds an answer. If there are now too many, takes out the oldest answer and returns it;
 * otherwise returns NULL. */
void *receipt_keep(struct receipts *all, struct receipt *r, const json_t *id);
/* Takes out the answer to the request `id`, or the newest answer if `id` is NULL. Returns NULL
 * if there is no such answer. */
void *receipt_take(struct receipts *all, const char *id);

#endif
