/*
 * guest_conn_inside - shared parts of a connection's files: the requests on it that have no
 * answer yet, and how bytes leave.
 */
#ifndef CORE_HOST_GUESTS_GUEST_CONN_INSIDE_H
#define CORE_HOST_GUESTS_GUEST_CONN_INSIDE_H

#include "core/host/guests/guest_conn.h"

enum {
	UNREAD_MOST = 8 << 20, /* bytes that a guest has not read: no more is sent */
};

struct asked {
	struct asked *next;
	int64_t id, at, until;
	enum fault_code why; /* why it ends with the next tick, if it does */
	const struct wire *type; /* of the request: it says what may answer */
	struct text held; /* older dialect: the frame, until the request is the first */
	guest_conn_done *done;
	void *arg;
};

/* Takes the request that an answer with this id belongs to from the connection; NULL if
 * there is no such request.  An older guest's answers have no id and come in order. */
struct asked *asked_take(struct guest_conn *conn, const json_t *id);

/* Tells the caller of a request that was taken, and frees it: the fault counts when
 * it is set, else the answer. */
void asked_end(struct asked *a, struct packet *answer, struct fault *f);

/* Older dialect: sends the first request, if it was held back: the one before it has
 * been answered. */
void asked_next(struct guest_conn *conn);

/* Ends the requests whose time is over or that could not be sent. */
void asked_time_out(struct guest_conn *conn, int64_t now);

/* Time has leapt: requests wait longer by so much. */
void asked_leap(struct guest_conn *conn, int64_t ms);

/* Sends what was written to the connection's flow; drops the connection when that fails. */
void guest_conn_send(struct guest_conn *conn);

#endif
