/*
 * Parses received bytes into a head and the pieces of a body.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/http/http_inside.h"

static int http_parse_stop(struct http_conn *c, int status, const char *why)
{
	c->trouble = why;
	c->trouble_status = status;
	return -1;
}

/* --- the head ------------------------------------------------------------------ */

static int on_begin(llhttp_t *parser)
{
	struct http_conn *c = parser->data;

	http_conn_due(c, c->server->service.limits.head_ms);
	c->started = true;
	return 0;
}

static int http_parse_add(struct http_conn *c, const char *data, size_t len, int status)
{
	c->n_head += len;
	if (c->n_head > c->server->service.limits.head)
		return http_parse_stop(c, status, "the head is too large");
	if (!c->begun) /* trailers are counted, but not kept */
		text_add(&c->head, data, len);
	return 0;
}

static int on_url(llhttp_t *parser, const char *data, size_t len)
{
	return http_parse_add(parser->data, data, len, 414);
}

static int on_header(llhttp_t *parser, const char *data, size_t len)
{
	return http_parse_add(parser->data, data, len, 431);
}

/* Drops chunk extensions, and refuses a request with too many bytes of extensions. */
static int on_extension(llhttp_t *parser, const char *data, size_t len)
{
	struct http_conn *c = parser->data;

	(void)data;
	c->n_extensions += len;
	return c->n_extensions > c->server->service.limits.head
		       ? http_parse_stop(c, 413, "the extensions of chunks are too large")
		       : 0;
}

static int end_part(struct http_conn *c, size_t *next)
{
	if (c->begun)
		return 0;
	c->n_head++;
	text_add(&c->head, "", 1);
	*next = c->head.len;
	return 0;
}

static int on_url_end(llhttp_t *parser)
{
	struct http_conn *c = parser->data;

	return end_part(c, &c->at_name[0]);
}

static int on_name_end(llhttp_t *parser)
{
	struct http_conn *c = parser->data;

	return end_part(c, &c->at_value[c->n_headers]);
}

static int on_value_end(llhttp_t *parser)
{
	struct http_conn *c = parser->data;

	if (c->begun)
		return 0;
	if (++c->n_headers == HTTP_HEADERS)
		return http_parse_stop(c, 431, "too many headers");
	return end_part(c, &c->at_name[c->n_headers]);
}

/* The host that a request target names in the form `http://HOST/...`: `n` bytes at `host`. If
 * the target names no host, `host` is NULL. */
struct target {
	const char *host;
	size_t n;
};

static struct target take_target(struct http_conn *c)
{
	char *path = c->head.data, *query;
	struct target t = { 0 };

	if (strncasecmp(path, "http://", 7) == 0) {
		t.host = path + 7;
		t.n = strcspn(t.host, "/?");
		path += 7 + t.n;
	}
	query = strchr(path, '?');
	if (query)
		*query++ = '\0';
	c->x.path = *path ? path : "/";
	c->x.query = query ? query : "";
	return t;
}

/* Removes blanks at the end of a header's value, because llhttp does not remove these blanks.
 * By RFC 9110, 5.5, blanks at the end do not belong to the value. */
static void trim_end(char *value)
{
	size_t n = strlen(value);

	while (n && (value[n - 1] == ' ' || value[n - 1] == '\t'))
		value[--n] = '\0';
}

static void take_headers(struct http_conn *c)
{
	struct http *x = &c->x;

	x->headers = arena_alloc(&x->arena, (c->n_headers + 1) * sizeof(*x->headers));
	x->n_headers = c->n_headers;
	for (size_t i = 0; i < c->n_headers; i++) {
		char *name = c->head.data + c->at_name[i];

		x->headers[i] =
			(struct http_header){ name, c->head.data + c->at_value[i] };
		for (; *name; name++)
			if (*name >= 'A' && *name <= 'Z')
				*name += 'a' - 'A';
		trim_end(c->head.data + c->at_value[i]);
	}
}

static size_t http_parse_count(const struct http *x, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n_headers; i++)
		n += strcmp(x->headers[i].name, name) == 0;
	return n;
}

/* Whether the bytes of a header's name and value are allowed. The parser accepts a blank in a
 * name, but another program could read a different name. */
static bool is_clean(const struct http_header *h)
{
	static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";

	if (h->name[0] == '\0' || h->name[strspn(h->name, token)])
		return false;
	for (const unsigned char *s = (const unsigned char *)h->value; *s; s++)
		if ((*s < 0x20 && *s != '\t') || *s == 0x7f)
			return false;
	return true;
}

/* Whether the text is the name or the address of a host, perhaps with a port. An IPv6 address
 * must be in brackets. */
static bool is_host(const char *host)
{
	const char *end = host + strcspn(host, ":");
	size_t digits;

	if (*host == '[' && (end = strchr(host, ']')))
		end++;
	if (!end || end == host)
		return false;
	digits = *end == ':' ? strspn(end + 1, "0123456789") : 0;
	return !*end || (*end == ':' && digits <= 5 && !end[1 + digits]);
}

static int http_parse_check_host(struct http_conn *c, const struct target *target)
{
	const char *host = http_header(&c->x, "host");

	if (http_parse_count(&c->x, "host") > 1 || (c->parser.http_minor == 1 && !host))
		return http_parse_stop(c, 400, "there must be exactly one Host header");
	if (host && !is_host(host))
		return http_parse_stop(c, 400, "a broken Host header");
	if (target->host && host &&
	    (strlen(host) != target->n ||
	     strncasecmp(host, target->host, target->n) != 0))
		return http_parse_stop(
			c, 400, "the target names another host than the Host header");
	return 0;
}

static int check_head(struct http_conn *c, const struct target *target)
{
	const char *expect = http_header(&c->x, "expect");
	const char *coding = http_header(&c->x, "transfer-encoding");

	for (size_t i = 0; i < c->n_headers; i++)
		if (!is_clean(&c->x.headers[i]))
			return http_parse_stop(c, 400, "a broken header");
	if (c->parser.http_major != 1)
		return http_parse_stop(c, 505, "only HTTP 1.0 and 1.1 are supported");
	if (coding && c->parser.http_minor == 0)
		return http_parse_stop(c, 400, "chunks need HTTP/1.1");
	if (http_parse_check_host(c, target))
		return -1;
	if (http_parse_count(&c->x, "authorization") > 1 ||
	    http_parse_count(&c->x, "origin") > 1 ||
	    http_parse_count(&c->x, "idempotency-key") > 1)
		return http_parse_stop(c, 400,
				       "a header comes twice, but may come only once");
	if (coding && (http_parse_count(&c->x, "transfer-encoding") > 1 ||
		       strcasecmp(coding, "chunked") != 0))
		return http_parse_stop(c, 501,
				       "chunked is the only supported transfer coding");
	if (*c->x.path != '/' || strchr(c->x.path, '#') || strchr(c->x.query, '#'))
		return http_parse_stop(c, 400, "the target is not a path");
	if (expect && strcasecmp(expect, "100-continue") != 0)
		return http_parse_stop(c, 417,
				       "the header Expect may only be 100-continue");
	return 0;
}

static int on_head_end(llhttp_t *parser)
{
	struct http_conn *c = parser->data;
	struct http *x = &c->x;
	bool chunked = parser->flags & F_CHUNKED;
	struct target target = take_target(c);

	take_headers(c);
	x->method = llhttp_method_name((llhttp_method_t)parser->method);
	x->has_length = !chunked && parser->flags & F_CONTENT_LENGTH;
	x->length = (int64_t)parser->content_length;
	c->head_only = parser->method == HTTP_HEAD;
	c->last = !llhttp_should_keep_alive(parser) || parser->upgrade;
	c->headed = true;
	if (check_head(c, &target))
		return -1;
	if (x->has_length && x->length < 0)
		return http_parse_stop(c, 413, "the body is too large");
	return chunked || x->length > 0 ? HPE_PAUSED : 0;
}

/* --- the body ------------------------------------------------------------------- */

static int http_parse_on_body(llhttp_t *parser, const char *data, size_t len)
{
	struct http_conn *c = parser->data;

	c->piece(&c->x, data, len);
	return c->closing || c->state != CONN_BODY ? HPE_PAUSED : 0;
}

static int on_end(llhttp_t *parser)
{
	struct http_conn *c = parser->data;

	c->whole = true;
	return HPE_PAUSED;
}

/* --- the parser -------------------------------------------------------------------- */

static const llhttp_settings_t callbacks = {
	.on_message_begin = on_begin,
	.on_url = on_url,
	.on_url_complete = on_url_end,
	.on_header_field = on_header,
	.on_header_field_complete = on_name_end,
	.on_header_value = on_header,
	.on_header_value_complete = on_value_end,
	.on_headers_complete = on_head_end,
	.on_chunk_extension_name = on_extension,
	.on_chunk_extension_value = on_extension,
	.on_body = http_parse_on_body,
	.on_message_complete = on_end,
};

void http_parse_open(struct http_conn *c)
{
	llhttp_init(&c->parser, HTTP_REQUEST, &callbacks);
	c->parser.data = c;
}

void http_parse_reset(struct http_conn *c)
{
	c->started = c->headed = c->begun = c->whole = false;
	c->line_ended = false;
	c->head.len = c->n_head = c->n_headers = c->n_extensions = 0;
}

/* Whether a line of the head is continued in the next line (RFC 9112, 5.2). The parser accepts
 * a continued line, but other programs read the second line as another header. */
static bool is_folded(struct http_conn *c, const char *from, const char *to)
{
	for (; from < to; from++) {
		if (c->line_ended && (*from == ' ' || *from == '\t'))
			return true;
		c->line_ended = *from == '\n';
	}
	return false;
}

void http_parse(struct http_conn *c)
{
	const bool is_head = c->state == CONN_HEAD;
	llhttp_errno_t rc = llhttp_execute(&c->parser, c->in, c->left);
	const char *at = rc == HPE_OK ? c->in + c->left
				      : llhttp_get_error_pos(&c->parser);

	if (is_head && !c->closing && is_folded(c, c->in, at)) {
		http_refuse(c, 400, FAULT_INVALID, "a header continues on the next line");
		return;
	}
	if (rc == HPE_OK) {
		c->left = 0;
		return;
	}
	c->left -= (size_t)(at - c->in);
	c->in = at;
	if (rc == HPE_PAUSED)
		llhttp_resume(&c->parser);
	else if (rc == HPE_PAUSED_UPGRADE)
		llhttp_resume_after_upgrade(&c->parser);
	else if (!c->closing)
		http_refuse(c, c->trouble ? c->trouble_status : 400, FAULT_INVALID,
			    c->trouble ? c->trouble
				       : llhttp_get_error_reason(&c->parser));
}

/* --- escapes -------------------------------------------------------------------- */

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *http_unescape(struct arena *a, const char *s, size_t len)
{
	char *out = arena_alloc(a, len + 1), *to = out;

	for (const char *end = s + len; s < end; s++) {
		int high = 0, low = 0;

		if (*s != '%') {
			*to++ = *s;
			continue;
		}
		if (end - s < 3 || (high = hex(s[1])) < 0 || (low = hex(s[2])) < 0 ||
		    high + low == 0)
			return NULL;
		*to++ = (char)(high * 16 + low);
		s += 2;
	}
	return out;
}

const char *http_query(struct http *x, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = x->query; *at; at += strspn(at, "&")) {
		size_t len = strcspn(at, "&");

		if (len > n && at[n] == '=' && strncmp(at, name, n) == 0)
			return http_unescape(&x->arena, at + n + 1, len - n - 1);
		at += len;
	}
	return NULL;
}
