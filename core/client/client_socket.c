/*
 * client_socket - calls through the host, as frames over a Unix socket.
 *
 * A call that waits, or whose caller is not the client's own identity, gets a connection of its
 * own. One shared connection carries all other calls. To cancel a call that has its own
 * connection, the client closes the connection. For a cancelled call the host hands out no
 * message and no claim.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/version.h"
#include "core/client/client_inside.h"
#include "core/wire/frame.h"
#include "core/wire/wire.h"

struct client_conn {
	int fd;
	struct text out; /* bytes to send */
	size_t sent;
	struct frame_reader in;
	bool closing; /* tickets are being removed from the link */
	bool busy; /* client_socket_take_bytes() uses the link, and frees the link later
		      if the link was closed */
};

/* --- a connection ----------------------------------------------------------------- */

static int64_t patience_of(const struct client *c)
{
	return c->o.hurry_ms ? c->o.hurry_ms : SILENCE_MS;
}

static int socket_connect(const char *path, int64_t ms)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -1;
	memcpy(name.sun_path, path, strnlen(path, sizeof(name.sun_path) - 1));
	rc = connect(fd, (struct sockaddr *)&name, sizeof(name));
	if (rc && errno == EAGAIN) { /* the host's queue is full: wait a while */
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		fcntl(fd, F_SETFL, 0);
		rc = connect(fd, (struct sockaddr *)&name, sizeof(name));
		fcntl(fd, F_SETFL, O_NONBLOCK);
	}
	/* The client's token must not be sent to a socket of another user. */
	if (!rc && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	    (peer.uid == geteuid() || !peer.uid))
		return fd;
	close(fd);
	return -1;
}

static void add_frame(struct text *out, json_t *json)
{
	struct fault f = { 0 };
	size_t start = frame_open(out);
	char *text = json_dumps(json, JSON_COMPACT);

	if (text)
		text_add(out, text, strlen(text));
	free(text);
	frame_close(out, start, &f);
}

static void client_socket_set_text(json_t *json, const char *name, const char *value)
{
	if (value)
		json_object_set_new(json, name, json_string(value));
}

/* `by_default`: the team that the client's settings name, or NULL. The host may have read other
 * settings at its start. */
static void say_hello(const struct identity *id, const char *by_default,
		      struct client_conn *l)
{
	json_t *hello = json_pack("{ssssssss}", "type", "Hello", "version", CADRE_VERSION,
				  "role", "client", "boot_id", "");

	client_socket_set_text(hello, "team", id->team);
	client_socket_set_text(hello, "default", by_default ? by_default : "");
	client_socket_set_text(hello, "agent", id->agent);
	client_socket_set_text(hello, "token", id->token);
	client_socket_set_text(hello, "session", id->session);
	if (id->as)
		json_object_set_new(hello, "as", json_true());
	if (id->nobody)
		json_object_set_new(hello, "nobody", json_true());
	if (id->kept)
		json_object_set_new(hello, "kept", json_true());
	add_frame(&l->out, hello);
	json_decref(hello);
}

static struct client_conn *link_open(struct client *c, const struct identity *who)
{
	int fd = socket_connect(c->o.home->socket, patience_of(c));
	struct epoll_event event = { .events = EPOLLIN };
	struct client_conn *l;

	if (fd < 0 && home_follow(c->o.home))
		fd = socket_connect(c->o.home->socket, patience_of(c));
	event.data.ptr = l = fd < 0 ? NULL : calloc(1, sizeof(*l));
	if (!l || epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event)) {
		if (fd >= 0)
			close(fd);
		free(l);
		return NULL;
	}
	l->fd = fd;
	say_hello(who, c->o.home->settings.config.team_default, l);
	return l;
}

/* Frees the debts of a closed link. The host itself takes back the messages and claims of
 * unsettled answers when the link closes. */
static void forget_debts(struct client *c, const struct client_conn *l)
{
	struct debt **at = &c->debts, *d;

	while ((d = *at)) {
		if (d->link == l) {
			*at = d->next;
			free(d);
		} else {
			at = &d->next;
		}
	}
}

void socket_close(struct client *c, struct client_conn *l)
{
	forget_debts(c, l);
	if (c->link == l)
		c->link = NULL;
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	if (l->busy)
		return;
	text_release(&l->out);
	frame_release(&l->in);
	free(l);
}

/* Sends the bytes that the kernel takes now. The other bytes are sent when the kernel has room. */
static bool link_flush(struct client *c, struct client_conn *l)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = l };

	while (l->fd >= 0 && l->sent < l->out.len) {
		ssize_t n = send(l->fd, l->out.data + l->sent, l->out.len - l->sent,
				 MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0) {
			event.events |= EPOLLOUT;
			epoll_ctl(c->epoll, EPOLL_CTL_MOD, l->fd, &event);
			return true;
		}
		l->sent += (size_t)n;
	}
	l->out.len = l->sent = 0;
	return true;
}

static void say_settled(struct client *c, struct client_conn *l, int64_t number,
			bool arrived)
{
	char id[24];
	json_t *word;

	snprintf(id, sizeof(id), "%lld", (long long)number);
	word = json_pack("{ssss}", "type", arrived ? "Arrived" : "Cancel", "request", id);
	add_frame(&l->out, word);
	json_decref(word);
	link_flush(c, l);
}

void socket_settle(struct client *c, struct client_conn *l, int64_t number, bool arrived)
{
	say_settled(c, l, number, arrived);
	socket_leave(c, l);
}

/* --- calls --------------------------------------------------------------------------- */

/* Handles a call that is too large for a frame, such as a long note. Returns false if the call
 * can run in this process without the host. If the call needs the host, fails the call and
 * returns true. */
static bool refuse_frame(struct client *c, struct ticket *t)
{
	if (c->o.home->dir[0] && !(t->op->flags & OP_NEEDS_HOST))
		return false;
	ticket_fail(c, t, FAULT_INVALID, "the arguments are over 4 MiB", NULL);
	return true;
}

bool socket_start(struct client *c, struct ticket *t)
{
	bool own = t->wait_ms > 0 || t->as;
	struct client_conn *l =
		own || !c->link ? link_open(c, t->as ? t->as : &c->o.identity) : c->link;
	json_t *call;
	size_t size;

	if (!l)
		return false;
	if (!own)
		c->link = l;
	size = l->out.len;
	call = json_pack("{sssIsssO}", "type", "Call", "id", (json_int_t)t->number, "op",
			 t->op->name, "args", t->args);
	if (t->confirms)
		json_object_set_new(call, "confirms", json_true());
	if (t->form.brief)
		json_object_set_new(call, "brief", json_true());
	if (t->form.tells)
		json_object_set_new(call, "tells", json_true());
	if (t->form.most)
		json_object_set_new(call, "most", json_integer((json_int_t)t->form.most));
	add_frame(&l->out, call);
	json_decref(call);
	if (l->out.len == size) {
		if (own)
			socket_close(c, l);
		return refuse_frame(c, t);
	}
	t->link = l;
	t->until = clock_steady_ms() + patience_of(c) + t->wait_ms;
	if (!link_flush(c, l))
		socket_drop(c, l);
	return true;
}

/* Fails a call that this process cannot run without a host. The fault's text for a silent host
 * differs from the text for a host that is gone. */
static void fail_silent(struct client *c, struct ticket *t)
{
	const struct home *h = c->o.home;
	pid_t holder = h->dir[0] ? home_holder(h) : 0;
	char text[80];

	snprintf(text, sizeof(text), "the host, process %d, runs but does not answer",
		 (int)holder);
	ticket_fail(c, t, FAULT_UNAVAILABLE, holder ? text : "the host does not answer",
		    holder      ? "the host may still do the call; see `cadre doctor`"
		    : h->dir[0] ? "see `cadre status`; start it with `cadre up`"
				: NULL);
}

/* Repeats a call of a broken connection in this process, with the same key. A call fails
 * instead if its operation needs the host, or if the client has no state folder. */
static void client_socket_repeat(struct client *c, struct ticket *t)
{
	t->link = NULL;
	c->o.direct |= c->o.hurry_ms && c->o.home->dir[0];
	if (!c->o.home->dir[0] || t->op->flags & OP_NEEDS_HOST)
		fail_silent(c, t);
	else
		direct_start(c, t);
}

static struct ticket *ticket_of(struct client *c, const struct client_conn *l)
{
	struct ticket *t = c->calls;

	while (t && t->link != l)
		t = t->next;
	return t;
}

void socket_leave(struct client *c, struct client_conn *l)
{
	const struct debt *d = c->debts;

	while (d && d->link != l)
		d = d->next;
	if (l != c->link && !d && !ticket_of(c, l))
		socket_close(c, l);
}

void socket_part(struct client *c)
{
	struct client_conn *l = c->link;

	c->link = NULL;
	if (l)
		socket_leave(c, l);
}

void socket_drop(struct client *c, struct client_conn *l)
{
	struct ticket *t;

	if (l->closing)
		return;
	l->closing = true;
	if (c->link == l)
		c->link = NULL;
	epoll_ctl(c->epoll, EPOLL_CTL_DEL, l->fd, NULL);
	/* Tells the host that all answers arrived, so that the host does not take back the
	 * answers' messages and claims. The repeated call under the same key gets the same
	 * answer. */
	for (t = c->calls; t; t = t->next)
		if (t->link == l && t->confirms)
			say_settled(c, l, t->number, true);
	while ((t = ticket_of(c, l)))
		client_socket_repeat(c, t);
	socket_close(c, l);
}

static struct ticket *ticket_numbered(struct client *c, const struct client_conn *l,
				      int64_t number)
{
	struct ticket *t = c->calls;

	while (t && (t->number != number || t->link != l))
		t = t->next;
	return t;
}

/* Ends a call with the member `result` of its CallResult frame. `result` must be an object. */
static void end_with_result(struct client *c, struct ticket *t, const json_t *json)
{
	const json_t *result = json_object_get(json, "result");
	bool right = !strcmp(json_text_at(json, "type"), "CallResult");
	char *text = right && json_is_object(result) ? json_dumps(result, JSON_COMPACT)
						     : NULL;
	struct fault f = { 0 };

	if (text)
		ticket_end(c, t, text, NULL);
	else {
		fault_set(&f, FAULT_INTERNAL, "", "the host answers with '%.64s'",
			  json_text_at(json, "type"));
		ticket_end(c, t, NULL, &f);
	}
	free(text);
}

/* Takes a frame. An error without a call's number answers the Hello. The error of a Hello ends
 * the first call, and the host closes the connection. */
static void client_socket_take_frame(struct client *c, struct client_conn *l,
				     const json_t *json)
{
	const json_t *id = json_object_get(json, "id");
	bool bad = !strcmp(json_text_at(json, "type"), "Error");
	struct fault f = { 0 };
	struct ticket *t = ticket_numbered(c, l, json_integer_value(id));

	c->hosted = true;
	if (!t && !(bad && !id && (t = ticket_of(c, l))))
		return;
	t->link = NULL;
	if (t->confirms && !bad)
		client_owe(c, t, l, NULL);
	else
		socket_leave(c, l);
	if (bad) {
		wire_read_fault(json, &f);
		ticket_end(c, t, NULL, &f);
	} else {
		end_with_result(c, t, json);
	}
}

/* Takes the frames in the received bytes. When a call is answered, the call's owner may close
 * the link. */
static void client_socket_take_bytes(struct client *c, struct client_conn *l,
				     const char *data, size_t len)
{
	struct fault f = { 0 };
	size_t used;
	json_t *json;

	l->busy = true;
	for (; len && l->fd >= 0; data += used, len -= used) {
		int rc = frame_read(&l->in, data, len, &used, &f);

		json = rc > 0 ? json_loadb(l->in.body, l->in.size, 0, NULL) : NULL;
		if (json)
			client_socket_take_frame(c, l, json);
		else if (rc)
			socket_drop(c, l);
		json_decref(json);
	}
	l->busy = false;
	if (l->fd < 0)
		socket_close(c, l);
}

void socket_step(struct client *c, struct client_conn *l, unsigned events)
{
	char data[65536];
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = l };
	ssize_t n;

	if (events & EPOLLOUT) {
		epoll_ctl(c->epoll, EPOLL_CTL_MOD, l->fd, &event);
		if (!link_flush(c, l))
			return socket_drop(c, l);
	}
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	n = recv(l->fd, data, sizeof(data), 0);
	if (n > 0)
		client_socket_take_bytes(c, l, data, (size_t)n);
	else if (!n || (errno != EAGAIN && errno != EINTR))
		socket_drop(c, l);
}
