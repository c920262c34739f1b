
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/wire/frame.h"
#include "tools/bench/load.h"

enum { BEAT_S = 5, FILES = 8192, STACK = 64 << 10, PATIENCE_MS = 60000 };

struct guests {
	pid_t pid;
	char behind[256]; /* folder of the real guest's sockets for a tap; "" for light
			     guests */
	int told[2]; /* a pipe with one byte for each answered push */
};

/* One direction of a connection, or both directions for a light guest. The child has a thread
 * for each guest_line. */
struct guest_line {
	struct guests *guests;
	int in, out;
	bool relay; /* pushes use this connection (for a tap, only in the direction from
		       the guest to the host) */
	bool greeted;
};

static void guest_start(void *(*run)(void *), const struct guest_line *line)
{
	struct guest_line *own = xmalloc(sizeof(*own));
	pthread_attr_t small;
	pthread_t thread;

	*own = *line;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	if (pthread_create(&thread, &small, run, own))
		abort();
	pthread_detach(thread);
}

/* --- answers ------------------------------------------------------------------------ */

static int guest_say(int fd, json_t *json)
{
	struct text out = { 0 };
	struct fault f = { 0 };
	size_t start = frame_open(&out);
	char *body = json_dumps(json, JSON_COMPACT);
	int rc;

	text_add(&out, body, strlen(body));
	rc = frame_close(&out, start, &f) || load_write_all(fd, out.data, out.len);
	free(body);
	text_release(&out);
	json_decref(json);
	return rc;
}

static json_t *guest_answer(const char *type, json_t *asked)
{
	if (!strcmp(type, "Hello"))
		return json_pack("{ss,ss,ss,sO,ss}", "type", "Hello", "version", "0",
				 "role", "guest", "workspace",
				 json_object_get(asked, "workspace"), "boot_id", "b");
	if (!strcmp(type, "Ping"))
		return json_pack("{ss,ss,si}", "type", "Pong", "version", "0",
				 "uptime_secs", 0);
	if (!strcmp(type, "PollDaemonResults"))
		return json_pack("{ss,s[],si}", "type", "DaemonResults", "results",
				 "pending_tasks", 0);
	return json_pack("{ss}", "type", "Ok");
}

/* Answers a frame. For a tap, counts the pushes. On the relay line a real guest answers with
 * Hello, Pong or Ok, and each Ok answers one push. */
static int guest_hear(struct guest_line *l, const char *body, size_t size)
{
	json_t *asked, *answer;
	const char *type;
	bool pushed = l->relay && memmem(body, size, "\"Ok\"", 4);
	int rc = 0;

	if (l->in == l->out) {
		asked = json_loadb(body, size, 0, NULL);
		type = json_string_value(json_object_get(asked, "type"));
		answer = guest_answer(type, asked);
		json_object_set(answer, "id", json_object_get(asked, "id"));
		pushed = !strcmp(type, "TeamMessage");
		l->greeted |= !strcmp(type, "Hello");
		rc = guest_say(l->out, answer);
		json_decref(asked);
	}
	return rc || (pushed && load_write_all(l->guests->told[1], "", 1));
}

static int guest_beat(const struct guest_line *l)
{
	return !l->greeted || l->relay
		       ? 0
		       : guest_say(l->out, json_pack("{ss,s[],si,si,si}", "type",
						     "Heartbeat", "running", "waiting", 0,
						     "results", 0, "load", 0));
}

static void *guest_live(void *arg)
{
	struct guest_line *l = arg;
	struct frame_reader in = { 0 };
	struct fault f = { 0 };
	char data[4096];
	bool on = true;

	while (on) {
		ssize_t n = read(l->in, data, sizeof(data));
		size_t at = 0, used;

		if (n < 0 && errno == EAGAIN)
			on = guest_beat(l) == 0;
		else
			on = n > 0 && (l->in == l->out ||
				       load_write_all(l->out, data, (size_t)n) == 0);
		for (; on && n > 0 && at < (size_t)n; at += used)
			if (frame_read(&in, data + at, (size_t)n - at, &used, &f) > 0)
				on = guest_hear(l, in.body, in.size) == 0;
	}
	shutdown(l->in, SHUT_RDWR);
	shutdown(l->out, SHUT_RDWR);
	frame_release(&in);
	free(l);
	return NULL;
}

/* --- the child ------------------------------------------------------------------------ */

/* Starts the thread of a light guest, or the threads for both directions of a tap. */
static void guest_let_in(struct guests *g, int fd, bool relay)
{
	const struct timeval beat = { .tv_sec = BEAT_S };
	struct guest_line line = { .guests = g, .in = fd, .out = fd, .relay = relay };
	char path[300];

	if (!g->behind[0]) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &beat, sizeof(beat));
		guest_start(guest_live, &line);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s.sock", g->behind,
		 relay ? "relay" : "control");
	line.out = load_connect(path);
	if (line.out < 0) {
		close(fd); /* the guest does not listen yet */
		return;
	}
	guest_start(guest_live, &(struct guest_line){ g, fd, line.out, false, false });
	guest_start(guest_live, &(struct guest_line){ g, line.out, fd, relay, false });
}

static void *guest_accept_all(void *arg)
{
	struct guest_line *l = arg;

	for (;;) {
		int fd = accept(l->in, NULL, NULL);

		if (fd >= 0)
			guest_let_in(l->guests, fd, l->relay);
	}
	return NULL;
}

struct guests *guests_open(const char *folder, const char *behind)
{
	struct guests *g = xcalloc(1, sizeof(*g));
	struct guest_line lines[2] = { { .guests = g }, { .guests = g, .relay = true } };
	char path[300];

	snprintf(g->behind, sizeof(g->behind), "%s", behind ? behind : "");
	stage_allow_files(FILES);
	if (pipe2(g->told, O_CLOEXEC))
		abort();
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s.sock", folder,
			 i ? "relay" : "control");
		lines[i].in = load_listen(path);
	}
	g->pid = bench_fork();
	if (g->pid == 0) {
		guest_start(guest_accept_all, &lines[0]);
		guest_accept_all(&lines[1]);
	}
	close(lines[0].in);
	close(lines[1].in);
	return g;
}

void guests_close(struct guests *g)
{
	if (!g)
		return;
	bench_stop_program(g->pid, SIGKILL);
	close(g->told[0]);
	close(g->told[1]);
	free(g);
}

/* --- the host's side -------------------------------------------------------------------- */

int guests_attach(struct stage *s, int n, const char *folder)
{
	char args[400];
	int rc = 0;

	for (int i = 0; i < n && rc == 0; i++) {
		snprintf(args, sizeof(args),
			 "{\"team\":\"t\",\"agent\":\"a%d\",\"backend\":\"attach\","
			 "\"address\":\"unix:%.250s\"}",
			 i, folder);
		rc = stage_call(s, "workspace.create", args, NULL);
	}
	return rc;
}

int guests_await(struct guests *g, int n)
{
	struct pollfd told = { .fd = g->told[0], .events = POLLIN };
	char bytes[256];

	while (n > 0) {
		if (poll(&told, 1, PATIENCE_MS) <= 0)
			return bench_fail("a push does not come");
		n -= (int)read(told.fd, bytes,
			       (size_t)n < sizeof(bytes) ? (size_t)n : sizeof(bytes));
	}
	return 0;
}
