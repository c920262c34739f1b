/* Chooses the next call, makes it, and passes the answer to the model. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/act.h"

struct agent *act_caller(struct sim *s, const struct act *a)
{
	return &s->agents[a->agent];
}

int act_team(const struct act *a)
{
	return a->agent / MEMBERS;
}

int act_mate(struct sim *s, const struct act *a)
{
	return act_team(a) * MEMBERS + (int)random_below(s, MEMBERS);
}

void act_text(struct act *a, const char *key, const char *value)
{
	json_object_set_new(a->args, key, json_string(value));
}

void act_int(struct act *a, const char *key, int64_t value)
{
	json_object_set_new(a->args, key, json_integer(value));
}

void act_task(struct act *a)
{
	char id[24];

	snprintf(id, sizeof(id), "%03" PRId64, a->number);
	act_text(a, "task", id);
}

void act_key(struct sim *s, struct act *a)
{
	char key[40];

	snprintf(key, sizeof(key), "%016" PRIx64 "%016" PRIx64, random_next(s),
		 random_next(s));
	act_text(a, "idempotency_key", key);
}

void act_must_go(struct sim *s, struct act *a, const char *why)
{
	if (a->call.fault.code == FAULT_NONE)
		return;
	violated(s, "%s by %s is refused (%s), but %s", a->call.op->name,
		 act_caller(s, a)->name, a->call.fault.text, why);
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
	{ "found", "team.create", 8, choose_found, end_found },
	{ "allow", "team.update", 6, choose_allow, end_allow },
	{ "spend", "team.usage", 20, choose_spend, end_spend },
	{ "fall", "team.destroy", 1, choose_fall, end_fall },
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
	a->call.identity.level = me               ? WHO_OBSERVER
				 : a->is_operator ? WHO_OPERATOR
						  : WHO_HOST;
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

	if (code == FAULT_UNAVAILABLE || code == FAULT_IO || code == FAULT_INTERNAL) {
		if (!s->trouble)
			violated(s, "%s: %s", a->call.op->name, a->call.fault.text);
		return; /* the call's outcome is unknown */
	}
	if (a->agent >= 0 && strcmp(a->token, s->agents[a->agent].token) != 0) {
		if (code != (strcmp(a->token, "none") ? FAULT_CONFLICT : FAULT_DENIED))
			violated(s, "%s by an earlier generation of %s gives %s",
				 a->call.op->name, s->agents[a->agent].name,
				 code ? fault_info(code)->name : "an answer");
		s->refused++;
		return;
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
