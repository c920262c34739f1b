/*
 * http - a server of HTTP/1.1 (RFC 9110, 9112) on a libuv loop.
 *
 * The server takes connections, reads requests with llhttp, enforces limits, and lets a service
 * answer. Requests of a connection are served one at a time, in order; later requests stay
 * unread until the present one is answered. A connection uses a limited amount of memory: a
 * head, one piece of a body, one piece of an answer. A request that is not HTTP, arrives too
 * slowly, or is too large is answered with a 4xx status, and the connection is closed. The
 * service is not called for such a request. When all places are taken, the connection that has
 * waited longest without a whole head is closed. When the memory for bodies is full, the body
 * that has been arriving for the longest time is refused.
 *
 * A service gets a request in begin(), as soon as the head has been read. The service answers
 * the request once, at that time or later, by http_answer(), http_fault() or http_stream(). A
 * body is read only if the service asks for the body. After http_answer() or http_fault() the
 * service must not use the exchange any more. x->gone() is called when the exchange ends
 * without these calls: the peer is gone, the exchange took too long, or a stream has ended,
 * complete or not. After x->gone() the service must not use `x` any more. All functions run on
 * the loop's thread.
 */
#ifndef CORE_HTTP_HTTP_H
#define CORE_HTTP_HTTP_H

#include <uv.h>

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "core/op/op.h"

/* Limits of a server. A member that is 0 gets the value in its comment; times are in ms. */
struct http_limits {
	int connections; /* connections at one time: 128 */
	size_t head; /* bytes of request line and headers: 16 KiB */
	size_t bodies; /* bytes of all bodies that are collected: 128 MiB */
	int head_ms; /* from a request's first byte to the end of its head: 10 s */
	int idle_ms; /* wait for a request's first byte: 30 s */
	int body_ms; /* for each 64 KiB of a body, received or sent: 30 s */
	int answer_ms; /* time for the service, unless x->unhurried: 30 s */
};

struct http_header {
	const char *name, *value; /* name in lower case */
};

/* A request and its answer. */
struct http {
	struct http_server *server;
	void *service; /* http_service.arg */
	const char *method; /* "GET" */
	const char *path; /* as received, up to any '?' */
	const char *query; /* text after the '?', or "" */
	struct http_header *headers;
	size_t n_headers;
	bool has_length; /* false: no body, or a body in chunks */
	int64_t length; /* announced length of the body */
	struct arena arena; /* lives as long as the exchange */
	struct text body; /* the body read by http_collect() */

	/* Members that the service sets. */
	void *owner;
	void (*gone)(struct http *x);
	void (*drained)(
		struct http *x); /* for http_flow(): all bytes are written; or NULL */
	void *mark; /* like `owner`, but kept until the answer is written */
	bool unhurried; /* no time limit for the service's answer */
	bool watched; /* see http_watch() */
	bool last; /* the connection ends after the answer */
};

struct http_service {
	void *arg;
	void (*begin)(struct http *x);
	struct http_limits limits;
};

/* Whether http_count() for the exchange `one` counts the exchange `other`. */
typedef bool http_like(const struct http *one, const struct http *other);
/* A piece of the body, borrowed for the call. */
typedef void http_piece(struct http *x, const char *data, size_t len);
/* Called when the body has been read; the callback may answer `x`. */
typedef void http_whole(struct http *x);
/* Fills `buf` with the next `len` bytes and returns `len`. A smaller number means that the
 * bytes are not available; the connection is then cut. */
typedef size_t http_more(struct http *x, char *buf, size_t len);

/* --- the server ------------------------------------------------------------------- */

/* Listens at a numeric address; port 0 means any free port. Returns 0 or a fault: `conflict` if
 * the port is taken. `service` is copied; http_close() frees `*out`. */
int http_listen(struct http_server **out, uv_loop_t *loop, const char *ip, int port,
		const struct http_service *service, struct fault *f);
/* Makes a server that does not listen, for http_adopt(); http_close() frees it. */
struct http_server *http_open(uv_loop_t *loop, const struct http_service *service);
/* The port of a server; 0 if the server does not listen. */
int http_port(const struct http_server *s);
/* Serves a connected stream socket. The server owns `fd` from now on, and closes `fd` at the
 * end of the connection, or at once if the socket cannot be served. */
void http_adopt(struct http_server *s, int fd);
/* Takes no more connections and drops all open connections. The memory is freed in the next
 * turns of the loop. NULL is fine. */
void http_close(struct http_server *s);

/* --- requests ---------------------------------------------------------------------- */

/* The value of the first header named `name` (lower case), borrowed from the exchange. NULL if
 * the request has no such header. */
const char *http_header(const struct http *x, const char *name);
/* The value of a query parameter with resolved escapes, allocated in x->arena; NULL if the
 * query has no such parameter or its escapes are invalid. */
const char *http_query(struct http *x, const char *name);
/* Returns the text with its %XX escapes resolved, allocated in the arena; NULL if an escape is
 * invalid or means a NUL. */
char *http_unescape(struct arena *a, const char *s, size_t len);

/* From this call on, a peer that closes its sending side counts as gone. Without http_watch()
 * such a peer still gets its answer. */
void http_watch(struct http *x);

/* Counts the exchanges of the server for which `like` returns true, including `x` itself. An
 * exchange lasts from its begin() until its answer is written. */
int http_count(const struct http *x, http_like *like);

/* Reads the body: calls `piece` for each piece, then `end`. Sends 100 Continue if the peer
 * waits for this status. */
void http_read(struct http *x, http_piece *piece, http_whole *end);
/* Reads the body into x->body, at most `most` bytes; a longer body is answered with 413. */
void http_collect(struct http *x, size_t most, http_whole *end);
/* Frees a body that was read. The memory of a body that is not freed keeps other bodies out
 * until the answer. */
void http_drop_body(struct http *x);

/* A body that another thread uses. The body counts against its server's memory limit until
 * http_give_back(), even after the end of its request. */
struct http_body {
	struct text text;
	struct http_server *server;
};
struct http_body http_lend_body(struct http *x);
void http_give_back(struct http_body *body);

/* --- answers ------------------------------------------------------------------------- */

/* Adds a header to the answer; to be called before the function that answers. Both texts are
 * copied. */
void http_add_header(struct http *x, const char *name, const char *value);
/* Answers with a whole body, which is copied. An answer to HEAD is sent without the body. If
 * `type` is NULL, the answer has no Content-Type. */
void http_answer(struct http *x, int status, const char *type, const char *body,
		 size_t len);
/* Like http_answer(), but the body is borrowed and must live as long as the server. */
void http_answer_kept(struct http *x, int status, const char *type, const char *body,
		      size_t len);
/* Answers {"error":{"code","where","text","hint","retry_after_ms"?}} with the status of the
 * fault, or with `status` if `status` is not 0. */
void http_fault(struct http *x, int status, const struct fault *why);
/* Answers with a body of unknown length. http_send() adds bytes until http_end(), or until the
 * peer is gone, which x->gone() reports. In HTTP/1.1 the body is sent in chunks. */
void http_flow(struct http *x, int status, const char *type);
void http_send(struct http *x, const char *data, size_t len);
/* The number of bytes that http_send() added and the peer has not yet taken. */
size_t http_unsent(const struct http *x);
void http_end(struct http *x);
/* Closes the connection at once. */
void http_cut(struct http *x);
/* Answers with a body of `length` bytes. `more` is called for the next bytes as fast as the
 * peer takes them. */
void http_stream(struct http *x, int status, const char *type, int64_t length,
		 http_more *more);

#endif
