/*
 * progress - a line on a terminal that says what a command is doing.
 *
 * It is written to stderr after half a second, drawn anew in its place with the seconds
 * that have gone, and erased at the end.  Nothing is written if stderr is no terminal, or a
 * program reads the answer (--json).  Only one line exists at a time; until its end, nothing
 * else is to be written to the terminal.
 */
#ifndef TOOLS_CADRE_SCREEN_PROGRESS_H
#define TOOLS_CADRE_SCREEN_PROGRESS_H

struct cli;
struct progress;

/* Begins with a text; NULL, which the others take, where there is nothing to be seen. */
struct progress *progress_begin(const struct cli *cli, const char *text);
/* Says what is done now, as often as one likes: it is drawn five times a second at most. */
void progress_say(struct progress *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Erases the line. */
void progress_end(struct progress *p);

#endif
