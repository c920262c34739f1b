/*
 * words - SQL for a connection, a transaction or a whole file.
 *
 * This file holds the only SQL in C (tools/lint/sql). Statements on tables are in .sql files,
 * and sqlgen checks these statements against the schema. sqlgen cannot check the statements
 * here. A pragma acts on the connection, and some pragmas act already while they are prepared.
 * Some queries run on a file that may not have the tables of the schema.
 */
#ifndef STORAGE_WORDS_H
#define STORAGE_WORDS_H

/* Transactions of the state. */
#define SQL_BEGIN_READ "BEGIN"
#define SQL_BEGIN_WRITE "BEGIN IMMEDIATE"
#define SQL_COMMIT "COMMIT"
#define SQL_ROLLBACK "ROLLBACK"
#define SQL_SAVEPOINT "SAVEPOINT call"
#define SQL_RELEASE "RELEASE call"
#define SQL_REWIND "ROLLBACK TO call"
/* Changes page 1 and undoes the change: see generation_begin(). */
#define SQL_READ_PAGE_1                                  \
	"SAVEPOINT generation; PRAGMA user_version = 0;" \
	"ROLLBACK TO generation; RELEASE generation"

/* Queries that run on any database file. */
#define SQL_VERSION "PRAGMA user_version"
#define SQL_DATA_VERSION "PRAGMA data_version"
#define SQL_TABLES_VERSION "PRAGMA schema_version"
#define SQL_MARK "PRAGMA application_id"
#define SQL_SET_MARK "PRAGMA application_id = %u" /* a pragma takes no parameters */
#define SQL_OBJECTS                                      \
	"SELECT type, name, tbl_name, coalesce(sql, '')" \
	" FROM sqlite_schema ORDER BY type, name"
#define SQL_STATISTICS "CREATE TABLE sqlite_stat" /* begins a statistics table's SQL */
#define SQL_COUNT_OBJECTS "SELECT count(*) FROM sqlite_schema"
#define SQL_COUNT_LOOSE "SELECT count(*) FROM pragma_foreign_key_check"
#define SQL_LOOSE "PRAGMA foreign_key_check"
#define SQL_INTEGRITY "PRAGMA integrity_check(1)"
#define SQL_COPY "VACUUM INTO ?1"
#define SQL_CHECKPOINT "PRAGMA wal_checkpoint(TRUNCATE)"

/* Settings of a connection. */
#define SQL_WAL "PRAGMA journal_mode = WAL"
#define SQL_SYNC_FULL "PRAGMA synchronous = FULL"
#define SQL_SYNC_NORMAL "PRAGMA synchronous = NORMAL"
#define SQL_INCREMENTAL "PRAGMA auto_vacuum = INCREMENTAL"
#define SQL_CACHE "PRAGMA cache_size = -8000"
#define SQL_NO_MMAP "PRAGMA mmap_size = 0"
#define SQL_DELETE_FAST "PRAGMA secure_delete = FAST"
#define SQL_DELETE_SECURE "PRAGMA secure_delete = ON"
#define SQL_QUERY_ONLY "PRAGMA query_only = ON"
#define SQL_SPOOL                                                        \
	"PRAGMA auto_vacuum = FULL;" SQL_WAL ";" SQL_SYNC_FULL ";"       \
	"PRAGMA cache_size = -256; PRAGMA journal_size_limit = 1048576;" \
	"PRAGMA trusted_schema = OFF;" SQL_DELETE_SECURE
#define SQL_SEARCH \
	SQL_WAL "; PRAGMA synchronous = OFF; PRAGMA cache_size = -1024; " SQL_DELETE_SECURE

#endif
