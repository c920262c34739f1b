/*
 * receipt - answers that were sent, until their callers say Arrived or Cancel.
 *
 * A caller that promises to confirm and never does costs no more memory than a thousand
 * answers: the oldest counts as lost then.  What an answer gave stands behind its receipt,
 * in memory of the caller's own.
 */
#ifndef CORE_WIRE_RECEIPT_H
#define CORE_WIRE_RECEIPT_H

#include <jansson.h>

/* The first member of the caller's struct. */
struct receipt {
	struct receipt *next;
	json_t *id; /* of the request */
};

struct receipts {
	struct receipt *first; /* the newest */
	size_t n;
};

/* Adds an answer.  Returns the oldest one, taken out, when there are too many, or NULL. */
void *receipt_keep(struct receipts *all, struct receipt *r, const json_t *id);
/* Takes out the answer of a request, or the newest one for a NULL `id`; NULL: none. */
void *receipt_take(struct receipts *all, const char *id);

#endif
