/*
 * search_inside - private parts that the files of the search index share.
 */
#ifndef STORAGE_SEARCH_SEARCH_INSIDE_H
#define STORAGE_SEARCH_SEARCH_INSIDE_H

#include "search_sql.gen.h"
#include "storage/search/search.h"
#include "storage/side.h"

struct search {
	struct side_db side;
	sqlite3_stmt *prepared[SEARCH_SQL_COUNT];
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

/* Teaches the connection how the index cuts words: an SQLite code. */
int search_words_open(struct search *s);

int search_make(struct search *s); /* all tables, empty; in a transaction */
/* Copies a long WAL into the file, so that it starts anew; called after a commit. */
void search_copy_wal(struct search *s);

/* How long opening the index may wait for other processes. */
enum { SEARCH_OPEN_MS = 500 };

/* Opens the index, and makes missing tables; returns an SQLite result. */
int search_connect(struct search *s, int patience_ms);
void search_throw_away(struct search *s); /* disconnects and removes the files */

/* Records, in a transaction, that the index may lose pages if the machine goes down
 * now. */
int search_mark(struct search *s);

bool search_is_busy(int rc); /* another process indexes: not a failure */
/* Whether SQLite says that the file is damaged or no database. */
bool search_is_damage(int rc);
/* Fills `f`: the index could not be used for `what`; returns its code. */
int search_failed(struct search *s, int rc, const char *what, struct fault *f);
/* The fault that ended the rows of a query; 0 if they ended by themselves. */
int search_ended(struct search *s, int rc, struct fault *f);

#endif
