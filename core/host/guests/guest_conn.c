#include "core/host/guests/guest_conn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/steps.h"
#include "core/base/version.h"
#include "core/host/guests/hosted_answer.h"
#include "core/host/guests/hosted_daemon.h"
#include "core/host/guests/hosted_door.h"
#include "core/host/guests/hosted_guest.h"
#include "core/host/guests/hosted_push.h"
#include "core/host/guests/uplink.h"
#include "core/host/host_inside.h"
#include "ops.gen.h"

/* --- halt -------------------------------------------------------------------- */

/*
 * halt - tells guests to stop the commands of a stopped team, and later to continue these
 * commands.
 */

enum { HALT_MS = 10000 };

static void halt_on_noted(struct job *job)
{
	struct hosted_guest *t = job->owner;

	t->halt_noting = false;
	job_free(job);
	hosted_guest_let_go(t);
}

/* Stores in the workspace's row whether the guest's commands are stopped. */
static void halt_note(struct hosted_guest *t)
{
	if (t->halt_noting)
		return;
	t->halt_noting = true;
	hosted_guest_keep(t);
	host_ask(t->host, workspace_note, halt_on_noted, t, .workspace = t->workspace,
		 .has_halted = true, .halted = t->halted);
}

/* Moves the deadlines of the control connection by the time for which the commands were
 * stopped. */
static void halt_go_on(struct hosted_guest *t)
{
	guest_conn_leap(&t->control, clock_boot_ms() - t->halt_since);
	push_poke(t); /* perhaps assignments are waiting */
}

static void halt_become(struct hosted_guest *t, bool halted)
{
	if (halted == t->halted)
		return;
	t->halted = halted;
	if (halted)
		t->halt_since = clock_boot_ms();
	else
		halt_go_on(t);
}

static void halt_tell(struct hosted_guest *t);

static void on_halted(void *arg, struct packet *answer, struct fault *f)
{
	struct hosted_guest *t = arg;

	t->halting = false;
	if (!answer) {
		log_seldom(t->host->log, &t->refused, LOG_LEVEL_WARN,
			   t->halted ? "a workspace's commands cannot go on"
				     : "a workspace's commands cannot be stopped",
			   LOG_TEXT("workspace", t->id), LOG_FAULT(f));
		return; /* the host tries again when it reads the rows next */
	}
	halt_become(t, !t->halted);
	halt_tell(t);
	halt_note(t);
}

static void halt_tell(struct hosted_guest *t)
{
	const struct wire_halt m = { .on = t->halt };

	if (!t->up || t->halting || t->halt == t->halted || !t->knows_halt)
		return;
	t->halting = true;
	guest_conn_ask(&t->control, "Halt", &m, HALT_MS, on_halted, t);
}

void halt_want(struct hosted_guest *t, bool stopped, bool written)
{
	if (stopped && !t->halt && t->up && !t->knows_halt)
		log_line(t->host->log, LOG_LEVEL_WARN,
			 "a guest cannot be stopped; its commands are still running",
			 LOG_TEXT("workspace", t->id));
	t->halt = stopped;
	halt_tell(t);
	if (t->up && !t->halting && written != t->halted)
		halt_note(t);
}

/* Stores whether a guest that has just answered a Hello can halt commands. */
static void halt_greeted(struct hosted_guest *t, bool knows_halt)
{
	t->knows_halt = knows_halt;
	t->halting = false;
	halt_become(t, t->halt_said && knows_halt);
}

/* --- chatter ----------------------------------------------------------------- */

/*
 * chatter - bounds how many bytes a guest may send in messages for which the host did not ask.
 *
 * Heartbeats, answers without a request, and refused requests cost the host a little time each.
 * The host counts the bytes of these messages, and lowers the count by CHATTER_SECOND each
 * second. While the count is above CHATTER_SECOND, the host does not read from the guest.
 * Answers to the host's requests, and requests that the host accepts, are not counted.
 */

/* Lowers the count by CHATTER_SECOND for each second since the last call. If the clock was set
 * back, the count stays the same. */
static void chatter_settle(struct chatter *c, int64_t now)
{
	int64_t ms = now > c->at ? now - c->at : 0;

	c->at = now;
	c->bytes -= ms * (CHATTER_SECOND / 1000);
	if (c->bytes < 0)
		c->bytes = 0;
}

/* Adds a received frame of `size` bytes to the count. */
static void chatter_note(struct chatter *c, size_t size, int64_t now)
{
	chatter_settle(c, now);
	c->bytes += CHATTER_FRAME + (int64_t)size;
}

/* Whether the host has to wait before it reads from the guest again. */
static bool chatter_waits(struct chatter *c, int64_t now)
{
	chatter_settle(c, now);
	return c->bytes > CHATTER_SECOND;
}

enum {
	UNREAD_MOST = 8 << 20, /* unread bytes above which no requests are sent */
};

struct asked {
	struct asked *next;
	int64_t id, at, until;
	enum fault_code why; /* fault with which the next tick ends the request, or 0 */
	const struct wire *type; /* message type of the request */
	struct text held; /* older dialect: the frame, until the host may send it */
	guest_conn_done *done;
	void *arg;
};

static void guest_conn_send(struct guest_conn *conn);
static void guest_conn_drop(struct guest_conn *conn);

/* Passes the answer to the caller of a finished request, or the fault if the fault is set.
 * Frees the request. */
static void asked_end(struct asked *a, struct packet *answer, struct fault *f)
{
	a->done(a->arg, f->code ? NULL : answer, f);
	text_release(&a->held);
	free(a);
}

static void fail_asked(struct asked *a, enum fault_code code)
{
	struct fault f = { 0 };

	fault_set(&f, code, "",
		  code == FAULT_EXHAUSTED
			  ? "the workspace's guest does not read the data from the host"
		  : code == FAULT_INVALID ? "this is too much for one message to a guest"
					  : "the workspace's guest does not answer");
	asked_end(a, NULL, &f);
}

static struct asked *take_at(struct guest_conn *conn, struct asked **at)
{
	struct asked *a = *at;

	*at = a->next;
	if (!a->next)
		conn->asked_end = at;
	return a;
}

void guest_conn_fail_all(struct guest_conn *conn)
{
	while (conn->asked)
		fail_asked(take_at(conn, &conn->asked), FAULT_UNAVAILABLE);
}

/* Removes the request with this answer's id from the connection and returns it. Returns NULL if
 * no request has this id. */
static struct asked *asked_take(struct guest_conn *conn, const json_t *id)
{
	/* Answers of the older dialect have no ids and arrive in the order of the requests. */
	if (!id && conn->asked &&
	    (conn->guest->old || conn->state == GUEST_CONN_GREETING))
		return take_at(conn, &conn->asked);
	for (struct asked **at = &conn->asked; *at && json_is_integer(id);
	     at = &(*at)->next)
		if ((*at)->id == json_integer_value(id))
			return take_at(conn, at);
	return NULL;
}

/* In the older dialect, sends the next request after an answer. The next request was kept back
 * until the answer arrived. */
static void asked_next(struct guest_conn *conn)
{
	struct asked *a = conn->asked;

	if (!a || !a->held.len || conn->state < GUEST_CONN_GREETING ||
	    conn->state == GUEST_CONN_CLOSING)
		return;
	text_add(&conn->flow.out, a->held.data, a->held.len);
	text_release(&a->held);
	a->held = (struct text){ 0 };
	guest_conn_send(conn);
}

/* Sends a request. On failure, returns the fault with which the next tick ends the request. */
static enum fault_code send_asked(struct guest_conn *conn, struct asked *a,
				  const char *type, const void *src)
{
	bool old = conn->guest->old;
	json_t *id = old ? NULL : json_integer(a->id);
	struct fault f = { 0 };
	int rc;

	if (conn->state < GUEST_CONN_GREETING || conn->state == GUEST_CONN_CLOSING)
		rc = FAULT_UNAVAILABLE;
	else if (flow_left(&conn->flow) > UNREAD_MOST)
		rc = FAULT_EXHAUSTED;
	else
		rc = wire_write(old ? &a->held : &conn->flow.out, type, src, id, &f);
	json_decref(id);
	return (enum fault_code)rc;
}

void guest_conn_ask(struct guest_conn *conn, const char *type, const void *src,
		    int64_t timeout_ms, guest_conn_done *done, void *arg)
{
	struct asked *a = xcalloc(1, sizeof(*a));

	a->id = ++conn->last_id;
	a->type = wire_find(type);
	a->at = clock_boot_ms();
	a->until = a->at + timeout_ms;
	a->done = done;
	a->arg = arg;
	a->why = send_asked(conn, a, type, src);
	*conn->asked_end = a;
	conn->asked_end = &a->next;
	if (!a->why && conn->guest->old)
		asked_next(conn);
	else if (!a->why)
		guest_conn_send(conn);
}

/* Whether the request was sent before a halt that still lasts. During the halt, the request
 * cannot time out. */
static bool guest_conn_asked_stands_still(const struct guest_conn *conn,
					  const struct asked *a)
{
	return conn->guest->halted && a->at <= conn->guest->halt_since;
}

/* Ends the requests that have timed out, and the requests that could not be sent. */
static void asked_time_out(struct guest_conn *conn, int64_t now)
{
	struct asked **at = &conn->asked;

	while (*at) {
		struct asked *a = *at;
		enum fault_code why = a->why ? a->why : FAULT_TIMEOUT;

		if (!a->why &&
		    (a->until > now || guest_conn_asked_stands_still(conn, a))) {
			at = &a->next;
			continue;
		}
		/* An old guest's answers have no ids, so a late answer would be taken for the
		 * answer to the next request. */
		if (why == FAULT_TIMEOUT && conn->guest->old && !a->held.len) {
			guest_conn_drop(conn);
			return;
		}
		fail_asked(take_at(conn, at), why);
		at = &conn->asked; /* the callback may have changed the list */
	}
}

/* Moves the deadlines of the requests by `ms`: how far the clock leapt, or how long a halt
 * lasted. */
static void asked_leap(struct guest_conn *conn, int64_t ms)
{
	for (struct asked *a = conn->asked; a; a = a->next)
		a->until += ms;
}

enum {
	HELLO_MS = 10000,
	/* A guest that was silent for QUIET_MS gets a Ping. If the guest does not answer the
	 * Ping within PONG_MS, the connection counts as lost. */
	QUIET_MS = 5500,
	PONG_MS = 7000,
	/* If a fault is sent while the connection has more than UNREAD_MOST + FAULTS_MOST
	 * unread bytes, the connection ends. */
	FAULTS_MOST = 1 << 20,
};

static void guest_conn_become(struct guest_conn *conn, enum guest_conn_state to)
{
	static const unsigned steps[] = {
		[GUEST_CONN_IDLE] = STEP(GUEST_CONN_DIALING),
		[GUEST_CONN_DIALING] = STEP(GUEST_CONN_GREETING) | STEP(GUEST_CONN_IDLE),
		[GUEST_CONN_GREETING] = STEP(GUEST_CONN_UP) | STEP(GUEST_CONN_CLOSING),
		[GUEST_CONN_UP] = STEP(GUEST_CONN_CLOSING),
		[GUEST_CONN_CLOSING] = STEP(GUEST_CONN_IDLE),
	};

	step_check(steps[conn->state], to);
	conn->state = to;
}

/* --- what is sent ----------------------------------------------------------------- */

/* Sends the bytes that were written to the connection's flow. Drops the connection if sending
 * fails. */
static void guest_conn_send(struct guest_conn *conn)
{
	if (flow_send(&conn->flow))
		guest_conn_drop(conn);
}

bool guest_conn_pass(struct guest_conn *conn, const char *body, size_t size)
{
	struct fault f = { 0 };
	size_t start;

	if (conn->state != GUEST_CONN_UP)
		return true;
	start = frame_open(&conn->flow.out);
	text_add(&conn->flow.out, body, size);
	frame_close(&conn->flow.out, start, &f);
	guest_conn_send(conn);
	return flow_left(&conn->flow) <= UNREAD_MOST;
}

void guest_conn_pass_fault(struct guest_conn *conn, const struct fault *why,
			   const json_t *id)
{
	if (conn->state != GUEST_CONN_UP)
		return;
	wire_write_fault(&conn->flow.out, why, conn->guest->old, id);
	guest_conn_send(conn);
	if (flow_left(&conn->flow) <= UNREAD_MOST + FAULTS_MOST)
		return;
	log_seldom(conn->guest->host->log, &conn->guest->wrong, LOG_LEVEL_WARN,
		   "a guest sends requests and reads no answers: the host "
		   "connects again",
		   LOG_TEXT("workspace", conn->guest->id));
	hosted_guest_punish(conn->guest);
}

/* --- what is received ------------------------------------------------------------ */

static void hear_answer(struct guest_conn *conn, struct asked *a, struct packet *p)
{
	struct hosted_guest *t = conn->guest;
	struct fault f = { 0 };
	enum answer is = answer_judge(p, a->type, &f);

	if (is == ANSWER_WRONG)
		log_seldom(t->host->log, &t->wrong, LOG_LEVEL_WARN,
			   "a guest's answer breaks the protocol",
			   LOG_TEXT("workspace", t->id), LOG_FAULT(&f));
	asked_end(a, p, &f);
	/* An old guest's answers have no ids. So after a wrong answer, the host cannot match
	 * the next answer to a request. */
	if (is == ANSWER_WRONG && t->old && conn->state == GUEST_CONN_UP)
		hosted_guest_punish(t);
	else if (t->old)
		asked_next(conn);
}

/* Handles a packet. Returns false if the packet is counted as chatter. Chatter is a heartbeat,
 * an answer that nobody waits for, or a request that was refused. */
static bool guest_conn_hear(struct guest_conn *conn, struct packet *p)
{
	struct asked *a;
	bool beat = !strcmp(p->type, "Heartbeat"), asked;

	if (beat || uplink_wants(p)) {
		/* The host ignores a guest's heartbeats and requests before the guest is
		 * greeted. */
		if (conn->state == GUEST_CONN_UP && beat)
			daemon_beat(conn->guest, p);
		return conn->state == GUEST_CONN_UP && !beat && uplink_take(conn, p);
	}
	a = asked_take(conn, p->id);
	asked = a != NULL;
	if (asked)
		hear_answer(conn, a, p);
	else if (!p->wire)
		uplink_take(conn, p); /* refuses the unknown packet */
	/* If the packet was neither asked for nor unknown, it is an answer that arrived too
	 * late. No request waits for such an answer. */
	return asked;
}

/* Closes the connection after malformed bytes. A guest that is up gets the longest pause, since
 * the guest would send malformed bytes again. */
static void break_off(struct guest_conn *conn, const struct fault *why)
{
	struct hosted_guest *t = conn->guest;

	if (!t->up) {
		hosted_guest_trouble(t, why);
		guest_conn_drop(conn);
		return;
	}
	log_seldom(t->host->log, &t->wrong, LOG_LEVEL_WARN,
		   "the host connects to a guest again", LOG_TEXT("workspace", t->id),
		   LOG_FAULT(why));
	hosted_guest_punish(t);
}

static int64_t loop_now(const struct guest_conn *conn)
{
	return (int64_t)uv_now(&conn->guest->host->loop);
}

static void guest_conn_take_bytes(struct guest_conn *conn, const char *data, size_t len)
{
	struct fault f = { 0 };

	while (len > 0 && conn->state != GUEST_CONN_CLOSING) {
		struct packet p;
		size_t used;
		int rc = frame_read(&conn->reader, data, len, &used, &f);

		data += used;
		len -= used;
		if (rc > 0 && packet_take(&p, &conn->reader, &f) == 0 &&
		    !guest_conn_hear(conn, &p))
			chatter_note(&conn->chatter, conn->reader.size, loop_now(conn));
		if (rc > 0)
			packet_release(&p);
		if (f.code) {
			break_off(conn, &f);
			return;
		}
	}
}

static void guest_conn_on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct guest_conn *conn = stream->data;

	if (n < 0) {
		/* A guest that closes the connection after a Hello either does not know Hello,
		 * or has just ended. So the host tries the two dialects alternately. */
		if (conn->state == GUEST_CONN_GREETING && !conn->heard_at)
			conn->guest->old = !conn->guest->old;
		guest_conn_drop(conn);
		return;
	}
	conn->heard_at = clock_boot_ms();
	conn->pinged = false;
	guest_conn_take_bytes(conn, buf->base, (size_t)n);
	if (conn->state != GUEST_CONN_CLOSING &&
	    chatter_waits(&conn->chatter, loop_now(conn))) {
		conn->deaf = true;
		uv_read_stop(stream);
	}
}

static void guest_conn_on_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct guest_conn *conn = handle->data;
	struct host *host = conn->guest->host;

	(void)size;
	*buf = uv_buf_init(host->buffer, sizeof(host->buffer));
}

/* --- down ------------------------------------------------------------------------- */

static void guest_conn_on_closed(uv_handle_t *handle)
{
	struct guest_conn *conn = handle->data;
	struct hosted_guest *t = conn->guest;

	frame_release(&conn->reader);
	flow_release(&conn->flow);
	conn->flow = (struct flow){ 0 };
	guest_conn_become(conn, GUEST_CONN_IDLE);
	hosted_guest_let_go(t);
}

void guest_conn_close(struct guest_conn *conn)
{
	if (conn->state == GUEST_CONN_IDLE || conn->state == GUEST_CONN_CLOSING)
		return;
	if (conn->state == GUEST_CONN_DIALING) {
		link_dial_cancel(conn->dial);
		conn->dial = NULL;
		guest_conn_become(conn, GUEST_CONN_IDLE);
		return;
	}
	guest_conn_become(conn, GUEST_CONN_CLOSING);
	uv_close((uv_handle_t *)&conn->pipe, guest_conn_on_closed);
}

/* Closes both connections of the guest. The host dials both connections anew later. */
static void guest_conn_drop(struct guest_conn *conn)
{
	if (conn->state != GUEST_CONN_IDLE && conn->state != GUEST_CONN_CLOSING)
		hosted_guest_down(conn->guest);
}

static void guest_conn_on_wrote(struct flow *flow, int status)
{
	struct guest_conn *conn = flow->arg;

	if (status < 0)
		guest_conn_drop(conn);
	else if (conn->state != GUEST_CONN_CLOSING)
		guest_conn_send(conn);
	if (conn->state == GUEST_CONN_UP && !flow_left(&conn->flow))
		uplink_resume(conn->guest);
}

/* --- up --------------------------------------------------------------------------- */

static void greeted(struct guest_conn *conn, const char *boot, struct fault *f)
{
	struct hosted_guest *t = conn->guest;

	if (f->code) {
		hosted_guest_trouble(t, f);
		guest_conn_drop(conn);
		return;
	}
	if (t->closing || conn->state != GUEST_CONN_GREETING)
		return;
	guest_conn_become(conn, GUEST_CONN_UP);
	hosted_guest_greeted(conn, boot);
}

static void hear_spool(struct hosted_guest *t, const struct packet *hello)
{
	const json_t *seq = json_object_get(hello->json, "spool_seq");

	hosted_guest_hear_spool(t, json_find_text(hello->json, "spool"),
				json_is_integer(seq) ? json_integer_value(seq) : -1);
}

static bool has_feature(const struct packet *hello, const char *feature)
{
	const json_t *all = json_object_get(hello->json, "features");
	json_t *one;
	size_t i;

	json_array_foreach(all, i, one)
		if (json_is_string(one) && !strcmp(json_string_value(one), feature))
			return true;
	return false;
}

static void on_hello(void *arg, struct packet *answer, struct fault *f)
{
	struct guest_conn *conn = arg;
	struct hosted_guest *t = conn->guest;
	const char *boot = answer ? json_find_text(answer->json, "boot_id") : NULL;
	const char *workspace = answer ? json_find_text(answer->json, "workspace") : NULL;

	if (f->code == FAULT_INVALID)
		t->old = true; /* the guest does not know Hello */
	else if (!f->code && workspace && strcmp(workspace, t->id))
		fault_set(f, FAULT_CONFLICT, "",
			  "the guest of another workspace answers here: %.40s",
			  workspace);
	else if (!f->code && !boot)
		fault_set(f, FAULT_INVALID, "", "a Hello without a boot_id");
	/* Heartbeats use the control connection too, so reports about the spool arrive in
	 * order. */
	if (!f->code && conn->port == LINK_CONTROL) {
		hear_spool(t, answer);
		door_hear(t, json_find_text(answer->json, "http"));
		halt_greeted(t, has_feature(answer, "halt"));
		t->knows_turns = has_feature(answer, "turns");
	}
	greeted(conn, boot, f);
}

/* Handles the Pong of a guest that did not answer Hello. If the Pong says that the guest knows
 * Hello, the guest was merely not ready yet when the host sent Hello. */
static void on_old_pong(void *arg, struct packet *answer, struct fault *f)
{
	struct guest_conn *conn = arg;

	if (answer && json_is_true(json_object_get(answer->json, "hello"))) {
		conn->guest->old = false;
		fault_set(f, FAULT_UNAVAILABLE, "", "the guest has just connected");
	} else if (answer && strcmp(answer->type, "Pong")) {
		fault_set(f, FAULT_INVALID, "", "a Ping is answered with %.64s",
			  answer->type);
	}
	if (answer && !f->code) {
		halt_greeted(conn->guest, false);
		conn->guest->knows_turns = false;
		hosted_guest_hear_spool(conn->guest, NULL, -1);
	}
	greeted(conn, "of the older dialect", f);
}

static void guest_conn_greet(struct guest_conn *conn)
{
	struct hosted_guest *t = conn->guest;
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
		.has_halted = t->halt,
		.halted = t->halt,
	};

	if (conn->port == LINK_CONTROL)
		t->halt_said = t->halt;
	if (t->old)
		guest_conn_ask(conn, "Ping", NULL, HELLO_MS, on_old_pong, conn);
	else
		guest_conn_ask(conn, "Hello", &hello, HELLO_MS, on_hello, conn);
}

static void on_dialled(void *arg, int fd, const struct fault *why)
{
	struct guest_conn *conn = arg;
	struct hosted_guest *t = conn->guest;

	conn->dial = NULL;
	if (why) {
		hosted_guest_trouble(t, why);
		guest_conn_drop(conn);
		return;
	}
	uv_pipe_init(&t->host->loop, &conn->pipe, 0);
	hosted_guest_keep(t);
	conn->pipe.data = conn;
	conn->flow.stream = (uv_stream_t *)&conn->pipe;
	conn->flow.wrote = guest_conn_on_wrote;
	conn->flow.arg = conn;
	guest_conn_become(conn, GUEST_CONN_GREETING);
	conn->heard_at = 0;
	conn->pinged = conn->deaf = false;
	if (uv_pipe_open(&conn->pipe, fd)) {
		close(fd);
		guest_conn_drop(conn);
	} else if (uv_read_start(conn->flow.stream, guest_conn_on_room,
				 guest_conn_on_bytes)) {
		guest_conn_drop(conn);
	} else {
		guest_conn_greet(conn);
	}
}

void guest_conn_dial(struct guest_conn *conn)
{
	struct hosted_guest *t = conn->guest;

	guest_conn_become(conn, GUEST_CONN_DIALING);
	conn->dial = link_dial(&t->host->loop, &t->address, conn->port, on_dialled, conn);
}

/* --- silence ----------------------------------------------------------------------- */

static void on_pong(void *arg, struct packet *answer, struct fault *f)
{
	struct guest_conn *conn = arg;

	(void)f;
	if (!answer)
		guest_conn_drop(conn);
	else if (conn->guest->old && conn->port == LINK_CONTROL)
		daemon_pulse(conn->guest);
}

static void check_pulse(struct guest_conn *conn, int64_t now)
{
	/* In the older dialect, a Pong has to wait for an earlier request that still runs. */
	if (conn->state != GUEST_CONN_UP || conn->pinged ||
	    now - conn->heard_at < QUIET_MS || (conn->guest->old && conn->asked))
		return;
	conn->pinged = true;
	guest_conn_ask(conn, "Ping", NULL, PONG_MS, on_pong, conn);
}

static void hear_again(struct guest_conn *conn)
{
	bool open = conn->state == GUEST_CONN_GREETING || conn->state == GUEST_CONN_UP;

	if (!conn->deaf || !open || chatter_waits(&conn->chatter, loop_now(conn)))
		return;
	conn->deaf = false;
	if (uv_read_start(conn->flow.stream, guest_conn_on_room, guest_conn_on_bytes))
		guest_conn_drop(conn);
}

void guest_conn_tick(struct guest_conn *conn, int64_t now)
{
	hear_again(conn);
	asked_time_out(conn, now);
	check_pulse(conn, now);
}

void guest_conn_leap(struct guest_conn *conn, int64_t ms)
{
	asked_leap(conn, ms);
	if (conn->heard_at)
		conn->heard_at += ms;
}

void guest_conn_init(struct guest_conn *conn, struct hosted_guest *t, unsigned port)
{
	conn->guest = t;
	conn->port = port;
	conn->asked_end = &conn->asked;
}
