/*
 * http - a server of HTTP/1.1 (RFC 9110, 9112) on a libuv loop.
 *
 * The server takes connections, reads requests with llhttp, enforces limits, and lets a service
 * answer. Requests of a connection are served one at a time, in order. Later requests stay
 * unread until the present request is answered. Apart from collected bodies and copied answers,
 * a connection needs memory only for a head, one piece of a body, and one piece of an answer. A
 * request that is not HTTP, arrives too slowly, or is too large is answered with a 4xx status,
 * and the connection is closed. The service is not called for such a bad request, unless the
 * service already has the request's head. When the maximum number of connections is reached,
 * the server closes the oldest connection that waits for a head, or that has already got its
 * last answer. When the memory for bodies is full, the body that has been arriving for the
 * longest time is refused.
 *
 * A service gets a request in begin(), as soon as the head has been read. The service answers
 * the request once, in begin() or later, by http_answer(), http_fault(), http_stream() or
 * http_flow(). A body is read only if the service asks for the body. After http_answer() or
 * http_fault() the service must not use the exchange any more. x->gone() is called when an
 * exchange ends in any other way than by these two functions: the peer has closed the
 * connection, the exchange took too long, or a stream has ended, complete or not. After
 * x->gone() the service must not use `x` any more. All functions run on the loop's thread.
 */
#ifndef CORE_HTTP_HTTP_H
#define CORE_HTTP_HTTP_H

#include <uv.h>

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "core/op/op.h"

/* Limits of a server. If a member is 0, the server uses the value at the end of the member's
 * comment. */
struct http_limits {
	int connections; /* maximum of open connections: 128 */
	size_t head; /* bytes of request line and headers: 16 KiB */
	size_t bodies; /* bytes of all collected bodies together: 128 MiB */
	int head_ms; /* time for a head, and for a new connection's first byte: 10 s */
	int idle_ms; /* time from an answer to the next request's first byte: 30 s */
	int body_ms; /* time to receive 64 KiB of a body, or for one write: 30 s */
	int answer_ms; /* time for the service's answer, unless x->unhurried: 30 s */
};

struct http_header {
	const char *name, *value; /* `name` is in lower case */
};

/* A request and its answer. */
struct http {
	struct http_server *server;
	void *service; /* http_service.arg */
	const char *method; /* for example "GET" */
	const char *path; /* text of the target before a '?', with its escapes */
	const char *query; /* text of the target after the '?', or "" */
	struct http_header *headers;
	size_t n_headers;
	bool has_length; /* false: the request has no body, or a body in chunks */
	int64_t length; /* announced length of the body */
	struct arena arena; /* freed when the exchange ends */
	struct text body; /* the body read by http_collect() */

	/* Members that the service sets. */
	void *owner;
	void (*gone)(struct http *x);
	void (*drained)(
		struct http *x); /* called when all bytes of http_send() are written to
				    the socket; or NULL */
	void *mark; /* set by the service; kept until the answer is written */
	bool unhurried; /* no time limit for the service's answer */
	bool watched; /* set by http_watch() */
	bool last; /* the connection ends after the answer */
};

struct http_service {
	void *arg;
	void (*begin)(struct http *x);
	struct http_limits limits;
};

/* Whether http_count() for the exchange `one` counts the exchange `other`. */
typedef bool http_like(const struct http *one, const struct http *other);
/* Called once, when it is known whether an answer arrived. */
typedef void http_fate(void *arg, bool arrived);
/* Gets a piece of the body; `data` is borrowed for the call. */
typedef void http_piece(struct http *x, const char *data, size_t len);
/* Called when the body has been read; the callback may answer `x`. */
typedef void http_whole(struct http *x);
/* Fills `buf` with the next `len` bytes and returns `len`. If the function returns a smaller
 * number, the server closes the connection at once. */
typedef size_t http_more(struct http *x, char *buf, size_t len);

/* --- the server ------------------------------------------------------------------- */

/* Listens at a numeric address; port 0 means any free port. Returns 0 or a fault; the fault is
 * `conflict` if the port is taken. `service` is copied; http_close() frees `*out`. */
int http_listen(struct http_server **out, uv_loop_t *loop, const char *ip, int port,
		const struct http_service *service, struct fault *f);
/* Makes a server that gets its connections only from http_adopt(). http_close() frees the
 * server. */
struct http_server *http_open(uv_loop_t *loop, const struct http_service *service);
/* The port of a server; 0 if the server does not listen. */
int http_port(const struct http_server *s);
/* Serves a connected stream socket. The server owns `fd` after the call, and closes `fd` at the
 * end of the connection. If the socket cannot be served, the server closes `fd` at once. */
void http_adopt(struct http_server *s, int fd);
/* Stops listening and closes all open connections. The loop frees the server's memory a little
 * later. `s` may be NULL. */
void http_close(struct http_server *s);

/* --- requests ---------------------------------------------------------------------- */

/* The value of the first header whose name is `name`; NULL if the request has no such header.
 * `name` must be in lower case. The value is borrowed from the exchange. */
const char *http_header(const struct http *x, const char *name);
/* The value of a query parameter, with its escapes resolved, allocated in x->arena. Returns
 * NULL if the query has no such parameter, or if the value's escapes are invalid. */
const char *http_query(struct http *x, const char *name);
/* Returns the text with its %XX escapes resolved, allocated in the arena. Returns NULL if an
 * escape is invalid or stands for a NUL. */
char *http_unescape(struct arena *a, const char *s, size_t len);

/* After this call, the exchange ends with x->gone() if the peer closes its sending side.
 * Without http_watch() a peer that has closed its sending side still gets its answer. */
void http_watch(struct http *x);

/* Counts the exchanges of the server for which `like` returns true, including `x` itself. An
 * exchange counts from its begin() until its answer is written. */
int http_count(const struct http *x, http_like *like);

/* Reads the body: calls `piece` for each piece, then `end`. Sends the status 100 Continue if
 * the peer waits for that status. */
void http_read(struct http *x, http_piece *piece, http_whole *end);
/* Reads a body of at most `most` bytes into x->body. The server answers a longer body with the
 * status 413. */
void http_collect(struct http *x, size_t most, http_whole *end);
/* Frees a body that was read. A body that is not freed counts against the server's limit for
 * bodies until the exchange ends. */
void http_drop_body(struct http *x);

/* A body that another thread uses. The body counts against the server's limit for bodies until
 * http_give_back(), even if the request has ended before. */
struct http_body {
	struct text text;
	struct http_server *server;
};
struct http_body http_lend_body(struct http *x);
void http_give_back(struct http_body *body);

/* --- answers ------------------------------------------------------------------------- */

/* Adds a header to the answer. The service calls this function before the function that
 * answers. Both texts are copied. */
void http_add_header(struct http *x, const char *name, const char *value);
/* Calls `fate` when it is known whether the answer to `x` arrived. The service calls this
 * function before the function that answers. The answer is lost if the peer resets the
 * connection, or if the connection ends before the answer is written. The answer has arrived if
 * the peer sends a later request on the connection, closes the connection in order, or keeps
 * the connection open until the server closes it. */
void http_tell(struct http *x, http_fate *fate, void *arg);
/* Answers with a complete body, which is copied. An answer to HEAD is sent without the body. If
 * `type` is NULL, the answer has no Content-Type. */
void http_answer(struct http *x, int status, const char *type, const char *body,
		 size_t len);
/* Does the same as http_answer(), but borrows the body, which must live as long as the server. */
void http_answer_kept(struct http *x, int status, const char *type, const char *body,
		      size_t len);
/* Answers {"error":{"code","where","text","hint","retry_after_ms"?}} with the status of the
 * fault, or with `status` if `status` is not 0. */
void http_fault(struct http *x, int status, const struct fault *why);
/* Answers with a body of unknown length. The service adds bytes by http_send(), and ends the
 * body by http_end(). If the peer closes the connection before the body's end, x->gone() is
 * called. In HTTP/1.1 the body is sent in chunks. */
void http_flow(struct http *x, int status, const char *type);
void http_send(struct http *x, const char *data, size_t len);
/* The number of bytes that http_send() added and that are not yet written to the socket. */
size_t http_unsent(const struct http *x);
void http_end(struct http *x);
/* Closes the connection at once. */
void http_cut(struct http *x);
/* Answers with a body of `length` bytes. The server calls `more` for the next bytes when all
 * earlier bytes are written to the socket. */
void http_stream(struct http *x, int status, const char *type, int64_t length,
		 http_more *more);

#endif
