/* counts - compares the counts that the state stores with the rows that they count. */
#ifndef TESTS_LIB_COUNTS_H
#define TESTS_LIB_COUNTS_H

#include <sqlite3.h>

/* Names a wrong count of a state; NULL: no count is wrong. The caller frees the text. */
char *counts_wrong(sqlite3 *db);

#endif
