/*
 * runner_client - the clients that cadre can start for a turn, and the output of these clients.
 *
 * Each client prints a line of JSON for each thing that happens. The forms of the lines were
 * taken from the clients themselves: see docs/clients.md.
 */
#ifndef CORE_TURN_RUNNER_CLIENT_H
#define CORE_TURN_RUNNER_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/op/op.h"

struct runner_client;

/* The things that the output of a turn has told so far. The struct begins zeroed. */
struct runner_told {
	struct text text; /* text to keep that is not stored yet */
	struct text line; /* the unfinished last line of a client's output */
	size_t passed; /* bytes of the line, if it is too long to be read */
	char session[200]; /* "": no session */
	int64_t tokens_in, tokens_out, cost; /* cost in micro-dollars */
	/* Whether tokens or cost count from the beginning of the client's session, not of the
	 * turn. */
	bool whole_tokens, whole_cost;
	bool limited; /* the client is at the limit of its plan */
	int64_t limited_until; /* in ms; 0: the client gave no time */
};

/* The client that a runner names. The runner is the client's name alone, or the name with
 * further words for the client's command line. NULL: the runner is a command of its own. */
const struct runner_client *runner_client_of(const char *runner);

/* The name of the client that a runner names. */
const char *runner_client_name(const char *runner);

/* The command of a turn, for `sh -c`. */
const char *runner_command(const char *runner, struct arena *a);

/* Whether the text of a client's error says that the client is at the limit of its plan. */
bool runner_client_limit(const char *error);

/* Takes a piece of output. From a client, lines of JSON are read. All other lines are kept
 * unchanged, because a client writes its errors in such lines. Of a line that is too long to be
 * read, only the length is kept. */
void runner_client_take(const struct runner_client *c, const char *s, size_t len,
			struct runner_told *told);
/* Ends the output and its last line. */
void runner_client_end(const struct runner_client *c, struct runner_told *told);

void runner_told_release(struct runner_told *told);

#endif
