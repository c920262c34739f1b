/*
 * journal - a rollback journal that lies beside state.db.
 *
 * SQLite writes the pages of a `state.db-journal` back into state.db before it reads
 * anything.  The state is in WAL mode: only while it is made, or when a person has
 * switched the mode by hand, is there such a journal.  Any other journal was put there,
 * as by a checkout of a foreign branch or by an archive.
 */
#ifndef STORAGE_JOURNAL_H
#define STORAGE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

/* Whether SQLite would write the journal of the database `path` back although it belongs
 * to a file with another mark (ground.h).  A database that is still being made, of at
 * most one page, is taken to own any journal. */
bool journal_is_of_other(const char *path, uint32_t mark);

#endif
