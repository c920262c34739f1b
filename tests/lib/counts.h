/* counts - compares the counts that the state stores with the counted rows. */
#ifndef TESTS_LIB_COUNTS_H
#define TESTS_LIB_COUNTS_H

#include <sqlite3.h>

/* Returns a text that names a wrong count, or NULL if no count of the state is wrong. The
 * caller frees the text. */
char *counts_wrong(sqlite3 *db);

#endif
