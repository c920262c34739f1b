/*
 * search - the full-text index beside the state, and searches in the index.
 *
 * search.db is derived: its contents can be rebuilt from the state. So search.db is written
 * without syncing. search.db is made anew if the file is missing, is damaged, belongs to
 * another incarnation, or was open for writing when the machine went down. search.db holds
 * contentless FTS5 tables with the columns `scope` and `body`. `scope` holds tokens for the
 * team and the agents who may see the row. The texts of hits are read from the state's rows.
 * Any process may bring the index up to date, in short transactions. A process that finds the
 * index busy continues without an update.
 */
#ifndef STORAGE_SEARCH_SEARCH_H
#define STORAGE_SEARCH_SEARCH_H

#include "storage/store.h"

struct search;

/* SEARCH_TITLES: tasks whose title alone matches. SEARCH_TASKS: all other tasks. */
enum search_place {
	SEARCH_TITLES,
	SEARCH_MESSAGES,
	SEARCH_TASKS,
	SEARCH_NOTES,
	SEARCH_PLACES
};

/* Opens or makes DIR/search.db.  The index is in memory if dir is NULL, or if dir belongs to
 * another user and has no search.db. */
int search_open(struct search **out, const char *dir, struct fault *f);
void search_close(struct search *s); /* `s` may be NULL */

/* Checks whether DIR/search.db can be read, if the file exists.  Returns 0, or the code of the
 * fault that prevents reading.  search_check() keeps a damaged file, but search_open() throws a
 * damaged file away. */
int search_check(const char *dir, struct fault *f);

/* The index beside a store's state.  The index is opened on first use and closed with the
 * store. Returns NULL with a fault if the index cannot be opened. */
struct search *store_search(struct store *store, struct fault *f);

/* Adds missing rows to the index, until all rows are there or about budget_ms have passed.
 * Reads from `store`, inside the transaction that the caller has begun in `store`. *indexed_to:
 * every event up to this number is in the index. *more: whether rows are still missing, because
 * the budget ran out or another process is indexing. */
int search_step(struct search *s, struct store *store, int64_t budget_ms,
		int64_t *indexed_to, bool *more, struct fault *f);

/* A user's query, parsed: words, "phrases", prefix*, AND, OR, NOT and parentheses. Any other
 * syntax of FTS5 is quoted, so it is searched as plain text. */
struct search_query {
	const char *match; /* FTS5's expression for the body */
	struct search_term *terms; /* words and phrases to find, not to exclude */
	size_t n_terms;
};

/* Parses a query. If the syntax is wrong, returns the fault `invalid` at /query, with a hint. */
int search_parse(struct search *s, const char *text, struct search_query *out,
		 struct arena *a, struct fault *f);

/* The rows that a search may find. A team or an agent of 0 means any team or any agent. */
struct search_scope {
	enum search_place place;
	int64_t team, agent;
	int64_t before; /* only rows with a smaller id are found */
	int limit;
	bool untitled; /* no title matches, so SEARCH_TASKS need not leave out titles */
};

/* Finds the ids of the matching rows, newest first. Only ids below scope->before are found.
 * Fills `rows` with at most `limit` ids, and returns the number of ids. If `scope` names an
 * agent, the ids may include broadcasts that the agent never got. So the caller must check each
 * row. */
int search_match(struct search *s, const struct search_query *q,
		 const struct search_scope *scope, int64_t *rows, struct fault *f);

/* Makes, in the arena, an excerpt of `text` around a match. The excerpt has at most some 200
 * bytes on one line, with the found words [in brackets]. Without a match, the excerpt is the
 * beginning of the text. */
const char *search_excerpt(struct search *s, const struct search_query *q,
			   const char *text, struct arena *a);

#endif
