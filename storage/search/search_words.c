/* search_words - splits texts into words, like the index, and makes excerpts. */
#include <stdlib.h>
#include <string.h>

#include "storage/search/search_inside.h"
#include "storage/search/search_vault.h"

enum { EXCERPT = 200, BEFORE = 20, MOST_WORDS = 100000, PIECE = 128 << 10 };

/* --- words --------------------------------------------------------------------- */

static fts5_api *find_api(struct search *s)
{
	sqlite3_stmt **st = &s->prepared[sql_index_words];
	fts5_api *api = NULL;

	if (SIDE_START(&s->side, index_words) == SQLITE_OK) {
		sqlite3_bind_pointer(*st, 1, &api, "fts5_api_ptr", NULL);
		sqlite3_step(*st);
	}
	side_end(&s->side, sql_index_words);
	return api;
}

int search_words_open(struct search *s)
{
	const char *options[] = { "remove_diacritics", "2" };
	fts5_api *api = find_api(s);
	void *data;

	if (!api || api->xFindTokenizer(api, "unicode61", &data, &s->tokenizer) ||
	    s->tokenizer.xCreate(data, options, 2, &s->words))
		return SQLITE_ERROR;
	return SQLITE_OK;
}

void search_words(struct search *s, const char *text, size_t len, void *with,
		  int (*each)(void *with, int flags, const char *word, int n, int from,
			      int to))
{
	s->tokenizer.xTokenize(s->words, with, FTS5_TOKENIZE_QUERY, text, (int)len, each);
}

/* --- where a query matches ---------------------------------------------------------- */

struct word {
	const char *text;
	int len, from, to;
};

struct words {
	struct word *v;
	size_t n;
	struct arena *arena;
};

static int keep_word(void *with, int flags, const char *text, int n, int from, int to)
{
	struct words *words = with;
	struct word *w;

	(void)flags;
	if (words->n == MOST_WORDS)
		return SQLITE_DONE;
	w = arena_push(words->arena, &words->v, &words->n, sizeof(*w));
	*w = (struct word){ arena_strndup(words->arena, text, (size_t)n), n, from, to };
	return 0;
}

static bool word_is(const struct word *w, const char *token, bool prefix)
{
	size_t n = strlen(token);

	return prefix ? strncmp(w->text, token, n) == 0 : strcmp(w->text, token) == 0;
}

static bool term_at(const struct search_term *t, const struct words *words, size_t at)
{
	if (at + t->n_tokens > words->n)
		return false;
	for (size_t i = 0; i < t->n_tokens; i++)
		if (!word_is(&words->v[at + i], t->tokens[i],
			     t->prefix && i + 1 == t->n_tokens))
			return false;
	return true;
}

/* Returns the number of words of the longest term that matches at the word `at`, or 0 if no
 * term matches. */
static size_t match_at(const struct search_query *q, const struct words *words, size_t at)
{
	size_t longest = 0;

	for (size_t i = 0; i < q->n_terms; i++)
		if (q->terms[i].n_tokens > longest && term_at(&q->terms[i], words, at))
			longest = q->terms[i].n_tokens;
	return longest;
}

/* The size of the piece of text that begins at `at`.  A piece consists of whole lines, if the
 * lines are not too long. */
static size_t piece_size(const char *text, size_t len, size_t at)
{
	size_t n = len - at;
	const char *end;

	if (n <= PIECE)
		return n;
	end = memrchr(text + at, '\n', PIECE);
	return end ? (size_t)(end - (text + at)) + 1 : PIECE;
}

void search_places(struct search *s, const struct search_query *q, const char *text,
		   size_t len, void (*each)(void *with, size_t at), void *with)
{
	struct arena arena = { 0 };

	/* A long text is searched in pieces, so that the list of words needs little memory. */
	for (size_t at = 0, size; at < len; at += size) {
		struct words words = { .arena = &arena };

		size = piece_size(text, len, at);
		search_words(s, text + at, size, &words, keep_word);
		for (size_t i = 0; i < words.n; i++)
			if (match_at(q, &words, i))
				each(with, at + (size_t)words.v[i].from);
		arena_release(&arena);
	}
}

/* --- excerpts -------------------------------------------------------------------------- */

struct excerpt {
	char *out;
	size_t n;
	const char *text;
	size_t from, to; /* range of bytes in `text` that the excerpt shows */
};

/* Appends the text up to `to` to the excerpt, without line breaks. */
static void copy_up_to(struct excerpt *e, size_t to)
{
	for (; e->from < to && e->from < e->to; e->from++) {
		unsigned char c = (unsigned char)e->text[e->from];

		if (c <= ' ' && e->n > 0 && e->out[e->n - 1] == ' ')
			continue;
		e->out[e->n++] = c < ' ' ? ' ' : (char)c;
	}
}

static void search_words_add(struct excerpt *e, const char *mark)
{
	size_t n = strlen(mark);

	memcpy(e->out + e->n, mark, n);
	e->n += n;
}

static void choose_window(struct excerpt *e, const struct search_query *q,
			  const struct words *words, size_t len)
{
	size_t first = 0;

	while (first < words->n && match_at(q, words, first) == 0)
		first++;
	if (first < words->n && words->v[first].from > BEFORE) {
		size_t least = (size_t)words->v[first].from - BEFORE;

		/* Moves the beginning of the excerpt to the beginning of a word. */
		while (first > 0 && (size_t)words->v[first - 1].from >= least)
			first--;
		e->from = (size_t)words->v[first].from;
	}
	e->to = len - e->from > EXCERPT ? text_start(e->text, e->from + EXCERPT) : len;
}

const char *search_excerpt(struct search *s, const struct search_query *q,
			   const char *text, struct arena *a)
{
	/* The room is enough for brackets around each word, for two ellipses and for the NUL. */
	struct excerpt e = { .text = text, .out = arena_alloc(a, 3 * EXCERPT + 16) };
	struct arena_mark mark = arena_mark(a);
	struct words words = { .arena = a };
	size_t len = strlen(text);

	search_words(s, text, len, &words, keep_word);
	choose_window(&e, q, &words, len);
	if (e.from > 0)
		search_words_add(&e, "…");
	for (size_t i = 0, n; i < words.n; i += n) {
		size_t from = (size_t)words.v[i].from;

		n = from < e.from ? 0 : match_at(q, &words, i);
		if (n > 0 && (size_t)words.v[i + n - 1].to <= e.to) {
			copy_up_to(&e, from);
			search_words_add(&e, "[");
			copy_up_to(&e, (size_t)words.v[i + n - 1].to);
			search_words_add(&e, "]");
		}
		n = n ? n : 1;
	}
	copy_up_to(&e, e.to);
	arena_reset(a, mark);
	while (e.n > 0 && e.out[e.n - 1] == ' ')
		e.n--;
	if (e.to < len)
		search_words_add(&e, "…");
	e.out[e.n] = '\0';
	return e.out;
}
