/*
 * The HTTP server with clients that send correct HTTP, wrong HTTP, slow HTTP, or nothing. The
 * service of this test answers at once, late, in a stream or never.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/http/http.h"

enum { STREAM = 1 << 20, BODY_MOST = 1000, BODIES = 20000 };

struct world {
	uv_loop_t loop;
	struct http_server *server;
	struct http *held; /* a request for /never, which has no answer yet */
	int gone;
	int arrived, lost; /* answers of /told */
	size_t streamed;
};

/* --- the service ------------------------------------------------------------------- */

static void on_gone(struct http *x)
{
	struct world *w = x->service;

	w->gone++;
	w->held = NULL;
}

static void echo(struct http *x)
{
	http_answer(x, 200, "text/plain", x->body.data, x->body.len);
}

static size_t more(struct http *x, char *buf, size_t len)
{
	struct world *w = x->service;

	for (size_t i = 0; i < len; i++)
		buf[i] = (char)('a' + (w->streamed + i) % 23);
	w->streamed += len;
	return len;
}

static void say(struct http *x, const char *text)
{
	http_answer(x, 200, "text/plain", text ? text : "-", text ? strlen(text) : 1);
}

static void on_told(void *arg, bool arrived)
{
	struct world *w = arg;

	w->arrived += arrived;
	w->lost += !arrived;
}

static void begin(struct http *x)
{
	struct world *w = x->service;
	struct fault f = { 0 };

	x->gone = on_gone;
	if (strcmp(x->path, "/echo") == 0) {
		http_collect(x, BODY_MOST, echo);
	} else if (strcmp(x->path, "/large") == 0) {
		http_collect(x, BODIES, echo);
	} else if (strcmp(x->path, "/never") == 0) {
		w->held = x;
	} else if (strcmp(x->path, "/stream") == 0) {
		http_stream(x, 200, "text/plain", STREAM, more);
	} else if (strcmp(x->path, "/query") == 0) {
		say(x, http_query(x, "q"));
	} else if (strcmp(x->path, "/header") == 0) {
		say(x, http_header(x, "x-it"));
	} else if (strcmp(x->path, "/kept") == 0) {
		http_answer_kept(x, 200, "text/plain", "kept", 4);
	} else if (strcmp(x->path, "/told") == 0) {
		http_tell(x, on_told, w);
		say(x, "told");
	} else if (strcmp(x->path, "/fault") == 0) {
		fault_set(&f, FAULT_CONFLICT, "/it", "a \"quoted\" thing");
		http_fault(x, 0, &f);
	} else {
		say(x, x->method);
	}
}

static int open_with(void **state, const struct http_limits *limits)
{
	struct world *w = calloc(1, sizeof(*w));
	const struct http_service service = {
		.arg = w,
		.begin = begin,
		.limits = *limits,
	};

	assert_int_equal(uv_loop_init(&w->loop), 0);
	w->server = http_open(&w->loop, &service);
	*state = w;
	return 0;
}

static int open_world(void **state)
{
	return open_with(state,
			 &(struct http_limits){ .connections = 4, .bodies = BODIES });
}

static int open_hurried(void **state)
{
	return open_with(state, &(struct http_limits){ .connections = 4,
						       .head_ms = 60,
						       .idle_ms = 60,
						       .body_ms = 60,
						       .answer_ms = 60 });
}

static int close_world(void **state)
{
	struct world *w = *state;

	http_close(w->server);
	uv_run(&w->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&w->loop), 0);
	free(w);
	return 0;
}

/* --- a client ------------------------------------------------------------------------- */

static int dial(struct world *w)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	http_adopt(w->server, ends[1]);
	uv_run(&w->loop, UV_RUN_NOWAIT);
	return ends[0];
}

static void take(int fd, struct text *out, bool *open)
{
	char buf[65536];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		text_add(out, buf, (size_t)n);
	if (n == 0)
		*open = false;
}

static void send_all(struct world *w, int fd, const char *data, size_t len, size_t step,
		     struct text *out)
{
	bool open = true;

	for (size_t at = 0; at < len && open;) {
		size_t n = len - at < step ? len - at : step;
		ssize_t sent = send(fd, data + at, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		at += sent > 0 ? (size_t)sent : 0;
		uv_run(&w->loop, UV_RUN_NOWAIT);
		take(fd, out, &open);
	}
}

/* Reads answers until the server closes the connection. The answers are appended to `out`,
 * which is returned. */
static struct text hear(struct world *w, int fd, struct text out)
{
	bool open = true;

	while (open) {
		uv_run(&w->loop, UV_RUN_NOWAIT);
		take(fd, &out, &open);
		if (open)
			poll(NULL, 0, 1);
	}
	text_add(&out, "", 0);
	close(fd);
	uv_run(&w->loop, UV_RUN_NOWAIT);
	return out;
}

static struct text talk(struct world *w, const char *data, size_t len, size_t step)
{
	struct text out = { 0 };
	int fd = dial(w);

	send_all(w, fd, data, len, step, &out);
	shutdown(fd, SHUT_WR);
	return hear(w, fd, out);
}

/* Returns the statuses of several answers, such as "200 404 ". */
static const char *statuses(const char *answers)
{
	static char list[256];
	size_t n = 0;

	list[0] = '\0';
	while ((answers = strstr(answers, "HTTP/1.1 ")) && n < sizeof(list) - 8) {
		n += (size_t)snprintf(list + n, 5, "%.3s ", answers + 9);
		answers += 9;
	}
	return list;
}

/* --- requests and answers ------------------------------------------------------------- */

#define HOST "Host: h\r\n"

static const struct {
	const char *said, *statuses, *holds;
} talks[] = {
	{ "GET / HTTP/1.1\r\n" HOST "\r\n", "200 ", "\r\n\r\nGET" },
	/* three requests on one connection, answered in order */
	{ "GET /fault HTTP/1.1\r\n" HOST "\r\nPOST /echo HTTP/1.1\r\n" HOST
	  "Content-Length: 3\r\n\r\nabcGET /query?a=1&q=x%20y HTTP/1.1\r\n" HOST "\r\n",
	  "409 200 200 ", "\r\n\r\nx y" },
	{ "GET /fault HTTP/1.1\r\n" HOST "\r\n", "409 ",
	  "{\"error\":{\"code\":\"conflict\",\"where\":\"/it\",\"text\":"
	  "\"a \\\"quoted\\\" thing\",\"hint\":\"" },
	{ "\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n", "200 ", "GET" },
	{ "GET /header HTTP/1.1\r\nX-IT:  some  value \r\n" HOST "\r\n", "200 ",
	  "\r\n\r\nsome  value" },
	{ "GET /header HTTP/1.1\r\nX-It:\r\nhost:h\r\n\r\n", "200 ",
	  "Content-Length: 0" },
	{ "GET http://h/query?q=1 HTTP/1.1\r\n" HOST "\r\n", "200 ", "\r\n\r\n1" },
	{ "GET /query?q=%zz HTTP/1.1\r\n" HOST "\r\n", "200 ", "\r\n\r\n-" },
	{ "GET /query?q=a%00b HTTP/1.1\r\n" HOST "\r\n", "200 ", "\r\n\r\n-" },
	{ "HEAD / HTTP/1.1\r\n" HOST "\r\nGET / HTTP/1.1\r\n" HOST "\r\n", "200 200 ",
	  "Content-Length: 4\r\nCache-Control: no-store\r\n\r\nHTTP/1.1 200" },
	{ "HEAD /kept HTTP/1.1\r\n" HOST "\r\nGET /kept HTTP/1.1\r\n" HOST "\r\n",
	  "200 200 ",
	  "Content-Length: 4\r\nCache-Control: no-store\r\n\r\nHTTP/1.1 200" },
	{ "GET /kept HTTP/1.1\r\n" HOST "\r\nGET /kept HTTP/1.1\r\n" HOST "\r\n",
	  "200 200 ", "\r\n\r\nkeptHTTP/1.1 200" },
	{ "HEAD /stream HTTP/1.1\r\n" HOST "\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
	  "200 200 ", "Content-Length: 1048576" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
	  "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: t\r\n\r\nGET / HTTP/1.1\r\n" HOST
	  "\r\n",
	  "200 200 ", "\r\n\r\nabcdeHTTP/1.1" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", "200 ",
	  "Content-Length: 0" },
	/* `Connection: close`, and HTTP/1.0, close the connection */
	{ "GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\nGET / HTTP/1.1\r\n" HOST
	  "\r\n",
	  "200 ", "Connection: close" },
	{ "GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n", "200 ", "Connection: close" },
	{ "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
	  "200 200 ", "Connection: keep-alive" },
	{ "GET / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "200 ",
	  "Connection: close" },
	/* the body of a refused request is not read as the next request */
	{ "POST /fault HTTP/1.1\r\n" HOST "Content-Length: 32\r\n\r\n"
	  "GET /smuggled HTTP/1.1\r\n\r\n....",
	  "409 ", "Connection: close" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1001\r\n\r\n", "413 ",
	  "over 1000 bytes" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
	  "5\r\nabcde\r\nzz\r\nGET / HTTP/1.1\r\n\r\n",
	  "400 ", "Connection: close" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
	  "ffffffffffffffffff\r\n",
	  "400 ", "" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\nTransfer-Encoding: "
	  "chunked\r\n\r\n0\r\n\r\n",
	  "400 ", "" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip\r\n\r\n", "501 ", "" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: "
	  "2\r\n\r\nab",
	  "400 ", "" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", "400 ", "" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\n",
	  "400 ", "" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551615\r\n\r\n",
	  "413 ", "" },
	{ "GET / HTTP/1.1\r\n\r\n", "400 ", "exactly one Host" },
	{ "GET / HTTP/1.1\r\n" HOST HOST "\r\n", "400 ", "exactly one Host" },
	{ "GET / HTTP/2.0\r\n" HOST "\r\n", "505 ", "" },
	{ "GET / HTTP/1.1\r\n" HOST "Expect: money\r\n\r\n", "417 ", "" },
	{ "GET / HTTP/1.1\r\n" HOST "A B: c\r\n\r\n", "400 ", "" },
	{ "GET / HTTP/1.1\r\n" HOST "A : c\r\n\r\n", "400 ", "" },
	{ "GET / HTTP/1.1\r\n" HOST "A: b\r\n c: d\r\n\r\n", "400 ",
	  "continues on the next line" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length:\r\n\t3\r\n\r\nabc", "400 ",
	  "continues on the next line" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 6\r\n\r\nabc\n d", "200 ", "" },
	{ "POST /echo HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	  "400 ", "chunks need HTTP/1.1" },
	{ "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "400 ", "not a path" },
	{ "CONNECT h:1 HTTP/1.1\r\n" HOST "\r\n", "400 ", "not a path" },
	{ "GET /#there HTTP/1.1\r\n" HOST "\r\n", "400 ", "" },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 ", "" },
	{ "\x16\x03\x01\x02\x01\x01", "400 ", "Invalid method" },
	{ "hello there\r\n\r\n", "400 ", "{\"error\":{\"code\":\"invalid\"" },
	/* an incomplete request gets no answer */
	{ "", "", "" },
	{ "GET / HTT", "", "" },
	{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nab", "", "" },
};

static void test_talks(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(talks) / sizeof(*talks); i++)
		for (size_t step = 1; step <= 4096; step *= 8) {
			struct text got =
				talk(w, talks[i].said, strlen(talks[i].said), step);

			if (strcmp(statuses(got.data), talks[i].statuses) != 0 ||
			    !strstr(got.data, talks[i].holds))
				fail_msg("in steps of %zu:\n%s\ngives\n%s", step,
					 talks[i].said, got.data);
			text_release(&got);
		}
	assert_null(w->held);
}

static void test_broken_body_is_told(void **state)
{
	static const char said[] = "POST /echo HTTP/1.1\r\n" HOST
				   "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n!";
	struct world *w = *state;
	struct text got = talk(w, said, sizeof(said) - 1, 4096);

	assert_string_equal(statuses(got.data), "400 ");
	assert_int_equal(w->gone, 1);
	text_release(&got);
}

/* Sends a request and waits until its answer can be read. */
static void ask_told(struct world *w, int fd, const char *said)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(send(fd, said, strlen(said), MSG_NOSIGNAL), strlen(said));
	while (poll(&p, 1, 0) == 0)
		uv_run(&w->loop, UV_RUN_NOWAIT);
	uv_run(&w->loop, UV_RUN_NOWAIT);
}

/* The service hears whether each answer arrived. A client that leaves unread bytes resets its
 * connection. */
static void test_answers_that_arrive(void **state)
{
	static const char one[] = "GET /told HTTP/1.1\r\n" HOST "\r\n";
	static const char last[] = "GET /told HTTP/1.1\r\n" HOST
				   "Connection: close\r\n\r\n";
	static const struct {
		const char *said;
		int n, reads; /* the client sends `n` requests, and reads `reads` answers */
	} ways[] = { { one, 1, 1 },  { one, 1, 0 }, { last, 1, 1 },
		     { last, 1, 0 }, { one, 3, 3 }, { one, 3, 2 } };
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct text out = { 0 };
		bool open = true;
		int fd = dial(w);

		w->arrived = w->lost = 0;
		for (int n = 0; n < ways[i].n; n++) {
			ask_told(w, fd, ways[i].said);
			assert_int_equal(w->arrived, n);
			if (n < ways[i].reads)
				take(fd, &out, &open);
		}
		close(fd);
		for (int n = 0; n < 5; n++)
			uv_run(&w->loop, UV_RUN_NOWAIT);
		assert_int_equal(w->arrived, ways[i].reads);
		assert_int_equal(w->lost, ways[i].n - ways[i].reads);
		text_release(&out);
	}
}

static void test_nul_in_a_head(void **state)
{
	static const char said[] = "GET /header HTTP/1.1\r\n" HOST "X-It: a\0b\r\n\r\n";
	struct text got = talk(*state, said, sizeof(said) - 1, 4096);

	assert_string_equal(statuses(got.data), "400 ");
	text_release(&got);
}

/* Returns a request head of about `len` bytes. `where` chooses a long target, many headers, a
 * long value or a long name. */
static struct text large_head(int where, size_t len)
{
	struct text s = { 0 };

	text_addf(&s, "GET /");
	for (size_t i = 0; where == 0 && i < len; i++)
		text_add(&s, "x", 1);
	text_addf(&s, " HTTP/1.1\r\n" HOST);
	for (size_t i = 0; where == 1 && i < len; i += 6)
		text_addf(&s, "A: b\r\n");
	if (where >= 2)
		text_addf(&s, where == 2 ? "A: " : "A");
	for (size_t i = 0; where >= 2 && i < len; i++)
		text_add(&s, "x", 1);
	text_addf(&s, where == 3 ? ": b\r\n\r\n" : "\r\n\r\n");
	return s;
}

static void test_large_heads(void **state)
{
	static const char *const too_large[] = { "414 ", "431 ", "431 ", "431 " };

	for (int where = 0; where < 4; where++) {
		struct text small = large_head(where, 500);
		struct text large = large_head(where, 100 << 10);
		struct text got = talk(*state, small.data, small.len, 4096);

		assert_string_equal(statuses(got.data), "200 ");
		text_release(&got);
		got = talk(*state, large.data, large.len, 4096);
		assert_string_equal(statuses(got.data), too_large[where]);
		text_release(&got);
		text_release(&small);
		text_release(&large);
	}
}

static void test_trailers_are_of_the_head(void **state)
{
	struct text s = { 0 }, got;

	text_addf(&s, "POST /echo HTTP/1.1\r\n" HOST
		      "Transfer-Encoding: chunked\r\n\r\n0\r\n");
	for (int i = 0; i < 10000; i++)
		text_addf(&s, "Trailer-%d: value\r\n", i);
	text_addf(&s, "\r\n");
	got = talk(*state, s.data, s.len, 4096);
	assert_string_equal(statuses(got.data), "431 ");
	text_release(&got);
	text_release(&s);
}

static void test_continue_goes_before_the_body(void **state)
{
	static const char head[] = "POST /echo HTTP/1.1\r\n" HOST
				   "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n";
	struct world *w = *state;
	struct text out = { 0 };
	int fd = dial(w);

	send_all(w, fd, head, sizeof(head) - 1, 4096, &out);
	text_add(&out, "", 0);
	assert_string_equal(out.data, "HTTP/1.1 100 Continue\r\n\r\n");
	send_all(w, fd, "ok", 2, 4096, &out);
	shutdown(fd, SHUT_WR);
	out = hear(w, fd, out);
	assert_string_equal(statuses(out.data), "100 200 ");
	text_release(&out);
}

/* --- streams ----------------------------------------------------------------------------- */

static void test_stream_is_whole(void **state)
{
	static const char said[] = "GET /stream HTTP/1.1\r\n" HOST "\r\n";
	struct world *w = *state;
	struct text got = talk(w, said, sizeof(said) - 1, 4096);
	const char *body = strstr(got.data, "\r\n\r\n") + 4;

	assert_int_equal(got.len - (size_t)(body - got.data), STREAM);
	for (size_t i = 0; i < STREAM; i++)
		assert_int_equal(body[i], 'a' + i % 23);
	assert_int_equal(w->gone, 1);
	text_release(&got);
}

static void test_stream_waits_for_its_reader(void **state)
{
	static const char said[] = "GET /stream HTTP/1.1\r\n" HOST "\r\n";
	struct world *w = *state;
	int fd = dial(w);

	assert_int_equal(send(fd, said, sizeof(said) - 1, 0), sizeof(said) - 1);
	while (w->gone == 0) { /* ends when the server drops the client */
		uv_run(&w->loop, UV_RUN_NOWAIT);
		assert_true(w->streamed < STREAM);
		poll(NULL, 0, 1);
	}
	close(fd);
}

/* --- slow clients ----------------------------------------------------------------------------- */

static void expect_end(struct world *w, const char *said, const char *want)
{
	struct text out = { 0 };
	int fd = dial(w);

	send_all(w, fd, said, strlen(said), 4096, &out);
	out = hear(w, fd, out); /* returns when the server closes the connection */
	assert_string_equal(statuses(out.data), want);
	text_release(&out);
}

static void test_slow_ones_are_ended(void **state)
{
	struct world *w = *state;

	expect_end(w, "", "");
	expect_end(w, "GET / HTTP/1.1\r\n" HOST "X: ", "408 ");
	expect_end(w, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nab",
		   "408 ");
	/* After the answer the connection is idle. */
	expect_end(w, "GET / HTTP/1.1\r\n" HOST "\r\n", "200 ");
	assert_int_equal(w->gone, 1); /* counts the request with half a body */
}

/* A client that sends one byte at a time gets no more time for a request's head than other
 * clients. */
static void test_drops_do_not_keep_a_head_open(void **state)
{
	struct world *w = *state;
	struct text out = { 0 };
	int fd = dial(w);
	bool open = true;

	while (open) {
		send(fd, "GET / HTTP/1.1\r\nX: ", out.len ? 0 : 1,
		     MSG_DONTWAIT | MSG_NOSIGNAL);
		uv_run(&w->loop, UV_RUN_NOWAIT);
		take(fd, &out, &open);
		poll(NULL, 0, 1);
	}
	close(fd);
	text_release(&out);
}

static void test_service_that_never_answers(void **state)
{
	struct world *w = *state;

	expect_end(w, "GET /never HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", "504 ");
	assert_int_equal(w->gone, 1);
	assert_null(w->held);
}

static void test_late_answer(void **state)
{
	static const char said[] = "GET /never HTTP/1.1\r\n" HOST "\r\n"
				   "GET /next HTTP/1.1\r\n" HOST "\r\n";
	struct world *w = *state;
	struct text out = { 0 };
	int fd = dial(w);

	send_all(w, fd, said, sizeof(said) - 1, 4096, &out);
	assert_int_equal(out.len, 0);
	assert_non_null(w->held);
	say(w->held, "late");
	shutdown(fd, SHUT_WR);
	out = hear(w, fd, out);
	assert_string_equal(statuses(out.data), "200 200 ");
	assert_non_null(strstr(out.data, "\r\n\r\nlateHTTP/1.1"));
	text_release(&out);
}

/* The service watches a peer while the service prepares an answer. So the service learns at
 * once that the peer has closed the connection. Requests that the peer sends before the answer
 * are kept. */
static void test_watched_peer(void **state)
{
	static const char said[] = "GET /never HTTP/1.1\r\n" HOST "\r\n",
			  next[] = "GET /next HTTP/1.1\r\n" HOST "\r\n";
	struct world *w = *state;
	struct text out = { 0 };
	int fd = dial(w);

	send_all(w, fd, said, sizeof(said) - 1, 4096, &out);
	http_watch(w->held);
	send_all(w, fd, next, sizeof(next) - 1, 5, &out);
	assert_int_equal(out.len, 0);
	say(w->held, "late");
	send_all(w, fd, said, sizeof(said) - 1, 4096, &out);
	http_watch(w->held);
	shutdown(fd, SHUT_WR);
	out = hear(w, fd, out);
	assert_string_equal(statuses(out.data), "200 200 ");
	assert_int_equal(w->gone, 1);
	text_release(&out);
}

static void test_cut_peer(void **state)
{
	static const char said[] = "GET /never HTTP/1.1\r\n" HOST "\r\n";
	struct world *w = *state;
	struct text out = { 0 };
	int fd = dial(w);

	send_all(w, fd, said, sizeof(said) - 1, 4096, &out);
	http_cut(w->held);
	out = hear(w, fd, out);
	assert_string_equal(out.data, "");
	assert_int_equal(w->gone, 1);
	text_release(&out);
}

/* --- many clients -------------------------------------------------------------------------------- */

static void test_silent_ones_make_room(void **state)
{
	static const char said[] = "GET / HTTP/1.1\r\n" HOST "\r\n";
	struct world *w = *state;
	struct text got;
	int silent[500];

	for (int i = 0; i < 500; i++)
		silent[i] = dial(w);
	got = talk(w, said, sizeof(said) - 1, 4096);
	assert_string_equal(statuses(got.data), "200 ");
	text_release(&got);
	for (int i = 0; i < 500; i++)
		close(silent[i]);
}

static void test_busy_ones_keep_their_place(void **state)
{
	static const char never[] = "GET /never HTTP/1.1\r\n" HOST "\r\n";
	struct world *w = *state;
	struct text out = { 0 };
	int busy[4];

	for (int i = 0; i < 4; i++) {
		busy[i] = dial(w);
		send_all(w, busy[i], never, sizeof(never) - 1, 4096, &out);
	}
	out = talk(w, "", 0, 1);
	assert_string_equal(statuses(out.data), "503 ");
	text_release(&out);
	for (int i = 0; i < 4; i++)
		close(busy[i]);
}

/* Several bodies use up the memory for bodies. An upload whose end does not arrive is refused,
 * to make room for a complete upload. */
static void test_slow_bodies_make_room(void **state)
{
	static const char head[] = "POST /large HTTP/1.1\r\n" HOST
				   "Content-Length: 12000\r\n\r\n";
	struct world *w = *state;
	struct text said = { 0 }, slow = { 0 }, small = { 0 }, out;
	int fd = dial(w), other = dial(w);

	text_add(&said, head, sizeof(head) - 1);
	while (said.len < sizeof(head) - 1 + 12000)
		text_add(&said, "x", 1);
	send_all(w, other, said.data, sizeof(head) + 10, 4096, &small);
	send_all(w, fd, said.data, said.len - 1, 4096, &slow);
	out = talk(w, said.data, said.len, 4096);
	assert_string_equal(statuses(out.data), "200 ");
	slow = hear(w, fd, slow);
	assert_string_equal(statuses(slow.data), "503 ");
	send_all(w, other, said.data + sizeof(head) + 10, said.len - sizeof(head) - 10,
		 4096, &small);
	shutdown(other, SHUT_WR);
	small = hear(w, other, small);
	assert_string_equal(statuses(small.data), "200 ");
	text_release(&out);
	text_release(&small);
	text_release(&slow);
	text_release(&said);
}

#define t(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
#define hurried(name) cmocka_unit_test_setup_teardown(name, open_hurried, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		t(test_talks),
		t(test_broken_body_is_told),
		t(test_answers_that_arrive),
		t(test_nul_in_a_head),
		t(test_large_heads),
		t(test_trailers_are_of_the_head),
		t(test_continue_goes_before_the_body),
		t(test_stream_is_whole),
		hurried(test_stream_waits_for_its_reader),
		hurried(test_slow_ones_are_ended),
		hurried(test_drops_do_not_keep_a_head_open),
		hurried(test_service_that_never_answers),
		t(test_late_answer),
		t(test_watched_peer),
		t(test_cut_peer),
		t(test_silent_ones_make_room),
		t(test_busy_ones_keep_their_place),
		t(test_slow_bodies_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
