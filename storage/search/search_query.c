/* search_query - turns a user's query into an expression of FTS5. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/search/search_inside.h"

enum { MOST_DEPTH = 8 };

enum token { END, OPEN, CLOSE, AND, OR, NOT, TERM };

struct parser {
	struct search *search;
	struct search_query *out;
	struct arena *arena;
	struct fault *fault;
	const char *at;
	enum token token; /* the next token of the query */
	struct search_term term; /* words of the next token, if this is a TERM */
	const char *quoted; /* text of the TERM in the syntax of FTS5 */
	int depth, negated;
	bool bad;
};

static void search_query_refuse(struct parser *p, const char *what, const char *hint)
{
	if (!p->bad) {
		fault_set(p->fault, FAULT_INVALID, "/query", "%s", what);
		fault_hint(p->fault, "%s", hint);
	}
	p->bad = true;
	p->token = END;
}

/* --- tokens ---------------------------------------------------------------------- */

struct gathered {
	struct search_term *term;
	struct arena *arena;
};

static int search_query_gather(void *with, int flags, const char *word, int n, int from,
			       int to)
{
	struct gathered *g = with;
	const char **place;

	(void)from, (void)to;
	if (flags & FTS5_TOKEN_COLOCATED)
		return 0;
	place = arena_push(g->arena, &g->term->tokens, &g->term->n_tokens,
			   sizeof(*place));
	*place = arena_strndup(g->arena, word, (size_t)n);
	return 0;
}

/* Makes a token TERM from `len` bytes of text. Returns false if the bytes contain no word. */
static bool take_term(struct parser *p, const char *text, size_t len)
{
	struct gathered g = { .term = &p->term, .arena = p->arena };
	char *out = arena_alloc(p->arena, 2 * len + 8), *c = out;

	p->term = (struct search_term){ 0 };
	search_words(p->search, text, len, &g, search_query_gather);
	if (p->term.n_tokens == 0)
		return false;
	*c++ = '"';
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			*c++ = '"';
		*c++ = text[i];
	}
	*c++ = '"';
	if (*p->at == '*') {
		p->term.prefix = true;
		p->at++;
		memcpy(c, " *", 2);
	}
	p->quoted = out;
	p->token = TERM;
	return true;
}

static bool take_phrase(struct parser *p)
{
	const char *text = ++p->at, *end = strchr(text, '"');

	if (!end) {
		search_query_refuse(p, "a quote is not closed",
				    "close it with another \", or leave it out");
		return true;
	}
	p->at = end + 1;
	return take_term(p, text, (size_t)(end - text));
}

static bool search_query_take_word(struct parser *p)
{
	static const struct {
		const char *word;
		enum token token;
	} operators[] = { { "AND", AND }, { "OR", OR }, { "NOT", NOT } };
	const char *text = p->at;
	size_t len = strcspn(text, " \t\r\n\"()");

	p->at += len;
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		if (len != strlen(operators[i].word) ||
		    memcmp(text, operators[i].word, len) != 0)
			continue;
		p->token = operators[i].token;
		return true;
	}
	if (len > 1 && text[len - 1] == '*')
		p->at = text + --len;
	return take_term(p, text, len);
}

/* Reads the next token. The function skips text that contains no word. */
static void next(struct parser *p)
{
	bool taken = false;

	while (!taken && !p->bad) {
		p->at += strspn(p->at, " \t\r\n");
		taken = true;
		switch (*p->at) {
		case '\0':
			p->token = END;
			break;
		case '(':
		case ')':
			p->token = *p->at++ == '(' ? OPEN : CLOSE;
			break;
		case '"':
			taken = take_phrase(p);
			break;
		default:
			taken = search_query_take_word(p);
		}
	}
}

/* --- expressions -------------------------------------------------------------------- */

static const char *parse_or(struct parser *p);

static const char *search_query_join(struct parser *p, const char *a,
				     const char *operator, const char * b)
{
	return a ? arena_printf(p->arena, "%s %s %s", a, operator, b) : b;
}

static const char *parse_term(struct parser *p)
{
	const char *out = NULL;

	if (p->token == TERM) {
		out = p->quoted;
		if (p->negated == 0)
			arena_add(p->arena, p->out->terms, p->out->n_terms, p->term);
		next(p);
	} else if (p->token == OPEN && p->depth < MOST_DEPTH) {
		p->depth++;
		next(p);
		out = parse_or(p);
		if (p->token != CLOSE)
			search_query_refuse(p, "a parenthesis is not closed",
					    "close it, or put the words in \"quotes\"");
		else
			next(p);
		p->depth--;
	} else if (p->token == OPEN) {
		search_query_refuse(p, "parentheses go too deep", "use fewer of them");
	} else {
		search_query_refuse(
			p, "an operator has nothing to work on",
			"write AND, OR and NOT between words, or quote them: \"NOT\"");
	}
	return out;
}

/* Reads terms that stand side by side, or that follow AND or NOT. A note or row must match
 * every term that does not follow NOT, and no term that follows NOT. */
static const char *parse_and(struct parser *p)
{
	const char *all = NULL, *none = NULL;

	if (p->token == NOT)
		search_query_refuse(p, "NOT needs something before it",
				    "say what to look for first: tests NOT slow");
	while (!p->bad) {
		if (p->token == NOT) {
			next(p);
			p->negated++;
			none = search_query_join(p, none, "OR", parse_term(p));
			p->negated--;
		} else {
			if (p->token == AND && all)
				next(p);
			all = search_query_join(p, all, "AND", parse_term(p));
		}
		if (p->token == END || p->token == CLOSE || p->token == OR)
			break;
	}
	if (p->bad)
		return "";
	return none ? arena_printf(p->arena, "((%s) NOT (%s))", all, none)
		    : arena_printf(p->arena, "(%s)", all);
}

static const char *parse_or(struct parser *p)
{
	const char *any = parse_and(p);

	while (!p->bad && p->token == OR) {
		next(p);
		any = search_query_join(p, any, "OR", parse_and(p));
	}
	return p->bad ? "" : arena_printf(p->arena, "(%s)", any);
}

int search_parse(struct search *s, const char *text, struct search_query *out,
		 struct arena *a, struct fault *f)
{
	struct parser p = { .search = s, .out = out, .arena = a, .fault = f, .at = text };

	*out = (struct search_query){ 0 };
	next(&p);
	if (p.token == END)
		search_query_refuse(&p, "there is no word to look for",
				    "give a word of letters or digits");
	else
		out->match = parse_or(&p);
	if (p.token == CLOSE)
		search_query_refuse(&p, "a parenthesis closes nothing",
				    "open it first, or put the words in \"quotes\"");
	return p.bad ? FAULT_INVALID : 0;
}
