/*
 * client_inside - the calls under way, for both client.c and client_socket.c.
 *
 * A call is in c->calls from its start until ticket_end(). Only ticket_end() calls the owner's
 * `done`. In `done` the owner may start and cancel calls, so no loop over c->calls continues
 * after ticket_end(). Instead, `due` marks the calls that a loop has to run.
 */
#ifndef CORE_CLIENT_CLIENT_INSIDE_H
#define CORE_CLIENT_CLIENT_INSIDE_H

#include "core/client/client.h"

struct client_conn;

/* A call of the client's owner, from its start to its end. */
struct ticket {
	struct ticket *next;
	int64_t number;
	const struct op *op;
	json_t *args; /* a copy of the arguments, with the call's key */
	const struct identity *as; /* the caller; NULL: the client's own identity */
	struct identity before; /* the caller before client_become() */
	struct form form;
	client_done *done;
	void *arg;
	int64_t wait_ms; /* ms that the call may wait; the time of the call's own work is
			    not included */
	int64_t until; /* clock_steady_ms() at which the call times out */
	struct client_conn *link; /* carries the call; NULL: no socket is used */
	struct call *call; /* the call parked in this process; NULL: not run directly */
	struct arena_mark mark;
	bool due;
	bool confirms; /* the owner reports the answer's arrival: client_settle() */
};

/* An answer that gave messages or a claim; the owner has not yet reported whether the answer
 * arrived. */
struct debt {
	struct debt *next;
	int64_t number;
	struct client_conn *link; /* link to the host; NULL: the call ran directly */
	struct given given; /* the messages and the claim that the answer gave */
};

struct client {
	struct client_options o;
	int epoll;
	int64_t last; /* number of the newest call */
	struct form form; /* form of the next calls' answers */
	const struct identity *as; /* caller of the next calls; NULL: o.identity */
	bool hosted;
	struct ticket *calls;
	struct client_conn *link; /* link of all calls that neither wait nor have an
				     `as` */
	struct store *store, *reader;
	int bell; /* inotify descriptor, or -1 */
	int64_t version,
		looked_at; /* data version of the state; time at which the version was
			      read, or 0 if no call waits */
	int64_t lapse_at; /* clock_wall_ms() at which the next lease or message ends; 0:
			     unknown */
	int64_t apart; /* wall clock minus steady clock, at their last comparison */
	int64_t rest_at; /* clock_steady_ms() at which the files are closed; 0: never */
	bool owes_mirror;
	bool lost; /* the open files are no longer the files of the state */
	struct debt *debts;
	int64_t telling;
};

enum { SILENCE_MS = 10000, LOOK_MS = 250, REST_MS = 3000, LEAP_MS = 2000 };

/* Takes the ticket off the list, calls the owner's `done` and frees the ticket. */
void ticket_end(struct client *c, struct ticket *t, const char *result,
		const struct fault *f);
void ticket_fail(struct client *c, struct ticket *t, enum fault_code code,
		 const char *text, const char *hint);

/* Stores that the answer of a call has to be settled. */
void client_owe(struct client *c, const struct ticket *t, struct client_conn *l,
		const struct given *given);

/* Functions of client_socket.c: */
/* Sends the call to the host. Returns false if there is no host. */
bool socket_start(struct client *c, struct ticket *t);
void socket_step(struct client *c, struct client_conn *l, unsigned events);
/* Closes a broken link. The calls on the broken link run again without a host, or fail if they
 * need the host. */
void socket_drop(struct client *c, struct client_conn *l);
void socket_close(struct client *c, struct client_conn *l);
/* Closes the link if no call and no debt needs it. The shared link stays open. */
void socket_leave(struct client *c, struct client_conn *l);
/* Stops sharing the link: new calls open another link, and calls under way stay on the old
 * link. */
void socket_part(struct client *c);
/* Tells the host whether the answer of a call arrived. */
void socket_settle(struct client *c, struct client_conn *l, int64_t number, bool arrived);

/* A function of client.c: */
void direct_start(struct client *c, struct ticket *t);

#endif
