/*
 * http_inside - declarations that the files of the HTTP server share.
 */
#ifndef CORE_HTTP_HTTP_INSIDE_H
#define CORE_HTTP_HTTP_INSIDE_H

#include <llhttp.h>

#include "core/http/http.h"

enum {
	HTTP_READ = 64 << 10, /* maximum number of bytes that one read returns */
	HTTP_STEP = 256 << 10, /* maximum number of bytes of a stream that one write
				  sends */
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
 * In any state the connection may end; `closing` is then set. In HEAD and BODY received bytes
 * are parsed; in LINGERING received bytes are dropped. The service has the exchange in HELD,
 * BODY, ASKED and, for a stream, in ANSWERING. http_conn_step() checks every change of state
 * against this diagram.
 */
enum http_state {
	CONN_HEAD, /* reads a head, or waits for the first byte of a head */
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
	struct http_conn *conns, **last; /* list of connections, the oldest first */
	int n_conns;
	int handles; /* open handles; the server is freed with the last handle */
	int crowd; /* peak of open handles since memory was last returned */
	size_t collected; /* bytes of all bodies of http_collect() */
	bool listens, closing;
	char buffer[HTTP_READ];
};

struct http_conn {
	struct http x; /* the service's view of the exchange; must be the first member */
	struct http_server *server;
	struct http_conn *next, **at;
	uv_tcp_t tcp;
	llhttp_t parser;
	enum http_state state;
	bool closing, reading, busy; /* busy: http_conn_advance() is running */
	bool started, headed; /* started: first byte read; headed: whole head read */
	bool begun; /* begin() has been called */
	bool whole; /* the request has been read to its end */
	bool line_ended; /* the last byte of the head ended a line */
	bool last; /* the connection ends after this answer */
	bool streams; /* the service keeps the exchange until the answer is written */
	bool flows; /* the service ends the answer by http_end() */
	bool ended; /* the service has ended the answer */
	bool writing; /* a write to the socket is under way */
	uint64_t deadline, since; /* loop times; since: when the wait for a head or the
				     reading of a body began */
	int64_t progress; /* bytes received since the deadline was set */

	const char *in; /* `left` bytes that are not parsed yet */
	size_t left;
	char *rest; /* buffer that keeps the bytes at `in` between reads */
	const char *trouble; /* reason why a callback stopped the parser */
	int trouble_status; /* HTTP status of the answer for the reason `trouble` */

	/* The bytes of the head. Names and values of headers are kept as offsets into `head`,
	 * since its buffer may move. */
	struct text head;
	size_t n_head; /* number of bytes of the head and the trailers */
	size_t at_name[HTTP_HEADERS], at_value[HTTP_HEADERS];
	size_t n_headers;
	size_t n_extensions; /* number of bytes of chunk extensions */

	http_piece *piece;
	http_whole *end;
	size_t most; /* limit of http_collect(), in bytes */

	/* Members for the answer. */
	uv_write_t write;
	uv_shutdown_t shutdown;
	http_fate *fate; /* waits to hear whether an answer arrived; or NULL */
	void *fate_arg;
	bool head_only;
	struct text out;
	struct text extra; /* headers that the service added */
	struct text waits; /* bytes from http_send() that wait until `out` is written */
	char *step; /* buffer of HTTP_STEP bytes while a stream is written */
	http_more *more;
	int64_t to_send;
};

/* --- http_conn.c ---------------------------------------------------------------------- */

void http_conn_due(struct http_conn *c, int ms);

/* --- http_parse.c --------------------------------------------------------------------- */

void http_parse_open(struct http_conn *c);
/* Passes the bytes at c->in to the parser. The parser's callbacks store the result in `c`; a
 * broken request is refused. */
void http_parse(struct http_conn *c);
/* Makes the connection ready for the next request. */
void http_parse_reset(struct http_conn *c);

/* --- answers ------------------------------------------------------------------------- */

void http_continue(struct http_conn *c);
/* Answers with the reason of the refusal, and then closes the connection. If the service has
 * the exchange, x->gone() is called. */
void http_refuse(struct http_conn *c, int status, enum fault_code code, const char *why);

#endif
