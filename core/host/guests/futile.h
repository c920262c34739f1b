/*
 * futile - a pause after a try that brought nothing, so that tries do not follow at once.
 *
 * The first pause lasts 1 s, each further pause twice as long as the last, 30 s at
 * most.  A successful try ends the row.
 */
#ifndef CORE_HOST_GUESTS_FUTILE_H
#define CORE_HOST_GUESTS_FUTILE_H

#include <stdbool.h>
#include <stdint.h>

enum { FUTILE_FIRST_MS = 1000, FUTILE_MOST_MS = 30000 };

/* Begins zeroed: no pause. */
struct futile {
	int64_t until; /* the pause's end */
	int64_t ms; /* its length; 0: the last try brought something */
};

/* A try brought nothing: a pause begins, which is short again where the last one
 * was over for long. */
void futile_note(struct futile *f, int64_t now);

/* A try brought something. */
void futile_end(struct futile *f);

/* Whether the pause goes on; it does not last long when the clock went back. */
bool futile_waits(const struct futile *f, int64_t now);

#endif
