/*
 * client - how a process reaches the state: through the socket of a running host, or, without a
 * host, by opening the file itself.
 *
 * Both ways run the same operations with the same guarantees. A client gives every write a key
 * and tries the socket. If the connection breaks or is silent for 10 s, the client repeats the
 * call once without the host, under the same key. Most reads need no host: a client with
 * `local_reads` runs reads on a read connection of its own. Exceptions are reads about the host
 * and reads that are subject to limits. Several calls may be under way at the same time. A call
 * that waits without a host watches the bell. If the state is moved or replaced while a client
 * without a host uses the state, one call fails. The call after the failed call opens the state
 * that is in the folder at that time. If another process waits to migrate the state, the client
 * closes the state's file, and waiting calls begin anew after the migration. A client runs on
 * one thread. The client's owner polls client_fd() and calls client_step().
 *
 * Messages and claims of an answer that did not arrive are taken back. An owner that sets
 * `confirms` reports for every answer whether the answer arrived at its reader. The client
 * passes the report on to the host. Without a host, the client itself takes back the messages
 * and claims of a lost answer. An answer counts as lost if its call is cancelled, or if the
 * client is closed before the answer is confirmed.
 */
#ifndef CORE_CLIENT_CLIENT_H
#define CORE_CLIENT_CLIENT_H

#include <signal.h>

#include "core/call/call.h"
#include "core/home/home.h"

struct client;

/* How a client inside the host (the client of a door) starts its calls. `arg` is
 * client_options.way_arg. */
struct client_way {
	/* Starts a call. The answer is passed later to client_answer(). `args` is borrowed
	 * until start() returns. `confirms`: the answer is settled only after the answer has
	 * arrived. Returns 0 or a fault. */
	int (*start)(void *arg, struct client *c, int64_t number, const struct op *op,
		     json_t *args, struct form form, bool confirms, struct fault *f);
	void (*cancel)(void *arg, int64_t number);
	void (*settle)(void *arg, const struct given *given, bool arrived);
};

struct client_options {
	struct home *home; /* borrowed until client_close() */
	const struct client_way *way; /* replaces the socket and the files; NULL: nothing
					 is replaced */
	void *way_arg;
	bool direct; /* never use the socket */
	bool local_reads;
	int64_t hurry_ms; /* ms to wait for a silent host. After one such wait, later
			     calls use no host. 0: each call waits 10 s */
	bool rests; /* closes the state's files 3 s after a call, so that others may
		       migrate the state */
	bool confirms; /* the owner calls client_settle() or client_settle_all() */
	const sigset_t *waiting; /* signal mask while client_call() waits; NULL: the mask
				    stays */
	struct identity identity;
};

/* client_step() or client_start() calls this function once when a call ends. `result` is JSON
 * text (borrowed), or NULL if `fault` is filled. */
typedef void client_done(void *arg, const char *result, const struct fault *fault);

/* Makes a client; returns 0 or a fault code. client_close() frees the client and drops calls
 * under way; client_close(NULL) does nothing. */
int client_open(struct client **out, const struct client_options *o, struct fault *f);
void client_close(struct client *c);
bool client_hosted(const struct client *c); /* a host has answered */

/* Sets the caller of all later calls to `who`, and borrows the texts of `who` until
 * client_close(). Calls under way keep the caller that they began with. */
void client_become(struct client *c, const struct identity *who);

/* Sets the caller of all calls that start later; NULL: the client's own identity. The client
 * borrows `who` until these calls end. */
void client_act_as(struct client *c, const struct identity *who);

/* Sets the form in which the answers of all later calls are written. */
void client_form(struct client *c, struct form form);

/* Starts a call; `args` is borrowed until client_start() returns. Returns the number of the
 * call, or 0 if `done` has been called already. */
int64_t client_start(struct client *c, const struct op *op, json_t *args,
		     client_done *done, void *arg);
/* Ends a call without an answer. Only a call that waits is really stopped. Any other call runs
 * to its end, and the messages and claims of the call's answer are taken back. */
void client_cancel(struct client *c, int64_t number);

/* Ends a call of a client that has a client_way. If `given` is NULL, the answer needs no
 * settling. For a cancelled call the function does nothing. */
void client_answer(struct client *c, int64_t number, const char *result,
		   const struct fault *f, const struct given *given);

/* The number of the call whose end is being reported. Only a client_done callback may use this
 * function. */
int64_t client_telling(const struct client *c);
/* Reports that the answer of a call arrived at its reader, or that the answer was lost. An
 * owner may also report answers that gave no messages and no claim. */
void client_settle(struct client *c, int64_t number, bool arrived);
void client_settle_all(struct client *c, bool arrived);

/* Writes a new key for a call, a UUIDv7, into `out`. */
void client_key(char out[37]);

/* Starts a call and runs client_step() until the call ends. Returns 0 with the result appended
 * to `out`, or a fault code. */
int client_call(struct client *c, const struct op *op, json_t *args, struct text *out,
		struct fault *f);

int client_fd(const struct client *c); /* an epoll descriptor, to be polled for input */
int client_timeout(const struct client *c); /* ms until client_step() must be called; -1:
					       no limit */
/* Reads the bytes that have arrived, without waiting, and ends calls that are answered. */
void client_step(struct client *c);

#endif
