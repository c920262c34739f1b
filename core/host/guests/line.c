#include "core/host/guests/line_inside.h"

#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/steps.h"
#include "core/base/version.h"
#include "core/host/guests/answer.h"
#include "core/host/guests/daemon.h"
#include "core/host/guests/door.h"
#include "core/host/guests/uplink.h"
#include "core/host/inside.h"
#include "ops.gen.h"

enum {
	HELLO_MS = 10000,
	/* A guest says something every 5 s, or is asked to: one that is gone
	 * without a word is noticed within 13 s. */
	QUIET_MS = 5500,
	PONG_MS = 7000,
	FAULTS_MOST = 1 << 20, /* more unread faults than this beyond: link closed */
};

static void become(struct line *line, enum line_state to)
{
	static const unsigned steps[] = {
		[LINE_IDLE] = STEP(LINE_DIALING),
		[LINE_DIALING] = STEP(LINE_GREETING) | STEP(LINE_IDLE),
		[LINE_GREETING] = STEP(LINE_UP) | STEP(LINE_CLOSING),
		[LINE_UP] = STEP(LINE_CLOSING),
		[LINE_CLOSING] = STEP(LINE_IDLE),
	};

	step_check(steps[line->state], to);
	line->state = to;
}

/* --- what goes out ---------------------------------------------------------------- */

void line_send(struct line *line)
{
	if (flow_send(&line->flow))
		line_drop(line);
}

bool line_pass(struct line *line, const char *body, size_t size)
{
	struct fault f = { 0 };
	size_t start;

	if (line->state != LINE_UP)
		return true;
	start = frame_open(&line->flow.out);
	text_add(&line->flow.out, body, size);
	frame_close(&line->flow.out, start, &f);
	line_send(line);
	return flow_left(&line->flow) <= UNREAD_MOST;
}

void line_pass_fault(struct line *line, const struct fault *why, const json_t *id)
{
	if (line->state != LINE_UP)
		return;
	wire_write_fault(&line->flow.out, why, line->tether->old, id);
	line_send(line);
	if (flow_left(&line->flow) <= UNREAD_MOST + FAULTS_MOST)
		return;
	log_seldom(line->tether->host->log, &line->tether->wrong, LOG_LEVEL_WARN,
		   "workspace %s asks and does not read: it is dialled anew",
		   line->tether->id);
	tether_punish(line->tether);
}

/* --- what comes in --------------------------------------------------------------- */

static void hear_answer(struct line *line, struct asked *a, struct packet *p)
{
	struct tether *t = line->tether;
	struct fault f = { 0 };
	enum answer is = answer_judge(p, a->type, &f);

	if (is == ANSWER_WRONG)
		log_seldom(t->host->log, &t->wrong, LOG_LEVEL_WARN, "workspace %s: %s",
			   t->id, f.text);
	asked_end(a, p, &f);
	/* Without ids nothing tells to what the next answer belongs. */
	if (is == ANSWER_WRONG && t->old && line->state == LINE_UP)
		tether_punish(t);
	else if (t->old)
		asked_next(line);
}

/* False when nobody asked for it and nothing is done with it, or too little to let
 * it come without a bound. */
static bool hear(struct line *line, struct packet *p)
{
	struct asked *a;
	bool beat = !strcmp(p->type, "Heartbeat"), asked;

	if (beat || uplink_wants(p)) {
		/* A guest that has not said who it is has nothing to ask or to tell. */
		if (line->state == LINE_UP && beat)
			daemon_beat(line->tether, p);
		return line->state == LINE_UP && !beat && uplink_take(line, p);
	}
	a = asked_take(line, p->id);
	asked = a != NULL;
	if (asked)
		hear_answer(line, a, p);
	else if (!p->wire)
		uplink_take(line, p); /* which refuses it */
	/* else too late: nobody waits any more */
	return asked;
}

/* A guest that has come up and sends bytes that are no frames would do so again. */
static void break_off(struct line *line, const struct fault *why)
{
	struct tether *t = line->tether;

	if (!t->up) {
		tether_trouble(t, why);
		line_drop(line);
		return;
	}
	log_seldom(t->host->log, &t->wrong, LOG_LEVEL_WARN, "workspace %s: %s", t->id,
		   why->text);
	tether_punish(t);
}

static int64_t loop_now(const struct line *line)
{
	return (int64_t)uv_now(&line->tether->host->loop);
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
		if (rc > 0 && packet_take(&p, &line->reader, &f) == 0 && !hear(line, &p))
			chatter_note(&line->chatter, line->reader.size, loop_now(line));
		if (rc > 0)
			packet_release(&p);
		if (f.code) {
			break_off(line, &f);
			return;
		}
	}
}

static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct line *line = stream->data;

	if (n < 0) {
		/* A guest that closes upon a Hello may not know the message, or may
		 * only have died: the other dialect is tried in turn. */
		if (line->state == LINE_GREETING && !line->heard_at)
			line->tether->old = !line->tether->old;
		line_drop(line);
		return;
	}
	line->heard_at = clock_boot_ms();
	line->pinged = false;
	take_bytes(line, buf->base, (size_t)n);
	if (line->state != LINE_CLOSING &&
	    chatter_waits(&line->chatter, loop_now(line))) {
		line->deaf = true;
		uv_read_stop(stream);
	}
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct line *line = handle->data;
	struct host *host = line->tether->host;

	(void)size;
	*buf = uv_buf_init(host->buffer, sizeof(host->buffer));
}

/* --- down ------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
	struct line *line = handle->data;
	struct tether *t = line->tether;

	frame_release(&line->reader);
	flow_release(&line->flow);
	line->flow = (struct flow){ 0 };
	become(line, LINE_IDLE);
	tether_let_go(t);
}

void line_close(struct line *line)
{
	if (line->state == LINE_IDLE || line->state == LINE_CLOSING)
		return;
	if (line->state == LINE_DIALING) {
		link_dial_cancel(line->dial);
		line->dial = NULL;
		become(line, LINE_IDLE);
		return;
	}
	become(line, LINE_CLOSING);
	uv_close((uv_handle_t *)&line->pipe, on_closed);
}

void line_drop(struct line *line)
{
	if (line->state != LINE_IDLE && line->state != LINE_CLOSING)
		tether_down(line->tether);
}

static void on_wrote(struct flow *flow, int status)
{
	struct line *line = flow->arg;

	if (status < 0)
		line_drop(line);
	else if (line->state != LINE_CLOSING)
		line_send(line);
	if (line->state == LINE_UP && !flow_left(&line->flow))
		uplink_resume(line->tether);
}

/* --- up --------------------------------------------------------------------------- */

static const char *text_of(const struct packet *p, const char *field)
{
	return json_string_value(json_object_get(p->json, field));
}

static void greeted(struct line *line, const char *boot, struct fault *f)
{
	struct tether *t = line->tether;

	if (f->code) {
		tether_trouble(t, f);
		line_drop(line);
		return;
	}
	if (t->closing || line->state != LINE_GREETING)
		return;
	become(line, LINE_UP);
	tether_greeted(line, boot);
}

static void hear_spool(struct tether *t, const struct packet *hello)
{
	const json_t *seq = json_object_get(hello->json, "spool_seq");

	tether_hear_spool(t, text_of(hello, "spool"),
			  json_is_integer(seq) ? json_integer_value(seq) : -1);
}

static void on_hello(void *arg, struct packet *answer, struct fault *f)
{
	struct line *line = arg;
	struct tether *t = line->tether;
	const char *boot = answer ? text_of(answer, "boot_id") : NULL;
	const char *workspace = answer ? text_of(answer, "workspace") : NULL;

	if (f->code == FAULT_INVALID)
		t->old = true; /* it does not know the word */
	else if (!f->code && workspace && strcmp(workspace, t->id))
		fault_set(f, FAULT_CONFLICT, "", "the guest of workspace %.40s answers",
			  workspace);
	else if (!f->code && !boot)
		fault_set(f, FAULT_INVALID, "", "a Hello without a boot_id");
	/* Heartbeats come over this line too: one order of what is heard of the spool. */
	if (!f->code && line->port == LINK_CONTROL) {
		hear_spool(t, answer);
		door_hear(t, text_of(answer, "http"));
	}
	greeted(line, boot, f);
}

/* A guest that knows Hello says so in its Pong: it was only not there before. */
static void on_old_pong(void *arg, struct packet *answer, struct fault *f)
{
	struct line *line = arg;

	if (answer && json_is_true(json_object_get(answer->json, "hello"))) {
		line->tether->old = false;
		fault_set(f, FAULT_UNAVAILABLE, "", "the guest has just come");
	} else if (answer && strcmp(answer->type, "Pong")) {
		fault_set(f, FAULT_INVALID, "", "a Ping is answered with %.64s",
			  answer->type);
	}
	if (answer && !f->code)
		tether_hear_spool(line->tether, NULL, -1);
	greeted(line, "of the older dialect", f);
}

static void greet(struct line *line)
{
	struct tether *t = line->tether;
	struct wire_hello hello = {
		.version = CADRE_VERSION,
		.role = "host",
		.workspace = t->id,
		.boot_id = t->host->boot_id,
		.team = t->team_name,
		.agent = t->agent ? t->agent_name : NULL,
		.token = *t->token ? t->token : NULL,
		.spool = *t->spool ? t->spool : NULL,
		.has_spool_seq = *t->spool && t->spool_seq >= 0,
		.spool_seq = t->spool_seq,
	};

	if (t->old)
		line_ask(line, "Ping", NULL, HELLO_MS, on_old_pong, line);
	else
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
	become(line, LINE_GREETING);
	line->heard_at = 0;
	line->pinged = line->deaf = false;
	if (uv_pipe_open(&line->pipe, fd)) {
		close(fd);
		line_drop(line);
	} else if (uv_read_start(line->flow.stream, on_room, on_bytes)) {
		line_drop(line);
	} else {
		greet(line);
	}
}

void line_dial(struct line *line)
{
	struct tether *t = line->tether;

	become(line, LINE_DIALING);
	line->dial = link_dial(&t->host->loop, &t->address, line->port, on_dialled, line);
}

/* --- silence ----------------------------------------------------------------------- */

static void on_pong(void *arg, struct packet *answer, struct fault *f)
{
	struct line *line = arg;

	(void)f;
	if (!answer)
		line_drop(line);
	else if (line->tether->old && line->port == LINK_CONTROL)
		daemon_pulse(line->tether);
}

static void check_pulse(struct line *line, int64_t now)
{
	/* An older guest's command holds up all that is behind it. */
	if (line->state != LINE_UP || line->pinged || now - line->heard_at < QUIET_MS ||
	    (line->tether->old && line->asked))
		return;
	line->pinged = true;
	line_ask(line, "Ping", NULL, PONG_MS, on_pong, line);
}

static void hear_again(struct line *line)
{
	bool open = line->state == LINE_GREETING || line->state == LINE_UP;

	if (!line->deaf || !open || chatter_waits(&line->chatter, loop_now(line)))
		return;
	line->deaf = false;
	if (uv_read_start(line->flow.stream, on_room, on_bytes))
		line_drop(line);
}

void line_tick(struct line *line, int64_t now)
{
	hear_again(line);
	asked_time_out(line, now);
	check_pulse(line, now);
}

void line_leap(struct line *line, int64_t ms)
{
	asked_leap(line, ms);
	if (line->heard_at)
		line->heard_at += ms;
}

void line_init(struct line *line, struct tether *t, unsigned port)
{
	line->tether = t;
	line->port = port;
	line->asked_end = &line->asked;
}
