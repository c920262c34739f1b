#include "core/host/listener.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/host/inside.h"

enum { BACKLOG = 512 };

static void on_client(uv_stream_t *server, int status)
{
	if (status == 0)
		conn_accept(server->data);
}

int host_listen_at(struct host *host, uv_pipe_t *listener, const char *path,
		   uv_connection_cb on_caller, struct fault *f)
{
	int rc;

	if (unlink(path) && access(path, F_OK) == 0)
		return fault_set(f, FAULT_IO, "", "cannot replace %s", path);
	uv_pipe_init(&host->loop, listener, 0);
	listener->data = host;
	/* No umask, which would be that of all threads.  Until the socket listens nobody can
	 * connect to it, and its folder is ours and 0700: nobody can put another there. */
	rc = uv_pipe_bind(listener, path);
	if (rc == 0 && chmod(path, 0600))
		rc = uv_translate_sys_error(errno);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)listener, BACKLOG, on_caller);
	if (rc)
		return fault_set(f, FAULT_IO, "", "cannot listen at %s: %s", path,
				 uv_strerror(rc));
	return 0;
}

int host_listen(struct host *host, struct fault *f)
{
	return host_listen_at(host, &host->listener, host->home->socket, on_client, f);
}

bool host_knows_peer(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

void host_deafen(struct host *host)
{
	uv_handle_t *h = (uv_handle_t *)&host->listener;

	/* libuv removes the socket's file with the handle. */
	if (h->type && !uv_is_closing(h))
		uv_close(h, NULL);
}
