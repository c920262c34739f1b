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
	char *path; /* NULL: the index is in memory */
	char boot[37]; /* boot id of this machine */
	bool marked; /* search.db is marked as open */
	bool parts; /* the last merge found parts to join */
	int64_t rest_until; /* the vault's files are not looked at before this time */
	int64_t shown_until; /* the mirror's folders are not looked at before this time */
	int wal_frames; /* frames in the WAL at this connection's last commit */
	int wal_due; /* number of frames at which the WAL is copied into the file */
	fts5_tokenizer tokenizer;
	Fts5Tokenizer *words; /* splits texts into words as the index does */
};

/* A word or a phrase, as a list of tokens in order. */
struct search_term {
	const char **tokens;
	size_t n_tokens;
	bool prefix; /* the last token is a prefix */
};

/* Calls `each` for every word of a text, folded.  `from` and `to` are the offsets of the word's
 * bytes.  Stops when `each` returns a value other than 0. */
void search_words(struct search *s, const char *text, size_t len, void *with,
		  int (*each)(void *with, int flags, const char *word, int n, int from,
			      int to));

/* Makes the connection split words as the index does.  Returns an SQLite code. */
int search_words_open(struct search *s);

int search_make(struct search *s); /* makes all tables, empty; in a transaction */
/* Copies a long WAL into the file, so that the WAL begins anew.  Called after a commit. */
void search_copy_wal(struct search *s);

/* How long opening the index may wait for other processes, in ms. */
enum { SEARCH_OPEN_MS = 500 };

/* Opens the index, and makes missing tables.  Returns an SQLite result. */
int search_connect(struct search *s, int patience_ms);
void search_throw_away(struct search *s); /* disconnects and removes the files */

/* Records, in a transaction, that the index may lose pages if the machine goes down from now
 * on. */
int search_mark(struct search *s);

bool search_is_busy(int rc); /* another process indexes, which is no failure */
/* Whether SQLite reports that the file is damaged or is not a database. */
bool search_is_damage(int rc);
/* Fills `f` with the fault that the index could not be used for `what`.  Returns the fault's
 * code. */
int search_failed(struct search *s, int rc, const char *what, struct fault *f);
/* The code of the fault that ended the rows of a query; 0 if the rows ended without a fault. */
int search_ended(struct search *s, int rc, struct fault *f);

#endif
