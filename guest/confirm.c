#include "guest/confirm.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* A caller that promises to confirm and never does costs no more memory than these. */
enum { CONFIRMS_MAX = 1000 };

/* Passed on, and not known to have arrived. */
struct confirm {
	struct confirm *next;
	json_t *id; /* the caller's */
	int64_t number; /* of the request to the host */
};

static void confirm_end(struct guest *g, struct confirm *k, enum answer_end end)
{
	ask_settle(g, k->number, end);
	json_decref(k->id);
	free(k);
}

/* The oldest counts as lost, as if its caller had gone: it stands last. */
static void confirm_drop_oldest(struct peer *peer)
{
	struct confirm **at = &peer->confirms, *k;

	while ((*at)->next)
		at = &(*at)->next;
	k = *at;
	*at = NULL;
	peer->n_confirms--;
	confirm_end(peer->guest, k, ANSWER_LEFT);
}

void confirm_keep(struct guest_request *q)
{
	struct confirm *k;

	if (!q->packet.id || !json_is_true(json_object_get(q->packet.json, "confirms")))
		return;
	k = xcalloc(1, sizeof(*k));
	if (q->peer->n_confirms == CONFIRMS_MAX)
		confirm_drop_oldest(q->peer);
	*k = (struct confirm){ q->peer->confirms, json_incref((json_t *)q->packet.id),
			       q->asked };
	q->peer->confirms = k;
	q->peer->n_confirms++;
}

static bool confirm_settle(struct peer *peer, const char *name, bool arrived)
{
	for (struct confirm **at = &peer->confirms; *at; at = &(*at)->next) {
		struct confirm *k = *at;

		if (!wire_id_is(k->id, name))
			continue;
		*at = k->next;
		peer->n_confirms--;
		confirm_end(peer->guest, k, arrived ? ANSWER_ARRIVED : ANSWER_LOST);
		return true;
	}
	return false;
}

/* Ends the request `name` as if its caller were gone: nobody waits for it. */
static void drop_live(struct peer *peer, const char *name)
{
	for (struct guest_request *q = peer->live; q; q = q->next)
		if (q->gone && q->packet.id && wire_id_is(q->packet.id, name)) {
			q->gone(q);
			return;
		}
}

void confirm_hear(struct guest_request *q)
{
	const char *name = json_string_value(json_object_get(q->packet.json, "request"));
	bool arrived = strcmp(q->packet.type, "Arrived") == 0;
	struct peer *peer = q->peer;

	if (name && !confirm_settle(peer, name, arrived) && !arrived)
		drop_live(peer, name);
	guest_request_free(q);
}

void confirms_drop(struct peer *peer)
{
	struct confirm *k;

	peer->n_confirms = 0;
	while ((k = peer->confirms)) {
		peer->confirms = k->next;
		confirm_end(peer->guest, k, ANSWER_LEFT);
	}
}
