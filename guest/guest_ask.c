#include "guest/guest_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

enum { WAITING_MOST = 4 << 20, ID_MOST = 32 };

/* A request that the host has not yet answered. */
struct asking {
	struct asking *next, **place;
	int64_t number;
	const struct wire *type; /* type of the request; the answer's type depends on this
				    type */
	asked_done *done;
	void *arg;
};

static void name_number(int64_t number, char id[ID_MOST])
{
	snprintf(id, ID_MOST, "guest-%lld", (long long)number);
}

static void name_request(const struct asking *a, char id[ID_MOST])
{
	name_number(a->number, id);
}

static void guest_ask_forget(struct asking *a)
{
	*a->place = a->next;
	if (a->next)
		a->next->place = a->place;
	free(a);
}

static int no_host(struct fault *f)
{
	fault_set(f, FAULT_UNAVAILABLE, "", "no host is linked to this workspace");
	f->retry_after_ms = 1000;
	return f->code;
}

static int send_on(struct guest *g, const json_t *message, struct fault *f)
{
	if (!g->host)
		return no_host(f);
	if (uv_stream_get_write_queue_size((uv_stream_t *)&g->host->pipe) > WAITING_MOST)
		return fault_set(f, FAULT_EXHAUSTED, "", "the host does not read");
	return peer_pass(g->host, message, f);
}

struct asking *ask_host(struct guest *g, json_t *message, asked_done *done, void *arg,
			struct fault *f)
{
	struct asking *a = xcalloc(1, sizeof(*a));
	char id[ID_MOST];

	a->number = ++g->last_asking;
	a->type = wire_find(json_find_text(message, "type"));
	a->done = done;
	a->arg = arg;
	name_request(a, id);
	json_object_set_new(message, "id", json_string(id));
	if (send_on(g, message, f)) {
		free(a);
		return NULL;
	}
	a->next = g->asking;
	a->place = &g->asking;
	if (a->next)
		a->next->place = &a->next;
	g->asking = a;
	return a;
}

int64_t ask_number(const struct asking *a)
{
	return a->number;
}

/* Sends Arrived or Cancel even if many bytes wait to be sent. Without Arrived or Cancel the
 * host would go on holding the messages and claims of the answer. */
void ask_settle(struct guest *g, int64_t number, enum answer_end end)
{
	char id[ID_MOST];
	struct fault f = { 0 };
	json_t *word;

	if (!g->host)
		return;
	name_number(number, id);
	word = json_pack("{s:s, s:s}", "type",
			 end == ANSWER_ARRIVED ? "Arrived" : "Cancel", "request", id);
	if (end == ANSWER_LEFT)
		json_object_set_new(word, "gone", json_true());
	peer_pass(g->host, word, &f);
	json_decref(word);
}

void ask_drop(struct guest *g, struct asking *a)
{
	int64_t number = a->number;

	guest_ask_forget(a);
	ask_settle(g, number, ANSWER_LOST);
}

static struct asking *guest_ask_find(struct guest *g, const char *id)
{
	struct asking *a = g->asking;
	char name[ID_MOST];

	for (; a; a = a->next) {
		name_request(a, name);
		if (strcmp(name, id) == 0)
			break;
	}
	return a;
}

/* Checks the type of an answer. Fills a fault unless the answer is an Error, or has the type
 * that belongs to the request. */
static void guest_ask_judge(const struct asking *a, const struct packet *p,
			    struct fault *f)
{
	const struct wire *right = wire_answer(a->type, SIDE_GUEST);

	if (strcmp(p->type, "Error") != 0 && p->wire != right)
		fault_set(f, FAULT_IO, "", "the host answers %s with '%.64s', not %s",
			  a->type->name, p->type, right->name);
}

bool ask_hear(struct guest_request *heard)
{
	struct packet *p = &heard->packet;
	const char *id = json_string_value(p->id);
	struct fault f = { 0 };
	struct asking *a;
	asked_done *done;
	void *arg;

	if (!id || strncmp(id, "guest-", 6) != 0 || (p->wire && p->wire->ports))
		return false;
	/* Only the host may answer requests of this guest. */
	a = heard->peer == heard->guest->host ? guest_ask_find(heard->guest, id) : NULL;
	if (!a)
		return true; /* the guest has dropped this request */
	guest_ask_judge(a, p, &f);
	done = a->done;
	arg = a->arg;
	guest_ask_forget(a);
	json_object_del(p->json, "id");
	p->id = NULL;
	done(arg, f.code ? NULL : p->json, &f);
	return true;
}

void ask_host_went(struct guest *g)
{
	struct fault f = { 0 };

	no_host(&f);
	while (g->asking) {
		asked_done *done = g->asking->done;
		void *arg = g->asking->arg;

		guest_ask_forget(g->asking);
		done(arg, NULL, &f);
	}
}
