/*
 * client_inside - calls under way, which the two ways of a client share.
 *
 * A call is in c->calls from its start until ticket_end(), which is the only
 * place that tells its owner.  The owner may start and cancel calls in there,
 * so nobody walks the list across it: `due` marks what a walk has to do.
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
	json_t *args; /* a copy, with its key */
	const struct identity *as; /* its caller; NULL: the client's */
	struct identity before; /* the caller, once client_become() has named another */
	struct form form;
	client_done *done;
	void *arg;
	int64_t wait_ms; /* ms that the call may wait beyond its work */
	int64_t until; /* clock_steady_ms(): silent, or waited long enough */
	struct client_conn
		*link; /* the connection that it was sent on; NULL: not on a socket */
	struct call *call; /* the call parked in this process; NULL: not run directly */
	struct arena_mark mark;
	bool due;
	bool confirms; /* the owner says whether its answer arrived: client_settle() */
};

/* An answer that gave messages or a claim; the owner has not said yet whether the answer
 * arrived. */
struct debt {
	struct debt *next;
	int64_t number;
	struct client_conn *link; /* to the host; NULL: the call ran directly */
	struct given given; /* messages and claim of the answer, as they were then */
};

struct client {
	struct client_options o;
	int epoll;
	int64_t last; /* number of the newest call */
	struct form form; /* of the next calls' answers */
	const struct identity *as; /* caller of the next calls; NULL: o.identity */
	bool hosted;
	struct ticket *calls;
	struct client_conn *link; /* shared by calls that neither wait nor have an `as` */
	struct store *store, *reader;
	int bell; /* inotify, or -1 */
	int64_t version, looked_at; /* version of the data; when it was asked for, 0:
				       no call waits */
	int64_t lapse_at; /* clock_wall_ms() when a lease or a life ends next; 0: none, or
			     no call waits */
	int64_t apart; /* the wall clock less the steady one, as it was seen last */
	int64_t rest_at; /* clock_steady_ms() when the files are closed until the next
			    call; 0: never, or they are not open */
	bool owes_mirror;
	bool lost; /* the files that store and reader have open are not in their place
		      any more */
	struct debt *debts;
	int64_t telling;
};

enum { SILENCE_MS = 10000, LOOK_MS = 250, REST_MS = 3000, LEAP_MS = 2000 };

/* Takes the ticket off the list, tells its owner and frees it. */
void ticket_end(struct client *c, struct ticket *t, const char *result,
		const struct fault *f);
void ticket_fail(struct client *c, struct ticket *t, enum fault_code code,
		 const char *text, const char *hint);

/* Notes that the answer of a call has to be settled. */
void client_owe(struct client *c, const struct ticket *t, struct client_conn *l,
		const struct given *given);

/* client_socket.c: */
/* Sends the call to the host; false when there is none to send it to. */
bool socket_start(struct client *c, struct ticket *t);
void socket_step(struct client *c, struct client_conn *l, unsigned events);
/* Closes a link that is of no use any more; all its calls run directly. */
void socket_drop(struct client *c, struct client_conn *l);
void socket_close(struct client *c, struct client_conn *l);
/* Closes a link that no call and no debt needs; the shared link stays open. */
void socket_leave(struct client *c, struct client_conn *l);
/* Stops sharing the link: new calls open another one, calls under way end on the old
 * one. */
void socket_part(struct client *c);
/* Tells the host whether the answer of a call arrived. */
void socket_settle(struct client *c, struct client_conn *l, int64_t number, bool arrived);

/* client.c: */
void direct_start(struct client *c, struct ticket *t);

#endif
