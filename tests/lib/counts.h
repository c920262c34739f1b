/* counts - compares the counts that the state stores with the counted rows. */
#ifndef TESTS_LIB_COUNTS_H
#define TESTS_LIB_COUNTS_H

#include <sqlite3.h>

/* Returns a text with the name of a wrong count or with SQLite's error. Returns NULL if all
 * counts of the state are right. The caller frees the text. */
char *counts_wrong(sqlite3 *db);

#endif
