/*
 * runner_client - clients that cadre knows how to start for a turn, and what they print.
 *
 * Each prints a line of JSON for each thing that happens.  The forms were taken from the
 * clients themselves: see docs/clients.md.
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

/* A turn, as far as its output has told; begins zeroed. */
struct runner_told {
	struct text text; /* that is to be kept, and is not taken yet */
	char session[200]; /* "": none */
	int64_t tokens_in, tokens_out, cost; /* cost in micro-dollars */
	/* The amounts count from the beginning of the client's session, not of the turn. */
	bool whole_tokens, whole_cost;
	bool limited; /* the client is at the limit of its plan */
	int64_t limited_until; /* in ms; 0: it has not said */
};

/* The client whose template a runner names, alone or with further words for its command
 * line; NULL: it is a command of its own. */
const struct runner_client *runner_client_of(const char *runner);

/* The name of that client. */
const char *runner_client_name(const char *runner);

/* The command of a turn, for `sh -c`. */
const char *runner_command(const char *runner, struct arena *a);

/* Whether a client's words for an error say that it is at the limit of its plan. */
bool runner_client_limit(const char *error);

/* Takes a line of output, which need not end with a NUL; one that is no JSON is kept as it
 * is. */
void runner_client_read(const struct runner_client *c, const char *line, size_t len,
			struct runner_told *told);

#endif
