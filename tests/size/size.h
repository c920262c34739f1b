/*
 * size - a state with more in it than answers can hold, and the doors to it.
 */
#ifndef TESTS_SIZE_SIZE_H
#define TESTS_SIZE_SIZE_H

#include "core/client/client.h"
#include "tests/lib/raw.h"

enum {
	AGENTS = 2000, /* of the team: their list is larger than a frame */
	TASKS = 1600, /* of its board */
	NOTES = 6, /* of 256 KiB on each of the large tasks */
	LARGE = 4, /* large tasks: one for each door to work on */
	MESSAGES = 4, /* of 256 KiB and as much metadata, to one agent for each door */
	PRINTED = 800000, /* control characters that a command printed */
	ENTRIES = 3500, /* of one directory, with names of control characters */
	FLAT = 800000, /* control characters of a note in the vault */
	CONTENT = 262144, /* the longest text of a message */
	RESERVATIONS = 1024, /* each with the longest reason */
	TURN = 2097152, /* what a turn has printed */
	OLD_METADATA = 5000000, /* of a message older than the bound */
};

struct scene {
	char base[64], home[100], log[100];
	struct home found;
	pid_t host, mcp;
	struct raw socket, guest;
	struct client *direct, *as_operator, *as_host;
	int to_mcp, from_mcp;
	struct text heard; /* what came from MCP behind the last line */
	int number; /* of the last request */
	char workspace[64], message[64], old[64], assignment[64];
};

/* Answer of a door: either `result` or `fault` is NULL. */
struct said {
	json_t *result;
	char *fault;
};
void said_release(struct said *s);

/* A way to the same state; `ask` borrows args.  All ask as the team's lead. */
struct door {
	const char *name;
	void (*ask)(struct scene *s, const struct op *op, json_t *args, struct said *out);
	const char *agent; /* whose inbox is read by this door */
	const char *task; /* the large task that is worked on by it */
};
extern const struct door doors[];
enum { DOORS = 4 };

void doors_open(struct scene *s);
void doors_close(struct scene *s);

/* Fills the state before its host starts; fill_hosted() adds what needs one. */
void fill(struct scene *s);
void fill_hosted(struct scene *s);

/* As the scene's operator or its host, by the file itself; fails the test on a
 * fault. `args` is taken over. */
json_t *do_directly(struct scene *s, enum who level, const char *op, json_t *args);

/* `n` times a character. */
json_t *repeated(char c, size_t n);

#endif
