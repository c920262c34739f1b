/*
 * The connections of the HTTP server: the admission of connections, their time limits, and the
 * change from one exchange to the next exchange.
 */
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/steps.h"
#include "core/http/http_inside.h"

/*
 * The file also contains the functions with which a service reads a request and answers.
 */

enum {
	TICK_MS = 250,
	BACKLOG = 128,
	LINGER_MS = 2000,
	BODY_STEP = 64 << 10, /* bytes of a body after which its deadline is set anew */
	CROWD = 500, /* memory is returned to the system only if at least this many
			handles were open at once */
};

/* Sets c->state; no other function sets c->state. */
static void http_conn_step(struct http_conn *c, enum http_state to)
{
	static const unsigned steps[] = {
		[CONN_HEAD] = STEP(CONN_HELD) | STEP(CONN_ASKED) | STEP(CONN_ANSWERING),
		[CONN_HELD] = STEP(CONN_BODY) | STEP(CONN_ANSWERING),
		[CONN_BODY] = STEP(CONN_ASKED) | STEP(CONN_ANSWERING),
		[CONN_ASKED] = STEP(CONN_ANSWERING),
		[CONN_ANSWERING] = STEP(CONN_HEAD) | STEP(CONN_LINGERING),
		[CONN_LINGERING] = 0,
	};

	step_check(steps[c->state], to);
	c->state = to;
}

/* --- the end ---------------------------------------------------------------------- */

/* Counts one closed handle of the server. The server is freed when its last handle is closed.
 * If many connections were open and most of them are closed now, the free memory is returned to
 * the system. */
static void http_server_unref(struct http_server *s)
{
	if (--s->handles == 0) {
		free(s);
	} else if (s->crowd >= CROWD && s->handles < s->crowd / 4) {
		s->crowd = s->handles;
		malloc_trim(0);
	}
}

static void on_conn_closed(uv_handle_t *handle)
{
	struct http_conn *c = handle->data;
	struct http_server *s = c->server;

	free(c->rest);
	free(c->step);
	text_release(&c->head);
	text_release(&c->out);
	text_release(&c->waits);
	text_release(&c->extra);
	text_release(&c->x.body);
	arena_release(&c->x.arena);
	free(c);
	http_server_unref(s);
}

/* Forgets the exchange. `tell`: also calls x->gone() if the service still has the exchange. */
static void http_conn_forget(struct http_conn *c, bool tell)
{
	void (*gone)(struct http * x) = c->x.gone;

	c->x.gone = NULL;
	if (tell && gone)
		gone(&c->x);
	c->x.owner = NULL;
	c->x.unhurried = c->x.watched = false;
	http_drop_body(&c->x);
}

static void http_conn_tell(struct http_conn *c, bool arrived)
{
	http_fate *fate = c->fate;

	c->fate = NULL;
	if (fate)
		fate(c->fate_arg, arrived);
}

/* Whether the system of a peer that has ended its side took all answers. The system of a peer
 * that closed the connection before an answer takes no byte of the answer. The end of the
 * server's own side counts as one byte, which the peer need not wait for. */
static bool http_conn_is_taken(const struct http_conn *c)
{
	int fd, unsent = 0, error = 0;
	socklen_t len = sizeof(error);

	return uv_fileno((const uv_handle_t *)&c->tcp, &fd) == 0 &&
	       ioctl(fd, SIOCOUTQ, &unsent) == 0 && unsent <= 1 &&
	       getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && !error;
}

static void http_conn_close(struct http_conn *c)
{
	struct http_server *s = c->server;

	if (c->closing)
		return;
	c->closing = true;
	http_conn_tell(c, c->state == CONN_HEAD || c->state == CONN_LINGERING);
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	else
		s->last = c->at;
	if (--s->n_conns == 0)
		uv_timer_stop(&s->timer);
	http_conn_forget(c, true);
	uv_close((uv_handle_t *)&c->tcp, on_conn_closed);
}

/* --- time ------------------------------------------------------------------------- */

void http_conn_due(struct http_conn *c, int ms)
{
	c->deadline = uv_now(c->server->loop) + (uint64_t)ms;
	c->progress = 0;
}

static void time_out(struct http_conn *c)
{
	struct fault f = { 0 };

	if (c->state == CONN_BODY || (c->state == CONN_HEAD && c->started)) {
		http_refuse(c, 408, FAULT_TIMEOUT, "the request comes too slowly");
	} else if (c->state == CONN_HELD || c->state == CONN_ASKED) {
		http_conn_forget(c, true);
		fault_set(&f, FAULT_TIMEOUT, "", "no answer in time");
		http_fault(&c->x, 0, &f);
	} else {
		http_conn_close(c);
	}
}

static bool http_conn_is_late(const struct http_conn *c, uint64_t now)
{
	bool asked = c->state == CONN_HELD || c->state == CONN_ASKED;

	return c->deadline < now && !(asked && c->x.unhurried);
}

static void http_conn_tick(uv_timer_t *timer)
{
	struct http_server *s = timer->data;
	struct http_conn *next;

	for (struct http_conn *c = s->conns; c; c = next) {
		next = c->next;
		if (http_conn_is_late(c, uv_now(s->loop)))
			time_out(c);
	}
}

/* --- steps of a connection --------------------------------------------------------- */

static void http_conn_begin(struct http_conn *c)
{
	c->begun = true;
	http_conn_step(c, c->whole ? CONN_ASKED : CONN_HELD);
	http_conn_due(c, c->server->service.limits.answer_ms);
	c->x.server = c->server;
	c->x.service = c->server->service.arg;
	c->server->service.begin(&c->x);
}

static void end_body(struct http_conn *c)
{
	http_conn_step(c, CONN_ASKED);
	http_conn_due(c, c->server->service.limits.answer_ms);
	c->end(&c->x);
}

static bool wants_bytes(const struct http_conn *c)
{
	return !c->closing && (c->state == CONN_HEAD || c->state == CONN_BODY);
}

/* Whether the connection reads and keeps bytes of later requests while the present request is
 * not yet answered. A server that does not read cannot see that the peer has closed the
 * connection. */
static bool watches(const struct http_conn *c)
{
	return ((c->state == CONN_ASKED && c->x.watched) ||
		(c->state == CONN_ANSWERING && c->flows)) &&
	       c->left < HTTP_READ;
}

static void http_conn_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct http_conn *c = handle->data;

	(void)size;
	*buf = uv_buf_init(c->server->buffer, sizeof(c->server->buffer));
}

static void http_conn_on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

/* Copies the bytes that cannot be parsed yet, since the read buffer belongs to all connections. */
static void keep_rest(struct http_conn *c)
{
	char *kept = c->left ? xmalloc(c->left) : NULL;

	if (kept)
		memcpy(kept, c->in, c->left);
	free(c->rest);
	c->in = c->rest = kept;
}

/* Appends bytes to the bytes that the connection keeps until they can be parsed. */
static void keep_more(struct http_conn *c, const char *data, size_t n)
{
	char *kept = xmalloc(c->left + n);

	if (c->left)
		memcpy(kept, c->in, c->left);
	memcpy(kept + c->left, data, n);
	free(c->rest);
	c->in = c->rest = kept;
	c->left += n;
}

static void set_reading(struct http_conn *c)
{
	bool reads = wants_bytes(c) ||
		     (!c->closing && (c->state == CONN_LINGERING || watches(c)));

	if (c->closing || reads == c->reading)
		return;
	c->reading = reads;
	if (reads)
		uv_read_start((uv_stream_t *)&c->tcp, http_conn_alloc,
			      http_conn_on_bytes);
	else
		uv_read_stop((uv_stream_t *)&c->tcp);
}

void http_watch(struct http *x)
{
	x->watched = true;
	set_reading((struct http_conn *)x);
}

/* Parses the received bytes and reads more, if the state allows reading. */
static void http_conn_advance(struct http_conn *c)
{
	if (c->busy || c->closing)
		return;
	c->busy = true;
	while (wants_bytes(c) && c->left > 0) {
		http_parse(c);
		if (!wants_bytes(c))
			break;
		if (c->state == CONN_HEAD && c->headed)
			http_conn_begin(c);
		else if (c->state == CONN_BODY && c->whole)
			end_body(c);
	}
	c->busy = false;
	if (c->left == 0 || c->in != c->rest)
		keep_rest(c);
	set_reading(c);
}

static void http_conn_on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct http_conn *c = stream->data;

	if (n < 0) {
		if (n != UV_EOF || !http_conn_is_taken(c))
			http_conn_tell(c, false);
		http_conn_close(c);
	} else if (n > 0 && (c->state == CONN_ASKED || c->state == CONN_ANSWERING)) {
		keep_more(c, buf->base, (size_t)n);
		set_reading(c);
	} else if (n > 0 && c->state != CONN_LINGERING) {
		if (c->state == CONN_HEAD)
			http_conn_tell(c, true);
		c->progress += n;
		if (c->state == CONN_BODY && c->progress >= BODY_STEP)
			http_conn_due(c, c->server->service.limits.body_ms);
		c->in = buf->base;
		c->left = (size_t)n;
		http_conn_advance(c);
	}
}

static void on_shut(uv_shutdown_t *shutdown, int status)
{
	(void)shutdown, (void)status;
}

/* Closes the sending side now, and the whole connection later. If the connection were closed
 * while bytes of the peer are still unread, the system might drop the answer. */
static void linger(struct http_conn *c)
{
	http_conn_step(c, CONN_LINGERING);
	c->left = 0;
	http_conn_due(c, LINGER_MS);
	if (uv_shutdown(&c->shutdown, (uv_stream_t *)&c->tcp, on_shut))
		http_conn_close(c);
	else
		http_conn_advance(c);
}

/* Called when an answer is written. Begins to read the next request, or ends the connection. */
static void http_conn_answered(struct http_conn *c)
{
	const struct http_limits *limits = &c->server->service.limits;

	http_conn_forget(c, c->streams);
	c->streams = c->flows = c->ended = false;
	arena_release(&c->x.arena);
	c->x = (struct http){ 0 };
	text_release(&c->out);
	c->out = (struct text){ 0 };
	free(c->step);
	c->step = NULL;
	c->more = NULL;
	if (c->last) {
		linger(c);
		return;
	}
	http_conn_step(c, CONN_HEAD);
	c->since = uv_now(c->server->loop);
	http_conn_due(c, c->left ? limits->head_ms : limits->idle_ms);
	http_parse_reset(c);
	http_conn_advance(c);
}

int http_count(const struct http *x, http_like *like)
{
	const struct http_conn *c = x->server->conns;
	int n = 0;

	for (; c; c = c->next)
		n += c->begun && like(x, &c->x);
	return n;
}

/* --- new connections ----------------------------------------------------------------- */

/* If the maximum number of connections is reached, closes the oldest connection in the state
 * CONN_HEAD or CONN_LINGERING. If there is no such connection, closes no connection. */
static void http_conn_make_room(struct http_server *s)
{
	struct http_conn *oldest = NULL;

	if (s->n_conns < s->service.limits.connections)
		return;
	for (struct http_conn *c = s->conns; c; c = c->next)
		if ((c->state == CONN_HEAD || c->state == CONN_LINGERING) &&
		    (!oldest || c->since < oldest->since))
			oldest = c;
	if (oldest)
		http_conn_close(oldest);
}

static struct http_conn *http_conn_new(struct http_server *s)
{
	struct http_conn *c = xcalloc(1, sizeof(*c));

	c->server = s;
	if (++s->handles > s->crowd)
		s->crowd = s->handles;
	uv_tcp_init(s->loop, &c->tcp);
	c->tcp.data = c;
	c->since = uv_now(s->loop);
	if (s->n_conns++ == 0)
		uv_timer_start(&s->timer, http_conn_tick, TICK_MS, TICK_MS);
	c->at = s->last;
	*c->at = c;
	s->last = &c->next;
	http_parse_open(c);
	http_conn_due(c, s->service.limits.head_ms);
	return c;
}

static void http_conn_serve(struct http_conn *c)
{
	struct http_server *s = c->server;

	uv_tcp_nodelay(&c->tcp, 1);
	if (s->n_conns > 2 * s->service.limits.connections)
		http_conn_close(c);
	else if (s->n_conns > s->service.limits.connections)
		http_refuse(c, 503, FAULT_EXHAUSTED, "all connections are in use");
	else
		set_reading(c);
}

static void http_conn_on_caller(uv_stream_t *listener, int status)
{
	struct http_server *s = listener->data;
	struct http_conn *c;

	if (status < 0)
		return;
	http_conn_make_room(s);
	c = http_conn_new(s);
	if (uv_accept(listener, (uv_stream_t *)&c->tcp))
		http_conn_close(c);
	else
		http_conn_serve(c);
}

void http_adopt(struct http_server *s, int fd)
{
	struct http_conn *c;

	http_conn_make_room(s);
	c = http_conn_new(s);
	if (uv_tcp_open(&c->tcp, fd)) {
		close(fd);
		http_conn_close(c);
	} else {
		http_conn_serve(c);
	}
}

/* --- the server ------------------------------------------------------------------------- */

static void set_limits(struct http_limits *l)
{
	l->connections = l->connections ? l->connections : 128;
	l->head = l->head ? l->head : 16 << 10;
	l->bodies = l->bodies ? l->bodies : 128 << 20;
	l->head_ms = l->head_ms ? l->head_ms : 10000;
	l->idle_ms = l->idle_ms ? l->idle_ms : 30000;
	l->body_ms = l->body_ms ? l->body_ms : 30000;
	l->answer_ms = l->answer_ms ? l->answer_ms : 30000;
}

struct http_server *http_open(uv_loop_t *loop, const struct http_service *service)
{
	struct http_server *s = xcalloc(1, sizeof(*s));

	s->loop = loop;
	s->service = *service;
	set_limits(&s->service.limits);
	s->last = &s->conns;
	s->handles = 1;
	uv_timer_init(loop, &s->timer);
	s->timer.data = s;
	return s;
}

int http_listen(struct http_server **out, uv_loop_t *loop, const char *ip, int port,
		const struct http_service *service, struct fault *f)
{
	struct http_server *s = http_open(loop, service);
	struct sockaddr_storage at = { 0 };
	int rc;

	uv_tcp_init(loop, &s->listener);
	s->listener.data = s;
	s->listens = true;
	s->handles++;
	rc = strchr(ip, ':') ? uv_ip6_addr(ip, port, (struct sockaddr_in6 *)&at)
			     : uv_ip4_addr(ip, port, (struct sockaddr_in *)&at);
	if (!rc)
		rc = uv_tcp_bind(&s->listener, (struct sockaddr *)&at, 0);
	if (!rc)
		rc = uv_listen((uv_stream_t *)&s->listener, BACKLOG, http_conn_on_caller);
	if (!rc) {
		*out = s;
		return 0;
	}
	http_close(s);
	return fault_set(f, rc == UV_EADDRINUSE ? FAULT_CONFLICT : FAULT_IO, "",
			 "cannot listen at %.64s port %d: %s", ip, port, uv_strerror(rc));
}

int http_port(const struct http_server *s)
{
	struct sockaddr_storage at;
	int size = sizeof(at);

	if (!s->listens ||
	    uv_tcp_getsockname(&s->listener, (struct sockaddr *)&at, &size))
		return 0;
	return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
					      : ((struct sockaddr_in *)&at)->sin_port);
}

static void http_conn_on_closed(uv_handle_t *handle)
{
	http_server_unref(handle->data);
}

void http_close(struct http_server *s)
{
	if (!s || s->closing)
		return;
	s->closing = true;
	while (s->conns)
		http_conn_close(s->conns);
	if (s->listens)
		uv_close((uv_handle_t *)&s->listener, http_conn_on_closed);
	uv_close((uv_handle_t *)&s->timer, http_conn_on_closed);
}

/* To free memory, the server never refuses a body smaller than this. */
enum { BODY_COUNTS = 4 << 10 };

const char *http_header(const struct http *x, const char *name)
{
	for (size_t i = 0; i < x->n_headers; i++)
		if (strcmp(x->headers[i].name, name) == 0)
			return x->headers[i].value;
	return NULL;
}

/* --- bodies ----------------------------------------------------------------------- */

void http_read(struct http *x, http_piece *piece, http_whole *end)
{
	struct http_conn *c = (struct http_conn *)x;

	if (c->closing)
		return;
	if (c->state == CONN_ASKED) { /* the request has no body */
		end(x);
		return;
	}
	c->piece = piece;
	c->end = end;
	c->since = uv_now(c->server->loop);
	http_conn_step(c, CONN_BODY);
	http_conn_due(c, c->server->service.limits.body_ms);
	if (c->left == 0)
		http_continue(c);
	http_conn_advance(c);
}

static void refuse_large(struct http *x, size_t most)
{
	struct fault f = { 0 };

	fault_set(&f, FAULT_INVALID, "", "the body is over %zu bytes", most);
	http_fault(x, 413, &f);
}

static struct http_conn *slowest(struct http_server *s)
{
	struct http_conn *found = NULL;

	for (struct http_conn *c = s->conns; c; c = c->next)
		if (c->state == CONN_BODY && c->x.body.len >= BODY_COUNTS &&
		    (!found || c->since < found->since))
			found = c;
	return found;
}

/* While all bodies together exceed the memory limit, refuses the body that has been arriving
 * for the longest time. So a peer that sends its body quickly is served, even if many other
 * peers send slowly. */
static void http_request_make_room(struct http_server *s)
{
	struct http_conn *c;

	while (s->collected > s->service.limits.bodies && (c = slowest(s)))
		http_refuse(c, 503, FAULT_UNAVAILABLE,
			    "too many bodies come at once, and this body comes slowly");
}

void http_drop_body(struct http *x)
{
	struct http_conn *c = (struct http_conn *)x;

	c->server->collected -= x->body.len;
	text_release(&x->body);
	x->body = (struct text){ 0 };
}

struct http_body http_lend_body(struct http *x)
{
	struct http_conn *c = (struct http_conn *)x;
	struct http_body body = { .text = x->body, .server = c->server };

	c->server->handles++;
	x->body = (struct text){ 0 };
	return body;
}

void http_give_back(struct http_body *body)
{
	body->server->collected -= body->text.len;
	text_release(&body->text);
	http_server_unref(body->server);
}

static void http_request_collect(struct http *x, const char *data, size_t len)
{
	struct http_conn *c = (struct http_conn *)x;

	if (x->body.len + len > c->most) {
		http_conn_forget(c, true);
		refuse_large(x, c->most);
		return;
	}
	text_add(&x->body, data, len);
	c->server->collected += len;
	http_request_make_room(c->server);
}

void http_collect(struct http *x, size_t most, http_whole *end)
{
	struct http_conn *c = (struct http_conn *)x;

	c->most = most;
	if (x->has_length && x->length > (int64_t)most) {
		http_conn_forget(c, true);
		refuse_large(x, most);
		return;
	}
	text_add(&x->body, "", 0);
	http_read(x, http_request_collect, end);
}

/* --- answers ----------------------------------------------------------------- */

/*
 * An answer is a head and a body. The body is complete from the start, or the service delivers
 * the body in pieces while the server writes.
 */

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 303, "See Other" },
	{ 304, "Not Modified" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 410, "Gone" },
	{ 411, "Length Required" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 415, "Unsupported Media Type" },
	{ 417, "Expectation Failed" },
	{ 421, "Misdirected Request" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
};

static const char *reason_of(int status)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Answer";
}

/* --- writing ------------------------------------------------------------------------ */

static void http_answer_on_written(uv_write_t *write, int status);

static void write_both(struct http_conn *c, const uv_buf_t *parts, unsigned n)
{
	http_conn_due(c, c->server->service.limits.body_ms);
	c->write.data = c;
	c->writing = true;
	if (uv_write(&c->write, (uv_stream_t *)&c->tcp, parts, n, http_answer_on_written))
		http_conn_close(c);
}

static void http_answer_write_out(struct http_conn *c, const char *data, size_t len)
{
	uv_buf_t part = uv_buf_init((char *)data, (unsigned)len);

	write_both(c, &part, 1);
}

static void write_step(struct http_conn *c)
{
	size_t want = c->to_send < HTTP_STEP ? (size_t)c->to_send : HTTP_STEP;
	size_t got = c->more(&c->x, c->step, want);

	if (got < want || got == 0) {
		http_conn_close(c);
		return;
	}
	c->to_send -= (int64_t)got;
	http_answer_write_out(c, c->step, got);
}

/* Writes the bytes in c->waits. If c->waits is empty and the service has ended the answer, the
 * answer is complete. While the server waits for further bytes from the service, the connection
 * has no deadline. */
static void flow_on(struct http_conn *c)
{
	struct text sent = c->out;

	if (c->writing)
		return;
	if (c->waits.len) {
		c->out = c->waits;
		c->waits = sent;
		c->waits.len = 0;
		http_answer_write_out(c, c->out.data, c->out.len);
	} else if (c->ended) {
		http_conn_answered(c);
	} else {
		c->out.len = 0;
		c->deadline = UINT64_MAX;
		if (c->x.drained)
			c->x.drained(&c->x);
	}
}

static void http_answer_on_written(uv_write_t *write, int status)
{
	struct http_conn *c = write->data;

	if (c->closing)
		return;
	c->writing = false;
	if (status < 0)
		http_conn_close(c);
	else if (c->flows)
		flow_on(c);
	else if (c->more && c->to_send > 0)
		write_step(c);
	else
		http_conn_answered(c);
}

/* --- heads --------------------------------------------------------------------------- */

static void add_date(struct text *out)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[64];

	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	text_addf(out, "Date: %s\r\n", text);
}

/* Writes the head of an answer into c->out. Changes the state to CONN_ANSWERING, so that the
 * request gets no second answer. If `length` is below 0, the length of the body is unknown. */
static void begin_answer(struct http_conn *c, int status, const char *type,
			 int64_t length)
{
	struct text *out = &c->out;

	if (!c->whole || c->x.last)
		c->last = true; /* the rest of the request is unread */
	http_conn_step(c, CONN_ANSWERING);
	out->len = 0;
	text_addf(out, "HTTP/1.1 %d %s\r\n", status, reason_of(status));
	add_date(out);
	if (type)
		text_addf(out, "Content-Type: %s\r\nX-Content-Type-Options: nosniff\r\n",
			  type);
	if (length < 0 && c->parser.http_minor == 0)
		c->last = true; /* the end of the connection marks the end of the body */
	else if (length < 0)
		text_addf(out, "Transfer-Encoding: chunked\r\n");
	else if (status != 204 && status != 304)
		text_addf(out, "Content-Length: %lld\r\n", (long long)length);
	text_addf(out, "Cache-Control: no-store\r\n");
	if (c->last)
		text_addf(out, "Connection: close\r\n");
	else if (c->parser.http_minor == 0)
		text_addf(out, "Connection: keep-alive\r\n");
	if (c->extra.len)
		text_add(out, c->extra.data, c->extra.len);
	text_add(out, "\r\n", 2);
	c->extra.len = 0;
}

void http_add_header(struct http *x, const char *name, const char *value)
{
	struct http_conn *c = (struct http_conn *)x;

	text_addf(&c->extra, "%s: %s\r\n", name, value);
}

/* --- sending of answers ----------------------------------------------------------------- */

void http_tell(struct http *x, http_fate *fate, void *arg)
{
	struct http_conn *c = (struct http_conn *)x;

	/* A peer that sent this request before the earlier answer proves nothing about that
	 * answer. */
	http_conn_tell(c, false);
	c->fate = fate;
	c->fate_arg = arg;
	if (c->closing)
		http_conn_tell(c, false);
}

void http_answer(struct http *x, int status, const char *type, const char *body,
		 size_t len)
{
	struct http_conn *c = (struct http_conn *)x;

	if (c->closing || c->state == CONN_ANSWERING)
		return;
	begin_answer(c, status, type, (int64_t)len);
	if (!c->head_only)
		text_add(&c->out, body, len);
	http_conn_forget(c, false);
	http_answer_write_out(c, c->out.data, c->out.len);
}

void http_answer_kept(struct http *x, int status, const char *type, const char *body,
		      size_t len)
{
	struct http_conn *c = (struct http_conn *)x;
	uv_buf_t parts[2];

	if (c->closing || c->state == CONN_ANSWERING)
		return;
	begin_answer(c, status, type, (int64_t)len);
	http_conn_forget(c, false);
	parts[0] = uv_buf_init(c->out.data, (unsigned)c->out.len);
	parts[1] = uv_buf_init((char *)body, (unsigned)len);
	write_both(c, parts, c->head_only ? 1 : 2);
}

void http_fault(struct http *x, int status, const struct fault *why)
{
	const struct fault_info *info = fault_info(why->code);
	struct text body = { 0 };

	text_addf(&body, "{\"error\":");
	fault_write(why, HINT_ROUTE, &body);
	text_addf(&body, "}\n");
	http_answer(x, status ? status : info->http_status, "application/json", body.data,
		    body.len);
	text_release(&body);
}

void http_refuse(struct http_conn *c, int status, enum fault_code code, const char *why)
{
	struct fault f = { 0 };

	http_conn_forget(c, true);
	c->last = true;
	fault_set(&f, code, "", "%s", why && *why ? why : "this is not HTTP");
	fault_hint(&f, code == FAULT_INVALID
			       ? "Send a well-formed HTTP request."
			       : "Try again, and send the whole request at once.");
	http_fault(&c->x, status, &f);
}

void http_stream(struct http *x, int status, const char *type, int64_t length,
		 http_more *more)
{
	struct http_conn *c = (struct http_conn *)x;

	if (c->closing || c->state == CONN_ANSWERING)
		return;
	begin_answer(c, status, type, length);
	c->streams = true;
	if (!c->head_only && length > 0) {
		c->step = xmalloc(HTTP_STEP);
		c->more = more;
		c->to_send = length;
	}
	http_answer_write_out(c, c->out.data, c->out.len);
}

void http_flow(struct http *x, int status, const char *type)
{
	struct http_conn *c = (struct http_conn *)x;

	if (c->closing || c->state == CONN_ANSWERING)
		return;
	begin_answer(c, status, type, -1);
	c->streams = c->flows = true;
	c->ended = c->head_only;
	http_answer_write_out(c, c->out.data, c->out.len);
	if (!c->closing)
		http_conn_advance(c); /* reads on, to see when the peer closes */
}

void http_send(struct http *x, const char *data, size_t len)
{
	struct http_conn *c = (struct http_conn *)x;
	const bool chunked = c->parser.http_minor > 0;

	if (c->closing || c->ended || !len)
		return;
	if (chunked)
		text_addf(&c->waits, "%zx\r\n", len);
	text_add(&c->waits, data, len);
	if (chunked)
		text_add(&c->waits, "\r\n", 2);
	flow_on(c);
}

size_t http_unsent(const struct http *x)
{
	const struct http_conn *c = (const struct http_conn *)x;

	return c->waits.len + (c->writing ? c->out.len : 0);
}

void http_end(struct http *x)
{
	struct http_conn *c = (struct http_conn *)x;

	if (c->closing || c->ended)
		return;
	if (c->parser.http_minor > 0)
		text_add(&c->waits, "0\r\n\r\n", 5);
	c->ended = true;
	flow_on(c);
}

void http_cut(struct http *x)
{
	http_conn_close((struct http_conn *)x);
}

void http_continue(struct http_conn *c)
{
	static char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
	uv_buf_t buf = uv_buf_init(line, sizeof(line) - 1);

	/* The socket's buffer is empty, so the status 100 Continue fits. If it cannot be
	 * written, the peer sends the body anyway after a while. */
	if (c->parser.http_minor > 0 && http_header(&c->x, "expect"))
		uv_try_write((uv_stream_t *)&c->tcp, &buf, 1);
}
