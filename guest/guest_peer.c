#include "guest/guest_peer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/guest_door.h"

enum {
	STRANGER_MOST = 4096, /* maximum number of bytes of a stranger's Hello */
	WAITING_MOST = 16, /* the guest reads no more from a peer with this many waiting
			      requests */
	UNREAD_MOST = 8 << 20, /* the guest reads no more from a peer with this many
				  unread bytes */
	UNHEARD_MOST = 64 << 10, /* a peer with this many unread bytes gets only
				    answers */
};

struct outgoing {
	uv_write_t write;
	struct peer *peer;
	struct text text;
	bool last; /* the connection is closed after this text */
};

static void resume(struct peer *peer);

/* --- writing ----------------------------------------------------------------- */

static void written(uv_write_t *write, int status)
{
	struct outgoing *o = write->data;
	struct peer *peer = o->peer;
	bool last = o->last || status < 0;

	text_release(&o->text);
	free(o);
	if (last)
		peer_close(peer);
	else
		resume(peer);
}

static void send_text(struct peer *peer, struct text *text, bool last)
{
	struct outgoing *o = calloc(1, sizeof(*o));
	uv_buf_t buf = uv_buf_init(text->data, (unsigned)text->len);

	if (!o || peer->closing) {
		text_release(text);
		free(o);
		return;
	}
	*o = (struct outgoing){ .peer = peer, .text = *text, .last = last };
	o->write.data = o;
	if (uv_write(&o->write, (uv_stream_t *)&peer->pipe, &buf, 1, written)) {
		text_release(text);
		free(o);
		peer_close(peer);
	}
}

/* Sends the fault `why`, and then closes the connection. */
static void send_fault(struct peer *peer, const struct fault *why, const json_t *id)
{
	struct text text = { 0 };

	wire_write_fault(&text, why, !peer->hello, id);
	send_text(peer, &text, true);
}

void peer_send(struct peer *peer, const char *type, const void *message)
{
	const uv_stream_t *stream = (const uv_stream_t *)&peer->pipe;
	struct text text = { 0 };
	struct fault f = { 0 };

	if (uv_stream_get_write_queue_size(stream) > UNHEARD_MOST)
		return;
	if (wire_write(&text, type, message, NULL, &f) == 0)
		send_text(peer, &text, false);
	else
		text_release(&text);
}

/* Appends a message as a frame. Fills `f` if the message is too large for a frame. A message
 * that was received in a frame fits again, unless an id was added that makes it too long. */
static void write_json(struct text *text, const json_t *json, struct fault *f)
{
	size_t start = frame_open(text);
	char *s = json_dumps(json, JSON_COMPACT);

	if (s)
		text_add(text, s, strlen(s));
	free(s);
	frame_close(text, start, f);
}

int peer_pass(struct peer *peer, const json_t *message, struct fault *f)
{
	struct text text = { 0 };

	write_json(&text, message, f);
	if (f->code)
		text_release(&text);
	else
		send_text(peer, &text, false);
	return f->code;
}

/* --- requests ------------------------------------------------------------------ */

static void guest_peer_start(struct guest_request *q)
{
	struct peer *peer = q->peer;

	q->next = peer->live;
	q->place = &peer->live;
	if (q->next)
		q->next->place = &q->next;
	peer->live = q;
	if (!q->packet.id)
		peer->busy = q;
	guest_request_serve(q);
}

static void start_next(struct peer *peer)
{
	struct guest_request *q = peer->waiting;

	if (peer->busy || peer->closing || !q)
		return;
	peer->waiting = q->next;
	if (!peer->waiting)
		peer->last_waiting = &peer->waiting;
	peer->n_waiting--;
	guest_peer_start(q);
}

void guest_request_free(struct guest_request *q)
{
	if (q->place) {
		*q->place = q->next;
		if (q->next)
			q->next->place = q->place;
	}
	if (q->peer->busy == q)
		q->peer->busy = NULL;
	packet_release(&q->packet);
	arena_release(&q->arena);
	free(q);
}

static void guest_peer_end(struct guest_request *q, struct text *text)
{
	struct peer *peer = q->peer;

	send_text(peer, text, false);
	guest_request_free(q);
	start_next(peer);
	resume(peer);
}

void guest_request_answer(struct guest_request *q, const char *type, const void *answer)
{
	struct text text = { 0 };
	struct fault f = { 0 };

	if (wire_write(&text, type, answer, q->packet.id, &f))
		wire_write_fault(&text, &f, !q->peer->hello, q->packet.id);
	guest_peer_end(q, &text);
}

void guest_request_fail(struct guest_request *q, const struct fault *why)
{
	struct text text = { 0 };

	wire_write_fault(&text, why, !q->peer->hello, q->packet.id);
	guest_peer_end(q, &text);
}

void guest_request_pass(struct guest_request *q, const json_t *answer)
{
	struct text text = { 0 };
	struct fault f = { 0 };

	write_json(&text, answer, &f);
	if (f.code)
		wire_write_fault(&text, &f, !q->peer->hello, q->packet.id);
	guest_peer_end(q, &text);
}

void guest_request_refuse(struct guest_request *q, const struct fault *why)
{
	struct peer *peer = q->peer;

	uv_read_stop((uv_stream_t *)&peer->pipe);
	peer->refused = true;
	send_fault(peer, why, q->packet.id);
	guest_request_free(q);
}

/* --- reading ------------------------------------------------------------------- */

static void guest_peer_take_frame(struct peer *peer)
{
	struct guest_request *q = calloc(1, sizeof(*q));
	struct fault f = { 0 };

	if (!q) {
		peer_close(peer);
		return;
	}
	q->guest = peer->guest;
	q->peer = peer;
	if (packet_take(&q->packet, &peer->in, &f)) {
		guest_request_fail(q, &f);
	} else if (peer->busy && !q->packet.id) {
		*peer->last_waiting = q;
		peer->last_waiting = &q->next;
		peer->n_waiting++;
	} else {
		guest_peer_start(q);
	}
}

static void guest_peer_take_bytes(struct peer *peer, const char *data, size_t len)
{
	while (len > 0 && !peer->closing && !peer->refused) {
		struct fault f = { 0 };
		size_t used;
		int rc = frame_read(&peer->in, data, len, &used, &f);

		data += used;
		len -= used;
		if (rc == 0 && peer->stranger && peer->in.size > STRANGER_MOST)
			rc = fault_set(&f, FAULT_DENIED, "", "send Hello first");
		if (rc > 0)
			guest_peer_take_frame(peer);
		if (rc < 0) {
			uv_read_stop((uv_stream_t *)&peer->pipe);
			send_fault(peer, &f, NULL);
			return;
		}
	}
}

static void guest_peer_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct peer *peer = handle->data;

	(void)size;
	*buf = uv_buf_init(peer->guest->buffer, sizeof(peer->guest->buffer));
}

static bool is_full(const struct peer *peer)
{
	const uv_stream_t *stream = (const uv_stream_t *)&peer->pipe;

	return peer->n_waiting > WAITING_MOST ||
	       uv_stream_get_write_queue_size(stream) > UNREAD_MOST;
}

static void guest_peer_on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct peer *peer = stream->data;

	if (n < 0) {
		peer_close(peer);
		return;
	}
	guest_peer_take_bytes(peer, buf->base, (size_t)n);
	if (!peer->closing && !peer->refused && is_full(peer)) {
		uv_read_stop(stream);
		peer->paused = true;
	}
}

static void resume(struct peer *peer)
{
	if (!peer->paused || peer->closing || peer->refused || is_full(peer))
		return;
	peer->paused = false;
	uv_read_start((uv_stream_t *)&peer->pipe, guest_peer_alloc, guest_peer_on_read);
}

/* --- peers ---------------------------------------------------------------------- */

static void peer_closed(uv_handle_t *handle)
{
	struct peer *peer = handle->data;

	frame_release(&peer->in);
	free(peer->session);
	free(peer);
}

void peer_close(struct peer *peer)
{
	struct guest_request *q;

	if (peer->closing)
		return;
	peer->closing = true;
	door_host_went(peer);
	door_confirms_drop(peer);
	while ((q = peer->waiting)) {
		peer->waiting = q->next;
		guest_request_free(q);
	}
	/* A running request whose `gone` is NULL ends by itself very soon. */
	for (struct guest_request *next = (q = peer->live) ? q->next : NULL; q;
	     q = next, next = q ? q->next : NULL)
		if (q->gone)
			q->gone(q);
	*peer->place = peer->next;
	if (peer->next)
		peer->next->place = peer->place;
	peer->listener->n_peers--;
	uv_close((uv_handle_t *)&peer->pipe, peer_closed);
}

static void guest_peer_enlist(struct peer *peer)
{
	struct guest *g = peer->guest;

	peer->next = g->peers;
	peer->place = &g->peers;
	if (peer->next)
		peer->next->place = &peer->next;
	g->peers = peer;
	peer->listener->n_peers++;
}

/* Tells a peer that all connections of the socket are in use, and closes the peer's connection.
 * The message is always in the newer dialect. After an InvalidRequest of the older dialect, a
 * host would connect again and speak the older dialect. */
static void guest_peer_turn_away(struct peer *peer)
{
	struct text text = { 0 };
	struct fault f = { 0 };

	fault_set(&f, FAULT_EXHAUSTED, "", "%d links are open already", LINKS);
	wire_write_fault(&text, &f, false, NULL);
	send_text(peer, &text, true);
}

/* Called when all connections of a socket are in use. Closes the connection of the stranger who
 * connected first, so that idle strangers do not keep a host out. Returns false if no stranger
 * except `comer` is connected. */
static bool guest_peer_make_room(struct listener *l, const struct peer *comer)
{
	struct peer *oldest = NULL;

	for (struct peer *p = l->guest->peers; p; p = p->next) /* newest peer first */
		if (p->listener == l && p->stranger && p != comer)
			oldest = p;
	if (!oldest)
		return false;
	guest_peer_turn_away(oldest);
	peer_close(oldest);
	return true;
}

static void guest_peer_on_caller(void *arg, int fd, const struct link_caller *who)
{
	struct listener *l = arg;
	struct peer *peer = calloc(1, sizeof(*peer));

	if (!peer) {
		close(fd);
		return;
	}
	peer->guest = l->guest;
	peer->listener = l;
	peer->port = l->port;
	peer->stranger = who->stranger;
	peer->since = uv_now(&l->guest->loop);
	peer->last_waiting = &peer->waiting;
	uv_pipe_init(&l->guest->loop, &peer->pipe, 0);
	peer->pipe.data = peer;
	guest_peer_enlist(peer);
	if (uv_pipe_open(&peer->pipe, fd)) {
		close(fd);
		peer_close(peer);
	} else if (l->n_peers > LINKS && !guest_peer_make_room(l, peer)) {
		guest_peer_turn_away(peer);
	} else {
		uv_read_start((uv_stream_t *)&peer->pipe, guest_peer_alloc,
			      guest_peer_on_read);
	}
}

void peers_tick(struct guest *g)
{
	struct peer *next;

	for (struct peer *peer = g->peers; peer; peer = next) {
		next = peer->next;
		if (peer->stranger && uv_now(&g->loop) - peer->since > GREET_MS)
			peer_close(peer);
	}
}

int peer_listen_open(struct listener *l, struct guest *g, unsigned port,
		     const struct link_address *at, struct fault *f)
{
	l->guest = g;
	l->port = port;
	l->ear = link_listen(&g->loop, at,
			     port == WIRE_RELAY  ? LINK_RELAY
			     : port == WIRE_DOOR ? LINK_DOOR
						 : LINK_CONTROL,
			     guest_peer_on_caller, l, f);
	return l->ear ? 0 : f->code;
}

void peer_listen_close(struct listener *l)
{
	link_deafen(l->ear);
	l->ear = NULL;
}
