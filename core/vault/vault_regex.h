/*
 * vault_regex - lines that a POSIX extended expression matches, at a bounded cost.
 *
 * The matcher of the C library tries every beginning of a match, and builds an automaton while
 * it reads. For an expression of 150 atoms, this costs up to 80 KiB and 1 ms for each byte. So
 * larger expressions are refused, long lines are searched in pieces, and the expression is
 * compiled anew after some pieces. Nothing here does I/O.
 */
#ifndef CORE_VAULT_VAULT_REGEX_H
#define CORE_VAULT_VAULT_REGEX_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/fault.h"

enum { REGEX_OVERLAP = 128 }; /* bytes in two pieces: no shorter match is missed */

struct vault_regex {
	char pattern[1024];
	regex_t re;
	size_t piece; /* bytes of a line that are searched at once */
	size_t read; /* bytes searched since the expression was compiled */
	bool (*is_late)(const void *with); /* called between pieces; NULL: not called */
	const void *with;
};

/* Compiles an expression: 0, or `invalid` at /query. `\d` and `\D` are understood,
 * back-references are refused. */
int regex_open(struct vault_regex *r, const char *pattern, struct fault *f);
void regex_close(struct vault_regex *r);

/* Whether the expression matches within a line of `len` bytes; the match begins at `*at`. Also
 * false if is_late() ended the search. */
bool regex_finds(struct vault_regex *r, const char *line, size_t len, size_t *at);

#endif
