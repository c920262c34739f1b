#include "core/vault/vault_regex.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIZE_MOST = 150, /* maximum number of atoms after all repetitions are written
			    out */
	SIZE_EASY = 40, /* up to this number of atoms, the automaton stays small */
	PIECE_LEAST = 256,
	PIECE_MOST = 2048,
	DEPTH_MOST = 32, /* maximum number of levels of parentheses */
};

/* --- the size of an expression ---------------------------------------------------- */

/* The numbers of atoms at each level of parentheses. A repetition behind an atom multiplies
 * `last`, the size of the level's last atom. */
struct measure {
	size_t sum[DEPTH_MOST], last[DEPTH_MOST];
	int depth;
};

static size_t at_most(size_t n)
{
	return n < 1000000 ? n : 1000000;
}

static void add_atom(struct measure *m, size_t size)
{
	m->sum[m->depth] = at_most(m->sum[m->depth] + m->last[m->depth]);
	m->last[m->depth] = size;
}

/* The number of bytes of a set such as [a-z], brackets included. */
static size_t set_size(const char *s)
{
	size_t n = 1;

	n += s[n] == '^';
	n += s[n] == ']';
	while (s[n] && s[n] != ']') {
		const char *end = NULL;

		if (s[n] == '[' && s[n + 1] && strchr(".:=", s[n + 1]))
			end = strchr(s + n + 2, ']');
		n = end ? (size_t)(end - s) + 1 : n + 1;
	}
	return n + (s[n] == ']');
}

/* Reads a repetition {m,n} at `s` and returns the length of the repetition. Sets `*most` to the
 * larger of m and n. If neither a digit nor a comma follows the brace, returns 1 and sets
 * `*most` to 1. */
static size_t vault_regex_repeat(const char *s, size_t *most)
{
	char *end;

	*most = 1;
	if (!isdigit((unsigned char)s[1]) && s[1] != ',')
		return 1;
	for (const char *c = s + 1; *c && *c != '}';) {
		size_t n = strtoul(c, &end, 10);

		*most = n > *most ? n : *most;
		c = end + (*end && *end != '}');
	}
	end = strchr(s, '}');
	return end ? (size_t)(end - s) + 1 : 1;
}

/* Measures the part of the expression at `s`, and returns the part's length. Returns 0 if
 * parentheses are nested too deep, or if the part is a back-reference. */
static size_t measure_one(struct measure *m, const char *s)
{
	size_t n = 1, most;

	switch (*s) {
	case '\\':
		if (isdigit((unsigned char)s[1]))
			return 0;
		add_atom(m, 1);
		return s[1] ? 2 : 1;
	case '[':
		add_atom(m, 1);
		return set_size(s);
	case '(':
		if (++m->depth == DEPTH_MOST)
			return 0;
		m->sum[m->depth] = m->last[m->depth] = 0;
		return 1;
	case ')':
		if (m->depth > 0) {
			size_t inner = m->sum[m->depth] + m->last[m->depth] + 1;

			m->depth--;
			add_atom(m, inner);
		}
		return 1;
	case '{':
		n = vault_regex_repeat(s, &most);
		m->last[m->depth] = at_most(m->last[m->depth] * most);
		return n;
	case '*':
	case '+':
	case '?':
		return 1;
	default:
		add_atom(m, 1);
		return 1;
	}
}

/* The size of the pieces in which a line is searched. With this size, an expression of `size`
 * atoms uses a bounded amount of memory. */
static size_t piece_for(size_t size)
{
	size_t n = size > SIZE_EASY ? PIECE_MOST * SIZE_EASY / size * SIZE_EASY / size
				    : PIECE_MOST;

	return n > PIECE_LEAST ? n : PIECE_LEAST;
}

static int vault_regex_check_size(const char *pattern, size_t *piece, struct fault *f)
{
	struct measure m = { 0 };

	for (const char *s = pattern; *s;) {
		size_t n = measure_one(&m, s);

		if (!n) {
			fault_set(
				f, FAULT_INVALID, "/query",
				"the expression has a back reference, or is nested too deep");
			return fault_hint(
				f,
				"Search with a simpler expression, and look at the lines.");
		}
		s += n;
	}
	*piece = piece_for(m.sum[0] + m.last[0]);
	if (m.depth == 0 && m.sum[0] + m.last[0] <= SIZE_MOST)
		return 0;
	if (m.depth)
		return fault_set(f, FAULT_INVALID, "/query",
				 "a parenthesis is not closed");
	fault_set(f, FAULT_INVALID, "/query", "the expression repeats a part too often");
	return fault_hint(f, "Use * and + for long repetitions.");
}

/* --- compiling ---------------------------------------------------------------------- */

/* Replaces `\d` by [0-9] and `\D` by [^0-9], since most people write `\d` and `\D`. */
static int vault_regex_spell_out(struct vault_regex *r, const char *s, struct fault *f)
{
	size_t n = 0;

	while (*s && n + 16 < sizeof(r->pattern)) {
		size_t len = 1;

		if (*s == '\\' && (s[1] == 'd' || s[1] == 'D')) {
			n += (size_t)snprintf(r->pattern + n, sizeof(r->pattern) - n,
					      s[1] == 'd' ? "[0-9]" : "[^0-9]");
			s += 2;
			continue;
		}
		if (*s == '[')
			len = set_size(s);
		else if (*s == '\\' && s[1])
			len = 2;
		if (n + len + 1 >= sizeof(r->pattern))
			break;
		memcpy(r->pattern + n, s, len);
		n += len;
		s += len;
	}
	r->pattern[n] = '\0';
	if (!*s)
		return 0;
	return fault_set(f, FAULT_INVALID, "/query", "the expression is too long");
}

int regex_open(struct vault_regex *r, const char *pattern, struct fault *f)
{
	char why[120];
	int rc;

	*r = (struct vault_regex){ 0 };
	if ((rc = vault_regex_spell_out(r, pattern, f)) < 0 ||
	    (rc = vault_regex_check_size(r->pattern, &r->piece, f)) < 0)
		return rc;
	rc = regcomp(&r->re, r->pattern, REG_EXTENDED);
	if (rc == 0)
		return 0;
	regerror(rc, &r->re, why, sizeof(why));
	fault_set(f, FAULT_INVALID, "/query", "not an expression: %s", why);
	return fault_hint(f, "Write a POSIX extended expression, or leave regex out.");
}

void regex_close(struct vault_regex *r)
{
	regfree(&r->re);
}

/* Compiles the expression anew after a search of much text, since its automaton grows during
 * the search. */
static void vault_regex_renew(struct vault_regex *r, size_t len)
{
	r->read += len;
	if (r->read <= 2 * r->piece)
		return;
	regfree(&r->re);
	r->read = len;
	/* The expression was compiled once already, so regcomp() fails only if memory is short.
	 * After such a failure, the expression becomes `$.`, which matches nothing. */
	if (regcomp(&r->re, r->pattern, REG_EXTENDED) != 0)
		regcomp(&r->re, "$.", REG_EXTENDED);
}

bool regex_finds(struct vault_regex *r, const char *line, size_t len, size_t *at)
{
	size_t from = 0, n;

	do {
		regmatch_t m = { 0 };
		int flags = REG_STARTEND | (from ? REG_NOTBOL : 0);

		n = len - from < r->piece ? len - from : r->piece;
		m.rm_eo = (regoff_t)n;
		flags |= from + n < len ? REG_NOTEOL : 0;
		vault_regex_renew(r, n);
		if (regexec(&r->re, line + from, 1, &m, flags) == 0) {
			*at = from + (size_t)m.rm_so;
			return true;
		}
		from += r->piece - REGEX_OVERLAP;
	} while (from + REGEX_OVERLAP < len && !(r->is_late && r->is_late(r->with)));
	return false;
}
