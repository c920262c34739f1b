/*
 * size - a state with more data than an answer can hold, and the doors to that state.
 */
#ifndef TESTS_SIZE_SIZE_H
#define TESTS_SIZE_SIZE_H

#include "core/client/client.h"
#include "tests/lib/raw.h"

enum {
	AGENTS = 2000, /* members of the team, too many for a list in one frame */
	TASKS = 1600, /* tasks of the team's board */
	NOTES = 6, /* notes of 256 KiB on each large task */
	LARGE = 4, /* large tasks, one for each door */
	MESSAGES = 4, /* messages to each door's agent, of CONTENT bytes each */
	PRINTED = 800000, /* control characters that a command printed */
	ENTRIES = 3500, /* entries of a directory, with names of control characters */
	FLAT = 800000, /* control characters of a note in the vault */
	CONTENT = 262144, /* the longest text of a message */
	RESERVATIONS = 1024, /* reservations with the longest reason */
	TURN = 2097152, /* bytes printed by a turn */
	OLD_METADATA = 5000000, /* bytes of old metadata, above the present limit */
};

struct scene {
	char base[64], home[100], log[100];
	struct home found;
	pid_t host, mcp;
	struct raw socket, guest;
	struct client *direct, *as_operator, *as_host;
	int to_mcp, from_mcp;
	struct text heard; /* bytes from MCP behind the last line that was read */
	int number; /* number of the last request */
	char workspace[64], message[64], old[64], assignment[64];
};

/* Answer of a door: either `result` or `fault` is NULL. */
struct said {
	json_t *result;
	char *fault;
};
void said_release(struct said *s);

/* A door to the state. `ask` borrows args. All doors call as the team's lead. */
struct door {
	const char *name;
	void (*ask)(struct scene *s, const struct op *op, json_t *args, struct said *out);
	const char *agent; /* the agent whose inbox this door reads */
	const char *task; /* the large task that this door changes */
};
extern const struct door doors[];
enum { DOORS = 4 };

void doors_open(struct scene *s);
void doors_close(struct scene *s);

/* Fills the state before its host starts. fill_hosted() adds the rows that need a host. */
void fill(struct scene *s);
void fill_hosted(struct scene *s);

/* Makes a call as the operator or the host, without a host process. A fault fails the test.
 * Frees `args`. */
json_t *do_directly(struct scene *s, enum who level, const char *op, json_t *args);

/* Returns a JSON string that repeats the character `n` times. */
json_t *repeated(char c, size_t n);

#endif
