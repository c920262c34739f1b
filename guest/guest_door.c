#include "guest/guest_door.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "guest/guest_ask.h"
#include "guest/guest_serve.h"

/* An answer that the guest passed on to a caller, if the caller has not yet confirmed that the
 * answer arrived. */
struct confirm {
	struct receipt receipt;
	int64_t number; /* number of the guest's request to the host */
};

/* Tells the host whether the answer of `k` arrived, and frees `k`. Returns false if `k` is
 * NULL. */
static bool confirm_end(struct guest *g, struct confirm *k, enum answer_end end)
{
	if (!k)
		return false;
	ask_settle(g, k->number, end);
	free(k);
	return true;
}

/* If the request's caller confirms answers, stores that the answer was passed on and is not
 * confirmed yet. If too many answers wait for a confirmation, the oldest answer is treated as
 * if its caller had left. */
static void confirm_keep(struct guest_request *q)
{
	struct confirm *k;

	if (!q->packet.id || !json_is_true(json_object_get(q->packet.json, "confirms")))
		return;
	k = xcalloc(1, sizeof(*k));
	k->number = q->asked;
	k = receipt_keep(&q->peer->confirms, &k->receipt, q->packet.id);
	confirm_end(q->guest, k, ANSWER_LEFT);
}

static bool confirm_settle(struct peer *peer, const char *name, bool arrived)
{
	return confirm_end(peer->guest, receipt_take(&peer->confirms, name),
			   arrived ? ANSWER_ARRIVED : ANSWER_LOST);
}

/* Ends the running request `name` as if its caller had left, since the caller has cancelled
 * this request. */
static void drop_live(struct peer *peer, const char *name)
{
	for (struct guest_request *q = peer->live; q; q = q->next)
		if (q->gone && q->packet.id && wire_id_is(q->packet.id, name)) {
			q->gone(q);
			return;
		}
}

/* Serves a message Arrived or Cancel, which is about an earlier request of the same caller.
 * Frees `q`. */
static void confirm_hear(struct guest_request *q)
{
	const char *name = json_find_text(q->packet.json, "request");
	bool arrived = strcmp(q->packet.type, "Arrived") == 0;
	struct peer *peer = q->peer;

	if (name && !confirm_settle(peer, name, arrived) && !arrived)
		drop_live(peer, name);
	guest_request_free(q);
}

void door_confirms_drop(struct peer *peer)
{
	while (confirm_end(peer->guest, receipt_take(&peer->confirms, NULL), ANSWER_LEFT))
		;
}

/* --- the host ------------------------------------------------------------------- */

void door_host_came(struct peer *peer, const struct wire_hello *hello)
{
	struct guest *g = peer->guest;

	if (peer->port != WIRE_CONTROL || strcmp(hello->role, "host") != 0)
		return;
	g->host = peer;
	snprintf(g->team, sizeof(g->team), "%s", hello->team ? hello->team : "");
	snprintf(g->agent, sizeof(g->agent), "%s", hello->agent ? hello->agent : "");
}

void door_host_went(struct peer *peer)
{
	struct guest *g = peer->guest;

	if (g->host != peer)
		return;
	g->host = NULL;
	ask_host_went(g);
}

/* --- requests -------------------------------------------------------------------- */

/* Called when the caller has left. Ends the request, and drops the host's answer. */
static void guest_door_gone(struct guest_request *q)
{
	struct guest *g = q->guest;
	struct asking *a = q->owner;

	guest_request_free(q);
	ask_drop(g, a);
}

static void answered(void *arg, json_t *answer, const struct fault *f)
{
	struct guest_request *q = arg;

	q->owner = NULL;
	q->gone = NULL;
	if (!answer) {
		guest_request_fail(q, f);
		return;
	}
	if (json_object_get(answer, "result"))
		confirm_keep(q);
	if (q->packet.id)
		json_object_set(answer, "id", (json_t *)q->packet.id);
	guest_request_pass(q, answer);
}

static int pass_on(struct guest_request *q, struct fault *f)
{
	json_t *json = json_copy(q->packet.json);

	if (!json)
		out_of_memory();
	if (q->peer->session)
		json_object_set_new(json, "session", json_string(q->peer->session));
	q->owner = ask_host(q->guest, json, answered, q, f);
	if (q->owner) {
		q->asked = ask_number(q->owner);
		q->gone = guest_door_gone;
	}
	json_decref(json);
	return f->code;
}

/* Answers a client's Hello. The door belongs to the workspace's agent, so a Hello of another
 * agent or team is refused. */
static int answer_client(struct guest_request *q, struct fault *f)
{
	const struct wire_hello *hello = q->body;
	struct guest *g = q->guest;
	struct wire_hello own = {
		.version = g->options->version,
		.role = "guest",
		.team = *g->team ? g->team : NULL,
		.agent = *g->agent ? g->agent : NULL,
		.workspace = spool_owner(g->spool),
		.boot_id = g->boot_id,
	};

	q->peer->hello = true;
	if (*g->agent && hello->agent && strcmp(hello->agent, g->agent) != 0)
		return fault_set(f, FAULT_DENIED, "/agent",
				 "this workspace belongs to %.64s, not to %.64s",
				 g->agent, hello->agent);
	if (*g->team && hello->team && strcmp(hello->team, g->team) != 0)
		return fault_set(f, FAULT_DENIED, "/team",
				 "this workspace belongs to team %.64s", g->team);
	free(q->peer->session);
	q->peer->session = xstrdup(hello->session);
	guest_request_answer(q, "Hello", &own);
	return 0;
}

int door_serve(struct guest_request *q, struct fault *f)
{
	const struct wire *wire = q->packet.wire;
	void *body;

	if (packet_belongs(&q->packet, SIDE_GUEST, WIRE_CONTROL, f))
		return f->code;
	if (strcmp(wire->name, "Hello") == 0) {
		body = arena_alloc(&q->arena, wire->record->size + 1);
		if (packet_decode_as(&q->packet, wire->record, body, &q->arena, f))
			return f->code;
		q->body = body;
		return answer_client(q, f);
	}
	if (strcmp(wire->name, "Arrived") == 0 || strcmp(wire->name, "Cancel") == 0) {
		confirm_hear(q);
		return 0;
	}
	return pass_on(q, f);
}

int door_open(struct guest *g, const char *folder, struct fault *f)
{
	struct link_address at = { .kind = LINK_UNIX };

	snprintf(at.path, sizeof(at.path), "%s", folder);
	snprintf(g->door, sizeof(g->door), "%s/door.sock", folder);
	return peer_listen_open(&g->listeners[2], g, WIRE_DOOR, &at, f);
}
