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
	char *path; /* path of the index, or NULL if the index is in memory */
	char boot[37]; /* boot id of this machine */
	bool marked; /* a mark in search.db says that the index is open */
	bool parts; /* the last merge found parts to join */
	int64_t rest_until; /* before this time, no search compares the vault's files */
	int64_t shown_until; /* before this time, no search reads the mirror's folders */
	int wal_frames; /* frames in the WAL after this connection's last commit */
	int wal_due; /* number of frames at which the WAL is copied into the file */
	fts5_tokenizer tokenizer;
	Fts5Tokenizer *words; /* splits texts into words, like the index */
};

/* A word or a phrase, as a list of tokens in order. */
struct search_term {
	const char **tokens;
	size_t n_tokens;
	bool prefix; /* the last token is a prefix */
};

/* Calls `each` for every word of a text, in lower case and without accents. `from` and `to` are
 * the offsets of the word's
 * bytes.  Stops when `each` returns a value other than 0. */
void search_words(struct search *s, const char *text, size_t len, void *with,
		  int (*each)(void *with, int flags, const char *word, int n, int from,
			      int to));

/* Prepares search_words(), which splits a text like the index. Returns an SQLite code. */
int search_words_open(struct search *s);

int search_make(struct search *s); /* makes empty tables, in the caller's transaction */
/* Copies a long WAL into the file, so that the WAL begins anew. The function is called after a
 * commit. */
void search_copy_wal(struct search *s);

/* The longest wait for other processes while the index is opened, in ms. */
enum { SEARCH_OPEN_MS = 500 };

/* Opens the index, and makes missing tables.  Returns an SQLite result. */
int search_connect(struct search *s, int patience_ms);
void search_throw_away(struct search *s); /* closes the connection and removes search.db */

/* Stores, in the caller's transaction, that the index may lose pages if the machine goes down
 * after the commit. */
int search_mark(struct search *s);

bool search_is_busy(int rc); /* another process writes the index, so this is no failure */
/* Whether the result means that the file is damaged or is not a database. */
bool search_is_damage(int rc);
/* Fills `f` with the fault that the operation `what` on the index failed. Returns the fault's
 * code. */
int search_failed(struct search *s, int rc, const char *what, struct fault *f);
/* Returns 0 if a query has returned all rows, or the code of the fault that ended the query. */
int search_ended(struct search *s, int rc, struct fault *f);

#endif
