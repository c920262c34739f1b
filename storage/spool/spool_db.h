/*
 * spool_db - the connection and the statements under the guest's spool.
 */
#ifndef STORAGE_SPOOL_SPOOL_DB_H
#define STORAGE_SPOOL_SPOOL_DB_H

#include <sqlite3.h>

#include "storage/spool/spool.h"

enum spool_statement {
	SPOOL_BEGIN,
	SPOOL_COMMIT,
	SPOOL_ROLLBACK,
	SPOOL_KNOWS,
	SPOOL_NOTE,
	SPOOL_PUT,
	SPOOL_ROOM,
	SPOOL_NEXT,
	SPOOL_START,
	SPOOL_SEQ,
	SPOOL_DROP,
	SPOOL_FORGET,
	SPOOL_FINISH,
	SPOOL_INTERRUPT,
	SPOOL_STARTED_GONE,
	SPOOL_RESULT,
	SPOOL_RESULT_OF,
	SPOOL_ACK,
	SPOOL_COUNT,
	SPOOL_PRUNE,
	SPOOL_ENV_SET,
	SPOOL_ENV,
	SPOOL_STATEMENTS
};

/* A statement, reset, with `text` (copied) bound as its first parameter, if not NULL. */
sqlite3_stmt *spool_get(struct spool *s, enum spool_statement id, const char *text);

/* Runs a statement to its end; 0, or a fault. */
int spool_run(struct spool *s, sqlite3_stmt *st, struct fault *f);

/* spool_end() for a change that starts or calls off a command: it is counted. */
int spool_end_counted(struct spool *s, bool ok, struct fault *f);

/* Steps to a row: 1, 0 if there is none, or a fault.  The caller resets the statement. */
int spool_row(struct spool *s, sqlite3_stmt *st, struct fault *f);

const char *spool_text(sqlite3_stmt *st, int column, struct arena *a);

#endif
