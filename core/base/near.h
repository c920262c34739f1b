/* near - how near two words are, for the hints of the program and of the generators. */
#ifndef CORE_BASE_NEAR_H
#define CORE_BASE_NEAR_H

#include <stddef.h>

/* The edit distance: the number of letters to change, insert, delete or swap with the next
 * letter. Returns 64 if a word has more than 64 letters. */
size_t near_distance(const char *a, const char *b);

#endif
