/*
 * arrive - answers that gave something, until they are known to have arrived.
 *
 * An answer counts as arrived once it is written and the client has sent a request
 * behind it; a request that was sent before says nothing.  A receive names the answers
 * of its inbox that have arrived and were not cancelled: only their messages are
 * acknowledged.  Messages that are taken for good are taken with the first request, but
 * a ping, that the client sends behind the answer.
 *
 * An answer that could not be written is settled as lost with the client.  A client that
 * cancels a request may not have read its answer, though that is written: its messages
 * are handed out again, and its claim is given back unless the work began or a later
 * request named the task.  But where the answer was seen to be read before the cancel was
 * sent, the cancel means nothing: clients on a common library send one for each request
 * of a turn when the turn ends, long after they have shown its answer to a model.
 */
#include "core/base/alloc.h"
#include "mcp/mcp_peer.h"

#include <stdlib.h>
#include <string.h>

#include "ops.gen.h"

enum { ARRIVALS_MAX = 64 };

struct arrival {
	struct arrival *next;
	char *id; /* of the request, as JSON text */
	int64_t number; /* of the call */
	char *name; /* of the hand-out; NULL: it is a claim */
	json_t *lost; /* arguments to take the answer back; NULL: nothing was claimed */
	const struct answers *with; /* it goes out with these */
	const struct request *named_by; /* a receive that is under way */
	bool written;
	uint64_t sent; /* bytes that the client had sent before it was written */
	bool seen_read; /* the client has read it, and it had sent so many bytes until then */
	uint64_t read_by;
	bool takes; /* settled by arrive_read() */
};

static bool receives(const struct op *op)
{
	return op->flags & OP_REQUEST;
}

static void arrival_free(struct arrival *a)
{
	free(a->id);
	free(a->name);
	json_decref(a->lost);
	free(a);
}

/* Whether the message in hand was sent behind the answer. */
static bool arrive_is_read(const struct mcp *m, const struct arrival *a)
{
	return a->written && m->at >= a->sent;
}

static struct arrival *arrive_take(struct arrival **at)
{
	struct arrival *a = *at;

	*at = a->next;
	a->next = NULL;
	return a;
}

/* --- before the call ------------------------------------------------------------ */

/* The value of an operation's field, under whichever of its names it was given. */
static json_t *argument(const struct op *op, json_t *args, const char *name)
{
	const struct field *field = field_find(op->in, name);

	return field ? json_object_get(args, field_spelling(field, args)) : NULL;
}

/* The arguments of the message.seen that takes an answer back: whose it was. */
static json_t *lost_of(const struct op *op, json_t *args)
{
	return json_pack("{s:O*, s:O*}", "agent", argument(op, args, "agent"), "team",
			 argument(op, args, "team"));
}

/* Ids of tasks are numbers, written with `#` and any zeros before them. */
static bool names_task(json_t *one, json_t *other)
{
	const char *a = json_string_value(one), *b = json_string_value(other);

	return a && b && strcmp(a + strspn(a, "#0"), b + strspn(b, "#0")) == 0;
}

/* A client that names the task of a claim has read its answer: the claim stays its own.
 * A team that only one of them names may be the other's. */
static void drop_claims_of(struct mcp *m, const struct op *op, json_t *args)
{
	json_t *task = argument(op, args, "task"), *team = argument(op, args, "team");
	struct arrival **at = &m->arrivals;

	while (task && *at) {
		struct arrival *a = *at;
		json_t *its = json_object_get(a->lost, "team");

		if (a->written && !a->name &&
		    names_task(task, json_object_get(a->lost, "task")) &&
		    (!team || !its || json_equal(team, its)))
			arrival_free(arrive_take(at));
		else
			at = &a->next;
	}
}

static bool arrive_same(json_t *a, json_t *b, const char *key)
{
	json_t *one = json_object_get(a, key), *other = json_object_get(b, key);

	return one == other || json_equal(one, other);
}

static void name_seen(struct request *r, json_t *args)
{
	json_t *given = json_object_get(args, "seen");
	json_t *names = json_is_array(given) ? json_incref(given) : json_array();

	if (json_is_string(given))
		json_array_append(names, given);
	for (struct arrival *a = r->mcp->arrivals; a; a = a->next) {
		if (!arrive_is_read(r->mcp, a) || !a->name ||
		    !arrive_same(a->lost, r->lost, "agent") ||
		    !arrive_same(a->lost, r->lost, "team"))
			continue;
		json_array_append_new(names, json_string(a->name));
		if (!a->named_by)
			a->named_by = r;
	}
	if (json_array_size(names) > 0)
		json_object_set(args, "seen", names);
	json_decref(names);
}

static bool is_zero(const json_t *value)
{
	return json_is_integer(value) && !json_integer_value(value);
}

void arrive_prepare(struct request *r, const struct op *op, json_t *args)
{
	const char *key = op_key(op);
	char made[37];

	drop_claims_of(r->mcp, op, args);
	if (!op->gives)
		return;
	r->lost = lost_of(op, args);
	if (!json_object_get(args, key)) {
		client_key(made);
		json_object_set_new(args, key, json_string(made));
	}
	if (op->gives == GIVES_CLAIM || !param_text(args, key))
		return;
	r->handout = xstrdup(param_text(args, key));
	json_object_set_new(r->lost, "lost", json_pack("[s]", r->handout));
	if (receives(op)) {
		r->takes = is_zero(argument(op, args, "lease_seconds"));
		name_seen(r, args);
	}
}

/* --- behind it -------------------------------------------------------------------- */

/* The claim in a result: task, epoch, agent and team; NULL where nothing was claimed. */
static json_t *read_claim(json_t *whose, const char *result)
{
	json_t *answer = json_loads(result, 0, NULL), *claim = NULL;
	json_t *epoch = json_object_get(answer, "epoch");
	json_t *task = json_object_get(json_object_get(answer, "task"), "id");

	if (epoch && task) {
		claim = json_incref(whose);
		json_object_set(claim, "task", task);
		json_object_set(claim, "epoch", epoch);
	}
	json_decref(answer);
	return claim;
}

static void drop_named(struct request *r)
{
	struct arrival **at = &r->mcp->arrivals;

	while (*at)
		if ((*at)->named_by == r)
			arrival_free(arrive_take(at));
		else
			at = &(*at)->next;
}

/* If there are too many, drops the oldest claim; without claims, the oldest hand-out.  A
 * hand-out that was read and is forgotten would be handed out again. */
static void arrive_drop_oldest(struct mcp *m)
{
	struct arrival **oldest = NULL, **claim = NULL;
	size_t n = 0;

	for (struct arrival **at = &m->arrivals; *at; at = &(*at)->next, n++) {
		if (!(*at)->written)
			continue;
		oldest = at;
		if (!(*at)->name)
			claim = at;
	}
	if (n > ARRIVALS_MAX && oldest)
		arrival_free(arrive_take(claim ? claim : oldest));
}

void arrive_answered(struct request *r, const char *result)
{
	struct mcp *m = r->mcp;
	struct arrival *a;

	if (!r->op->gives || !result)
		return;
	drop_named(r);
	a = xcalloc(1, sizeof(*a));
	a->id = xstrdup(r->id);
	a->number = client_telling(m->client);
	a->with = r->with;
	a->takes = r->takes;
	if (r->handout) {
		a->name = xstrdup(r->handout);
		a->lost = json_incref(r->lost);
	} else {
		a->lost = read_claim(r->lost, result);
	}
	a->next = m->arrivals;
	m->arrivals = a;
	arrive_drop_oldest(m);
}

void arrive_forget(struct request *r)
{
	for (struct arrival *a = r->mcp->arrivals; a; a = a->next)
		if (a->named_by == r)
			a->named_by = NULL;
	free(r->handout);
	json_decref(r->lost);
}

void arrive_sent(struct mcp *m, const struct answers *with)
{
	for (struct arrival *a = m->arrivals; a; a = a->next)
		if (a->with == with)
			a->with = NULL;
}

void arrive_read(struct mcp *m)
{
	struct arrival **at = &m->arrivals;

	while (*at) {
		struct arrival *a = *at;

		if (!arrive_is_read(m, a) || !a->takes) {
			at = &a->next;
			continue;
		}
		client_settle(m->client, a->number, true);
		arrival_free(arrive_take(at));
	}
}

void mcp_wrote(struct mcp *m, bool arrived, uint64_t sent)
{
	struct arrival **at = &m->arrivals;

	while (*at) {
		struct arrival *a = *at;

		if (a->written || a->with) {
			at = &a->next;
			continue;
		}
		a->written = true;
		a->sent = sent;
		if (!arrived || !a->takes || m->options.eras == ERA_MODERN)
			client_settle(m->client, a->number, arrived);
		if (arrived && a->lost && m->options.eras != ERA_MODERN)
			at = &a->next;
		else
			arrival_free(arrive_take(at));
	}
}

bool mcp_has_answers(const struct mcp *m)
{
	return m->arrivals != NULL;
}

void mcp_settle(struct mcp *m)
{
	while (m->arrivals) {
		struct arrival *a = arrive_take(&m->arrivals);

		if (a->written && a->takes)
			client_settle(m->client, a->number, true);
		arrival_free(a);
	}
}

bool mcp_has_unread(const struct mcp *m)
{
	for (const struct arrival *a = m->arrivals; a; a = a->next)
		if (a->written && !a->seen_read)
			return true;
	return false;
}

void mcp_was_read(struct mcp *m, uint64_t sent)
{
	for (struct arrival *a = m->arrivals; a; a = a->next) {
		if (!a->written || a->seen_read)
			continue;
		a->seen_read = true;
		a->read_by = sent;
	}
}

static void back_done(void *arg, const char *result, const struct fault *f)
{
	(void)arg, (void)result, (void)f; /* the outcome changes nothing any more */
}

void arrive_cancel(struct mcp *m, const char *id)
{
	struct arrival **at = &m->arrivals, *a;

	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	if (!*at || ((*at)->seen_read && m->at >= (*at)->read_by))
		return;
	a = arrive_take(at);
	if (!a->written || a->takes)
		client_settle(m->client, a->number, false);
	else
		client_start(m->client, op_message_seen, a->lost, back_done, NULL);
	arrival_free(a);
}

void arrivals_release(struct mcp *m)
{
	while (m->arrivals)
		arrival_free(arrive_take(&m->arrivals));
}
