/*
 * hybrid - any bytes as a VMM's answer to CONNECT.
 *
 * The test dials a real Unix socket. The fuzzer plays the VMM, and sends the VMM's answer in
 * pieces. The connection succeeds only if the answer begins with a line "OK ...". The bytes
 * after the VMM's line belong to the guest, and no byte is lost.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/link/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINE_MOST = 64, SIZE_MOST = 4096 };

struct told {
	bool done;
	int fd;
};

static char folder[] = "/tmp/fuzz-hybrid.XXXXXX";
static struct link_address vmm = { .kind = LINK_HYBRID };

static void clean(void)
{
	unlink(vmm.path);
	rmdir(folder);
}

static int listen_once(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert(mkdtemp(folder));
	snprintf(vmm.path, sizeof(vmm.path), "%s/v", folder);
	snprintf(at.sun_path, sizeof(at.sun_path), "%.100s", vmm.path);
	assert(fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof(at)) &&
	       !listen(fd, 4));
	atexit(clean);
	return fd;
}

static void on_dialled(void *arg, int fd, const struct fault *why)
{
	struct told *told = arg;

	assert(!told->done && (fd < 0) == (why != NULL));
	told->done = true;
	told->fd = fd;
}

static void answer(uv_loop_t *loop, int fd, const uint8_t *data, size_t size)
{
	/* The socket must have room for all pieces, because the other end reads only after the
	 * last piece. */
	size_t step = 1 + size / 64 + (size ? data[size - 1] % 70u : 0);

	for (size_t at = 0; at < size; at += step) {
		size_t n = size - at < step ? size - at : step;

		if (send(fd, data + at, n, MSG_NOSIGNAL) != (ssize_t)n)
			break;
		uv_run(loop, UV_RUN_NOWAIT);
	}
	shutdown(fd, SHUT_WR);
	uv_run(loop, UV_RUN_DEFAULT);
}

/* Checks that the VMM got the line CONNECT, and that the guest would read exactly the bytes
 * after the VMM's line. */
static void judge(int to_vmm, const struct told *told, const uint8_t *data, size_t size)
{
	size_t most = size < LINE_MOST ? size : LINE_MOST;
	const uint8_t *end = memchr(data, '\n', most);
	char said[SIZE_MOST + 1];
	ssize_t n = recv(to_vmm, said, sizeof(said), MSG_DONTWAIT);

	assert(n == 13 && !memcmp(said, "CONNECT 5000\n", 13));
	assert(told->done);
	assert((told->fd >= 0) == (end && end - data >= 3 && !memcmp(data, "OK ", 3)));
	if (told->fd < 0)
		return;
	end++;
	n = recv(told->fd, said, sizeof(said), MSG_DONTWAIT);
	assert(n == (ssize_t)(size - (size_t)(end - data)) &&
	       !memcmp(said, end, (size_t)n));
	close(told->fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int listener = -1;
	struct told told = { .fd = -1 };
	uv_loop_t loop;
	int fd = -1;

	if (size > SIZE_MOST)
		return -1;
	if (listener < 0)
		listener = listen_once();
	uv_loop_init(&loop);
	link_dial(&loop, &vmm, LINK_CONTROL, on_dialled, &told);
	while (fd < 0) {
		uv_run(&loop, UV_RUN_NOWAIT);
		fd = accept(listener, NULL, NULL);
	}
	answer(&loop, fd, data, size);
	judge(fd, &told, data, size);
	close(fd);
	assert(uv_loop_close(&loop) == 0);
	return 0;
}
