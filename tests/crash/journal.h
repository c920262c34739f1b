/*
 * journal - a file with the calls that a client tried and the answers that the client got.
 *
 * Each line is a JSON object, and is synced before the client goes on. A line has one of four
 * forms.
 *
 *	{"try":KEY,"at":MS,"op":NAME,"args":{…}}	before a call
 *	{"end":KEY,"at":MS,"code":"ok","result":{…}}	the answer or the fault
 *	{"note":KEY,"at":MS,"code":"unavailable",…}	no answer, so the call stays open
 *	{"again":KEY,"at":MS,"code":"ok","result":{…}}	the answer to a repeat of the call
 *
 * The client may be killed at any instant. If the last line is cut off, this line counts as not
 * written. A "try" line without an "end" line is an open call, until the client repeats the
 * call.
 */
#ifndef TESTS_CRASH_JOURNAL_H
#define TESTS_CRASH_JOURNAL_H

#include <jansson.h>
#include <stddef.h>

struct journal {
	int fd;
	long number; /* number of the last key in use */
};

/* Opens the journal at `path` for appending. On failure returns -1 and prints a line on stderr. */
int journal_open(struct journal *j, const char *path);
void journal_close(struct journal *j);

/* Appends one line about `key`. `word` is try, end, note or again. `what` is the operation or
 * the code. Takes over `more`, which may be NULL. */
void journal_write(struct journal *j, const char *word, const char *key, const char *what,
		   json_t *more);

/* Calls each() with every complete line. Returns the number of lines. */
size_t journal_read(const char *path,
		    void (*each)(void *arg, const char *line, json_t *json), void *arg);

#endif
