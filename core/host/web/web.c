/* web - the sockets, callers and logins of the HTTP door, and the choice of a handler by a
 * request's path. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/access/bearer.h"
#include "core/base/alloc.h"
#include "core/base/version.h"
#include "core/host/listener.h"
#include "core/host/web/web.h"
#include "ops.gen.h"

/* --- listen ------------------------------------------------------------------ */

/* listen - opens the sockets of the HTTP door, and writes the door's URL to a file. */

enum {
	PORTS = 100, /* after so many tried ports, any free port is taken */
	CONNECTIONS_MOST = 12288,
};

/* --- sockets ------------------------------------------------------------------------------ */

/* The maximum number of HTTP connections. The remaining file descriptors are for guests and for
 * clients at the host's Unix socket. */
static int connections(void)
{
	const rlim_t others = 2 * CLIENTS_MOST, want = others + CONNECTIONS_MOST;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return 0;
	if (r.rlim_cur < want) {
		r.rlim_cur = r.rlim_max < want ? r.rlim_max : want;
		if (setrlimit(RLIMIT_NOFILE, &r))
			getrlimit(RLIMIT_NOFILE, &r);
	}
	return r.rlim_cur >= want          ? CONNECTIONS_MOST
	       : r.rlim_cur > others + 256 ? (int)(r.rlim_cur - others)
					   : (int)(r.rlim_cur / 8);
}

static struct http_service service(struct web_door *door)
{
	return (struct http_service){
		.arg = door,
		.begin = web_request,
		.limits = { .connections = connections() },
	};
}

static bool is_loopback(const char *address)
{
	return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/* Listens at the first free one of the PORTS ports from http.port on. If none of these ports is
 * free, listens at any free port. */
static int listen_tcp(struct host *host, struct fault *f)
{
	const struct config *config = &host->settings.config;
	const struct http_service s = service(&host->web->tcp);

	for (int i = 0; i < PORTS && config->http_port + i < 65536; i++) {
		*f = (struct fault){ 0 };
		if (http_listen(&host->web->tcp.server, &host->loop, config->http_address,
				(int)config->http_port + i, &s, f) == 0)
			return 0;
		if (f->code != FAULT_CONFLICT)
			return f->code;
	}
	*f = (struct fault){ 0 };
	return http_listen(&host->web->tcp.server, &host->loop, config->http_address, 0,
			   &s, f);
}

static void on_client_closed(uv_handle_t *h)
{
	free(h);
}

static void web_listen_on_client(uv_stream_t *listener, int status)
{
	struct host *host = listener->data;
	uv_pipe_t *client;
	uv_os_fd_t fd;
	int own = -1;

	if (status < 0 || !(client = malloc(sizeof(*client))))
		return;
	uv_pipe_init(&host->loop, client, 0);
	if (uv_accept(listener, (uv_stream_t *)client) == 0 &&
	    uv_fileno((uv_handle_t *)client, &fd) == 0 && host_knows_peer(fd))
		own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	uv_close((uv_handle_t *)client, on_client_closed);
	if (own >= 0)
		http_adopt(host->web->local.server, own);
}

/* Listens at the Unix socket `http.sock`, in the folder of the host's sockets. */
static int listen_unix(struct host *host, struct fault *f)
{
	const struct http_service s = service(&host->web->local);
	struct web *web = host->web;

	web->local.server = http_open(&host->loop, &s);
	return host_listen_at(host, &web->listener, "http.sock", web_listen_on_client, f);
}

/* --- the file ------------------------------------------------------------------------------ */

static void endpoint_path(const struct host *host, const char *end, char out[4200])
{
	snprintf(out, 4200, "%s/endpoint%s", host->home->dir, end);
}

/* Replaces the file `endpoint`, from which clients read the URL. Returns 0 or -1. */
static int write_endpoint(const struct host *host, const char *url)
{
	char path[4200], new[4200];
	ssize_t n = (ssize_t)strlen(url);
	int fd, rc;

	endpoint_path(host, "", path);
	endpoint_path(host, ".new", new);
	unlink(new);
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -1;
	rc = write(fd, url, (size_t)n) == n ? 0 : -1;
	close(fd);
	return rc < 0 ? rc : rename(new, path);
}

static void write_url(const struct host *host, char url[96])
{
	const char *address = host->settings.config.http_address;
	const bool v6 = strchr(address, ':') != NULL;

	snprintf(url, 96, "http://%s%s%s:%d\n", v6 ? "[" : "", address, v6 ? "]" : "",
		 http_port(host->web->tcp.server));
}

static void tell_endpoint(struct host *host)
{
	char url[96];

	write_url(host, url);
	if (write_endpoint(host, url) < 0)
		log_line(host->log, LOG_LEVEL_WARN, "the file endpoint cannot be written",
			 LOG_TEXT("error", strerror(errno)));
	url[strcspn(url, "\n")] = '\0';
	log_line(host->log, LOG_LEVEL_INFO, "HTTP is served", LOG_TEXT("url", url));
}

/* Removes the file `endpoint` if it contains `url`. If `url` is NULL, removes the file in any
 * case. */
static void drop_endpoint(const struct host *host, const char *url)
{
	char path[4200], is[96] = "";
	int fd;

	endpoint_path(host, "", path);
	fd = url ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (fd >= 0 && read(fd, is, sizeof(is) - 1) < 0)
		is[0] = '\0';
	if (fd >= 0)
		close(fd);
	if (!url || strcmp(is, url) == 0)
		unlink(path);
}

/* --- life ------------------------------------------------------------------------------------ */

static void open_tcp(struct host *host, struct fault *f)
{
	const struct config *config = &host->settings.config;

	if (!is_loopback(config->http_address) && !bearer_any(host->home->dir)) {
		fault_set(f, FAULT_CONFLICT, "",
			  "other machines can reach %s, so a client must have "
			  "a token first: see `cadre token create`",
			  config->http_address);
		return;
	}
	if (listen_tcp(host, f) == 0)
		tell_endpoint(host);
}

static void web_listen_complain(struct host *host, const struct fault *f)
{
	if (f->code)
		log_line(host->log, LOG_LEVEL_WARN, "HTTP is not served", LOG_FAULT(f));
}

static void web_make(struct host *host)
{
	struct web *web = host->web;

	web->tcp.host = web->local.host = host;
	web->local.local = true;
}

/* Opens both sockets of the HTTP door, the TCP socket and the Unix socket. If a socket cannot
 * be opened, the failure is logged, and the host continues without the socket. */
static void web_serve(struct host *host)
{
	struct fault f = { 0 };

	drop_endpoint(host, NULL); /* a killed host may have left the file */
	if (!host->settings.config.http_enabled)
		return;
	listen_unix(host, &f);
	web_listen_complain(host, &f);
	f = (struct fault){ 0 };
	open_tcp(host, &f);
	web_listen_complain(host, &f);
}

/* Closes both sockets of the HTTP door, and so ends their requests. */
static void web_end(struct host *host)
{
	struct web *web = host->web;
	char url[96];

	/* The file is removed only if it contains this host's URL. A new state may be at the
	 * same path, with a file of another host. */
	if (web->tcp.server) {
		write_url(host, url);
		drop_endpoint(host, url);
	}
	http_close(web->tcp.server);
	http_close(web->local.server);
	web->tcp.server = web->local.server = NULL;
	free(web->openapi);
	web->openapi = NULL;
	host_socket_close(&web->listener);
}

const struct host_room room_web = {
	.size = sizeof(struct web),
	.make = web_make,
	.start = web_serve,
	.end = web_end,
};

/* callers - checks the origin of a request, and finds the request's caller. */

/* --- places ------------------------------------------------------------------------- */

/* The length of the host's name in an authority such as "NAME:PORT", "[::1]:PORT" or "NAME". */
static size_t name_len(const char *authority)
{
	return *authority == '[' ? strcspn(authority, "]") + 1 : strcspn(authority, ":");
}

static bool is_word_of(const char *list, const char *word, size_t n)
{
	while (*list) {
		size_t len = strcspn(list += strspn(list, " ,"), " ,");

		if (len == n && n && strncasecmp(list, word, n) == 0)
			return true;
		list += len;
	}
	return false;
}

/* Whether the header Host names this door: localhost, 127.0.0.1, [::1], http.address, or a name
 * of http.hosts. An attacker may let a site's name resolve to the address of this machine. A
 * browser sends requests of such a site's pages with the site's name as Host, so these requests
 * are refused. */
static bool is_our_name(const struct host *host, const char *authority)
{
	const struct config *config = &host->settings.config;
	size_t n = name_len(authority);

	return is_word_of("localhost 127.0.0.1 [::1]", authority, n) ||
	       is_word_of(config->http_address, authority, n) ||
	       (config->http_hosts && is_word_of(config->http_hosts, authority, n));
}

/* Whether the header Origin names the same host and port as the header Host. */
static bool is_same_origin(const char *origin, const char *authority)
{
	const char *at = strstr(origin, "://");

	return at && strcasecmp(at + 3, authority) == 0;
}

/* Whether the headers Host and Origin allow the request. */
static bool web_is_ours(struct http *x, const struct web_door *door, struct fault *f)
{
	const char *authority = http_header(x, "host"),
		   *origin = http_header(x, "origin");

	if (door->local && !origin)
		return true; /* no browser can use the Unix socket */
	if (!authority || !is_our_name(door->host, authority)) {
		fault_set(f, FAULT_DENIED, "", "the host is not called %.80s",
			  authority ? authority : "none");
		fault_hint(f, "Use the host's address, or add the name to http.hosts.");
		return false;
	}
	if (origin && !is_same_origin(origin, authority)) {
		fault_set(f, FAULT_DENIED, "", "a page of %.120s may not call this host",
			  origin);
		fault_hint(f, "Call from a page of this host, or without a browser.");
		return false;
	}
	return true;
}

#define TOKEN_SIGNS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* --- callers ------------------------------------------------------------------------- */

/* The token in the header Authorization; NULL: the header has no valid token. */
static const char *shown_token(struct http *x)
{
	const char *said = http_header(x, "authorization");
	size_t n;

	if (!said || strncasecmp(said, "Bearer ", 7) != 0)
		return NULL;
	said += 7 + strspn(said + 7, " ");
	n = strspn(said, TOKEN_SIGNS);
	return n > 0 && n <= 128 && said[n] == '\0' ? said : NULL;
}

static void web_cookie_name(const struct host *host, char name[WEB_COOKIE])
{
	snprintf(name, WEB_COOKIE, "cadre_%d", http_port(host->web->tcp.server));
}

/* Whether a browser's cookie may prove the caller of this request. A cookie never proves the
 * caller of a request from a page of another site. If a request may write, a cookie proves the
 * caller only if the request has a header Origin, which browsers send with such requests. */
static bool is_meant(struct http *x)
{
	const char *site = http_header(x, "sec-fetch-site");

	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return false;
	return strcmp(x->method, "GET") == 0 || strcmp(x->method, "HEAD") == 0 ||
	       http_header(x, "origin");
}

/* The token in the cookie `name` of the header Cookie; NULL: there is no such cookie. */
static const char *token_among(struct http *x, const char *at, const char *name)
{
	const size_t n = strlen(name);
	size_t len;

	for (; at; at = strchr(at, ';')) {
		at += strspn(at, "; ");
		len = strcspn(at, ";");
		if (strncmp(at, name, n) == 0 && at[n] == '=' && len - n - 1 <= 128 &&
		    strspn(at + n + 1, TOKEN_SIGNS) == len - n - 1)
			return arena_strndup(&x->arena, at + n + 1, len - n - 1);
	}
	return NULL;
}

/* The token in a browser's cookie for this host; NULL: the request has no such cookie. The
 * request may have several headers Cookie, since a proxy may have split the header. */
static const char *kept_token(struct http *x, const struct host *host)
{
	const char *token = NULL;
	char name[WEB_COOKIE];

	web_cookie_name(host, name);
	for (size_t i = 0; i < x->n_headers && !token && is_meant(x); i++)
		if (strcmp(x->headers[i].name, "cookie") == 0)
			token = token_among(x, x->headers[i].value, name);
	return token;
}

int web_identity(struct http *x, const struct web_door *door, struct identity *who,
		 struct fault *f)
{
	*who = (struct identity){
		.level = WHO_OBSERVER,
		.bearer = shown_token(x),
		.session = "http",
	};
	if (!who->bearer && !door->local && !http_header(x, "authorization"))
		who->bearer = kept_token(x, door->host);
	if (who->bearer)
		return 0;
	if (door->local && !http_header(x, "authorization")) {
		who->level = WHO_OPERATOR;
		who->by_default = door->host->home->settings.config.team_default;
		return 0;
	}
	fault_set(f, FAULT_DENIED, "/token", "the request has no token");
	return fault_hint(f, "Send `Authorization: Bearer TOKEN`; the operator "
			     "makes a token: cadre token create --agent TEAM/NAME");
}

/* --- login ------------------------------------------------------------------- */

/* login - exchanges a code for a token, and sends the token to the browser as a cookie. */

enum { LOGINS_MOST = 8 }; /* a limit, since each login is a write, and anybody may try */

/* An exchange of a code for a token. The HTTP request may end before the exchange. */
struct login {
	struct http *x; /* NULL: the request has ended */
	struct host *host;
};

static void web_login_on_gone(struct http *x)
{
	struct login *login = x->owner;

	login->x = NULL;
}

/* Sets the cookie that contains the token. Scripts cannot read the cookie, and a browser does
 * not send the cookie with requests from other sites. A browser also sends the cookie to other
 * ports of this address. */
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

/* Exchanges the code in the query for a token. The browser gets the token as a cookie. */
static void web_login(struct http *x)
{
	const struct web_door *door = x->service;
	const char *code = http_query(x, "code");
	struct login *login;
	struct fault f = { 0 };

	if (strcmp(x->method, "GET") != 0) {
		http_add_header(x, "Allow", "GET");
		fault_set(&f, FAULT_INVALID, "", "%.10s is not a method of this path",
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
		fault_set(&f, FAULT_UNAVAILABLE, "", "too many browsers log in at once");
		web_refuse(x, 0, &f);
		return;
	}
	login = xmalloc(sizeof(*login));
	door->host->web->logins++;
	*login = (struct login){ x, door->host };
	x->owner = login;
	x->gone = web_login_on_gone;
	host_ask(door->host, token_exchange, on_exchanged, login, .code = code);
}

/* --- requests -------------------------------------------------------------------------- */

static void add_headers(struct http *x, int status, const struct fault *why)
{
	char seconds[24];

	if (status == 401)
		http_add_header(x, "WWW-Authenticate", "Bearer realm=\"cadre\"");
	if (why->retry_after_ms > 0) {
		snprintf(seconds, sizeof(seconds), "%lld",
			 (long long)((why->retry_after_ms + 999) / 1000));
		http_add_header(x, "Retry-After", seconds);
	}
}

void web_refuse(struct http *x, int status, const struct fault *why)
{
	add_headers(x, status, why);
	http_fault(x, status, why);
}

void web_refuse_as(struct http *x, const struct fault *why, const char *body)
{
	struct text line = { 0 };

	add_headers(x, 0, why);
	text_addf(&line, "%s\n", body);
	http_answer(x, fault_info(why->code)->http_status, "application/json", line.data,
		    line.len);
	text_release(&line);
}

static const char places[] = "cadre " CADRE_VERSION "\n\n"
			     "/api/openapi.json  all calls\n"
			     "/api/whoami        who you are\n"
			     "/events            what happens\n"
			     "/metrics           numbers of the host\n"
			     "/mcp               for agents\n"
			     "/healthz /readyz   for programs that watch the host\n";

static void answer_word(struct http *x, int status, const char *word)
{
	http_answer(x, status, "text/plain; charset=utf-8", word, strlen(word));
}

/* Answers whether the host can take calls. If the host's queue of writes is full, /healthz says
 * `ok`, but /readyz says `not ready`. */
static void tell_ready(struct http *x)
{
	const struct host *host = ((const struct web_door *)x->service)->host;
	bool ready = !host->stopping && !host->lost.code &&
		     host->calls->n_writes < WRITES_MOST;

	answer_word(x, ready ? 200 : 503, ready ? "ready\n" : "not ready\n");
}

/* Answers with the API's OpenAPI document. The document is made only once, because it is long
 * and anybody may ask for it. */
static void tell_openapi(struct http *x)
{
	struct web *web = ((const struct web_door *)x->service)->host->web;
	json_t *document = web->openapi ? NULL : openapi_document();

	if (!web->openapi)
		web->openapi = json_dumps(document, JSON_COMPACT | JSON_PRESERVE_ORDER);
	json_decref(document);
	if (!web->openapi)
		out_of_memory();
	http_answer_kept(x, 200, "application/json", web->openapi, strlen(web->openapi));
}

static bool is_get(const struct http *x)
{
	return strcmp(x->method, "GET") == 0 || strcmp(x->method, "HEAD") == 0;
}

void web_request(struct http *x)
{
	const struct web_door *door = x->service;
	struct fault f = { 0 };

	if (!web_is_ours(x, door, &f))
		web_refuse(x, 0, &f);
	else if (is_get(x) && strcmp(x->path, "/healthz") == 0)
		answer_word(x, 200, "ok\n");
	else if (is_get(x) && strcmp(x->path, "/readyz") == 0)
		tell_ready(x);
	else if (is_get(x) && strcmp(x->path, "/") == 0)
		answer_word(x, 200, places);
	else if (strcmp(x->path, "/login") == 0)
		web_login(x);
	else if (is_get(x) && strcmp(x->path, "/metrics") == 0)
		web_metrics(x);
	else if (is_get(x) && strcmp(x->path, "/api/openapi.json") == 0)
		tell_openapi(x);
	else if (is_get(x) && strcmp(x->path, "/events") == 0)
		web_events(x);
	else if (strcmp(x->path, "/mcp") == 0 || strcmp(x->path, "/mcp/") == 0)
		mcp_door_request(x);
	else
		web_call(x);
}
