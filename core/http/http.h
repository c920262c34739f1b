/*
 * http - a server of HTTP/1.1 (RFC 9110, 9112) on a libuv loop.
 *
 * It takes connections, reads requests with llhttp, holds them to limits, and has a
 * service answer.  Requests of a connection are served one at a time, in order; those
 * behind stay unread meanwhile.  A connection holds bounded memory: a head, one piece of
 * a body, one piece of an answer.  A request that is not HTTP, comes too slowly, or is
 * too large gets a 4xx and its connection is closed, without a call of the service.  When
 * all places are taken, the connection that has waited longest without a whole head is
 * closed.  When the memory for bodies is taken, the body that has taken longest is
 * refused.
 *
 * A service gets a request in begin(), once its head is there, and answers it once, then
 * or later: http_answer(), http_fault(), http_stream().  A body is read only if the
 * service asks for the body.  With http_answer() and http_fault() the service is done
 * with the exchange.  x->gone says that the exchange is over without these calls: the
 * peer is gone, the exchange took too long, or a stream has ended, well or not.  Nothing
 * may be done with `x` after that.  All on the loop's thread.
 */
#ifndef CORE_HTTP_HTTP_H
#define CORE_HTTP_HTTP_H

#include <uv.h>

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "core/op/op.h"

/* Times in ms; 0 stands for the value behind it. */
struct http_limits {
	int connections; /* 128 */
	size_t head; /* bytes of request line and headers: 16 KiB */
	size_t bodies; /* bytes of all bodies that are collected: 128 MiB */
	int head_ms; /* from a request's first byte to the end of its head: 10 s */
	int idle_ms; /* for the first byte, between requests too: 30 s */
	int body_ms; /* for each 64 KiB of a body, either way: 30 s */
	int answer_ms; /* for the service, unless x->unhurried: 30 s */
};

struct http_header {
	const char *name, *value; /* name in lower case */
};

/* A request and its answer. */
struct http {
	struct http_server *server;
	void *service; /* http_service.arg */
	const char *method; /* "GET" */
	const char *path; /* as it came, before any '?' */
	const char *query; /* behind it, or "" */
	struct http_header *headers;
	size_t n_headers;
	bool has_length; /* false: no body, or one in chunks */
	int64_t length; /* of the body, as announced */
	struct arena arena; /* of the exchange */
	struct text body; /* of http_collect() */

	/* The service's own. */
	void *owner;
	void (*gone)(struct http *x);
	void (*drained)(
		struct http *x); /* of http_flow(): all bytes sent are out; or NULL */
	void *mark; /* as `owner`, but it stays until the answer is out */
	bool unhurried; /* it may take its time to answer */
	bool watched; /* see http_watch() */
	bool last; /* the connection ends behind the answer */
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
/* The body has been read; `x` may be answered here. */
typedef void http_whole(struct http *x);
/* Fills `buf` with the next `len` bytes and returns `len`.  Less means that the bytes
 * cannot be had: the connection is cut then. */
typedef size_t http_more(struct http *x, char *buf, size_t len);

/* --- the server ------------------------------------------------------------------- */

/* Listens at a numeric address, port 0 for any that is free; 0 or a
 * fault, `conflict` where the port is taken.
 * `service` is copied; http_close() frees `*out`. */
int http_listen(struct http_server **out, uv_loop_t *loop, const char *ip, int port,
		const struct http_service *service, struct fault *f);
/* Makes a server that does not listen, for http_adopt(); http_close() frees it. */
struct http_server *http_open(uv_loop_t *loop, const struct http_service *service);
/* The port of a server; 0 if the server does not listen. */
int http_port(const struct http_server *s);
/* Serves a connected stream socket, which is taken over: it is closed with its
 * connection, or at once if it cannot be served. */
void http_adopt(struct http_server *s, int fd);
/* Takes no more connections and drops all there are; memory goes with the next
 * turns of the loop.  NULL is fine. */
void http_close(struct http_server *s);

/* --- requests ---------------------------------------------------------------------- */

/* The value of the first header of that name (lower case), borrowed from the
 * exchange; NULL: there is none. */
const char *http_header(const struct http *x, const char *name);
/* A query parameter with its escapes resolved, in x->arena, or NULL. */
const char *http_query(struct http *x, const char *name);
/* Resolves %XX in the arena; NULL when one is broken or stands for NUL. */
char *http_unescape(struct arena *a, const char *s, size_t len);

/* Takes a peer that closes its side meanwhile for gone; as a rule it may, and gets its answer. */
void http_watch(struct http *x);

/* Counts the exchanges of the server that are like this one, itself included.  An
 * exchange lasts from its begin() until its answer is out. */
int http_count(const struct http *x, http_like *like);

/* Reads the body: pieces, then the end.  100 Continue goes out if it is waited for. */
void http_read(struct http *x, http_piece *piece, http_whole *end);
/* The same into x->body, of at most `most` bytes; a longer one gets 413. */
void http_collect(struct http *x, size_t most, http_whole *end);
/* Lets go of a body that was read: while an answer is waited for, it would keep others out. */
void http_drop_body(struct http *x);

/* A body that another thread has: it counts for its door until it is given back, also when its
 * request is over. */
struct http_body {
	struct text text;
	struct http_server *server;
};
struct http_body http_lend_body(struct http *x);
void http_give_back(struct http_body *body);

/* --- answers ------------------------------------------------------------------------- */

/* Adds a header to the answer, before that is given; both texts are copied. */
void http_add_header(struct http *x, const char *name, const char *value);
/* Answers with a whole body, which is copied; an answer to HEAD leaves it out.  `type`
 * NULL: no Content-Type. */
void http_answer(struct http *x, int status, const char *type, const char *body,
		 size_t len);
/* The same with a body that is borrowed, and stays for as long as the server is there. */
void http_answer_kept(struct http *x, int status, const char *type, const char *body,
		      size_t len);
/* Answers {"error":{"code","where","text","hint","retry_after_ms"?}} with the
 * fault's own status, or with `status` if it is not 0. */
void http_fault(struct http *x, int status, const struct fault *why);
/* Answers with a body of unknown length.  http_send() adds bytes until http_end(), or
 * until the peer is gone, which x->gone tells.  In HTTP/1.1 the body goes in chunks. */
void http_flow(struct http *x, int status, const char *type);
void http_send(struct http *x, const char *data, size_t len);
/* Bytes that were added and the peer has not taken. */
size_t http_unsent(const struct http *x);
void http_end(struct http *x);
/* Closes the connection at once. */
void http_cut(struct http *x);
/* Answers with a body of `length` bytes, asked from `more` as fast as the peer takes
 * them. */
void http_stream(struct http *x, int status, const char *type, int64_t length,
		 http_more *more);

#endif
