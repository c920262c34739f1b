/*
 * Answers: a head, and a body that is there or is read while it is written.
 */
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/http/http_inside.h"

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

/* Writes the waiting bytes; these bytes complete an answer that has ended.  An answer
 * that goes on has no deadline. */
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

/* The service may not be asked twice, nor again before its answer is out.  A length below 0 is
 * not known. */
static void begin_answer(struct http_conn *c, int status, const char *type,
			 int64_t length)
{
	struct text *out = &c->out;

	if (!c->whole || c->x.last)
		c->last = true; /* the rest of the request is in the way */
	http_conn_step(c, CONN_ANSWERING);
	out->len = 0;
	text_addf(out, "HTTP/1.1 %d %s\r\n", status, reason_of(status));
	add_date(out);
	if (type)
		text_addf(out, "Content-Type: %s\r\nX-Content-Type-Options: nosniff\r\n",
			  type);
	if (length < 0 && c->parser.http_minor == 0)
		c->last = true; /* it ends with the connection */
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

/* --- answers ---------------------------------------------------------------------------- */

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
	fault_set(&f, code, "", "%s", why && *why ? why : "this is no HTTP");
	fault_hint(&f, code == FAULT_INVALID ? "Send a request of HTTP/1.1."
					     : "Try again, and send it at once.");
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
		http_conn_advance(c); /* to see when the peer is gone */
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

	/* The socket's buffer is empty, so this fits; if not, the peer goes on by
	 * itself. */
	if (c->parser.http_minor > 0 && http_header(&c->x, "expect"))
		uv_try_write((uv_stream_t *)&c->tcp, &buf, 1);
}
