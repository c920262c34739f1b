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
 * In any state the connection may end; `closing` is then set. Bytes are read in HEAD and BODY;
 * in LINGERING they are read and dropped. The service has the exchange in HELD, BODY, ASKED
 * and, for a stream, in ANSWERING. http_conn_step() checks every change of state against this
 * diagram.
 */
enum http_state {
	CONN_HEAD, /* reads a head, or waits for its first byte */
	CONN_HELD, /* the service has the head; no body is read */
	CONN_BODY, /* a body is being read */
	CONN_ASKED, /* the request is read; the service has to answer */
	CONN_ANSWERING, /* an answer is being written */
	CONN_LINGERING, /* all answers are written; received bytes are dropped */
};

struct http_server {
	uv_loop_t *loop;
	uv_tcp_t listener;
	uv_timer_t timer; /* runs while there are connections */
	struct http_service service;
	struct http_conn *conns, **last; /* oldest first */
	int n_conns;
	int handles; /* open handles; the last one frees the server */
	int crowd; /* maximum of open handles since memory was last returned */
	size_t collected; /* bytes of all bodies of http_collect() */
	bool listens, closing;
	char buffer[HTTP_READ];
};

struct http_conn {
	struct http x; /* the service's view; must be the first member */
	struct http_server *server;
	struct http_conn *next, **at;
	uv_tcp_t tcp;
	llhttp_t parser;
	enum http_state state;
	bool closing, reading,
		busy; /* busy: http_conn_advance() runs, further up the stack */
	bool started, headed; /* first byte read; whole head read */
	bool begun; /* begin() has been called */
	bool whole; /* the request has been read */
	bool line_ended; /* the last byte of the head ended a line */
	bool last; /* the connection ends after this answer */
	bool streams; /* the service keeps the exchange until the answer is out */
	bool flows; /* ... and ends the answer itself: http_flow() */
	bool ended; /* the service has ended the answer */
	bool writing; /* a write to the socket is under way */
	uint64_t deadline, since; /* loop time; since: start of the wait or of the body */
	int64_t progress; /* body bytes since the deadline was set */

	const char *in; /* `left` bytes that are not parsed yet, ... */
	size_t left;
	char *rest; /* ... and the buffer that keeps them between reads */
	const char *trouble; /* why a callback stopped the parser ... */
	int trouble_status; /* ... and the HTTP status for that reason */

	/* The bytes of the head. The parts are kept as offsets, since the buffer may move. */
	struct text head;
	size_t n_head; /* bytes of the head, trailers included */
	size_t at_name[HTTP_HEADERS], at_value[HTTP_HEADERS];
	size_t n_headers;
	size_t n_extensions; /* bytes of chunk extensions */

	http_piece *piece;
	http_whole *end;
	size_t most; /* limit of http_collect(), in bytes */

	/* Members for the answer. */
	uv_write_t write;
	uv_shutdown_t shutdown;
	bool head_only;
	struct text out;
	struct text extra; /* headers that the service added */
	struct text waits; /* bytes that http_send() added while `out` is being written */
	char *step; /* HTTP_STEP bytes while a stream is written */
	http_more *more;
	int64_t to_send;
};

/* --- http_conn.c ---------------------------------------------------------------------- */

void http_conn_due(struct http_conn *c, int ms);

/* --- http_parse.c --------------------------------------------------------------------- */

void http_parse_open(struct http_conn *c);
/* Passes the bytes at c->in to the parser. The result is in c->state, c->whole and the changes
 * by the callbacks. */
void http_parse(struct http_conn *c);
/* Makes the connection ready for the next request. */
void http_parse_reset(struct http_conn *c);

/* --- answers ------------------------------------------------------------------------- */

void http_continue(struct http_conn *c);
/* Answers with the reason of the refusal, and then closes the connection. If the service has
 * the exchange, its gone() is called. */
void http_refuse(struct http_conn *c, int status, enum fault_code code, const char *why);

#endif
