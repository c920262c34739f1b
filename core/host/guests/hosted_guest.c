#include "core/host/guests/hosted_guest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/access/token.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/host/guests/hosted_ask.h"
#include "core/host/guests/hosted_daemon.h"
#include "core/host/guests/hosted_push.h"
#include "core/host/guests/uplink.h"
#include "core/host/host_inside.h"
#include "core/host/turns/hosted_turn.h"
#include "ops.gen.h"

/* --- futile ------------------------------------------------------------------ */

/*
 * futile - a pause after a try that brought nothing, so that tries do not follow at once.
 *
 * The first pause lasts 1 s, each further pause twice as long as the last, 30 s at
 * most.  A successful try ends the row.
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
	TROUBLE_MS = 800, /* a guest that starts is not there at once */
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

/* Sets when to dial again: after longer and longer pauses, and not all guests at once. */
static void pause_dialling(struct hosted_guest *t)
{
	if (t->up) {
		t->up = t->old = false;
		t->host->guests->n_linked--;
		reconcile_poke(t->host); /* perhaps the guest has died */
	}
	t->dial_at = clock_boot_ms() + t->pause_ms;
	t->pause_ms = t->pause_ms * 2 > PAUSE_MOST_MS ? PAUSE_MOST_MS : t->pause_ms * 2;
	t->dial_at += (int64_t)(home_random() % (uint64_t)(t->pause_ms / 4 + 1));
}

/* Closes both connections, since each is useless without the other, and dials again. */
void hosted_guest_down(struct hosted_guest *t)
{
	hosted_guest_keep(t); /* until the callbacks below are over */
	uplink_close(t);
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

	/* Only a Unix socket has the guest itself at its other end: elsewhere the
	 * peer is a VMM. */
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
	reconcile_poke(t->host); /* its row may not say so yet */
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

/* Logs why a guest is not reached, once until the reason changes: it is dialled for as
 * long as it takes. */
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

/* --- all of them -------------------------------------------------------------------- */

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

/* Guests and doors are given tokens that are made with the secret. */
static void guests_check_secret(struct host *host, struct store *store)
{
	struct secret_fit fit = { 0 };
	struct fault f = { 0 };

	if (secret_look(store, host->home->settings.secret, &fit, &f) == 0 &&
	    fit.fit < fit.tokens)
		log_line(
			host->log, LOG_LEVEL_WARN,
			"the secret is of another state: agents have tokens that it does not make, see `cadre doctor`",
			LOG_NUMBER("agents", fit.tokens - fit.fit),
			LOG_NUMBER("of", fit.tokens));
}

/* A message for one, or for several: then each guest of the team looks. */
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
