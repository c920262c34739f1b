/* Includes counts.sql into the program. People run counts.sql by hand as well. */
#include "tests/lib/counts.h"

#include "core/base/alloc.h"

__asm__(".section .rodata\n"
	"counts_text: .incbin \"tests/lib/counts.sql\"\n"
	".byte 0\n"
	".previous\n");
extern const char counts_text[];

char *counts_wrong(sqlite3 *db)
{
	sqlite3_stmt *st = NULL;
	char *wrong = NULL;
	int rc = sqlite3_prepare_v2(db, counts_text, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		wrong = xstrdup((const char *)sqlite3_column_text(st, 0));
	else if (rc != SQLITE_DONE)
		wrong = xstrdup(sqlite3_errmsg(db));
	sqlite3_finalize(st);
	return wrong;
}
