/*
 * search - the full-text index beside the state, and looking in it.
 *
 * search.db is derived: its contents can be rebuilt from the state.  So search.db is
 * written without syncing.  It is made anew when it is missing, damaged, of another
 * incarnation, or left open by a machine that went down.  search.db holds contentless
 * FTS5 tables of `scope` (tokens for the team and the agents who may see the row) and
 * `body`; texts come from the state's rows.  Any process may bring it further, in short
 * transactions; a process that finds it busy goes on without.
 */
#ifndef STORAGE_SEARCH_SEARCH_H
#define STORAGE_SEARCH_SEARCH_H

#include "storage/store.h"

struct search;

enum search_place { SEARCH_MESSAGES, SEARCH_TASKS, SEARCH_NOTES, SEARCH_PLACES };

/* Opens (or makes) DIR/search.db; in memory when dir is NULL, or is another user's and has
 * none. */
int search_open(struct search **out, const char *dir, struct fault *f);
void search_close(struct search *s); /* NULL is fine */

/* Whether DIR/search.db, if it is there, can be read: 0, or why not.  It stays as it is, where
 * search_open() throws a damaged one away. */
int search_check(const char *dir, struct fault *f);

/* The index beside a store's state, opened on first use and closed with the
 * store; NULL with a fault. */
struct search *store_search(struct store *store, struct fault *f);

/* Indexes what is missing for at most about budget_ms, reading from `store`
 * inside the transaction that the caller began there.  *indexed_to: every
 * event up to this number is in the index.  *more: the budget ran out (or
 * another process is at it) before all of it was. */
int search_step(struct search *s, struct store *store, int64_t budget_ms,
		int64_t *indexed_to, bool *more, struct fault *f);

/* A user's query, parsed: words, "phrases", prefix*, AND, OR, NOT and parentheses;
 * everything else is quoted. */
struct search_query {
	const char *match; /* FTS5's expression for the body */
	struct search_term *terms; /* the words and phrases to find, without those
				      behind NOT */
	size_t n_terms;
};

/* `invalid` at /query, with a hint, when the syntax is wrong. */
int search_parse(struct search *s, const char *text, struct search_query *out,
		 struct arena *a, struct fault *f);

/* The searcher, and the place that is searched; team or agent 0: any. */
struct search_scope {
	enum search_place place;
	int64_t team, agent;
	int64_t before; /* rows below this id */
	int limit;
};

/* Finds the row ids of matches below `before`, newest first: fills `rows`, at most
 * `limit`, and returns how many.  With an agent they may include broadcasts that it never
 * got: the caller must check the row. */
int search_match(struct search *s, const struct search_query *q,
		 const struct search_scope *scope, int64_t *rows, struct fault *f);

/* An excerpt where `text` matches, in the arena: at most some 200 bytes on one line, with
 * the words [in brackets]; the beginning of the text when nothing matches. */
const char *search_excerpt(struct search *s, const struct search_query *q,
			   const char *text, struct arena *a);

#endif
