/*
 * spool_db - the connection and the statements under the guest's spool.
 */
#ifndef STORAGE_SPOOL_SPOOL_DB_H
#define STORAGE_SPOOL_SPOOL_DB_H

#include "storage/side.h"
#include "storage/spool/spool.h"

/* A statement of spool.sql with its parameters: 0, or a fault. */
#define spool_run(s, name, f, ...) \
	spool_run_in((s), sql_##name, side_in(name, __VA_ARGS__), (f))
/* Reads one row: 1, 0 if there is none, or a fault. */
#define spool_row(s, name, row, a, f, ...) \
	spool_row_in((s), SIDE_ROW(spool_side(s), name, (row), (a), __VA_ARGS__), (f))

/* Runs a statement for spool_run(): 0, or a fault. */
int spool_run_in(struct spool *s, enum spool_sql id, const void *in, struct fault *f);
/* Judges the result of SIDE_ROW(): 1 for a row, 0 if there is none, or a fault. */
int spool_row_in(struct spool *s, int rc, struct fault *f);
struct side_db *spool_side(struct spool *s);

/* spool_end() for a change that starts or calls off a command: it is counted. */
int spool_end_counted(struct spool *s, bool ok, struct fault *f);

#endif
