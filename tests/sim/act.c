/* Calls at random, and what their answers must be. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/model.h"

static struct agent *caller_of(struct sim *s, const struct act *a)
{
	return &s->agents[a->agent];
}

static int team_of(const struct act *a)
{
	return a->agent / MEMBERS;
}

static int mate(struct sim *s, const struct act *a)
{
	return team_of(a) * MEMBERS + (int)random_below(s, MEMBERS);
}

static void set_text(struct act *a, const char *key, const char *value)
{
	json_object_set_new(a->args, key, json_string(value));
}

static void set_int(struct act *a, const char *key, int64_t value)
{
	json_object_set_new(a->args, key, json_integer(value));
}

static void set_task(struct act *a)
{
	char id[24];

	snprintf(id, sizeof(id), "%03" PRId64, a->number);
	set_text(a, "task", id);
}

static void set_key(struct sim *s, struct act *a)
{
	char key[40];

	snprintf(key, sizeof(key), "%016" PRIx64 "%016" PRIx64, random_next(s),
		 random_next(s));
	set_text(a, "idempotency_key", key);
}

/* An answer may refuse, but not what the caller was promised. */
static void must_go(struct sim *s, struct act *a, const char *why)
{
	if (a->call.fault.code == FAULT_NONE)
		return;
	violated(s, "%s by %s is refused (%s), but %s", a->call.op->name,
		 caller_of(s, a)->name, a->call.fault.text, why);
}

/* --- messages ---------------------------------------------------------------------- */

static void choose_send(struct sim *s, struct act *a)
{
	json_t *to = json_array();
	int n = chance(s, 5) ? 3 : 1;

	if (chance(s, 1))
		json_array_append_new(to, json_string("*"));
	for (; n > 0 && json_array_size(to) < 3; n--)
		json_array_append_new(to, json_string(s->agents[mate(s, a)].name));
	if (json_array_size(to) > 1 &&
	    strcmp(json_string_value(json_array_get(to, 0)), "*") == 0)
		while (json_array_size(to) > 1)
			json_array_remove(to, 1);
	json_object_set_new(a->args, "to", to);
	set_text(a, "content", "some words about the work");
	if (chance(s, 10))
		set_text(a, "priority", "urgent");
	if (chance(s, 5))
		set_int(a, "ttl_seconds", 60 + random_below(s, 600));
	set_key(s, a);
}

static void end_send(struct sim *s, struct act *a)
{
	const struct message_send_out *out = a->call.out;

	must_go(s, a, "its recipients live");
	s->newest = out->seq;
	told_sent(s, team_of(a), out->seq, out->deliveries, out->n_deliveries);
}

static void choose_reply(struct sim *s, struct act *a)
{
	struct agent *me = caller_of(s, a);

	if (me->n_held)
		snprintf(a->id, sizeof(a->id), "%s",
			 me->held[random_below(s, (int64_t)me->n_held)].id);
	set_text(a, "message_id",
		 *a->id ? a->id : "00000000-0000-7000-8000-000000000000");
	set_text(a, "content", "an answer");
	set_key(s, a);
}

static void end_reply(struct sim *s, struct act *a)
{
	const struct message_reply_out *out = a->call.out;

	if (!*a->id)
		return;
	must_go(s, a, "it got that message");
	s->newest = out->seq;
	if (out->acked)
		told_acked(s, a->agent, a->id);
	told_sent(s, team_of(a), out->seq, out->deliveries, out->n_deliveries);
}

static void choose_receive(struct sim *s, struct act *a)
{
	static const int leases[] = { 300, 300, 60, 5, 1, 0 };
	struct agent *me = caller_of(s, a);

	set_int(a, "limit", 1 + random_below(s, 20));
	set_int(a, "lease_seconds", leases[random_below(s, 6)]);
	if (chance(s, 20))
		json_object_set_new(a->args, "keep", json_true());
	a->again = chance(s, 30) && *me->request;
	if (!a->again)
		snprintf(me->request, sizeof(me->request), "%" PRIx64,
			 random_next(s) & 0xffffffff);
	set_text(a, "request_id", me->request);
}

static void end_receive(struct sim *s, struct act *a)
{
	const struct message_receive_in *in = a->call.in;

	must_go(s, a, "it is its own inbox");
	told_received(s, a->agent, a->call.out, true, in->keep);
}

static void choose_ack(struct sim *s, struct act *a)
{
	struct agent *me = caller_of(s, a);

	if (me->n_held)
		snprintf(a->id, sizeof(a->id), "%s",
			 me->held[random_below(s, (int64_t)me->n_held)].id);
	set_text(a, "message_ids",
		 *a->id ? a->id : "00000000-0000-7000-8000-000000000000");
}

static void end_ack(struct sim *s, struct act *a)
{
	struct agent *me = caller_of(s, a);

	for (size_t i = 0; i < me->n_held; i++)
		if (strcmp(me->held[i].id, a->id) == 0 &&
		    me->held[i].lease_until > s->now)
			must_go(s, a, "it holds that message");
	if (a->call.fault.code == FAULT_NONE)
		told_acked(s, a->agent, a->id);
}

/* --- tasks ---------------------------------------------------------------------------- */

/* One of its own, mostly. */
static void choose_own(struct sim *s, struct act *a)
{
	struct agent *me = caller_of(s, a);

	a->number = 1 + random_below(s, s->teams[team_of(a)].created + 1);
	if (me->n_mine && !chance(s, 5))
		a->number = me->mine[random_below(s, (int64_t)me->n_mine)];
	set_task(a);
}

static void forget_own(struct agent *me, int64_t number)
{
	for (size_t i = 0; i < me->n_mine; i++)
		if (me->mine[i] == number)
			me->mine[i--] = me->mine[--me->n_mine];
}

/* What only the owner may do: NULL if it was refused rightly. */
static struct task_note *end_own(struct sim *s, struct act *a)
{
	struct task_note *n = task_of(s, team_of(a), a->number);
	bool mine = must_hold(s, n, a->agent);

	if (a->call.fault.code != FAULT_NONE) {
		if (!mine)
			forget_own(caller_of(s, a), a->number);
		return NULL;
	}
	if (n->owner >= 0 && n->owner != a->agent && must_hold(s, n, n->owner))
		violated(s, "%s of task %" PRId64 " by %s, but %s holds it",
			 a->call.op->name, a->number, caller_of(s, a)->name,
			 s->agents[n->owner].name);
	return n;
}

static void choose_create(struct sim *s, struct act *a)
{
	int64_t created = s->teams[team_of(a)].created;

	set_text(a, "title", "A thing to do");
	set_int(a, "priority", 1 + random_below(s, 5));
	if (created > 2 && chance(s, 25)) {
		char id[24];

		snprintf(id, sizeof(id), "%" PRId64, created - random_below(s, 2));
		set_text(a, "depends_on", id);
	}
	set_key(s, a);
}

static void end_create(struct sim *s, struct act *a)
{
	const struct task_create_out *out = a->call.out;
	int64_t number;

	must_go(s, a, "its dependencies exist");
	number = atoll(out->task.id);
	task_of(s, team_of(a), number);
	if (number > s->teams[team_of(a)].created)
		s->teams[team_of(a)].created = number;
}

static void choose_claim(struct sim *s, struct act *a)
{
	static const int leases[] = { 900, 900, 60, 5 };

	if (chance(s, 20) && s->teams[team_of(a)].created) {
		a->number = 1 + random_below(s, s->teams[team_of(a)].created);
		set_task(a);
	}
	set_int(a, "lease_seconds", leases[random_below(s, 4)]);
	set_key(s, a);
}

static void end_claim(struct sim *s, struct act *a)
{
	const struct task_claim_out *out = a->call.out;
	struct agent *me = caller_of(s, a);

	if (a->call.fault.code != FAULT_NONE || !out->has_task)
		return;
	told_claimed(s, team_of(a), a->agent, &out->task);
	if (me->n_mine < 8)
		me->mine[me->n_mine++] = atoll(out->task.id);
}

static void end_start(struct sim *s, struct act *a)
{
	end_own(s, a); /* it may have been started before */
}

static void end_heartbeat(struct sim *s, struct act *a)
{
	const struct task_heartbeat_out *out = a->call.out;
	struct task_note *n = task_of(s, team_of(a), a->number);

	if (must_hold(s, n, a->agent))
		must_go(s, a, "it holds the task");
	n = end_own(s, a);
	if (n && n->owner == a->agent)
		n->lease_until = out->lease_until;
}

static void choose_block(struct sim *s, struct act *a)
{
	choose_own(s, a);
	set_text(a, "reason", "waits");
}

static void end_block(struct sim *s, struct act *a)
{
	struct task_note *n = end_own(s, a);

	if (n && n->owner == a->agent)
		n->blocked = true;
}

static void choose_unblock(struct sim *s, struct act *a)
{
	struct agent *me = caller_of(s, a);

	choose_own(s, a);
	for (size_t i = 0; i < me->n_mine; i++)
		if (task_of(s, team_of(a), me->mine[i])->blocked)
			a->number = me->mine[i];
	set_task(a);
}

static void end_unblock(struct sim *s, struct act *a)
{
	const struct task_unblock_out *out = a->call.out;
	struct task_note *n = end_own(s, a);

	if (!n || n->owner != a->agent)
		return;
	n->blocked = false;
	n->lease_until = out->task.lease_until;
}

static void choose_end(struct sim *s, struct act *a)
{
	struct task_note *n;

	choose_own(s, a);
	n = task_of(s, team_of(a), a->number);
	if (n->owner == a->agent && n->epoch && chance(s, 50))
		set_int(a, "epoch", n->epoch);
	set_key(s, a);
}

static void end_end(struct sim *s, struct act *a)
{
	struct task_note *n = task_of(s, team_of(a), a->number);
	json_t *epoch = json_object_get(a->args, "epoch");

	if (must_hold(s, n, a->agent) &&
	    (!epoch || json_integer_value(epoch) == n->epoch))
		must_go(s, a, "it holds the task");
	if (!end_own(s, a))
		return;
	if (n->owner != a->agent && !n->unsure)
		violated(s, "%s of task %" PRId64 " by %s, who never claimed it",
			 a->call.op->name, a->number, caller_of(s, a)->name);
	forget_own(caller_of(s, a), a->number);
	told_over(s, team_of(a), a->number,
		  strcmp(a->call.op->name, "task.complete") == 0);
}

static void choose_lead_task(struct sim *s, struct act *a)
{
	a->agent = team_of(a) * MEMBERS;
	a->number = 1 + random_below(s, s->teams[team_of(a)].created + 1);
	set_task(a);
}

static void end_cancel(struct sim *s, struct act *a)
{
	if (a->call.fault.code == FAULT_NONE)
		told_over(s, team_of(a), a->number, false);
}

static void choose_note(struct sim *s, struct act *a)
{
	choose_own(s, a);
	set_text(a, "text", "a note");
}

static void end_nothing(struct sim *s, struct act *a)
{
	(void)s;
	(void)a;
}

/* --- daemons ------------------------------------------------------------------------------ */

static void choose_order(struct sim *s, struct act *a)
{
	char content[100];

	a->other = mate(s, a);
	if (chance(s, 60))
		a->number = 1 + random_below(s, s->teams[team_of(a)].created + 1);
	if (a->number > s->teams[team_of(a)].created)
		a->number = 0;
	snprintf(content, sizeof(content),
		 "{\"task_id\":\"%.*" PRId64 "%s\",\"command\":\"true\"}",
		 a->number ? 3 : 1, a->number, a->number ? "" : " free");
	set_text(a, "to", s->agents[a->other].name);
	set_text(a, "message_type", "task_assignment");
	set_text(a, "content", content);
	set_key(s, a);
}

static void end_order(struct sim *s, struct act *a)
{
	const struct message_send_out *out = a->call.out;
	struct order *o = &s->orders[s->n_orders % ORDERS];

	if (a->call.fault.code != FAULT_NONE)
		return;
	s->newest = out->seq;
	told_copy(s, out->seq, a->other);
	if (a->number)
		told_dispatched(s, team_of(a), a->other, a->number, 300000 + 900000);
	s->n_orders++;
	o->agent = a->other;
	o->number = a->number;
	snprintf(o->id, sizeof(o->id), "%s", out->message_id);
}

static const struct order *some_order(struct sim *s)
{
	size_t n = s->n_orders < ORDERS ? s->n_orders : ORDERS;

	return n ? &s->orders[random_below(s, (int64_t)n)] : NULL;
}

static void choose_result(struct sim *s, struct act *a)
{
	const struct order *o = some_order(s);

	a->agent = -1;
	a->other = o ? o->agent : 0;
	a->number = o ? o->number : 0;
	set_int(a, "agent", s->agents[a->other].row);
	set_text(a, "message_id",
		 o ? o->id : "00000000-0000-7000-8000-000000000000");
	json_object_set_new(a->args, "success", json_boolean(!chance(s, 10)));
	set_int(a, "exit_code", 0);
	set_text(a, "stdout", "out");
	set_text(a, "stderr", "");
	set_int(a, "elapsed_secs", 1);
}

static void end_result(struct sim *s, struct act *a)
{
	s->agents[a->other].touched = true;
	if (a->call.fault.code != FAULT_NONE)
		violated(s, "result.store fails: %s", a->call.fault.text);
	if (a->number) /* the claim that it stood for may be over, or not */
		task_of(s, a->other / MEMBERS, a->number)->unsure = true;
}

static void choose_beat(struct sim *s, struct act *a)
{
	const struct order *o = some_order(s);

	a->agent = -1;
	a->other = o ? o->agent : 0;
	set_int(a, "agent", s->agents[a->other].row);
	if (o)
		set_text(a, "running", o->id);
}

static void choose_notified(struct sim *s, struct act *a)
{
	a->other = (int)random_below(s, AGENTS);
	a->agent = -1;
	set_int(a, "agent", s->agents[a->other].row);
	set_int(a, "messages", 1 + s->newest - random_below(s, 50 < s->newest ? 50 : 1));
	s->agents[a->other].touched = true;
}

/* --- time and generations -------------------------------------------------------------------- */

static void choose_tick(struct sim *s, struct act *a)
{
	a->agent = -1;
	if (!chance(s, 3))
		return;
	a->number = 1000 + random_below(s, 3600000);
	s->now += a->number;
	set_int(a, "gap_ms", a->number);
}

static void end_tick(struct sim *s, struct act *a)
{
	if (a->call.fault.code != FAULT_NONE)
		violated(s, "clock.tick fails: %s", a->call.fault.text);
	if (a->number)
		told_gap(s, a->number);
}

static void choose_replace(struct sim *s, struct act *a)
{
	a->agent = team_of(a) * MEMBERS;
	a->other = a->agent + 1 + (int)random_below(s, MEMBERS - 1);
	set_text(a, "name", s->agents[a->other].name);
	json_object_set_new(a->args, "replace", json_true());
	if (chance(s, 20))
		json_object_set_new(a->args, "discard", json_true());
}

static void end_replace(struct sim *s, struct act *a)
{
	const struct agent_register_out *out = a->call.out;

	must_go(s, a, "the lead replaces whom it wants");
	told_replaced(s, a->other, out->token);
}

static void choose_old(struct sim *s, struct act *a)
{
	struct agent *me = caller_of(s, a);

	snprintf(a->token, sizeof(a->token), "%s",
		 *me->old_token ? me->old_token : "none");
}

/* --- looking ------------------------------------------------------------------------------------ */

static void choose_show(struct sim *s, struct act *a)
{
	choose_lead_task(s, a);
}

static void end_show(struct sim *s, struct act *a)
{
	const struct task_show_out *out = a->call.out;
	struct task_note *n;

	if (a->call.fault.code != FAULT_NONE)
		return;
	n = task_of(s, team_of(a), a->number);
	if (n->owner >= 0 && must_hold(s, n, n->owner) &&
	    (!out->task.owner || strcmp(out->task.owner, s->agents[n->owner].name)))
		violated(s, "task %" PRId64 " is shown as held by %s, not %s", a->number,
			 out->task.owner ? out->task.owner : "nobody",
			 s->agents[n->owner].name);
}

static void choose_again(struct sim *s, struct act *a)
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
	a->made = k->made;
	a->again = true;
}

static void end_again(struct sim *s, struct act *a)
{
	if (!a->again)
		return;
	must_go(s, a, "its key is known");
	if (!a->call.replayed || a->call.made != a->made)
		violated(s, "%s made %" PRId64 " under the key that had made %" PRId64,
			 a->call.op->name, a->call.made, a->made);
}

static const struct {
	const char *name, *op;
	int weight;
	void (*choose)(struct sim *s, struct act *a);
	void (*end)(struct sim *s, struct act *a);
} acts[] = {
	{ "send", "message.send", 220, choose_send, end_send },
	{ "receive", "message.receive", 200, choose_receive, end_receive },
	{ "ack", "message.ack", 80, choose_ack, end_ack },
	{ "reply", "message.reply", 50, choose_reply, end_reply },
	{ "create", "task.create", 30, choose_create, end_create },
	{ "claim", "task.claim", 80, choose_claim, end_claim },
	{ "start", "task.start", 30, choose_own, end_start },
	{ "heartbeat", "task.heartbeat", 20, choose_own, end_heartbeat },
	{ "block", "task.block", 6, choose_block, end_block },
	{ "unblock", "task.unblock", 10, choose_unblock, end_unblock },
	{ "complete", "task.complete", 80, choose_end, end_end },
	{ "fail", "task.fail", 5, choose_end, end_end },
	{ "release", "task.release", 5, choose_end, end_end },
	{ "retry", "task.retry", 8, choose_lead_task, end_nothing },
	{ "cancel", "task.cancel", 4, choose_lead_task, end_cancel },
	{ "note", "task.note", 10, choose_note, end_nothing },
	{ "order", "message.send", 20, choose_order, end_order },
	{ "result", "result.store", 30, choose_result, end_result },
	{ "beat", "guest.heartbeat", 10, choose_beat, end_nothing },
	{ "notified", "delivery.notified", 20, choose_notified, end_nothing },
	{ "tick", "clock.tick", 10, choose_tick, end_tick },
	{ "replace", "agent.register", 2, choose_replace, end_replace },
	{ "old", "message.receive", 3, choose_old, end_nothing },
	{ "show", "task.show", 20, choose_show, end_show },
	{ "again", "task.list", 20, choose_again, end_again },
};

enum { ACTS = sizeof(acts) / sizeof(acts[0]) };

const char *act_name(int kind)
{
	return kind < ACTS ? acts[kind].name : NULL;
}

static int pick(struct sim *s)
{
	int64_t sum = 0, at;

	for (int i = 0; i < ACTS; i++)
		sum += acts[i].weight;
	at = random_below(s, sum);
	for (int i = 0; i < ACTS; i++)
		if ((at -= acts[i].weight) < 0)
			return i;
	return 0;
}

void act_choose(struct sim *s, struct act *a)
{
	*a = (struct act){ .agent = (int)random_below(s, AGENTS), .kind = pick(s) };
	a->args = json_object();
	a->call.op = op_find(acts[a->kind].op);
	s->now += random_below(s, 100);
	if (random_below(s, 2000) == 0)
		s->now += random_below(s, 1200000);
	acts[a->kind].choose(s, a);
	if (!*a->token && a->agent >= 0)
		snprintf(a->token, sizeof(a->token), "%s", s->agents[a->agent].token);
	a->call.now = s->now;
}

void act_begin(struct sim *s, struct act *a)
{
	const struct agent *me = a->agent < 0 ? NULL : &s->agents[a->agent];
	int64_t now = a->call.now;

	arena_release(&a->call.arena);
	a->call = (struct call){ .op = a->call.op,
				 .store = s->store,
				 .settings = &s->settings,
				 .ids = s->ids,
				 .now = now,
				 .seed = s->random };
	a->call.identity.level = me ? WHO_OBSERVER : WHO_HOST;
	if (me) {
		a->call.identity.team = me->team;
		a->call.identity.agent = me->name;
		a->call.identity.token = a->token;
		a->call.identity.session = me->name;
	}
	if (call_decode(&a->call, a->call.op, a->args) < 0)
		violated(s, "%s is malformed: %s at %s", a->call.op->name,
			 a->call.fault.text, a->call.fault.where);
}

static void keep_keyed(struct sim *s, struct act *a)
{
	struct keyed *k = &s->keyed[s->n_keyed % KEYED];

	if (!a->call.has_key || a->again || !a->call.made)
		return;
	s->n_keyed++;
	json_decref(k->args);
	*k = (struct keyed){ a->call.op, json_incref(a->args), a->agent, a->call.made };
}

void act_end(struct sim *s, struct act *a)
{
	enum fault_code code = a->call.fault.code;
	int64_t now = s->now;

	if (a->agent >= 0 && strcmp(a->token, s->agents[a->agent].token) != 0) {
		if (code != (strcmp(a->token, "none") ? FAULT_CONFLICT : FAULT_DENIED))
			violated(s, "%s by an earlier generation of %s gives %s",
				 a->call.op->name, s->agents[a->agent].name,
				 code ? fault_info(code)->name : "an answer");
		s->refused++;
		return;
	}
	if (code == FAULT_UNAVAILABLE || code == FAULT_IO || code == FAULT_INTERNAL) {
		if (!s->trouble)
			violated(s, "%s: %s", a->call.op->name, a->call.fault.text);
		return; /* its outcome is not known */
	}
	s->now = a->call.now;
	if (code) {
		s->refused++;
	} else {
		s->acked++;
		s->counts[a->kind]++;
		s->ids = a->call.ids;
		if (a->agent >= 0)
			s->agents[a->agent].touched = true;
		keep_keyed(s, a);
	}
	acts[a->kind].end(s, a);
	s->now = now;
}
