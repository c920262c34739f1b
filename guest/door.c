#include "guest/door.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/serve.h"

enum { WAITING_MOST = 4 << 20, ID_MOST = 32 };

/* --- the host ------------------------------------------------------------------- */

static void name_request(const struct asking *a, char id[ID_MOST])
{
	snprintf(id, ID_MOST, "guest-%lld", (long long)a->number);
}

static void forget(struct asking *a)
{
	*a->place = a->next;
	if (a->next)
		a->next->place = a->place;
	a->q->owner = NULL;
	a->q->gone = NULL;
	free(a);
}

static int no_host(struct fault *f)
{
	fault_set(f, FAULT_UNAVAILABLE, "", "no host is linked to this workspace");
	f->retry_after_ms = 1000;
	return f->code;
}

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
	while (g->asking) {
		struct errand *q = g->asking->q;
		struct fault f = { 0 };

		forget(g->asking);
		no_host(&f);
		errand_fail(q, &f);
	}
}

/* --- requests -------------------------------------------------------------------- */

/* Whoever asked is gone: the host need not wait for it. */
static void gone(struct errand *q)
{
	struct asking *a = q->owner;
	struct peer *host = q->guest->host;
	char id[ID_MOST];
	struct wire_cancel cancel = { .request = id };

	name_request(a, id);
	forget(a);
	errand_free(q);
	if (host)
		peer_send(host, "Cancel", &cancel);
}

static void pass_on(struct errand *q)
{
	struct guest *g = q->guest;
	struct asking *a = calloc(1, sizeof(*a));
	json_t *json = json_copy(q->packet.json);
	char id[ID_MOST];

	if (!a || !json)
		abort();
	a->number = ++g->last_asking;
	a->q = q;
	a->next = g->asking;
	a->place = &g->asking;
	if (a->next)
		a->next->place = &a->next;
	g->asking = a;
	q->owner = a;
	q->gone = gone;
	name_request(a, id);
	json_object_set_new(json, "id", json_string(id));
	if (q->peer->session)
		json_object_set_new(json, "session", json_string(q->peer->session));
	peer_pass(g->host, json);
	json_decref(json);
}

/* The line is its workspace's agent's: who says to be another is told so. */
static int answer_client(struct errand *q, struct fault *f)
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
				 "this workspace is %.64s's, not %.64s's", g->agent,
				 hello->agent);
	if (*g->team && hello->team && strcmp(hello->team, g->team) != 0)
		return fault_set(f, FAULT_DENIED, "/team",
				 "this workspace is of team %.64s", g->team);
	free(q->peer->session);
	q->peer->session = hello->session ? strdup(hello->session) : NULL;
	errand_answer(q, "Hello", &own);
	return 0;
}

int door_serve(struct errand *q, struct fault *f)
{
	const struct wire *wire = q->packet.wire;
	struct peer *host = q->guest->host;
	void *body;

	if (packet_belongs(&q->packet, SIDE_GUEST, WIRE_CONTROL, f))
		return f->code;
	if (strcmp(wire->name, "Hello") == 0) {
		body = arena_alloc(&q->arena, wire->record->size + 1);
		if (packet_decode(&q->packet, body, &q->arena, f))
			return f->code;
		q->body = body;
		return answer_client(q, f);
	}
	if (!host)
		return no_host(f);
	if (uv_stream_get_write_queue_size((uv_stream_t *)&host->pipe) > WAITING_MOST)
		return fault_set(f, FAULT_EXHAUSTED, "", "the host does not read");
	pass_on(q);
	return 0;
}

/* --- answers ------------------------------------------------------------------------ */

bool door_hear(struct errand *heard)
{
	struct packet *p = &heard->packet;
	const char *id = json_string_value(p->id);
	struct asking *a = heard->guest->asking;
	struct errand *q;
	char name[ID_MOST];

	if (!id || strncmp(id, "guest-", 6) != 0 || (p->wire && p->wire->ports))
		return false;
	for (; a; a = a->next) {
		name_request(a, name);
		if (strcmp(name, id) == 0)
			break;
	}
	if (!a)
		return true; /* nobody waits any more */
	q = a->q;
	forget(a);
	json_object_del(p->json, "id");
	p->id = NULL;
	if (q->packet.id)
		json_object_set(p->json, "id", (json_t *)q->packet.id);
	errand_pass(q, p->json);
	return true;
}

int door_open(struct guest *g, const char *folder, struct fault *f)
{
	struct link_address at = { .kind = LINK_UNIX };

	snprintf(at.path, sizeof(at.path), "%s", folder);
	snprintf(g->door, sizeof(g->door), "%s/door.sock", folder);
	return peer_listen_open(&g->listeners[2], g, WIRE_DOOR, &at, f);
}
