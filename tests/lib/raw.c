#include "tests/lib/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tests/lib/place.h"

bool raw_dial(struct raw *r, const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	memset(r, 0, sizeof(*r));
	memcpy(to.sun_path, path, strnlen(path, sizeof(to.sun_path) - 1));
	r->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (r->fd >= 0 && connect(r->fd, (struct sockaddr *)&to, sizeof(to)) == 0) {
		fcntl(r->fd, F_SETFL, O_NONBLOCK);
		return true;
	}
	raw_hang_up(r);
	return false;
}

void raw_hang_up(struct raw *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	frame_release(&r->in);
}

static bool ready(const struct raw *r, short what, int64_t until)
{
	struct pollfd p = { .fd = r->fd, .events = what };
	int64_t left = until - clock_steady_ms();

	return poll(&p, 1, left > 0 ? (int)left : 0) > 0;
}

bool raw_send(struct raw *r, const void *data, size_t len, int ms)
{
	int64_t until = clock_steady_ms() + patience_ms(ms);
	const char *at = data;

	while (len > 0) {
		ssize_t n = send(r->fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN && ready(r, POLLOUT, until))
			continue;
		if (n < 0)
			return false;
		at += n;
		len -= (size_t)n;
		until = clock_steady_ms() + patience_ms(ms);
	}
	return true;
}

bool raw_frame(struct raw *r, const void *body, size_t len, int ms)
{
	const unsigned char head[FRAME_HEAD] = { (unsigned char)(len >> 24),
						 (unsigned char)(len >> 16),
						 (unsigned char)(len >> 8),
						 (unsigned char)len };

	return raw_send(r, head, sizeof(head), ms) && raw_send(r, body, len, ms);
}

bool raw_say(struct raw *r, json_t *json)
{
	char *body = json_dumps(json, JSON_COMPACT);
	bool sent = body && raw_frame(r, body, strlen(body), 10000);

	free(body);
	json_decref(json);
	return sent;
}

/* Replaces the bytes in `held` by newly arrived bytes. Returns false if no bytes arrive before
 * the time `until`. */
static bool fill(struct raw *r, int64_t until)
{
	ssize_t n;

	if (!ready(r, POLLIN, until))
		return false;
	n = read(r->fd, r->held, sizeof(r->held));
	r->at = 0;
	r->n = n > 0 ? (size_t)n : 0;
	if (n <= 0)
		raw_hang_up(r);
	return n > 0;
}

json_t *raw_hear(struct raw *r, int ms)
{
	int64_t until = clock_steady_ms() + patience_ms(ms);
	struct fault f = { 0 };

	while (r->fd >= 0) {
		size_t used;
		int rc = frame_read(&r->in, r->held + r->at, r->n - r->at, &used, &f);

		r->at += used;
		if (rc > 0)
			return json_loadb(r->in.body, r->in.size, 0, NULL);
		if (rc < 0 || !fill(r, until))
			return NULL;
	}
	return NULL;
}

json_t *raw_ask(struct raw *r, json_t *json, int ms)
{
	json_t *id = json_incref(json_object_get(json, "id"));
	json_t *answer = NULL;

	if (raw_say(r, json))
		while ((answer = raw_hear(r, ms)) &&
		       !json_equal(json_object_get(answer, "id"), id))
			json_decref(answer);
	json_decref(id);
	return answer;
}

json_t *raw_call(int id, const char *op, json_t *args)
{
	return json_pack("{sssissso}", "type", "Call", "id", id, "op", op, "args", args);
}

json_t *raw_hello(const char *team, const char *agent)
{
	return json_pack("{ssssssssss*sb}", "type", "Hello", "version", "0", "role",
			 "client", "team", team, "agent", agent, "as", agent != NULL);
}
