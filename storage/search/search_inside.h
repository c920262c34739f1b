/*
 * search_inside - private parts that the files of the search index share.
 */
#ifndef STORAGE_SEARCH_SEARCH_INSIDE_H
#define STORAGE_SEARCH_SEARCH_INSIDE_H

#include <sqlite3.h>

#include "storage/search/search.h"

enum { SEARCH_VERSION = 4 };

enum search_sql {
	SEARCH_BEGIN,
	SEARCH_COMMIT,
	SEARCH_ROLLBACK,
	SEARCH_CURSOR,
	SEARCH_ADVANCE,
	SEARCH_ADD, /* and the places behind it */
	SEARCH_FIND = SEARCH_ADD + SEARCH_PLACES,
	SEARCH_MERGE = SEARCH_FIND + SEARCH_PLACES,
	SEARCH_FORGET_TASK = SEARCH_MERGE + SEARCH_PLACES,
	SEARCH_OLD_TASK,
	SEARCH_KEEP_TASK,
	SEARCH_VAULT_ALL,
	SEARCH_VAULT_OWN,
	SEARCH_VAULT_LIST,
	SEARCH_VAULT_MATCH,
	SEARCH_VAULT_TAGS,
	SEARCH_VAULT_ADD,
	SEARCH_VAULT_TEXT,
	SEARCH_VAULT_TAG,
	SEARCH_VAULT_UNTAG,
	SEARCH_VAULT_DROP,
	SEARCH_VAULT_STALE,
	SEARCH_MARK,
	SEARCH_SQL_COUNT
};

struct search {
	sqlite3 *db;
	char *path; /* NULL: in memory */
	char boot[37]; /* of this machine, now */
	bool marked; /* search.db says that it is open */
	bool parts; /* the last merge found parts to join */
	int64_t rest_until; /* before this the vault's files are not looked at again */
	int64_t shown_until; /* nor before this the folders that the mirror fills */
	int wal_frames; /* of search.db, at this connection's last commit */
	int wal_due; /* number of frames at which the WAL is copied into the file */
	fts5_tokenizer tokenizer;
	Fts5Tokenizer *words; /* splits texts into words as the index does */
	sqlite3_stmt *stmts[SEARCH_SQL_COUNT];
};

/* A word or a phrase: its tokens, in order. */
struct search_term {
	const char **tokens;
	size_t n_tokens;
	bool prefix; /* of the last token */
};

/* Calls `each` for every word of a text, folded, with the bytes `from` and `to` of the
 * word.  Stops when `each` returns something else than 0. */
void search_words(struct search *s, const char *text, size_t len, void *with,
		  int (*each)(void *with, int flags, const char *word, int n, int from,
			      int to));

int search_words_open(struct search *s);

/* The tables, and their end: run in one transaction. */
extern const char search_schema[], search_drop[];
extern const char search_vault_schema[], search_vault_drop[];
int search_make(struct search *s); /* drops all of them and makes them anew */
/* After a commit: copies a long WAL into the file, so that it starts anew. */
void search_copy_wal(struct search *s);

/* How long opening the index may wait for other processes. */
enum { SEARCH_OPEN_MS = 500 };

/* Opens the index, and makes missing tables; returns an SQLite result. */
int search_connect(struct search *s, int patience_ms);
void search_throw_away(struct search *s); /* disconnects and removes the files */

sqlite3_stmt *search_stmt(struct search *s, int id); /* NULL: see sqlite3_errcode() */
int search_run(struct search *s, int id); /* of no rows, bound already */
/* Records, in a transaction, that the index may lose pages if the machine goes down
 * now. */
int search_mark(struct search *s);
int search_exec(struct search *s, const char *sql);
void search_bind(sqlite3_stmt *st, int at, const char *text);

bool search_is_busy(int rc); /* another process indexes: not a failure */
bool search_is_damage(int rc);
int search_failed(struct search *s, int rc, const char *what, struct fault *f);

#endif
