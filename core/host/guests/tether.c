#include "core/host/guests/tether.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/host/guests/daemon.h"
#include "core/host/guests/push.h"
#include "core/host/guests/uplink.h"
#include "core/host/inside.h"
#include "ops.gen.h"

enum {
	PAUSE_FIRST_MS = 50,
	PAUSE_MOST_MS = 5000,
	TROUBLE_MS = 800, /* a guest that starts is not there at once */
};

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

/* When to dial again: later and later, and not all guests at once. */
static void pause_dialling(struct tether *t)
{
	if (t->up) {
		t->up = t->old = false;
		t->host->n_linked--;
		reconcile_poke(t->host); /* perhaps the guest has died */
	}
	t->dial_at = clock_boot_ms() + t->pause_ms;
	t->pause_ms = t->pause_ms * 2 > PAUSE_MOST_MS ? PAUSE_MOST_MS : t->pause_ms * 2;
	t->dial_at += (int64_t)(home_random() % (uint64_t)(t->pause_ms / 4 + 1));
}

/* Either line is useless without the other: both go down and come up together. */
void tether_down(struct tether *t)
{
	tether_keep(t); /* until the callbacks below are over */
	uplink_close(t);
	line_close(&t->control);
	line_close(&t->relay);
	line_fail_all(&t->control);
	line_fail_all(&t->relay);
	if (!t->closing)
		pause_dialling(t);
	tether_let_go(t);
}

void tether_punish(struct tether *t)
{
	if (t->control.state == LINE_CLOSING || t->relay.state == LINE_CLOSING)
		return;
	t->pause_ms = PAUSE_MOST_MS;
	tether_down(t);
}

static int64_t pid_of(struct line *line)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	uv_os_fd_t fd;

	/* Only a Unix socket has the guest itself at its other end: elsewhere the
	 * peer is a VMM. */
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

void tether_greeted(struct line *line, const char *boot_id)
{
	struct tether *t = line->tether;

	snprintf(t->boot_id, sizeof(t->boot_id), "%s", boot_id);
	if (t->control.state == LINE_UP && t->relay.state == LINE_UP)
		come_up(t);
}

void tether_hear_spool(struct tether *t, const char *spool, int64_t seq)
{
	t->respooled |= strcmp(t->spool, spool ? spool : "") != 0;
	snprintf(t->spool, sizeof(t->spool), "%s", spool ? spool : "");
	t->spool_seq = seq;
}

/* Said once, until it is another: a guest is dialled for as long as it takes. */
void tether_trouble(struct tether *t, const struct fault *f)
{
	if (t->pause_ms < TROUBLE_MS || !strcmp(t->trouble, f->text))
		return;
	snprintf(t->trouble, sizeof(t->trouble), "%s", f->text);
	log_line(t->host->log, LOG_LEVEL_NOTE, "workspace %s is not reached: %s%s%s",
		 t->id, f->text, *f->hint ? ". " : "", f->hint);
}

/* --- all of them -------------------------------------------------------------------- */

static void copy(char to[72], const char *from)
{
	snprintf(to, 72, "%s", from ? from : "");
}

struct tether *tether_open(struct host *host, const struct tether_to *to, struct fault *f)
{
	struct tether *t = xcalloc(1, sizeof(*t));

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
	copy(t->team_name, to->team_name);
	copy(t->agent_name, to->agent_name);
	copy(t->agent_token, to->agent_token);
	snprintf(t->ip, sizeof(t->ip), "%s", to->ip ? to->ip : "");
	snprintf(t->boot_told, sizeof(t->boot_told), "%s",
		 to->boot_told ? to->boot_told : "");
	copy(t->spool, to->spool);
	t->spool_seq = to->spool_seq;
	t->pause_ms = PAUSE_FIRST_MS;
	line_init(&t->control, t, LINK_CONTROL);
	line_init(&t->relay, t, LINK_RELAY);
	t->next = host->tethers;
	t->at = &host->tethers;
	if (t->next)
		t->next->at = &t->next;
	host->tethers = t;
	uplink_listen(t);
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
	uplink_deafen(t);
	tether_down(t);
}

void tethers_close(struct host *host)
{
	while (host->tethers)
		tether_close(host->tethers);
	uplinks_close(host);
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
	int64_t now = clock_boot_ms();
	struct tether *next;

	for (struct tether *t = host->tethers; t; t = next) {
		next = t->next;
		line_tick(&t->control, now);
		line_tick(&t->relay, now);
		daemon_tick(t, now);
		push_tick(t, now);
		if (t->up || t->dial_at > now || t->control.state != LINE_IDLE ||
		    t->relay.state != LINE_IDLE)
			continue;
		line_dial(&t->control);
		line_dial(&t->relay);
	}
}

void tethers_leap(struct host *host, int64_t ms)
{
	for (struct tether *t = host->tethers; t; t = t->next) {
		line_leap(&t->control, ms);
		line_leap(&t->relay, ms);
		if (t->daemon.heard_at)
			t->daemon.heard_at += ms;
	}
}

/* A message for one, or for several: then each guest of the team looks. */
void tether_event(struct host *host, const struct host_event_row *e)
{
	if (e->kind != EVENT_MESSAGE_SENT && e->kind != EVENT_ASSIGNMENT_CANCELLED)
		return;
	for (struct tether *t = host->tethers; t; t = t->next)
		if (t->agent && (e->target ? t->agent == e->target : t->team == e->team))
			push_poke(t);
}
