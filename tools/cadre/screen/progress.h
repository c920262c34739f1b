/*
 * progress - a line on a terminal that shows the current work of a command.
 *
 * The line is first written to stderr after half a second. Then the line is drawn again and
 * again in the same place, with the seconds so far. At the end the line is erased. Nothing is
 * written if stderr is no terminal, or if a program reads the answer (--json). Only one line of
 * progress exists at a time. While the line exists, no other text may be written to the
 * terminal.
 */
#ifndef TOOLS_CADRE_SCREEN_PROGRESS_H
#define TOOLS_CADRE_SCREEN_PROGRESS_H

struct cli;
struct progress;

/* Begins a line with a text. Returns NULL if no line is shown. progress_say() and
 * progress_end() accept NULL in place of a line. */
struct progress *progress_begin(const struct cli *cli, const char *text);
/* Sets the text of the line. This function may be called very often, because the line is drawn
 * at most five times a second. */
void progress_say(struct progress *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Erases the line, and frees `p`. */
void progress_end(struct progress *p);

#endif
