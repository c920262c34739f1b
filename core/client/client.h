/*
 * client - how a process reaches the state: through the host's socket where
 * one runs, else by opening the file itself.
 *
 * Both ways run the same operations with the same guarantees.  A client keys every
 * write, tries the socket, and on a broken or silent (10 s) connection repeats once
 * directly with the same key.  Reads need no host: a client with `local_reads` runs
 * them on a read connection of its own in any case. Calls may be under way side by
 * side; a direct wait watches the bell. A state that was moved or replaced under a
 * direct client is a fault once; the next call opens the state that is there then.  If
 * another process waits to migrate the state, the client lets the state's file go, and calls
 * that wait begin anew after that. One thread; the owner polls client_fd() and calls client_step().
 *
 * Messages and claims of an answer that did not arrive are taken back: an owner that
 * `confirms` says of every answer whether it arrived at its reader, and the client
 * tells the host, or takes them back here.  An answer that is cancelled, or not yet
 * confirmed when the client is closed, counts as lost.
 */
#ifndef CORE_CLIENT_CLIENT_H
#define CORE_CLIENT_CLIENT_H

#include <signal.h>

#include "core/call/call.h"
#include "core/home/home.h"

struct client;

/* How the client of a door inside the host passes its calls on; `arg` is way_arg. */
struct client_way {
	/* Starts a call, whose answer client_answer() is told, later; `args` is borrowed until
	 * it returns.  `confirms`: the answer is settled once it arrived.  0 or a fault. */
	int (*start)(void *arg, struct client *c, int64_t number, const struct op *op,
		     json_t *args, struct form form, bool confirms, struct fault *f);
	void (*cancel)(void *arg, int64_t number);
	void (*settle)(void *arg, const struct given *given, bool arrived);
};

struct client_options {
	struct home *home; /* borrowed for the client's life */
	const struct client_way
		*way; /* used in place of the socket and the files, or NULL */
	void *way_arg;
	bool direct; /* never use the socket */
	bool local_reads;
	int64_t hurry_ms; /* for which a silent host is waited for, once; 0: 10 s, at each call */
	bool rests; /* the file is let go 3 s after a call: others may migrate it */
	bool confirms; /* the owner says client_settle() or client_settle_all() */
	const sigset_t *waiting; /* blocked while client_call() waits; NULL: as ever */
	struct identity identity;
};

/* Called once when a call ends, from client_step() or client_start(): `result`
 * is JSON text (borrowed) or NULL when `fault` is filled. */
typedef void client_done(void *arg, const char *result, const struct fault *fault);

/* Makes a client: 0 or a fault code.  client_close() frees it and
 * drops calls under way; NULL is fine. */
int client_open(struct client **out, const struct client_options *o, struct fault *f);
void client_close(struct client *c);
bool client_hosted(const struct client *c); /* a host answered */

/* Makes `who` the caller of all calls from now on, and borrows the texts of `who` for the
 * client's life.  Calls under way keep the caller that they began with. */
void client_become(struct client *c, const struct identity *who);

/* Names the caller of the calls that start from here on; NULL: the client's own.  The
 * client borrows the caller until those calls end. */
void client_act_as(struct client *c, const struct identity *who);

/* How the answers of the calls that are started from here on are to be written. */
void client_form(struct client *c, struct form form);

/* Starts a call; `args` is borrowed until it returns.  Returns its number, or
 * 0 when `done` was called already. */
int64_t client_start(struct client *c, const struct op *op, json_t *args,
		     client_done *done, void *arg);
/* Ends a call without an answer; only a wait is really stopped, and messages and claims
 * of any other answer are taken back. */
void client_cancel(struct client *c, int64_t number);

/* Ends a call of a client with a way of its own; `given` NULL: nothing is to be settled.  A call
 * that was cancelled is passed over. */
void client_answer(struct client *c, int64_t number, const char *result,
		   const struct fault *f, const struct given *given);

/* The number of the call that ends, asked in a client_done. */
int64_t client_telling(const struct client *c);
/* Says whether the answer of a call arrived at its reader, or was lost.  May be called
 * for answers that gave nothing as well. */
void client_settle(struct client *c, int64_t number, bool arrived);
void client_settle_all(struct client *c, bool arrived);

/* A key as clients make them: a UUIDv7. */
void client_key(char out[37]);

/* Starts a call and steps until it ends: 0 with the result appended to `out`,
 * or a fault code. */
int client_call(struct client *c, const struct op *op, json_t *args, struct text *out,
		struct fault *f);

int client_fd(const struct client *c); /* poll for input; an epoll fd */
int client_timeout(const struct client *c); /* ms until step is due; -1 */
/* Reads what has come, without waiting, and ends calls that are answered. */
void client_step(struct client *c);

#endif
