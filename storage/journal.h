/*
 * journal - a rollback journal that lies beside state.db.
 *
 * SQLite writes the pages of a `state.db-journal` back into state.db before it reads
 * anything.  The state is in WAL mode: only while it is made, or when a person has
 * switched the mode by hand, is there such a journal.  Any other one was put there, as by
 * a checkout of a strange branch or by an archive.
 */
#ifndef STORAGE_JOURNAL_H
#define STORAGE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

/* Whether SQLite would write the journal of the database `path` back, whose mark is not the
 * one of this file (ground.h).  Of a database that is still being made, with no more than
 * one page, any journal is its own. */
bool journal_is_of_other(const char *path, uint32_t mark);

#endif
