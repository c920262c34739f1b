/* The doors of cadre, and the door of a child that echoes. Each door has the first messages of
 * a client, and a function that finds the end of an answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/wire/base64.h"
#include "tools/bench/load.h"

/* --- the host's socket ------------------------------------------------------------------ */

static int door_join_host(struct speaker *s)
{
	return load_connect(s->scene->stages[s->act->stage].home.socket);
}

static size_t door_frame(const struct speaker *s, const char *data, size_t size)
{
	const unsigned char *h = (const unsigned char *)data;
	size_t n;

	if (size < 4)
		return 0;
	n = 4 + ((size_t)h[0] << 24 | (size_t)h[1] << 16 | (size_t)h[2] << 8 | h[3]);
	if (n > s->room)
		abort(); /* no answer of cadre is larger than s->room */
	return size >= n ? n : 0;
}

static bool door_is_of(const char *data, size_t size, const char *type)
{
	static const char head[] = "{\"type\":\"";
	const size_t n = strlen(type);

	return size > 4 + sizeof(head) + n && !memcmp(data + 4, head, sizeof(head) - 1) &&
	       !memcmp(data + 3 + sizeof(head), type, n) &&
	       data[3 + sizeof(head) + n] == '"';
}

static bool door_host_good(const char *data, size_t size)
{
	return door_is_of(data, size, "CallResult") || door_is_of(data, size, "Hello");
}

#define HELLO(role, who)                                           \
	"~4{\"type\":\"Hello\",\"version\":\"0\",\"role\":\"" role \
	"\",\"boot_id\":\"\"" who "}"

const struct door door_host = {
	.join = door_join_host,
	.hello = { HELLO("client", ",\"team\":\"t\",\"agent\":\"a~#\",\"as\":true") },
	.whole = door_frame,
	.good = door_host_good,
};
const struct door door_tokens = {
	.join = door_join_host,
	.hello = { HELLO("client",
			 ",\"team\":\"t\",\"agent\":\"a~#\",\"token\":\"~s\"") },
	.whole = door_frame,
	.good = door_host_good,
};

/* --- a guest ------------------------------------------------------------------------------ */

static int door_join_guest(struct speaker *s)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/g/control.sock", s->scene->dir);
	return load_connect(path);
}

/* The size of an answer and of the Heartbeats before the answer. 0: the answer is not complete. */
static size_t door_guest_whole(const struct speaker *s, const char *data, size_t size)
{
	size_t at = 0, n;

	while ((n = door_frame(s, data + at, size - at))) {
		at += n;
		if (!door_is_of(data + at - n, n, "Heartbeat"))
			return at;
	}
	return 0;
}

/* Whether an answer is good. The answer to a read must hold all bytes of the part that was
 * asked for. */
static bool door_guest_good(const char *data, size_t size)
{
	static const char word[] = "\"content\":\"";
	static char bytes[LOAD_PART + 4];
	const char *at = memmem(data, size < 4096 ? size : 4096, word, sizeof(word) - 1),
		   *end;

	if (at) {
		at += sizeof(word) - 1;
		end = memchr(at, '"', size - (size_t)(at - data));
		return end && base64_decode(bytes, at, (size_t)(end - at)) == LOAD_PART;
	}
	return memmem(data, size, "\"type\":\"Ok\"", 11) ||
	       memmem(data, size, "\"Hello\"", 7);
}

const struct door door_guest = {
	.join = door_join_guest,
	.hello = { HELLO("bench", "") },
	.whole = door_guest_whole,
	.good = door_guest_good,
	.room = 16 << 20,
};

/* --- HTTP --------------------------------------------------------------------------------- */

static int door_join_http(struct speaker *s)
{
	char path[120];

	stage_http(&s->scene->stages[s->act->stage], path);
	return load_connect(path);
}

static size_t door_http_whole(const struct speaker *s, const char *data, size_t size)
{
	static const char word[] = "\r\nContent-Length: ";
	const char *end = memmem(data, size, "\r\n\r\n", 4), *length;
	size_t n = end ? (size_t)(end - data) + 4 : 0;

	(void)s;
	length = end ? memmem(data, (size_t)(end - data), word, sizeof(word) - 1) : NULL;
	if (length)
		n += strtoul(length + sizeof(word) - 1, NULL, 10);
	return n && n <= size ? n : 0;
}

static bool door_http_good(const char *data, size_t size)
{
	return size > 12 && memcmp(data, "HTTP/1.1 200", 12) == 0 &&
	       !memmem(data, size, "isError", 7);
}

const struct door door_http = {
	.join = door_join_http,
	.whole = door_http_whole,
	.good = door_http_good,
};

/* --- a child's line ------------------------------------------------------------------------ */

static int door_join_mcp(struct speaker *s)
{
	const struct stage *stage = &s->scene->stages[s->act->stage];
	const char *const argv[] = {
		s->scene->ground->self, "--home", stage->dir, "--team", "t",
		"--operator",           "mcp",    NULL
	};
	struct start start = { .argv = argv };
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return bench_fail("no sockets");
	start.in = start.out = ends[1];
	s->child = bench_start_program(&start);
	close(ends[1]);
	return ends[0];
}

static size_t door_line(const struct speaker *s, const char *data, size_t size)
{
	const char *end = memchr(data, '\n', size);

	(void)s;
	return end ? (size_t)(end - data) + 1 : 0;
}

static bool door_mcp_good(const char *data, size_t size)
{
	return memmem(data, size, "\"result\"", 8) &&
	       !memmem(data, size, "\"isError\":true", 14);
}

const struct door door_mcp = {
	.join = door_join_mcp,
	.hello = { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
		   "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
		   "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n",
		   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
		   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n" },
	.whole = door_line,
	.good = door_mcp_good,
};

pid_t load_echo(int *fd, size_t answer)
{
	static char bytes[LOAD_ROOM], in[LOAD_ROOM];
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return bench_fail("no sockets");
	pid = bench_fork();
	if (pid == 0) {
		while (read(ends[1], in, sizeof(in)) > 0 &&
		       load_write_all(ends[1], bytes, answer) == 0)
			;
		_exit(0);
	}
	close(ends[1]);
	*fd = ends[0];
	return pid;
}

static int door_join_echo(struct speaker *s)
{
	int fd = -1;

	s->child = load_echo(&fd, s->script->answer);
	return fd;
}

static size_t door_echo_whole(const struct speaker *s, const char *data, size_t size)
{
	(void)data;
	return size >= s->script->answer ? s->script->answer : 0;
}

static bool door_echo_good(const char *data, size_t size)
{
	(void)data, (void)size;
	return true;
}

const struct door door_echo = {
	.join = door_join_echo,
	.whole = door_echo_whole,
	.good = door_echo_good,
};
