/* Calls about messages, and calls that only read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/act.h"

/* --- messages ---------------------------------------------------------------------- */

void choose_send(struct sim *s, struct act *a)
{
	json_t *to = json_array();
	int n = chance(s, 5) ? 3 : 1;

	if (chance(s, 1))
		json_array_append_new(to, json_string("*"));
	else if (chance(s, 3))
		json_array_append_new(to, json_string("role:w"));
	for (; n > 0 && json_array_size(to) < 3; n--)
		json_array_append_new(to, json_string(s->agents[act_mate(s, a)].name));
	if (json_array_size(to) > 1 &&
	    strcmp(json_string_value(json_array_get(to, 0)), "*") == 0)
		while (json_array_size(to) > 1)
			json_array_remove(to, 1);
	json_object_set_new(a->args, "to", to);
	act_text(a, "content", "some words about the work");
	if (chance(s, 10))
		act_text(a, "priority", "urgent");
	if (chance(s, 5))
		act_int(a, "ttl_seconds", 60 + random_below(s, 600));
	act_key(s, a);
}

void end_send(struct sim *s, struct act *a)
{
	const struct message_send_out *out = a->call.out;

	act_must_go(s, a, "its recipients live");
	s->newest = out->seq;
	told_sent(s, act_team(a), out->seq, out->deliveries, out->n_deliveries);
}

void choose_reply(struct sim *s, struct act *a)
{
	struct agent *me = act_caller(s, a);

	if (me->n_held)
		snprintf(a->id, sizeof(a->id), "%s",
			 me->held[random_below(s, (int64_t)me->n_held)].id);
	act_text(a, "message_id",
		 *a->id ? a->id : "00000000-0000-7000-8000-000000000000");
	act_text(a, "content", "an answer");
	act_key(s, a);
}

void end_reply(struct sim *s, struct act *a)
{
	const struct message_reply_out *out = a->call.out;

	if (!*a->id)
		return;
	act_must_go(s, a, "it got that message");
	s->newest = out->seq;
	if (out->acked)
		told_acked(s, a->agent, a->id);
	told_sent(s, act_team(a), out->seq, out->deliveries, out->n_deliveries);
}

/* Sets the argument `seen` to a list of the agent's earlier receives. A receive of the same
 * batch has no answer yet, but is listed too. */
static void name_seen(struct agent *me, struct act *a)
{
	json_t *names = json_array();

	for (size_t i = 0; i < 4 && i < me->n_seen; i++)
		json_array_append_new(names, json_string(me->seen[i]));
	json_object_set_new(a->args, "seen", names);
	if (!a->again)
		snprintf(me->seen[me->n_seen++ % 4], sizeof(me->seen[0]), "%s",
			 me->request);
}

void choose_receive(struct sim *s, struct act *a)
{
	static const int leases[] = { 300, 300, 60, 5, 1, 0 };
	struct agent *me = act_caller(s, a);

	act_int(a, "limit", 1 + random_below(s, 20));
	act_int(a, "lease_seconds", leases[random_below(s, 6)]);
	if (chance(s, 20))
		json_object_set_new(a->args, "keep", json_true());
	a->again = chance(s, 30) && *me->request;
	if (!a->again)
		snprintf(me->request, sizeof(me->request), "%" PRIx64,
			 random_next(s) & 0xffffffff);
	act_text(a, "request_id", me->request);
	name_seen(me, a);
}

void end_receive(struct sim *s, struct act *a)
{
	const struct message_receive_in *in = a->call.in;

	act_must_go(s, a, "it is its own inbox");
	told_received(s, a->agent, a->call.out, true, in->keep);
}

void choose_ack(struct sim *s, struct act *a)
{
	struct agent *me = act_caller(s, a);

	if (me->n_held)
		snprintf(a->id, sizeof(a->id), "%s",
			 me->held[random_below(s, (int64_t)me->n_held)].id);
	act_text(a, "message_ids",
		 *a->id ? a->id : "00000000-0000-7000-8000-000000000000");
}

void end_ack(struct sim *s, struct act *a)
{
	struct agent *me = act_caller(s, a);

	for (size_t i = 0; i < me->n_held; i++)
		if (strcmp(me->held[i].id, a->id) == 0 &&
		    me->held[i].lease_until > s->now)
			act_must_go(s, a, "it holds that message");
	if (a->call.fault.code == FAULT_NONE)
		told_acked(s, a->agent, a->id);
}

/* --- reading ------------------------------------------------------------------------------------ */

void choose_show(struct sim *s, struct act *a)
{
	choose_lead_task(s, a);
}

void end_show(struct sim *s, struct act *a)
{
	const struct task_show_out *out = a->call.out;
	struct task_note *n;

	if (a->call.fault.code != FAULT_NONE)
		return;
	n = task_of(s, act_team(a), a->number);
	if (n->owner >= 0 && must_hold(s, n, n->owner) &&
	    (!out->task.owner || strcmp(out->task.owner, s->agents[n->owner].name)))
		violated(s, "task %" PRId64 " is shown as held by %s, not %s", a->number,
			 out->task.owner ? out->task.owner : "nobody",
			 s->agents[n->owner].name);
}

void choose_again(struct sim *s, struct act *a)
{
	size_t n = s->n_keyed < KEYED ? s->n_keyed : KEYED;
	struct keyed *k;

	if (n == 0)
		return;
	k = &s->keyed[random_below(s, (int64_t)n)];
	json_decref(a->args);
	a->args = json_incref(k->args);
	a->call.op = k->op;
	a->agent = k->agent;
	a->is_operator = k->agent < 0;
	a->made = k->made;
	a->again = true;
}

void end_again(struct sim *s, struct act *a)
{
	if (!a->again)
		return;
	/* The key belongs to a team's row. By now another team may have that team's name. */
	if (a->is_operator && a->call.fault.code == FAULT_CONFLICT)
		return;
	act_must_go(s, a, "its key is known");
	if (!a->call.replayed || a->call.made != a->made)
		violated(s, "%s made %" PRId64 " under the key that had made %" PRId64,
			 a->call.op->name, a->call.made, a->made);
}
