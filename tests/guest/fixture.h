/*
 * fixture - a real guest process in its own folders, and the host's side of its sockets.
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
int fixture_teardown(void **state); /* ends the guest, removes the folders */

void guest_start(struct fixture *x);
/* Sends the signal to the guest and waits for the guest's end. If `signal` is 0, only waits,
 * since the guest ends by itself. */
void guest_kill(struct fixture *x, int signal);

/* Returns a connected descriptor. dial_hello() also sends Hello and reads the answer. */
int dial(const struct fixture *x, const char *socket);
int dial_hello(const struct fixture *x, const char *socket);

void say(int fd, const char *json);
void say_bytes(int fd, const void *data, size_t len);
/* Returns the next message, or NULL at the end of the stream. The test fails if no message
 * arrives within `ms` milliseconds. */
json_t *hear(int fd, int ms);
/* Returns the next message of the type, and drops other messages. */
json_t *hear_type(int fd, const char *type, int ms);
/* Sends the message and returns the next message that is not a Heartbeat. */
json_t *ask(int fd, const char *json);
json_t *askf(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const char *text_at(json_t *o, const char *key); /* "" if `o` has no member `key` */
int64_t int_at(json_t *o, const char *key);
bool true_at(json_t *o, const char *key);
void expect_ok(json_t *answer); /* also frees the answer */
void expect_error(json_t *answer, const char *code); /* also frees the answer */

/* Pushes an assignment on a relay socket. The test fails if the answer is not Ok. */
void assign(int relay, const char *message_id, const char *command, int timeout_secs);
/* Polls the guest until it has `n` results. The test fails after `ms` milliseconds. */
json_t *wait_results(int control, size_t n, int ms);

void pause_ms(int ms);
/* Returns the text of a file in the workspace, or "" if the file does not exist. */
char *read_text(const struct fixture *x, const char *name);

#endif
