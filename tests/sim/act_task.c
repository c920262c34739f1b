/* Calls about tasks, calls of daemons, and steps of the clock. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/act.h"

/* --- tasks ---------------------------------------------------------------------------- */

/* Chooses a task, mostly a task that the agent holds. */
void choose_own(struct sim *s, struct act *a)
{
	struct agent *me = act_caller(s, a);

	a->number = 1 + random_below(s, s->teams[act_team(a)].created + 1);
	if (me->n_mine && !chance(s, 5))
		a->number = me->mine[random_below(s, (int64_t)me->n_mine)];
	act_task(a);
}

static void forget_own(struct agent *me, int64_t number)
{
	for (size_t i = 0; i < me->n_mine; i++)
		if (me->mine[i] == number)
			me->mine[i--] = me->mine[--me->n_mine];
}

/* Checks the answer to a call that is allowed only to the task's owner. Returns the task, or
 * NULL if the call was refused. */
static struct task_note *end_own(struct sim *s, struct act *a)
{
	struct task_note *n = task_of(s, act_team(a), a->number);
	bool mine = must_hold(s, n, a->agent);

	if (a->call.fault.code != FAULT_NONE) {
		if (!mine)
			forget_own(act_caller(s, a), a->number);
		return NULL;
	}
	if (n->owner >= 0 && n->owner != a->agent && must_hold(s, n, n->owner))
		violated(s, "%s of task %" PRId64 " by %s, but %s holds it",
			 a->call.op->name, a->number, act_caller(s, a)->name,
			 s->agents[n->owner].name);
	return n;
}

void choose_create(struct sim *s, struct act *a)
{
	int64_t created = s->teams[act_team(a)].created;

	act_text(a, "title", "A thing to do");
	act_int(a, "priority", 1 + random_below(s, 5));
	if (created > 2 && chance(s, 25)) {
		char id[24];

		snprintf(id, sizeof(id), "%" PRId64, created - random_below(s, 2));
		act_text(a, "depends_on", id);
	}
	act_key(s, a);
}

void end_create(struct sim *s, struct act *a)
{
	const struct task_create_out *out = a->call.out;
	int64_t number;

	act_must_go(s, a, "its dependencies exist");
	number = strtoll(out->task.id, NULL, 10);
	task_of(s, act_team(a), number);
	if (number > s->teams[act_team(a)].created)
		s->teams[act_team(a)].created = number;
}

void choose_claim(struct sim *s, struct act *a)
{
	static const int leases[] = { 900, 900, 60, 5 };

	if (chance(s, 20) && s->teams[act_team(a)].created) {
		a->number = 1 + random_below(s, s->teams[act_team(a)].created);
		act_task(a);
	}
	act_int(a, "lease_seconds", leases[random_below(s, 4)]);
	act_key(s, a);
}

void end_claim(struct sim *s, struct act *a)
{
	const struct task_claim_out *out = a->call.out;
	struct agent *me = act_caller(s, a);

	if (a->call.fault.code != FAULT_NONE || !out->has_task)
		return;
	told_claimed(s, act_team(a), a->agent, &out->task);
	if (me->n_mine < 8)
		me->mine[me->n_mine++] = strtoll(out->task.id, NULL, 10);
}

void end_start(struct sim *s, struct act *a)
{
	end_own(s, a); /* an earlier call may have started the task */
}

void end_heartbeat(struct sim *s, struct act *a)
{
	const struct task_heartbeat_out *out = a->call.out;
	struct task_note *n = task_of(s, act_team(a), a->number);

	if (must_hold(s, n, a->agent))
		act_must_go(s, a, "it holds the task");
	n = end_own(s, a);
	if (n && n->owner == a->agent)
		n->lease_until = out->lease_until;
}

void choose_block(struct sim *s, struct act *a)
{
	choose_own(s, a);
	act_text(a, "reason", "waits");
}

void end_block(struct sim *s, struct act *a)
{
	struct task_note *n = end_own(s, a);

	if (n && n->owner == a->agent)
		n->blocked = true;
}

void choose_unblock(struct sim *s, struct act *a)
{
	struct agent *me = act_caller(s, a);

	choose_own(s, a);
	for (size_t i = 0; i < me->n_mine; i++)
		if (task_of(s, act_team(a), me->mine[i])->blocked)
			a->number = me->mine[i];
	act_task(a);
}

void end_unblock(struct sim *s, struct act *a)
{
	const struct task_unblock_out *out = a->call.out;
	struct task_note *n = end_own(s, a);

	if (!n || n->owner != a->agent)
		return;
	n->blocked = false;
	n->lease_until = out->task.lease_until;
}

void choose_end(struct sim *s, struct act *a)
{
	struct task_note *n;

	choose_own(s, a);
	n = task_of(s, act_team(a), a->number);
	if (n->owner == a->agent && n->epoch && chance(s, 50))
		act_int(a, "epoch", n->epoch);
	act_key(s, a);
}

void end_end(struct sim *s, struct act *a)
{
	struct task_note *n = task_of(s, act_team(a), a->number);
	json_t *epoch = json_object_get(a->args, "epoch");

	if (must_hold(s, n, a->agent) &&
	    (!epoch || json_integer_value(epoch) == n->epoch))
		act_must_go(s, a, "it holds the task");
	if (!end_own(s, a))
		return;
	if (n->owner != a->agent && !n->unsure)
		violated(s, "%s of task %" PRId64 " by %s, who never claimed it",
			 a->call.op->name, a->number, act_caller(s, a)->name);
	forget_own(act_caller(s, a), a->number);
	told_over(s, act_team(a), a->number,
		  strcmp(a->call.op->name, "task.complete") == 0);
}

void choose_lead_task(struct sim *s, struct act *a)
{
	a->agent = act_team(a) * MEMBERS;
	a->number = 1 + random_below(s, s->teams[act_team(a)].created + 1);
	act_task(a);
}

void end_cancel(struct sim *s, struct act *a)
{
	if (a->call.fault.code == FAULT_NONE)
		told_over(s, act_team(a), a->number, false);
}

void choose_note(struct sim *s, struct act *a)
{
	choose_own(s, a);
	act_text(a, "text", "a note");
}

void end_nothing(struct sim *s, struct act *a)
{
	(void)s;
	(void)a;
}

/* --- daemons ------------------------------------------------------------------------------ */

void choose_order(struct sim *s, struct act *a)
{
	char content[100];

	a->other = act_mate(s, a);
	if (chance(s, 60))
		a->number = 1 + random_below(s, s->teams[act_team(a)].created + 1);
	if (a->number > s->teams[act_team(a)].created)
		a->number = 0;
	snprintf(content, sizeof(content),
		 "{\"task_id\":\"%.*" PRId64 "%s\",\"command\":\"true\"}",
		 a->number ? 3 : 1, a->number, a->number ? "" : " free");
	act_text(a, "to", s->agents[a->other].name);
	act_text(a, "message_type", "task_assignment");
	act_text(a, "content", content);
	act_key(s, a);
}

void end_order(struct sim *s, struct act *a)
{
	const struct message_send_out *out = a->call.out;
	struct order *o = &s->orders[s->n_orders % ORDERS];

	if (a->call.fault.code != FAULT_NONE)
		return;
	s->newest = out->seq;
	told_copy(s, out->seq, a->other);
	if (a->number)
		told_dispatched(s, act_team(a), a->other, a->number, 300000 + 900000);
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

void choose_result(struct sim *s, struct act *a)
{
	const struct order *o = some_order(s);

	a->agent = -1;
	a->other = o ? o->agent : 0;
	a->number = o ? o->number : 0;
	act_int(a, "agent", s->agents[a->other].row);
	act_text(a, "message_id", o ? o->id : "00000000-0000-7000-8000-000000000000");
	json_object_set_new(a->args, "success", json_boolean(!chance(s, 10)));
	act_int(a, "exit_code", 0);
	act_text(a, "stdout", "out");
	act_text(a, "stderr", "");
	act_int(a, "elapsed_secs", 1);
}

void end_result(struct sim *s, struct act *a)
{
	s->agents[a->other].touched = true;
	if (a->call.fault.code != FAULT_NONE)
		violated(s, "result.store fails: %s", a->call.fault.text);
	if (a->number) /* the result may have ended the task's claim */
		task_of(s, a->other / MEMBERS, a->number)->unsure = true;
}

void choose_beat(struct sim *s, struct act *a)
{
	const struct order *o = some_order(s);

	a->agent = -1;
	a->other = o ? o->agent : 0;
	act_int(a, "agent", s->agents[a->other].row);
	if (o)
		act_text(a, "running", o->id);
}

void choose_notified(struct sim *s, struct act *a)
{
	a->other = (int)random_below(s, AGENTS);
	a->agent = -1;
	act_int(a, "agent", s->agents[a->other].row);
	act_int(a, "messages", 1 + s->newest - random_below(s, 50 < s->newest ? 50 : 1));
	s->agents[a->other].touched = true;
}

/* --- time and generations -------------------------------------------------------------------- */

void choose_tick(struct sim *s, struct act *a)
{
	a->agent = -1;
	if (!chance(s, 3))
		return;
	a->number = 1000 + random_below(s, 3600000);
	s->now += a->number;
	act_int(a, "gap_ms", a->number);
}

void end_tick(struct sim *s, struct act *a)
{
	if (a->call.fault.code != FAULT_NONE)
		violated(s, "clock.tick fails: %s", a->call.fault.text);
	if (a->number)
		told_gap(s, a->number);
}

void choose_replace(struct sim *s, struct act *a)
{
	a->agent = act_team(a) * MEMBERS;
	a->other = a->agent + 1 + (int)random_below(s, MEMBERS - 1);
	act_text(a, "name", s->agents[a->other].name);
	json_object_set_new(a->args, "replace", json_true());
	if (chance(s, 20))
		json_object_set_new(a->args, "discard", json_true());
}

void end_replace(struct sim *s, struct act *a)
{
	const struct agent_register_out *out = a->call.out;

	act_must_go(s, a, "the lead replaces whom it wants");
	told_replaced(s, a->other, out->token);
}

void choose_old(struct sim *s, struct act *a)
{
	struct agent *me = act_caller(s, a);

	snprintf(a->token, sizeof(a->token), "%s",
		 *me->old_token ? me->old_token : "none");
}
