#include "core/host/tether.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/host/daemon.h"
#include "core/host/push.h"
#include "core/host/running.h"
#include "core/version.h"
#include "ops.gen.h"

enum {
	PAUSE_FIRST_MS = 50,
	PAUSE_MOST_MS = 5000,
	TROUBLE_MS = 800, /* a guest that starts is not there at once */
	HELLO_MS = 10000,
	/* A guest says something every 5 s, or is asked to: one that is gone
	 * without a word is noticed within 13 s. */
	QUIET_MS = 5500,
	PONG_MS = 7000,
	OUT_MOST = 64 << 20,
};

struct asked {
	struct asked *next;
	int64_t id, until;
	line_done *done;
	void *arg;
};

/* --- requests ------------------------------------------------------------------ */

static void end_asked(struct asked *a, struct packet *answer, struct fault *f)
{
	a->done(a->arg, f->code ? NULL : answer, f);
	free(a);
}

static void fail_all(struct line *line)
{
	while (line->asked) {
		struct asked *a = line->asked;
		struct fault f = { 0 };

		line->asked = a->next;
		if (!line->asked)
			line->asked_end = &line->asked;
		fault_set(&f, FAULT_UNAVAILABLE, "",
			  "the workspace's guest does not answer");
		end_asked(a, NULL, &f);
	}
}

static struct asked *take_asked(struct line *line, int64_t id)
{
	for (struct asked **at = &line->asked; *at; at = &(*at)->next) {
		struct asked *a = *at;

		if (a->id != id)
			continue;
		*at = a->next;
		if (!a->next)
			line->asked_end = at;
		return a;
	}
	return NULL;
}

static void send_now(struct line *line)
{
	if (flow_send(&line->flow) || flow_left(&line->flow) > OUT_MOST)
		line_drop(line);
}

void line_ask(struct line *line, const char *type, const void *src, int64_t timeout_ms,
	      line_done *done, void *arg)
{
	struct asked *a = calloc(1, sizeof(*a));
	struct fault f = { 0 };
	json_t *id;

	if (!a)
		abort();
	a->id = ++line->last_id;
	a->until = home_now() + timeout_ms;
	a->done = done;
	a->arg = arg;
	*line->asked_end = a;
	line->asked_end = &a->next;
	id = json_integer(a->id);
	/* What fits no frame, or has no line, times out with the next tick. */
	if (line->state < LINE_GREETING || line->state == LINE_CLOSING ||
	    wire_write(&line->flow.out, type, src, id, &f))
		a->until = 0;
	else
		send_now(line);
	json_decref(id);
}

static void time_out(struct line *line, int64_t now)
{
	struct asked **at = &line->asked;

	while (*at) {
		struct asked *a = *at;
		struct fault f = { 0 };

		if (a->until > now) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		if (!a->next)
			line->asked_end = at;
		fault_set(&f, a->until ? FAULT_TIMEOUT : FAULT_UNAVAILABLE, "",
			  "the workspace's guest does not answer");
		end_asked(a, NULL, &f);
		at = &line->asked; /* the callee may have changed the list */
	}
}

/* --- what comes in --------------------------------------------------------------- */

static void hear_error(struct packet *p, struct fault *f)
{
	struct wire_error e = { 0 };
	struct arena a = { 0 };

	if (packet_decode(p, &e, &a, f) == 0)
		wire_fault(&e, f);
	arena_release(&a);
}

static void hear(struct line *line, struct packet *p)
{
	struct fault f = { 0 };
	struct asked *a;

	if (!strcmp(p->type, "Heartbeat")) {
		daemon_beat(line->tether, p);
		return;
	}
	a = json_is_integer(p->id) ? take_asked(line, json_integer_value(p->id)) : NULL;
	if (!a)
		return; /* too late: nobody waits any more */
	if (!strcmp(p->type, "Error"))
		hear_error(p, &f);
	end_asked(a, p, &f);
}

static void take_bytes(struct line *line, const char *data, size_t len)
{
	struct fault f = { 0 };

	while (len > 0 && line->state != LINE_CLOSING) {
		struct packet p;
		size_t used;
		int rc = frame_read(&line->reader, data, len, &used, &f);

		data += used;
		len -= used;
		if (rc > 0 &&
		    packet_read(&p, line->reader.body, line->reader.size, &f) == 0)
			hear(line, &p);
		if (rc > 0)
			packet_release(&p);
		if (f.code) {
			line_drop(line);
			return;
		}
	}
}

static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct line *line = stream->data;

	line->heard_at = home_now();
	line->pinged = false;
	if (n < 0)
		line_drop(line);
	else
		take_bytes(line, buf->base, (size_t)n);
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct line *line = handle->data;
	struct host *host = line->tether->host;

	(void)size;
	*buf = uv_buf_init(host->buffer, sizeof(host->buffer));
}

/* --- up and down ------------------------------------------------------------------ */

void tether_keep(struct tether *t)
{
	t->kept++;
}

void tether_let_go(struct tether *t)
{
	if (--t->kept > 0 || !t->closing)
		return;
	push_release(t);
	daemon_release(t);
	free(t);
}

static void on_closed(uv_handle_t *handle)
{
	struct line *line = handle->data;
	struct tether *t = line->tether;

	frame_release(&line->reader);
	flow_release(&line->flow);
	line->flow = (struct flow){ 0 };
	line->state = LINE_IDLE;
	tether_let_go(t);
}

/* One line without the other is of no use: both go and come together. */
static void go_down(struct tether *t)
{
	if (t->up) {
		t->up = false;
		t->host->n_linked--;
		reconcile_poke(t->host); /* perhaps the guest has died */
	}
	t->dial_at = home_now() + t->pause_ms;
	t->pause_ms = t->pause_ms * 2 > PAUSE_MOST_MS ? PAUSE_MOST_MS : t->pause_ms * 2;
	t->dial_at += (int64_t)(home_random() % (uint64_t)(t->pause_ms / 4 + 1));
}

static void close_line(struct line *line)
{
	if (line->state == LINE_IDLE || line->state == LINE_CLOSING)
		return;
	if (line->state == LINE_DIALING) {
		link_dial_cancel(line->dial);
		line->dial = NULL;
		line->state = LINE_IDLE;
		return;
	}
	line->state = LINE_CLOSING;
	uv_close((uv_handle_t *)&line->pipe, on_closed);
}

void line_drop(struct line *line)
{
	struct tether *t = line->tether;

	if (line->state == LINE_IDLE || line->state == LINE_CLOSING)
		return;
	close_line(&t->control);
	close_line(&t->relay);
	fail_all(&t->control);
	fail_all(&t->relay);
	if (!t->closing)
		go_down(t);
}

static int64_t pid_of(struct line *line)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	uv_os_fd_t fd;

	/* What is at the other end elsewhere is no guest. */
	if (line->tether->address.kind != LINK_UNIX ||
	    uv_fileno((uv_handle_t *)&line->pipe, &fd) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return 0;
	return peer.pid;
}

static void come_up(struct tether *t)
{
	t->up = true;
	t->pid = pid_of(&t->control);
	t->pause_ms = PAUSE_FIRST_MS;
	t->trouble[0] = '\0';
	t->host->n_linked++;
	reconcile_poke(t->host); /* its row may not say so yet */
	follow_want(t->host);
	daemon_up(t);
	push_up(t, strcmp(t->boot_id, t->boot_told) != 0);
}

/* Said once, until it is another: a guest is dialled for as long as it takes. */
static void tether_trouble(struct tether *t, const struct fault *f)
{
	if (t->pause_ms < TROUBLE_MS || !strcmp(t->trouble, f->text))
		return;
	snprintf(t->trouble, sizeof(t->trouble), "%s", f->text);
	log_line(t->host->log, LOG_LEVEL_NOTE, "workspace %s is not reached: %s", t->id,
		 f->text);
}

static const char *text_of(const struct packet *p, const char *field)
{
	return json_string_value(json_object_get(p->json, field));
}

static void on_hello(void *arg, struct packet *answer, struct fault *f)
{
	struct line *line = arg;
	struct tether *t = line->tether;
	const char *boot = answer ? text_of(answer, "boot_id") : NULL;
	const char *workspace = answer ? text_of(answer, "workspace") : NULL;

	if (!f->code && workspace && strcmp(workspace, t->id))
		fault_set(f, FAULT_CONFLICT, "", "the guest of workspace %.40s answers",
			  workspace);
	else if (!f->code && !boot)
		fault_set(f, FAULT_INVALID, "", "a Hello without a boot_id");
	if (f->code) {
		tether_trouble(t, f);
		line_drop(line);
		return;
	}
	if (t->closing || line->state != LINE_GREETING)
		return;
	line->state = LINE_UP;
	line->heard_at = home_now();
	line->pinged = false;
	snprintf(t->boot_id, sizeof(t->boot_id), "%s", boot);
	if (t->control.state == LINE_UP && t->relay.state == LINE_UP)
		come_up(t);
}

static void on_wrote(struct flow *flow, int status)
{
	struct line *line = flow->arg;

	if (status < 0)
		line_drop(line);
	else if (line->state != LINE_CLOSING)
		send_now(line);
}

static void say_hello(struct line *line)
{
	struct tether *t = line->tether;
	struct wire_hello hello = {
		.version = CADRE_VERSION,
		.role = "host",
		.workspace = t->id,
		.boot_id = t->host->boot_id,
		.token = *t->token ? t->token : NULL,
	};

	line->state = LINE_GREETING;
	line_ask(line, "Hello", &hello, HELLO_MS, on_hello, line);
}

static void on_dialled(void *arg, int fd, const struct fault *why)
{
	struct line *line = arg;
	struct tether *t = line->tether;

	line->dial = NULL;
	if (why) {
		tether_trouble(t, why);
		line_drop(line);
		return;
	}
	uv_pipe_init(&t->host->loop, &line->pipe, 0);
	tether_keep(t);
	line->pipe.data = line;
	line->flow.stream = (uv_stream_t *)&line->pipe;
	line->flow.wrote = on_wrote;
	line->flow.arg = line;
	line->state = LINE_GREETING;
	if (uv_pipe_open(&line->pipe, fd)) {
		close(fd);
		line_drop(line);
	} else if (uv_read_start(line->flow.stream, on_room, on_bytes)) {
		line_drop(line);
	} else {
		say_hello(line);
	}
}

static void dial(struct line *line)
{
	struct tether *t = line->tether;

	line->state = LINE_DIALING;
	line->dial = link_dial(&t->host->loop, &t->address, line->port, on_dialled, line);
}

/* --- silence ------------------------------------------------------------------------- */

static void on_pong(void *arg, struct packet *answer, struct fault *f)
{
	(void)f;
	if (!answer)
		line_drop(arg);
}

/* A line that is open but dead is dropped. */
static void check_pulse(struct line *line, int64_t now)
{
	if (line->state != LINE_UP || line->pinged || now - line->heard_at < QUIET_MS)
		return;
	line->pinged = true;
	line_ask(line, "Ping", NULL, PONG_MS, on_pong, line);
}

/* --- all of them -------------------------------------------------------------------- */

static void line_init(struct line *line, struct tether *t, unsigned port)
{
	line->tether = t;
	line->port = port;
	line->asked_end = &line->asked;
}

struct tether *tether_open(struct host *host, const struct tether_to *to, struct fault *f)
{
	struct tether *t = calloc(1, sizeof(*t));

	if (!t)
		abort();
	if (link_parse(to->address, "", &t->address, f)) {
		free(t);
		return NULL;
	}
	t->host = host;
	t->workspace = to->workspace;
	t->team = to->team;
	t->agent = to->agent;
	snprintf(t->id, sizeof(t->id), "%s", to->id);
	snprintf(t->token, sizeof(t->token), "%s", to->token ? to->token : "");
	snprintf(t->boot_told, sizeof(t->boot_told), "%s",
		 to->boot_told ? to->boot_told : "");
	t->pause_ms = PAUSE_FIRST_MS;
	line_init(&t->control, t, LINK_CONTROL);
	line_init(&t->relay, t, LINK_RELAY);
	t->next = host->tethers;
	t->at = &host->tethers;
	if (t->next)
		t->next->at = &t->next;
	host->tethers = t;
	return t;
}

void tether_close(struct tether *t)
{
	if (!t || t->closing)
		return;
	t->closing = true;
	*t->at = t->next;
	if (t->next)
		t->next->at = t->at;
	if (t->up)
		t->host->n_linked--;
	t->up = false;
	tether_keep(t); /* until the callbacks below are over */
	close_line(&t->control);
	close_line(&t->relay);
	fail_all(&t->control);
	fail_all(&t->relay);
	tether_let_go(t);
}

void tethers_close(struct host *host)
{
	while (host->tethers)
		tether_close(host->tethers);
}

struct tether *tether_of(struct host *host, int64_t workspace)
{
	struct tether *t = host->tethers;

	while (t && t->workspace != workspace)
		t = t->next;
	return t;
}

void tethers_tick(struct host *host)
{
	int64_t now = home_now();
	struct tether *next;

	for (struct tether *t = host->tethers; t; t = next) {
		next = t->next;
		time_out(&t->control, now);
		time_out(&t->relay, now);
		check_pulse(&t->control, now);
		check_pulse(&t->relay, now);
		daemon_tick(t, now);
		push_tick(t, now);
		if (t->up || t->dial_at > now || t->control.state != LINE_IDLE ||
		    t->relay.state != LINE_IDLE)
			continue;
		dial(&t->control);
		dial(&t->relay);
	}
}

/* A message for one, or for several: then each guest of the team looks. */
void tether_event(struct host *host, const struct host_event_row *e)
{
	if (e->kind != EVENT_MESSAGE_SENT)
		return;
	for (struct tether *t = host->tethers; t; t = t->next)
		if (t->agent && (e->target ? t->agent == e->target : t->team == e->team))
			push_poke(t);
}
