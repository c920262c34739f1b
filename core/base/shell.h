/*
 * shell - words as they are typed into a shell, and what such a word says.
 */
#ifndef CORE_BASE_SHELL_H
#define CORE_BASE_SHELL_H

#include "core/base/arena.h"

/* A text as a word that is typed into a shell: in quotes, unless that would leave it alone. */
char *shell_word(struct arena *a, const char *text);
/* The text of a word that shell_word() wrote; NULL: it did not write that. */
const char *shell_text(struct arena *a, const char *word);
/* A shell's line without quotes, backslashes and double blanks, by which lines that say the same
 * in other quotes can be compared. */
const char *shell_bare(struct arena *a, const char *line);

#endif
