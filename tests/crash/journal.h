/*
 * journal - the calls that a client tried, and what it was told; on the disk at once.
 *
 * A file of JSON lines, each synced before the client goes on:
 *
 *	{"try":KEY,"at":MS,"op":NAME,"args":{…}}	before a call
 *	{"end":KEY,"at":MS,"code":"ok","result":{…}}	its answer, or its fault
 *	{"note":KEY,"at":MS,"code":"unavailable",…}	no answer: it stays open
 *	{"again":KEY,"at":MS,"code":"ok","result":{…}}	the same call once more
 *
 * The client may be killed at any instant: a last line that is cut counts as not
 * written, and what was tried without an end is open until it is repeated.
 */
#ifndef TESTS_CRASH_JOURNAL_H
#define TESTS_CRASH_JOURNAL_H

#include <jansson.h>
#include <stddef.h>

struct journal {
	int fd;
	long number; /* of the last key that was used */
};

/* Opens the journal at `path` to go on with it; -1 with a line on stderr. */
int journal_open(struct journal *j, const char *path);
void journal_close(struct journal *j);

/* Appends one line about `key`; the other values are taken over.  `word` is try,
 * end, note or again; `what` the operation or the code; `more` may be NULL. */
void journal_write(struct journal *j, const char *word, const char *key, const char *what,
		   json_t *more);

/* Calls `each` with every whole line; how many there were. */
size_t journal_read(const char *path,
		    void (*each)(void *arg, const char *line, json_t *json), void *arg);

#endif
