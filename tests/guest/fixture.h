/*
 * fixture - a real guest process in folders of its own, and its host's side.
 */
#ifndef TESTS_GUEST_FIXTURE_H
#define TESTS_GUEST_FIXTURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fixture {
	char base[64], dir[96], state[96];
	const char *workspace;
	pid_t pid;
};

int fixture_setup(void **state); /* makes folders, starts the guest */
int fixture_teardown(void **state); /* ends it, removes them */

void guest_start(struct fixture *x);
/* Sends a signal, or 0 to one that ends by itself, and waits for its end. */
void guest_kill(struct fixture *x, int signal);

/* A connected descriptor; after_hello says Hello and takes the answer. */
int dial(const struct fixture *x, const char *socket);
int dial_hello(const struct fixture *x, const char *socket);

void say(int fd, const char *json);
void say_bytes(int fd, const void *data, size_t len);
/* The next message, or NULL at the end of the stream; fails after `ms`. */
json_t *hear(int fd, int ms);
/* The next message of a type; others are dropped. */
json_t *hear_type(int fd, const char *type, int ms);
/* say() and the answer, Heartbeats aside. */
json_t *ask(int fd, const char *json);
json_t *askf(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const char *text_at(json_t *o, const char *key); /* "" when it is not there */
int64_t int_at(json_t *o, const char *key);
bool true_at(json_t *o, const char *key);
void expect_ok(json_t *answer); /* and lets it go */
void expect_error(json_t *answer, const char *code); /* likewise */

/* Pushes an assignment on a relay socket; the answer is Ok. */
void assign(int relay, const char *message_id, const char *command, int timeout_secs);
/* Polls until there are `n` results; fails after `ms`. */
json_t *wait_results(int control, size_t n, int ms);

void pause_ms(int ms);
/* A file of the workspace as a text; "" when it is not there. */
char *read_text(const struct fixture *x, const char *name);

#endif
