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
	struct text line; /* of a client, of which the end is to come */
	size_t passed; /* bytes of that line where it is too long */
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

/* Takes output as it comes.  Of a client, lines of JSON are read, and all others are kept as they
 * are: a client writes its errors so.  Of one that is too long to be read the length is kept. */
void runner_client_take(const struct runner_client *c, const char *s, size_t len,
			struct runner_told *told);
/* The output has ended, and so has its last line. */
void runner_client_end(const struct runner_client *c, struct runner_told *told);

void runner_told_release(struct runner_told *told);

#endif
