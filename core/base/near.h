/* near - how near two words are, for hints; the generators give some, too. */
#ifndef CORE_BASE_NEAR_H
#define CORE_BASE_NEAR_H

#include <stddef.h>

/* Letters to change, put in, leave out or swap with the next one; 64 if either is longer than that. */
size_t near_distance(const char *a, const char *b);

#endif
