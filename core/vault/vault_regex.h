/*
 * vault_regex - finds lines that match a POSIX extended expression, at a bounded cost.
 *
 * The matcher of the C library tries every beginning of a match, and builds an automaton while
 * the matcher reads. With an expression of 150 atoms, a search costs up to 80 KiB and 1 ms for
 * each byte of the text. To limit the cost, larger expressions are refused, and long lines are
 * searched in pieces. The expression is compiled anew after every few pieces, which frees the
 * automaton. Nothing here does I/O.
 */
#ifndef CORE_VAULT_VAULT_REGEX_H
#define CORE_VAULT_VAULT_REGEX_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/fault.h"

/* The number of bytes that two neighbouring pieces share. So no match of at most this length is
 * missed. */
enum { REGEX_OVERLAP = 128 };

struct vault_regex {
	char pattern[1024];
	regex_t re;
	size_t piece; /* bytes of a line that are searched at once */
	size_t read; /* bytes searched since the last regcomp() */
	/* Called between pieces, unless NULL. A result of true ends the search. */
	bool (*is_late)(const void *with);
	const void *with;
};

/* Compiles an expression. Returns 0, or the fault `invalid` at /query. The expression may
 * contain `\d` and `\D`, but no back-references. */
int regex_open(struct vault_regex *r, const char *pattern, struct fault *f);
void regex_close(struct vault_regex *r);

/* Whether the expression matches within a line of `len` bytes. After a match, `*at` is the
 * offset of the match in the line. Returns false, too, if is_late() ended the search. */
bool regex_finds(struct vault_regex *r, const char *line, size_t len, size_t *at);

#endif
