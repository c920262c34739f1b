/* web_login - a browser gets a token for a code, and keeps it as a cookie. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/host/web/web_inside.h"

#include "ops.gen.h"

enum { LOGINS_MOST = 8 }; /* at once: each is a write, and anybody may ask */

/* An exchange of a code; the request may be over first. */
struct login {
	struct http *x; /* NULL: it is */
	struct host *host;
};

static void web_login_on_gone(struct http *x)
{
	struct login *login = x->owner;

	login->x = NULL;
}

/* The cookie is hidden from scripts and other sites, but not from other ports of the address. */
static void set_cookie(struct http *x, const struct host *host,
		       const struct token_exchange_out *out)
{
	char name[WEB_COOKIE], cookie[256];

	web_cookie_name(host, name);
	snprintf(cookie, sizeof(cookie),
		 "%s=%s; HttpOnly; SameSite=Strict; Path=/; Max-Age=%lld", name,
		 out->bearer, (long long)out->seconds);
	http_add_header(x, "Set-Cookie", cookie);
}

static void on_exchanged(struct job *job)
{
	struct login *login = job->owner;
	struct http *x = login->x;

	if (x && job->call.fault.code) {
		web_refuse_call(x, &job->call.fault);
	} else if (x) {
		set_cookie(x, login->host, job->call.out);
		http_add_header(x, "Location", "/");
		http_add_header(x, "Referrer-Policy", "no-referrer");
		http_answer(x, 303, NULL, "", 0);
	}
	login->host->web->logins--;
	free(login);
	job_free(job);
}

void web_login(struct http *x)
{
	const struct web_door *door = x->service;
	const char *code = http_query(x, "code");
	struct token_exchange_in *in;
	struct login *login;
	struct fault f = { 0 };
	struct job *job;

	if (strcmp(x->method, "GET") != 0) {
		http_add_header(x, "Allow", "GET");
		fault_set(&f, FAULT_INVALID, "", "%.10s is no method of this path",
			  x->method);
		fault_hint(&f, "See the header Allow.");
		web_refuse(x, 405, &f);
		return;
	}
	if (!code) {
		fault_set(&f, FAULT_INVALID, "/code", "is required");
		fault_hint(&f, "`cadre page` prints the address with a code.");
		web_refuse(x, 0, &f);
		return;
	}
	if (door->host->web->logins >= LOGINS_MOST) {
		fault_set(&f, FAULT_UNAVAILABLE, "", "too many come in at once");
		web_refuse(x, 0, &f);
		return;
	}
	login = xmalloc(sizeof(*login));
	door->host->web->logins++;
	*login = (struct login){ x, door->host };
	x->owner = login;
	x->gone = web_login_on_gone;
	job = host_job(door->host, op_token_exchange, on_exchanged, login);
	in = job->call.in;
	in->code = arena_strdup(&job->call.arena, code);
	host_submit(door->host, job);
}
