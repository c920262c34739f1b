/*
 * shell - quoting a text for a shell, and reading a quoted word back.
 */
#ifndef CORE_BASE_SHELL_H
#define CORE_BASE_SHELL_H

#include "core/base/arena.h"

/* A text as one word of a shell's line. The word is in quotes if the text is empty or contains
 * a character that may be special in a shell. */
char *shell_word(struct arena *a, const char *text);
/* The text of a word that shell_word() wrote; NULL: shell_word() did not write this word. */
const char *shell_text(struct arena *a, const char *word);
/* A shell's line without quotes, backslashes and double blanks, so that two lines which differ
 * only in their quotes compare equal. */
const char *shell_bare(struct arena *a, const char *line);

#endif
