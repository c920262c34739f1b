#include "core/host/guests/hosted_guest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/access/token.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/host/conn.h"
#include "core/host/guests/hosted_ask.h"
#include "core/host/guests/hosted_daemon.h"
#include "core/host/guests/hosted_push.h"
#include "core/host/guests/uplink.h"
#include "core/host/host_inside.h"
#include "core/host/turns/hosted_turn.h"
#include "ops.gen.h"

/* --- uplink ------------------------------------------------------------------ */

enum {
	WAITING_MOST = 4 << 20 /* bytes of requests that conn.c has not read */
};

/* One end of a socket pair, through which the guest's requests pass to a conn. The conn has the
 * other end. */
struct uplink {
	struct hosted_guest *guest;
	uv_pipe_t pipe;
	struct frame_reader reader;
	struct flow flow;
	bool paused; /* answers are held back, because the guest does not read */
};

/* --- identity ------------------------------------------------------------------- */

/* The identity of the workspace's agent. The agent's token finds the agent even after the agent
 * or its team was renamed. The token never finds another agent that has the old name now. */
static struct identity identity_of(const struct hosted_guest *t)
{
	return (struct identity){
		.level = WHO_OBSERVER,
		.team = t->team_name,
		.agent = t->agent_name,
		.token = t->agent_token,
		.inside = true,
		.kept = true,
	};
}

bool uplink_wants(const struct packet *p)
{
	return p->wire && p->wire->ports && strcmp(p->type, "Hello") != 0;
}

/* --- closing -------------------------------------------------------------------- */

static void uplink_on_closed(uv_handle_t *handle)
{
	struct uplink *u = handle->data;

	frame_release(&u->reader);
	flow_release(&u->flow);
	free(u);
}

static void uplink_drop(struct uplink *u)
{
	if (u->guest)
		u->guest->uplink = NULL;
	u->guest = NULL;
	if (!uv_is_closing((uv_handle_t *)&u->pipe))
		uv_close((uv_handle_t *)&u->pipe, uplink_on_closed);
}

/* --- answers -------------------------------------------------------------------- */

static void uplink_take_bytes(struct uplink *u, const char *data, size_t len)
{
	struct fault f = { 0 };

	while (len > 0 && u->guest) {
		size_t used;
		int rc = frame_read(&u->reader, data, len, &used, &f);

		data += used;
		len -= used;
		if (rc < 0)
			uplink_drop(u);
		else if (rc > 0 && !guest_conn_pass(&u->guest->control, u->reader.body,
						    u->reader.size))
			u->paused = true;
	}
	if (u->guest && u->paused)
		uv_read_stop((uv_stream_t *)&u->pipe);
}

static void uplink_on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct uplink *u = stream->data;

	if (n < 0)
		uplink_drop(u);
	else
		uplink_take_bytes(u, buf->base, (size_t)n);
}

static void uplink_on_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct uplink *u = handle->data;

	(void)size;
	*buf = u->guest ? uv_buf_init(u->guest->host->buffer,
				      sizeof(u->guest->host->buffer))
			: uv_buf_init(NULL, 0);
}

void uplink_resume(struct hosted_guest *t)
{
	struct uplink *u = t->uplink;

	if (!u || !u->paused)
		return;
	u->paused = false;
	uv_read_start((uv_stream_t *)&u->pipe, uplink_on_room, uplink_on_bytes);
}

/* --- requests -------------------------------------------------------------------- */

static void send_now(struct uplink *u)
{
	if (flow_send(&u->flow))
		uplink_drop(u);
}

static void uplink_on_wrote(struct flow *flow, int status)
{
	struct uplink *u = flow->arg;

	if (status < 0)
		uplink_drop(u);
	else if (u->guest)
		send_now(u);
}

static struct uplink *uplink_open(struct hosted_guest *t)
{
	const struct identity who = identity_of(t);
	struct uplink *u = calloc(1, sizeof(*u));
	int ends[2];

	if (!u ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)) {
		free(u);
		return NULL;
	}
	uv_pipe_init(&t->host->loop, &u->pipe, 0);
	u->pipe.data = u;
	u->guest = t;
	u->flow.stream = (uv_stream_t *)&u->pipe;
	u->flow.wrote = uplink_on_wrote;
	u->flow.arg = u;
	t->uplink = u;
	conn_adopt(t->host, ends[1], &who, !t->old);
	if (uv_pipe_open(&u->pipe, ends[0]) == 0 &&
	    uv_read_start((uv_stream_t *)&u->pipe, uplink_on_room, uplink_on_bytes) == 0)
		return u;
	uplink_drop(u);
	return NULL;
}

static int uplink_check(const struct guest_conn *conn, const struct packet *p,
			struct fault *f)
{
	const struct hosted_guest *t = conn->guest;
	int rc = packet_belongs(p, SIDE_GUEST, WIRE_CONTROL, f);

	if (rc)
		return rc;
	if (conn->port != LINK_CONTROL)
		return fault_set(f, FAULT_INVALID, "/type",
				 "a guest must send %s on port %d", p->type,
				 LINK_CONTROL);
	if (!t->agent)
		return fault_set(f, FAULT_DENIED, "",
				 "no agent works in this workspace, so no agent can "
				 "call from it");
	if (t->uplink && flow_left(&t->uplink->flow) > WAITING_MOST)
		return fault_set(f, FAULT_EXHAUSTED, "",
				 "too many requests wait for an answer");
	return 0;
}

bool uplink_take(struct guest_conn *conn, const struct packet *p)
{
	struct hosted_guest *t = conn->guest;
	struct fault f = { 0 };
	size_t start;

	if (!uplink_check(conn, p, &f) && !t->uplink && !uplink_open(t))
		fault_set(&f, FAULT_UNAVAILABLE, "", "the host has no room for this");
	if (f.code) {
		guest_conn_pass_fault(conn, &f, p->id);
		return false;
	}
	start = frame_open(&t->uplink->flow.out);
	text_add(&t->uplink->flow.out, conn->reader.body, conn->reader.size);
	frame_close(&t->uplink->flow.out, start, &f);
	send_now(t->uplink);
	return true;
}

/* --- connections from a guest's machine ---------------------------------------------- */

static void on_vm(void *arg, int fd, const struct link_caller *who)
{
	struct host *host = arg;
	struct hosted_guest *t = host->guests->first;
	struct identity id;

	while (t && (t->address.kind != LINK_VSOCK || t->address.number != who->cid))
		t = t->next;
	if (!t || !t->agent) {
		close(fd);
		return;
	}
	id = identity_of(t);
	conn_adopt(host, fd, &id, false);
}

static void on_vmm(void *arg, int fd, const struct link_caller *who)
{
	struct hosted_guest *t = arg;
	struct identity id = identity_of(t);

	(void)who;
	if (t->agent)
		conn_adopt(t->host, fd, &id, false);
	else
		close(fd);
}

/* Listens for connections from the guest's machine, if the link is a vsock or a VMM's socket.
 * If another host on this machine already listens on the vsock port, guests send requests only
 * on the control connection, which their host dials. */
static void uplink_listen(struct hosted_guest *t)
{
	const struct link_address any = { .kind = LINK_VSOCK, .number = LINK_CID_ANY };
	struct host *host = t->host;
	struct fault f = { 0 };

	if (t->address.kind == LINK_VSOCK && !host->guests->vm_ear)
		host->guests->vm_ear =
			link_listen(&host->loop, &any, LINK_CONTROL, on_vm, host, &f);
	else if (t->address.kind == LINK_HYBRID)
		t->ear = link_listen(&host->loop, &t->address, LINK_CONTROL, on_vmm, t,
				     &f);
	if (f.code)
		log_line(host->log, LOG_LEVEL_WARN, "a workspace cannot dial its host",
			 LOG_TEXT("workspace", t->id), LOG_FAULT(&f));
}

static void uplink_deafen(struct hosted_guest *t)
{
	link_deafen(t->ear);
	t->ear = NULL;
}

/* stops the listener of all VMs */
static void uplinks_close(struct host *host)
{
	link_deafen(host->guests->vm_ear);
	host->guests->vm_ear = NULL;
}

/* --- futile ------------------------------------------------------------------ */

/*
 * futile - a pause after a failed try, so that the next try does not follow at once.
 *
 * The first pause lasts 1 s. Each further pause lasts twice as long as the pause before, but 30
 * s at most. The next pause lasts 1 s again after a successful try, or if the last pause ended
 * more than 30 s ago.
 */

static int64_t twice(int64_t ms)
{
	return ms * 2 < FUTILE_MOST_MS ? ms * 2 : FUTILE_MOST_MS;
}

void futile_note(struct futile *f, int64_t now)
{
	bool anew = f->ms == 0 || now - f->until > FUTILE_MOST_MS;

	f->ms = anew ? FUTILE_FIRST_MS : twice(f->ms);
	f->until = now + f->ms;
}

void futile_end(struct futile *f)
{
	*f = (struct futile){ 0 };
}

bool futile_waits(const struct futile *f, int64_t now)
{
	return now < f->until && f->until - now <= FUTILE_MOST_MS;
}

enum {
	PAUSE_FIRST_MS = 50,
	PAUSE_MOST_MS = 5000,
	TROUBLE_MS = 800, /* a shorter pause is not logged: the guest may be starting */
};

/* --- up and down ------------------------------------------------------------------ */

void hosted_guest_keep(struct hosted_guest *t)
{
	t->kept++;
}

void hosted_guest_let_go(struct hosted_guest *t)
{
	if (--t->kept > 0 || !t->closing)
		return;
	push_release(t);
	daemon_release(t);
	free(t);
}

/* Sets the time when the host dials the guest again, after a pause that grows with each try. A
 * random part of the pause keeps the host from dialling all guests at the same time. */
static void pause_dialling(struct hosted_guest *t)
{
	if (t->up) {
		t->up = t->old = false;
		t->host->guests->n_linked--;
		reconcile_poke(t->host); /* the guest may have ended */
	}
	t->dial_at = clock_boot_ms() + t->pause_ms;
	t->pause_ms = t->pause_ms * 2 > PAUSE_MOST_MS ? PAUSE_MOST_MS : t->pause_ms * 2;
	t->dial_at += (int64_t)(home_random() % (uint64_t)(t->pause_ms / 4 + 1));
}

/* Closes both connections, since one is useless without the other. The host dials the guest
 * again after a pause, unless the guest is being closed. */
void hosted_guest_down(struct hosted_guest *t)
{
	hosted_guest_keep(t); /* keeps `t` in memory until the end of this function */
	if (t->uplink)
		uplink_drop(t->uplink);
	guest_conn_close(&t->control);
	guest_conn_close(&t->relay);
	guest_conn_fail_all(&t->control);
	guest_conn_fail_all(&t->relay);
	if (!t->closing)
		pause_dialling(t);
	hosted_guest_let_go(t);
}

void hosted_guest_punish(struct hosted_guest *t)
{
	if (t->control.state == GUEST_CONN_CLOSING ||
	    t->relay.state == GUEST_CONN_CLOSING)
		return;
	t->pause_ms = PAUSE_MOST_MS;
	hosted_guest_down(t);
}

static int64_t hosted_guest_pid_of(struct guest_conn *conn)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	uv_os_fd_t fd;

	/* Only a Unix socket leads to the guest's process. The peer of another kind of link is
	 * not the guest's process. */
	if (conn->guest->address.kind != LINK_UNIX ||
	    uv_fileno((uv_handle_t *)&conn->pipe, &fd) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return 0;
	return peer.pid;
}

static void come_up(struct hosted_guest *t)
{
	t->up = true;
	t->pid = hosted_guest_pid_of(&t->control);
	t->pause_ms = PAUSE_FIRST_MS;
	t->trouble[0] = '\0';
	t->host->guests->n_linked++;
	reconcile_poke(t->host); /* the workspace's row may still say that the guest is
				    not running */
	follow_want(t->host);
	daemon_up(t);
	push_up(t, strcmp(t->boot_id, t->boot_told) != 0);
	ask_look(t->host);
	hosted_turns_greeted(t);
}

void hosted_guest_greeted(struct guest_conn *conn, const char *boot_id)
{
	struct hosted_guest *t = conn->guest;

	snprintf(t->boot_id, sizeof(t->boot_id), "%s", boot_id);
	if (t->control.state == GUEST_CONN_UP && t->relay.state == GUEST_CONN_UP)
		come_up(t);
}

void hosted_guest_hear_spool(struct hosted_guest *t, const char *spool, int64_t seq)
{
	t->respooled |= strcmp(t->spool, spool ? spool : "") != 0;
	snprintf(t->spool, sizeof(t->spool), "%s", spool ? spool : "");
	t->spool_seq = seq;
}

/* Logs why a guest cannot be reached. The host continues to dial, and logs the next line only
 * when the reason changes. */
void hosted_guest_trouble(struct hosted_guest *t, const struct fault *f)
{
	char hint[HINT_SIZE];

	if (t->pause_ms < TROUBLE_MS || !strcmp(t->trouble, f->text))
		return;
	snprintf(t->trouble, sizeof(t->trouble), "%s", f->text);
	log_line(t->host->log, LOG_LEVEL_INFO, "a workspace is not reached",
		 LOG_TEXT("workspace", t->id), LOG_FAULT(f),
		 LOG_TEXT("hint", *f->hint ? hint_plain(f->hint, hint) : NULL));
}

/* --- all guests --------------------------------------------------------------------- */

static void hosted_guest_copy(char to[72], const char *from)
{
	snprintf(to, 72, "%s", from ? from : "");
}

struct hosted_guest *hosted_guest_open(struct host *host, const struct guest_wanted *to,
				       struct fault *f)
{
	struct hosted_guest *t = xcalloc(1, sizeof(*t));

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
	hosted_guest_copy(t->team_name, to->team_name);
	hosted_guest_copy(t->agent_name, to->agent_name);
	hosted_guest_copy(t->agent_token, to->agent_token);
	snprintf(t->ip, sizeof(t->ip), "%s", to->ip ? to->ip : "");
	snprintf(t->boot_told, sizeof(t->boot_told), "%s",
		 to->boot_told ? to->boot_told : "");
	hosted_guest_copy(t->spool, to->spool);
	t->spool_seq = to->spool_seq;
	t->halt = to->halt;
	t->pause_ms = PAUSE_FIRST_MS;
	guest_conn_init(&t->control, t, LINK_CONTROL);
	guest_conn_init(&t->relay, t, LINK_RELAY);
	t->next = host->guests->first;
	t->at = &host->guests->first;
	if (t->next)
		t->next->at = &t->next;
	host->guests->first = t;
	uplink_listen(t);
	return t;
}

void hosted_guest_rename(struct hosted_guest *t, const char *team, const char *agent)
{
	hosted_guest_copy(t->team_name, team);
	hosted_guest_copy(t->agent_name, agent);
}

void hosted_guest_move(struct hosted_guest *t, const char *address)
{
	struct link_address to;
	struct fault f = { 0 };

	if (link_parse(address, "", &to, &f) == 0)
		t->address = to;
}

void hosted_guest_hurry(struct hosted_guest *t)
{
	t->pause_ms = PAUSE_FIRST_MS;
	t->dial_at = clock_boot_ms() + PAUSE_FIRST_MS;
}

void hosted_guest_close(struct hosted_guest *t)
{
	if (!t || t->closing)
		return;
	t->closing = true;
	*t->at = t->next;
	if (t->next)
		t->next->at = t->at;
	if (t->up)
		t->host->guests->n_linked--;
	t->up = false;
	uplink_deafen(t);
	hosted_guest_down(t);
}

static void hosted_guests_close(struct host *host)
{
	while (host->guests->first)
		hosted_guest_close(host->guests->first);
	uplinks_close(host);
	ask_look(host);
}

struct hosted_guest *hosted_guest_of(struct host *host, int64_t workspace)
{
	struct hosted_guest *t = host->guests->first;

	while (t && t->workspace != workspace)
		t = t->next;
	return t;
}

void hosted_guests_tick(struct host *host)
{
	int64_t now = clock_boot_ms();
	struct hosted_guest *next;

	for (struct hosted_guest *t = host->guests->first; t; t = next) {
		next = t->next;
		guest_conn_tick(&t->control, now);
		guest_conn_tick(&t->relay, now);
		daemon_tick(t, now);
		push_tick(t, now);
		if (t->up || t->dial_at > now || t->control.state != GUEST_CONN_IDLE ||
		    t->relay.state != GUEST_CONN_IDLE)
			continue;
		guest_conn_dial(&t->control);
		guest_conn_dial(&t->relay);
	}
	ask_look(host);
}

void hosted_guests_leap(struct host *host, int64_t ms)
{
	for (struct hosted_guest *t = host->guests->first; t; t = t->next) {
		guest_conn_leap(&t->control, ms);
		guest_conn_leap(&t->relay, ms);
		if (t->daemon.heard_at)
			t->daemon.heard_at += ms;
	}
}

/* Warns if agents have tokens that were not made with the host's secret. Guests and doors get
 * tokens that are made with the host's secret. */
static void guests_check_secret(struct host *host, struct store *store)
{
	struct secret_fit fit = { 0 };
	struct fault f = { 0 };

	if (secret_look(store, host->home->settings.secret, &fit, &f) == 0 &&
	    fit.fit < fit.tokens)
		log_line(host->log, LOG_LEVEL_WARN,
			 "the secret belongs to another state: agents' tokens "
			 "do not match it, see `cadre doctor`",
			 LOG_NUMBER("agents", fit.tokens - fit.fit),
			 LOG_NUMBER("of", fit.tokens));
}

/* Pushes deliveries to the guest of the event's target agent. An event without a target
 * concerns several agents, so deliveries are pushed to each guest of the team. */
static void guests_event(struct host *host, const struct host_event_row *e)
{
	if (e->kind != EVENT_MESSAGE_SENT && e->kind != EVENT_MESSAGE_REQUEUED &&
	    e->kind != EVENT_ASSIGNMENT_CANCELLED)
		return;
	for (struct hosted_guest *t = host->guests->first; t; t = t->next)
		if (t->agent && (e->target ? t->agent == e->target : t->team == e->team))
			push_poke(t);
}

static enum follows guests_follow(const struct host *host)
{
	return host->guests->first ? FOLLOWS_NOW : FOLLOWS_NOT;
}

static void guests_caught_up(struct host *host, bool missed)
{
	for (struct hosted_guest *t = host->guests->first; t && missed; t = t->next)
		if (t->agent)
			push_poke(t);
}

const struct host_room room_guests = {
	.size = sizeof(struct guests),
	.survey = guests_check_secret,
	.event = guests_event,
	.follows = guests_follow,
	.caught_up = guests_caught_up,
	.close = hosted_guests_close,
};
