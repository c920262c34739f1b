/*
 * raw - a bare connection to a host's or a guest's socket, for tests that say
 * what no client would.
 *
 * No function here fails a test: a failure is a return value.
 */
#ifndef TESTS_LIB_RAW_H
#define TESTS_LIB_RAW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/wire/frame.h"

struct raw {
	int fd; /* -1: none */
	struct frame_reader in;
	char held[16384]; /* came behind the frame that was heard last */
	size_t at, n;
};

/* Connects; waits while the peer's queue is full. */
bool raw_dial(struct raw *r, const char *path);
void raw_hang_up(struct raw *r);

/* Sends the bytes as they are; false when the peer went away, or took nothing
 * for `ms`. */
bool raw_send(struct raw *r, const void *data, size_t len, int ms);
/* Sends a frame with these bytes in it. */
bool raw_frame(struct raw *r, const void *body, size_t len, int ms);
/* Sends a frame of JSON; `json` is taken over. */
bool raw_say(struct raw *r, json_t *json);

/* The next frame: NULL when none came within `ms` or the peer closed; then
 * r->fd is -1. */
json_t *raw_hear(struct raw *r, int ms);
/* Says and hears: the answer with the same id, those of others are dropped. */
json_t *raw_ask(struct raw *r, json_t *json, int ms);

/* A Call with an id; `args` is taken over. */
json_t *raw_call(int id, const char *op, json_t *args);
/* A Hello of an operator who acts as an agent of a team. */
json_t *raw_hello(const char *team, const char *agent);

#endif
