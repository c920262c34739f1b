/*
 * http_inside - declarations that the files of the HTTP server share.
 */
#ifndef CORE_HTTP_HTTP_INSIDE_H
#define CORE_HTTP_HTTP_INSIDE_H

#include <llhttp.h>

#include "core/http/http.h"

enum {
	HTTP_READ = 64 << 10, /* bytes read at once */
	HTTP_STEP = 256 << 10, /* bytes of a stream written at once */
	HTTP_HEADERS = 100,
};

/*
 * A connection, from one exchange to the next:
 *
 *	           the whole request is there
 *	HEAD ----------------------------------> ASKED
 *	 | |   a body follows            whole    ^ |
 *	 | +----> HELD --http_read()--> BODY -----+ |
 *	 |          |                    |          |
 *	 |          |  answered early, too slow     |  answered, or out of time
 *	 |          v                    v          v
 *	 +----------------------------------------> ANSWERING
 *	 no HTTP, too slow, no room                  |      |
 *	HEAD <------------- the answer is out -------+      +--- it was the last
 *	                                                    v
 *	                                                LINGERING
 *
 * Any state may lead to the end of the connection; `closing` says so.  Bytes are read in
 * HEAD and BODY, and read to be dropped in LINGERING; the service has the exchange in
 * HELD, BODY, ASKED and, for a stream, in ANSWERING.  http_conn_step() knows the same
 * steps.
 */
enum http_state {
	CONN_HEAD, /* reads a head, or waits for one */
	CONN_HELD, /* the service has the head; no body is read */
	CONN_BODY, /* a body is being read */
	CONN_ASKED, /* all is read; the service is to answer */
	CONN_ANSWERING, /* an answer is being written */
	CONN_LINGERING, /* all is said; what still comes is dropped */
};

struct http_server {
	uv_loop_t *loop;
	uv_tcp_t listener;
	uv_timer_t timer; /* runs while there are connections */
	struct http_service service;
	struct http_conn *conns, **last; /* oldest first */
	int n_conns;
	int handles; /* that are not closed yet */
	int crowd; /* the most that they were since memory was given back */
	size_t collected; /* bytes of all bodies of http_collect() */
	bool listens, closing;
	char buffer[HTTP_READ];
};

struct http_conn {
	struct http x; /* first: the service's view */
	struct http_server *server;
	struct http_conn *next, **at;
	uv_tcp_t tcp;
	llhttp_t parser;
	enum http_state state;
	bool closing, reading, busy; /* busy: parsing, further up the stack */
	bool started, headed; /* a request's first byte, its whole head is there */
	bool begun; /* the service has been asked */
	bool whole; /* the request has been read */
	bool line_ended; /* the last byte of the head ended a line */
	bool last; /* this answer is the last */
	bool streams; /* the service has it until it is out */
	bool flows; /* ... and says itself when that is: http_flow() */
	bool ended; /* it has said so */
	bool writing; /* a write is under way */
	uint64_t deadline, since; /* loop time; since: waits for a head, reads a body */
	int64_t progress; /* body bytes since the deadline was set */

	const char *in; /* bytes that are not parsed yet: `left` of them, ... */
	size_t left;
	char *rest; /* ... which are kept here between reads */
	const char *trouble; /* why a callback of the parser stopped it ... */
	int trouble_status; /* ... and what that is */

	/* The head as it comes; offsets, for it moves. */
	struct text head;
	size_t n_head; /* bytes of it, trailers included */
	size_t at_name[HTTP_HEADERS], at_value[HTTP_HEADERS];
	size_t n_headers;
	size_t n_extensions; /* bytes that its chunks said of themselves */

	http_piece *piece;
	http_whole *end;
	size_t most; /* of http_collect() */

	/* answers */
	uv_write_t write;
	uv_shutdown_t shutdown;
	bool head_only;
	struct text out;
	struct text extra; /* headers of the service */
	struct text waits; /* bytes that http_send() added while `out` is being written */
	char *step; /* HTTP_STEP bytes while a stream is written */
	http_more *more;
	int64_t to_send;
};

/* --- http_conn.c ---------------------------------------------------------------------- */

void http_conn_due(struct http_conn *c, int ms);

/* --- http_parse.c --------------------------------------------------------------------- */

void http_parse_open(struct http_conn *c);
/* Feeds `c->in` to the parser; the outcome is in c->state, c->whole and the callbacks. */
void http_parse(struct http_conn *c);
/* Ready for the next request. */
void http_parse_reset(struct http_conn *c);

/* --- answers ------------------------------------------------------------------------- */

void http_continue(struct http_conn *c);
/* Answers with why the request is refused, and closes behind that; the service
 * is told if it has it. */
void http_refuse(struct http_conn *c, int status, enum fault_code code, const char *why);

#endif
