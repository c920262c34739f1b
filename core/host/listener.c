#include "core/host/listener.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/host/inside.h"

enum { BACKLOG = 512 };

static void on_client(uv_stream_t *server, int status)
{
	if (status == 0)
		conn_accept(server->data);
}

int host_listen(struct host *host, struct fault *f)
{
	const char *path = host->home->socket;
	int rc;

	if (unlink(path) && access(path, F_OK) == 0)
		return fault_set(f, FAULT_IO, "", "cannot replace %s", path);
	uv_pipe_init(&host->loop, &host->listener, 0);
	host->listener.data = host;
	/* No umask, which would be that of all threads.  Until the socket listens nobody can
	 * connect to it, and its folder is ours and 0700: nobody can put another there. */
	rc = uv_pipe_bind(&host->listener, path);
	if (rc == 0 && chmod(path, 0600))
		rc = uv_translate_sys_error(errno);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&host->listener, BACKLOG, on_client);
	if (rc)
		return fault_set(f, FAULT_IO, "", "cannot listen at %s: %s", path,
				 uv_strerror(rc));
	return 0;
}

void host_deafen(struct host *host)
{
	uv_handle_t *h = (uv_handle_t *)&host->listener;

	/* libuv removes the socket's file with the handle. */
	if (h->type && !uv_is_closing(h))
		uv_close(h, NULL);
}
