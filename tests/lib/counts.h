/* counts - the counts that changes keep, against the rows that they count. */
#ifndef TESTS_LIB_COUNTS_H
#define TESTS_LIB_COUNTS_H

#include <sqlite3.h>

/* Says which count of a state is wrong; NULL: none.  The caller frees the text. */
char *counts_wrong(sqlite3 *db);

#endif
