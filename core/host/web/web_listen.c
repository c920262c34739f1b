/* web_listen - the places where the HTTP door listens, and the file that names one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/access/bearer.h"
#include "core/host/listener.h"
#include "core/host/web/web_inside.h"

enum {
	PORTS = 100, /* tried, one after the other; then any */
	CONNECTIONS_MOST = 12288,
};

/* --- sockets ------------------------------------------------------------------------------ */

/* Maximum of connections: the file descriptors that clients at the host's own socket and
 * guests do not need. */
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

/* The first port that is free, from the configured one on. */
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

/* Listens at `http.sock`, beside the host's own socket. */
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

/* Replaces the file `endpoint`, where clients find the URL: 0 or -1. */
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

/* Removes the file if it holds this URL; NULL: whatever it holds. */
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
			  "not at %s, which others reach, before a client has a token: "
			  "see `cadre token create`",
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

/* Opens both doors.  A failure is logged: the host serves its socket all the same. */
static void web_serve(struct host *host)
{
	struct fault f = { 0 };

	drop_endpoint(host, NULL); /* of a host that was killed */
	if (!host->settings.config.http_enabled)
		return;
	listen_unix(host, &f);
	web_listen_complain(host, &f);
	f = (struct fault){ 0 };
	open_tcp(host, &f);
	web_listen_complain(host, &f);
}

/* Takes no more requests; calls that wait are ended. */
static void web_end(struct host *host)
{
	struct web *web = host->web;
	char url[96];

	/* Another host may have begun here meanwhile, in a state that was made anew. */
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
