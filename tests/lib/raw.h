/*
 * raw - a bare connection to a host's or a guest's socket, for tests that send bytes that no
 * client would send.
 *
 * No function of this file makes a test fail. Failures are return values.
 */
#ifndef TESTS_LIB_RAW_H
#define TESTS_LIB_RAW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/wire/frame.h"

struct raw {
	int fd; /* -1: not connected */
	struct frame_reader in;
	char held[16384]; /* bytes that arrived after the last frame */
	size_t at, n;
};

/* Connects to the socket at `path`, and waits while the listener's queue is full. */
bool raw_dial(struct raw *r, const char *path);
void raw_hang_up(struct raw *r);

/* Sends the bytes unchanged. Returns false if the peer closed the connection, or accepted no
 * byte for `ms`. */
bool raw_send(struct raw *r, const void *data, size_t len, int ms);
/* Sends a frame with the bytes of `body`. */
bool raw_frame(struct raw *r, const void *body, size_t len, int ms);
/* Sends a frame of JSON, and takes over `json`. */
bool raw_say(struct raw *r, json_t *json);

/* Returns the next frame. Returns NULL if no frame arrived within `ms`, or if the peer closed
 * the connection. If the peer closed the connection, r->fd becomes -1. */
json_t *raw_hear(struct raw *r, int ms);
/* Sends `json` and returns the answer with the same id. Other frames are dropped. */
json_t *raw_ask(struct raw *r, json_t *json, int ms);

/* Makes a Call with an id, and takes over `args`. */
json_t *raw_call(int id, const char *op, json_t *args);
/* Makes the Hello of an operator who acts as an agent of a team. */
json_t *raw_hello(const char *team, const char *agent);

#endif
