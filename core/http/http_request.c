/*
 * Functions with which a service reads a request.
 */
#include <stdlib.h>
#include <string.h>

#include "core/http/http_inside.h"

enum { BODY_COUNTS = 4 << 10 }; /* bytes; to refuse smaller ones makes no room */

const char *http_header(const struct http *x, const char *name)
{
	for (size_t i = 0; i < x->n_headers; i++)
		if (strcmp(x->headers[i].name, name) == 0)
			return x->headers[i].value;
	return NULL;
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

/* --- bodies ----------------------------------------------------------------------- */

void http_read(struct http *x, http_piece *piece, http_whole *end)
{
	struct http_conn *c = (struct http_conn *)x;

	if (c->closing)
		return;
	if (c->state == CONN_ASKED) { /* there is none */
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

/* When bodies take more memory than there is for all, the body that has taken longest is
 * refused: quick bodies get through, whatever slow bodies hold back. */
static void http_request_make_room(struct http_server *s)
{
	struct http_conn *c;

	while (s->collected > s->service.limits.bodies && (c = slowest(s)))
		http_refuse(c, 503, FAULT_UNAVAILABLE,
			    "too many bodies come at once, and this one slowly");
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
