/*
 * Pairs, rings and crowds of agents answer all mail as fast as models do, for two hours of a
 * simulated clock. A person's message starts a chain of turns, and the length of the chain is
 * limited. No agent begins more turns in an hour than the limit allows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "ops.gen.h"
#include "tests/lib/world.h"

enum {
	AGENTS_MOST = 9,
	HOURS = 2,
	STEP_S = 5,
	TURN_LEAST_S = 5, /* shortest turn of a model */
	TURN_MOST_S = 40,
};

/* Which agents an agent writes to at the end of each turn. */
enum habit { ANSWERS_NEXT, ANSWERS_ROLE, ANSWERS_ALL, ANSWERS_TWICE };

struct player {
	int64_t turn, ends_at; /* the running turn, or 0, and the time of its end */
	int turns, turns_now; /* turns in all, and turns in the current hour */
};

struct play {
	struct world world;
	struct player players[AGENTS_MOST];
	size_t n;
	enum habit habit;
	uint64_t seed;
	int64_t last; /* time at which the last turn began */
};

static const char *name_of(size_t player, char room[16])
{
	snprintf(room, 16, "a-%zu", player);
	return room;
}

static json_t *play_ask(struct play *p, const struct op *op, struct identity as,
			json_t *args)
{
	struct asked q = { .op = op, .args = args, .identity = as };
	struct answer a = { 0 };
	json_t *reply;

	world_ask(&p->world, p->world.store, &q, &a);
	json_decref(args);
	/* A model continues its turn after a message was refused. */
	if (a.fault.code && as.level == WHO_HOST)
		fail_msg("%s: %s", op->name, a.fault.text);
	reply = json_incref(a.reply);
	answer_release(&a);
	return reply;
}

static const struct identity play_host = { .level = WHO_HOST };
static const struct identity play_operator = { .level = WHO_OPERATOR, .team = "play" };

static void play_begin(struct play *p, size_t n, enum habit habit)
{
	json_t *roles = json_array();
	char name[16];

	*p = (struct play){ .n = n, .habit = habit, .seed = n * 31 + habit };
	world_open(&p->world);
	p->world.hosted = true;
	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			roles, json_pack("{ss,ss,sb}", "name", name_of(i, name), "role",
					 i % 2 ? "odd" : "even", "workspace", 1));
	json_decref(play_ask(p, op_team_create, play_operator,
			     json_pack("{ss,so}", "name", "play", "roles", roles)));
	for (size_t i = 0; i < n; i++) {
		json_decref(
			play_ask(p, op_workspace_note, play_host,
				 json_pack("{sI,ss,si}", "workspace", (json_int_t)i + 1,
					   "state", "ready", "pid", 1)));
		json_decref(play_ask(p, op_agent_update, play_operator,
				     json_pack("{ss,ss}", "name", name_of(i, name),
					       "runner", "./run")));
	}
}

static void play_say(struct play *p, size_t player, const char *to)
{
	char name[16];
	const struct identity as = { .level = WHO_OBSERVER,
				     .team = "play",
				     .agent = name_of(player, name),
				     .proven = true };

	json_decref(play_ask(p, op_message_send, as,
			     json_pack("{s[s],ss,ss}", "to", to, "text", "thanks",
				       "on_limit", "delay")));
}

static void play_answer(struct play *p, size_t player)
{
	char next[16];

	if (p->habit == ANSWERS_ALL)
		play_say(p, player, "*");
	else if (p->habit == ANSWERS_ROLE)
		play_say(p, player, player % 2 ? "role:even" : "role:odd");
	else
		play_say(p, player, name_of((player + 1) % p->n, next));
	if (p->habit == ANSWERS_TWICE)
		play_say(p, player, name_of((player + 2) % p->n, next));
}

static void play_end_turns(struct play *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct player *a = &p->players[i];

		if (!a->turn || a->ends_at > p->world.now)
			continue;
		play_answer(p, i);
		json_decref(play_ask(p, op_turn_end, play_host,
				     json_pack("{sI,ss}", "turn", (json_int_t)a->turn,
					       "state", "done")));
		a->turn = 0;
	}
}

static int64_t play_length(struct play *p)
{
	p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
	return 1000 *
	       (TURN_LEAST_S + (int64_t)(p->seed >> 33) % (TURN_MOST_S - TURN_LEAST_S));
}

static void play_begin_turns(struct play *p, size_t first_agent)
{
	json_t *next =
		play_ask(p, op_turn_next, play_host, json_pack("{si}", "most", 16));
	json_t *start;
	size_t i;

	json_array_foreach(json_object_get(next, "starts"), i, start) {
		struct player *a = &p->players[(size_t)json_integer_value(
						       json_object_get(start, "agent")) -
					       first_agent];

		a->turn = json_integer_value(json_object_get(start, "turn"));
		a->ends_at = p->world.now + play_length(p);
		a->turns++;
		a->turns_now++;
		p->last = p->world.now;
	}
	json_decref(next);
}

/* Plays two hours that begin with a person's message. Returns the number of turns. */
static int play_for_hours(struct play *p)
{
	const int64_t began = p->world.now;
	const size_t first = (size_t)world_number(
		p->world.store, "SELECT min(id) FROM agent WHERE name <> 'operator'");
	const int64_t per_hour = p->world.settings.config.limits_turns_per_hour;
	int all = 0;

	json_decref(play_ask(p, op_message_send, play_operator,
			     json_pack("{s[s],ss}", "to", "a-0", "text", "begin")));
	for (int64_t s = 0; s < HOURS * 3600; s += STEP_S) {
		p->world.now = began + s * 1000;
		play_end_turns(p);
		play_begin_turns(p, first);
		for (size_t i = 0; i < p->n && (s + STEP_S) % 3600 == 0; i++) {
			/* The first agent's turn for the person's message does not count toward
			 * the limit. */
			if (per_hour)
				assert_true(p->players[i].turns_now <= per_hour + 1);
			p->players[i].turns_now = 0;
		}
	}
	p->last -= began;
	for (size_t i = 0; i < p->n; i++)
		all += p->players[i].turns;
	return all;
}

static void play_over(struct play *p)
{
	world_close(&p->world);
}

/* In a pair or a ring each turn starts one other turn. So the number of turns equals the limit
 * for chains, and one message of type `chain` reports the end. */
static void rings_end_where_the_rule_says(void **state)
{
	struct play p;

	(void)state;
	for (size_t n = 2; n <= AGENTS_MOST; n++) {
		play_begin(&p, n, ANSWERS_NEXT);
		assert_int_equal(play_for_hours(&p),
				 p.world.settings.config.limits_chain);
		assert_int_equal(world_number(p.world.store,
					      "SELECT count(*) FROM message "
					      "WHERE type = 'chain'"),
				 1);
		play_over(&p);
	}
}

/* Each turn sends several messages. An agent has only one turn at a time, and the turn takes
 * all messages of the agent. */
static void crowds_end_too(void **state)
{
	static const enum habit habits[] = { ANSWERS_ROLE, ANSWERS_ALL, ANSWERS_TWICE };
	struct play p;

	(void)state;
	for (size_t h = 0; h < sizeof(habits) / sizeof(*habits); h++)
		for (size_t n = 3; n <= AGENTS_MOST; n += 2) {
			int64_t chain;
			int64_t turns;

			play_begin(&p, n, habits[h]);
			chain = p.world.settings.config.limits_chain;
			turns = play_for_hours(&p);
			assert_true(turns >= chain);
			assert_true(turns <= (int64_t)n * chain * 5 / 4);
			assert_true(p.last < 3600 * 1000);
			play_over(&p);
		}
}

/* Even if chains have no limit, an agent's turns in an hour have a limit. */
static void an_hour_bounds_what_no_chain_ends(void **state)
{
	struct play p;
	int turns;

	(void)state;
	play_begin(&p, 2, ANSWERS_NEXT);
	p.world.settings.config.limits_chain = 0;
	p.world.settings.config.limits_turns_per_hour = 10;
	turns = play_for_hours(&p);
	assert_in_range(turns, HOURS * 2 * 10 - 2, HOURS * 2 * 10 + 2);
	play_over(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_end_where_the_rule_says),
		cmocka_unit_test(crowds_end_too),
		cmocka_unit_test(an_hour_bounds_what_no_chain_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
