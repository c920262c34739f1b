#include "tools/bench/bench_guests.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/wire/frame.h"

enum { BEAT_S = 5, EVENTS = 64, PIECE = 64 << 10, BACKLOG = 1024 };

enum ear_kind { LISTENER, LINE, BEHIND, BEAT, END };

/* A file descriptor that the thread listens to. */
struct ear {
	struct guests *guests;
	struct ear *next, *other; /* other: of a tap, where it is passed on */
	enum ear_kind kind;
	int fd;
	bool relay, greeted;
	struct frame_reader in;
};

struct guests {
	pthread_t thread;
	char folder[256], behind[256];
	int epoll, end;
	struct ear *ears;
	pthread_mutex_t lock;
	pthread_cond_t more;
	int64_t n_pushed, pushed_at;
	char data[PIECE];
};

/* --- ears ------------------------------------------------------------------------- */

static struct ear *add_ear(struct guests *g, enum ear_kind kind, int fd, bool relay)
{
	struct ear *ear = xcalloc(1, sizeof(*ear));
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = ear };

	if (epoll_ctl(g->epoll, EPOLL_CTL_ADD, fd, &event))
		abort();
	*ear = (struct ear){
		.guests = g, .next = g->ears, .kind = kind, .fd = fd, .relay = relay
	};
	g->ears = ear;
	return ear;
}

/* A closed ear stays in the list, for events that were reported together with this
 * one. */
static void deafen(struct ear *ear)
{
	if (ear->fd >= 0)
		close(ear->fd);
	ear->fd = -1;
	frame_release(&ear->in);
	if (ear->other && ear->other->fd >= 0)
		shutdown(ear->other->fd, SHUT_RDWR);
}

static struct sockaddr_un bench_guests_named(const char *folder, bool relay)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%.80s/%s.sock", folder,
		 relay ? "relay" : "control");
	return at;
}

static int bench_guests_listen_at(const char *folder, bool relay)
{
	struct sockaddr_un at = bench_guests_named(folder, relay);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof(at)) &&
	    !listen(fd, BACKLOG))
		return fd;
	if (fd >= 0)
		close(fd);
	return bench_fail("%s: %s", at.sun_path, strerror(errno));
}

/* --- answers ------------------------------------------------------------------------ */

static void say_frame(struct ear *ear, json_t *json)
{
	struct text out = { 0 };
	struct fault f = { 0 };
	size_t start = frame_open(&out);
	char *body = json_dumps(json, JSON_COMPACT);

	text_add(&out, body, strlen(body));
	frame_close(&out, start, &f);
	if (load_write_all(ear->fd, out.data, out.len))
		deafen(ear);
	free(body);
	text_release(&out);
	json_decref(json);
}

/* Counts a push, and notes the time as that of all pushes so far. */
static void count_push(struct guests *g)
{
	pthread_mutex_lock(&g->lock);
	g->n_pushed++;
	g->pushed_at = bench_now();
	pthread_cond_signal(&g->more);
	pthread_mutex_unlock(&g->lock);
}

static json_t *answer_to(struct ear *ear, const char *type, json_t *asked)
{
	if (!strcmp(type, "Hello")) {
		ear->greeted = true;
		return json_pack("{ss,ss,ss,sO,ss}", "type", "Hello", "version", "0",
				 "role", "guest", "workspace",
				 json_object_get(asked, "workspace"), "boot_id", "b");
	}
	if (!strcmp(type, "Ping"))
		return json_pack("{ss,ss,si}", "type", "Pong", "version", "0",
				 "uptime_secs", 0);
	if (!strcmp(type, "PollDaemonResults"))
		return json_pack("{ss,s[],si}", "type", "DaemonResults", "results",
				 "pending_tasks", 0);
	return json_pack("{ss}", "type", "Ok");
}

static void bench_guests_hear(struct ear *ear, const char *body, size_t size)
{
	json_t *asked = json_loadb(body, size, 0, NULL), *answer;
	const char *type = json_string_value(json_object_get(asked, "type"));

	if (type) {
		answer = answer_to(ear, type, asked);
		json_object_set(answer, "id", json_object_get(asked, "id"));
		say_frame(ear, answer);
		if (!strcmp(type, "TeamMessage"))
			count_push(ear->guests);
	}
	json_decref(asked);
}

/* Counts pushes: of a guest's answers on the relay line (Hello, Pong, Ok), each Ok is
 * for one. */
static void bench_guests_note(struct ear *ear, const char *body, size_t size)
{
	if (ear->relay && memmem(body, size, "\"Ok\"", 4))
		count_push(ear->guests);
}

static void bench_guests_take(struct ear *ear, size_t n)
{
	const char *at = ear->guests->data;
	struct fault f = { 0 };
	size_t used;

	if (ear->other && load_write_all(ear->other->fd, at, n)) {
		deafen(ear);
		return;
	}
	while (n > 0 && ear->fd >= 0) {
		if (frame_read(&ear->in, at, n, &used, &f) > 0)
			(ear->kind == LINE ? bench_guests_hear : bench_guests_note)(
				ear, ear->in.body, ear->in.size);
		at += used;
		n -= used;
	}
}

/* --- the thread ----------------------------------------------------------------------- */

static void beat_all(struct guests *g)
{
	for (struct ear *e = g->ears; e; e = e->next)
		if (e->kind == LINE && e->fd >= 0 && e->greeted && !e->relay)
			say_frame(e, json_pack("{ss,s[],si,si,si}", "type", "Heartbeat",
					       "running", "waiting", 0, "results", 0,
					       "load", 0));
}

static void bench_guests_let_in(struct ear *listener)
{
	struct guests *g = listener->guests;
	struct sockaddr_un at = bench_guests_named(g->behind, listener->relay);
	int fd = accept(listener->fd, NULL, NULL), behind;
	struct ear *front, *back;

	if (fd < 0)
		return;
	if (!*g->behind) {
		add_ear(g, LINE, fd, listener->relay);
		return;
	}
	behind = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(behind, (struct sockaddr *)&at, sizeof(at))) {
		close(behind); /* the guest is not there yet */
		close(fd);
		return;
	}
	front = add_ear(g, BEHIND, fd, false);
	back = add_ear(g, BEHIND, behind, listener->relay);
	front->other = back;
	back->other = front;
}

static bool bench_guests_serve(struct ear *ear)
{
	struct guests *g = ear->guests;
	uint64_t ticks;
	ssize_t n;

	if (ear->kind == END)
		return false;
	if (ear->kind == LISTENER) {
		bench_guests_let_in(ear);
	} else if (ear->kind == BEAT) {
		if (read(ear->fd, &ticks, sizeof(ticks)) > 0)
			beat_all(g);
	} else if (ear->fd >= 0) {
		n = read(ear->fd, g->data, sizeof(g->data));
		if (n > 0)
			bench_guests_take(ear, (size_t)n);
		else
			deafen(ear);
	}
	return true;
}

static void *bench_guests_run(void *arg)
{
	struct guests *g = arg;
	struct epoll_event events[EVENTS];
	bool on = true;

	while (on) {
		int n = epoll_wait(g->epoll, events, EVENTS, -1);

		for (int i = 0; i < n && on; i++)
			on = bench_guests_serve(events[i].data.ptr);
	}
	return NULL;
}

/* --- beginning and end ------------------------------------------------------------------ */

struct guests *guests_open(const char *folder, const char *behind)
{
	const struct itimerspec beat = { { BEAT_S, 0 }, { BEAT_S, 0 } };
	struct guests *g = xcalloc(1, sizeof(*g));
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	snprintf(g->folder, sizeof(g->folder), "%s", folder);
	snprintf(g->behind, sizeof(g->behind), "%s", behind ? behind : "");
	g->epoll = epoll_create1(EPOLL_CLOEXEC);
	g->end = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->more, NULL);
	timerfd_settime(timer, 0, &beat, NULL);
	add_ear(g, END, g->end, false);
	add_ear(g, BEAT, timer, false);
	for (int relay = 0; relay < 2; relay++) {
		int fd = bench_guests_listen_at(folder, relay);

		if (fd >= 0)
			add_ear(g, LISTENER, fd, relay);
	}
	if (pthread_create(&g->thread, NULL, bench_guests_run, g))
		abort();
	return g;
}

void guests_close(struct guests *g)
{
	struct ear *next;

	if (!g)
		return;
	eventfd_write(g->end, 1);
	pthread_join(g->thread, NULL);
	for (struct ear *e = g->ears; e; e = next) {
		next = e->next;
		deafen(e);
		free(e);
	}
	close(g->epoll);
	free(g);
}

int guests_attach(struct stage *s, int agent, const char *folder)
{
	char args[400];

	snprintf(args, sizeof(args),
		 "{\"team\":\"t\",\"agent\":\"a%d\",\"backend\":\"attach\","
		 "\"address\":\"unix:%.250s\"}",
		 agent, folder);
	return stage_call(s, "workspace.create", args, NULL);
}

int64_t guests_await(struct guests *g, int64_t n, double seconds)
{
	struct timespec until;
	int64_t at;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)seconds;
	pthread_mutex_lock(&g->lock);
	while (g->n_pushed < n && !pthread_cond_timedwait(&g->more, &g->lock, &until))
		;
	at = g->n_pushed >= n ? g->pushed_at : -1;
	pthread_mutex_unlock(&g->lock);
	return at;
}
