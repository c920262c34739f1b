/*
 * runner_client - the clients that cadre can start for a turn, and the output of these clients.
 *
 * Each client prints a line of JSON for each thing that happens. The forms of the lines were
 * taken from the output of the clients (docs/clients.md).
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

/* The facts that the output of a turn has given so far. The struct must begin zeroed. */
struct runner_told {
	struct text text; /* kept text that is not stored yet */
	struct text line; /* the unfinished last line of a client's output */
	size_t passed; /* bytes of a line that is too long to be read */
	char session[200]; /* id of the client's session; "": no session */
	int64_t tokens_in, tokens_out, cost; /* cost in micro-dollars */
	/* Whether tokens or cost count from the beginning of the client's session, and not from
	 * the beginning of the turn. */
	bool whole_tokens, whole_cost;
	bool limited; /* the client is at the limit of its plan */
	int64_t limited_until; /* end of the limit in ms; 0: the client gave no end */
};

/* The client that a runner names. The runner is the client's name alone, or the name and then
 * arguments for the client's command line. Returns NULL if the runner is another command. */
const struct runner_client *runner_client_of(const char *runner);

/* The name of the client that a runner names. The runner must name a client. */
const char *runner_client_name(const char *runner);

/* The command that `sh -c` runs for a turn. */
const char *runner_command(const char *runner, struct arena *a);

/* Whether the text of a client's error says that the client is at the limit of its plan. */
bool runner_client_limit(const char *error);

/* Takes a piece of a turn's output. If `c` is not NULL, the client's lines of JSON are read.
 * Other lines are kept unchanged, because a client also writes errors that are not JSON. If a
 * line is too long to be read, or is long and broken JSON, only the line's length is kept. */
void runner_client_take(const struct runner_client *c, const char *s, size_t len,
			struct runner_told *told);
/* Ends the output, which also ends the last line. */
void runner_client_end(const struct runner_client *c, struct runner_told *told);

void runner_told_release(struct runner_told *told);

#endif
