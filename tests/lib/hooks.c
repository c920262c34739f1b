#include "tests/lib/hooks.h"

#include "storage/search/search.h"
#include "storage/side.h"
#include "storage/store_inside.h"

void store_fail(struct store *s, long after, int sqlite_result)
{
	s->fail_after = after;
	s->fail_with = sqlite_result;
}

void store_set_now(struct store *s, int64_t now)
{
	s->now = now;
}

int store_copy(struct store *to, struct store *from, struct fault *f)
{
	sqlite3_backup *b;

	search_close(to->search);
	to->search = NULL;
	stmt_release_all(to);
	b = sqlite3_backup_init(to->db, "main", from->db, "main");
	if (b)
		sqlite3_backup_step(b, -1);
	return !b || sqlite3_backup_finish(b) != SQLITE_OK
		       ? store_fault(to, sqlite3_extended_errcode(to->db), "copy", f)
		       : 0;
}

/* The spool's connection, a struct side_db, is the first member of struct spool. */
void spool_fail(struct spool *s, long after, int sqlite_result)
{
	struct side_db *side = (struct side_db *)s;

	side->fail_after = after;
	side->fail_with = sqlite_result;
}
