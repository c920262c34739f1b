/*
 * progress - a line on a terminal that shows the current work of a command.
 *
 * The line is written to stderr after half a second. It is drawn again and again in the same
 * place, with the seconds so far, and is erased at the end. Nothing is written if stderr is no
 * terminal, or if a program reads the answer (--json). Only one line exists at a time; until
 * its end, no other text may be written to the terminal.
 */
#ifndef TOOLS_CADRE_SCREEN_PROGRESS_H
#define TOOLS_CADRE_SCREEN_PROGRESS_H

struct cli;
struct progress;

/* Begins a line with a text. NULL: no line is shown; the other functions accept NULL. */
struct progress *progress_begin(const struct cli *cli, const char *text);
/* Sets the text of the line. This function may be called at any rate: the line is drawn at most
 * five times a second. */
void progress_say(struct progress *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Erases the line, and frees `p`. */
void progress_end(struct progress *p);

#endif
