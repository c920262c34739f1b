#include "core/host/listener.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/host/host_inside.h"
#include "core/host/web/web.h"

enum { BACKLOG = 512, LOOK_MS = 2000 };

static void listener_on_client(uv_stream_t *server, int status)
{
	if (status == 0)
		conn_accept(server->data);
}

static int set_path(const struct host *host, struct host_socket *s, struct fault *f)
{
	const char *own = host->home->socket;
	int folder = (int)(strrchr(own, '/') - own), n;

	n = s->name ? snprintf(s->path, sizeof(s->path), "%.*s/%s", folder, own, s->name)
		    : snprintf(s->path, sizeof(s->path), "%s", own);
	return n < (int)sizeof(s->path)
		       ? 0
		       : fault_set(f, FAULT_IO, "", "the path %s is too long", own);
}

static int host_socket_open(struct host *host, struct host_socket *s, struct fault *f)
{
	struct stat st = { 0 };
	int rc;

	uv_pipe_init(&host->loop, &s->pipe, 0);
	s->pipe.data = host;
	s->ino = 0; /* if this function fails, 0 makes on_look() try again */
	if (set_path(host, s, f) < 0)
		return f->code;
	if (unlink(s->path) && access(s->path, F_OK) == 0)
		return fault_set(f, FAULT_IO, "", "cannot replace %s", s->path);
	/* The socket's mode is set by chmod(), not by umask(), since all threads share the
	 * umask. Before uv_listen() nobody can connect to the socket. Only this user may write
	 * to the socket's folder (mode 0700), so nobody else can replace the socket. */
	rc = uv_pipe_bind(&s->pipe, s->path);
	if (rc == 0 && (chmod(s->path, 0600) || lstat(s->path, &st)))
		rc = uv_translate_sys_error(errno);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&s->pipe, BACKLOG, s->on_caller);
	if (rc)
		return fault_set(f, FAULT_IO, "", "cannot listen at %s: %s", s->path,
				 uv_strerror(rc));
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return 0;
}

int host_listen_at(struct host *host, struct host_socket *s, const char *name,
		   uv_connection_cb on_caller, struct fault *f)
{
	s->name = name;
	s->on_caller = on_caller;
	return host_socket_open(host, s, f);
}

/* --- sockets that are gone --------------------------------------------------------------- */

static bool listener_is_there(const struct host_socket *s)
{
	struct stat st;

	return !s->pipe.type ||
	       (lstat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino);
}

static void listen_anew(uv_handle_t *h)
{
	struct host_socket *s = (struct host_socket *)h;
	struct host *host = h->data;
	struct fault f = { 0 };

	if (host->stopping)
		return;
	if (host_socket_open(host, s, &f) < 0)
		log_seldom(host->log, &host->sockets->swept, LOG_LEVEL_WARN,
			   "a socket cannot be made again", LOG_FAULT(&f));
	else
		log_line(host->log, LOG_LEVEL_WARN, "a socket was gone and is made again",
			 LOG_TEXT("socket", s->path));
}

static void on_look(uv_timer_t *timer)
{
	struct host *host = timer->data;
	struct host_socket *const all[] = { &host->sockets->own, &host->web->listener };
	struct fault f = { 0 };

	if (listener_is_there(all[0]) && listener_is_there(all[1]))
		return;
	if (home_settle_run(host->options->home, host->lock, &f) < 0) {
		log_seldom(host->log, &host->sockets->swept, LOG_LEVEL_WARN,
			   "the folder of the sockets cannot be made again",
			   LOG_FAULT(&f));
		return;
	}
	for (int i = 0; i < 2; i++)
		if (!listener_is_there(all[i]) &&
		    !uv_is_closing((uv_handle_t *)&all[i]->pipe))
			uv_close((uv_handle_t *)&all[i]->pipe, listen_anew);
	reconcile_poke(host); /* the sockets of guests are in this folder too */
}

static int listener_open(struct host *host, struct fault *f)
{
	uv_timer_init(&host->loop, &host->sockets->look);
	host->sockets->look.data = host;
	uv_timer_start(&host->sockets->look, on_look, LOOK_MS, LOOK_MS);
	return host_listen_at(host, &host->sockets->own, NULL, listener_on_client, f);
}

bool host_knows_peer(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

void host_socket_close(struct host_socket *s)
{
	uv_handle_t *h = (uv_handle_t *)&s->pipe;

	/* uv_close() also removes the socket's file. */
	if (h->type && !uv_is_closing(h))
		uv_close(h, NULL);
}

static void listener_close(struct host *host)
{
	uv_handle_t *h = (uv_handle_t *)&host->sockets->look;

	if (h->type && !uv_is_closing(h))
		uv_close(h, NULL);
	host_socket_close(&host->sockets->own);
}

const struct host_room room_sockets = {
	.size = sizeof(struct sockets),
	.open = listener_open,
	.close = listener_close,
};
