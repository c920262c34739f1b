/*
 * The cost of limits: agents that send with the buckets of their calls counted, beside the
 * same with limits off.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tools/bench/floor.h"
#include "tools/bench/stage.h"

enum { CLIENTS = 64, BODY = FLOOR_BODY, ROUNDS = 8 };

/* A host with agents that are known by their tokens. */
struct pitch {
	struct stage stage;
	struct text made; /* the answer that has the tokens */
	json_t *answer;
	const char *tokens[CLIENTS];
	struct talk talk;
};

static int open_team(struct pitch *p)
{
	struct text args = { 0 };
	json_t *member;
	size_t i, n = 0;
	int rc;

	text_addf(&args, "{\"name\":\"t\",\"inbox_capacity\":0,\"roles\":[");
	for (int a = 0; a < CLIENTS; a++)
		text_addf(&args, "%s{\"name\":\"a%d\"}", a ? "," : "", a);
	text_addf(&args, "]}");
	rc = stage_call(&p->stage, "team.create", args.data, &p->made);
	text_release(&args);
	if (rc)
		return rc;
	p->answer = json_loads(p->made.data, 0, NULL);
	json_array_foreach(json_object_get(p->answer, "members"), i, member) {
		const char *name = json_string_value(json_object_get(member, "name"));

		if (name && name[0] == 'a' && n < CLIENTS)
			p->tokens[n++] =
				json_string_value(json_object_get(member, "token"));
	}
	p->talk = (struct talk){ .body = BODY, .tokens = p->tokens };
	return p->tokens[CLIENTS - 1] ? 0 : bench_fail("no tokens");
}

/* The host takes its limits from the environment. */
static int pitch_open(struct pitch *p, struct bench_ground *g, bool limited)
{
	int rc;

	setenv("CADRE_LIMITS_ENABLED", limited ? "true" : "false", 1);
	setenv("CADRE_LIMITS_TEAM_MESSAGE_BURST", "1000000", 1);
	setenv("CADRE_LIMITS_TEAM_MESSAGE_PER_MINUTE", "1000000", 1);
	rc = stage_open(&p->stage, g, limited ? "limits" : "free");
	if (rc == 0)
		rc = open_team(p);
	if (rc == 0)
		rc = stage_serve(&p->stage);
	unsetenv("CADRE_LIMITS_ENABLED");
	unsetenv("CADRE_LIMITS_TEAM_MESSAGE_BURST");
	unsetenv("CADRE_LIMITS_TEAM_MESSAGE_PER_MINUTE");
	return rc;
}

static void pitch_close(struct pitch *p)
{
	stage_close(&p->stage);
	json_decref(p->answer);
	text_release(&p->made);
}

static double rate_of(struct pitch *p, const struct bench_ground *g, int clients)
{
	struct load load = { .script = &script_send,
			     .socket = p->stage.home.socket,
			     .arg = &p->talk,
			     .clients = clients,
			     .window = 1,
			     .warm = 0.2,
			     .seconds = g->fast ? 0.5 : 1 };
	struct outcome o = { 0 };

	return load_run(&load, &o) || o.failed ? -1 : o.rate;
}

/* Rates of one client are compared, since a call of its takes too long to tell so little of
 * it; of many the time of each call, in us. */
static int limits_compare(struct bench_ground *g, struct pitch *with,
			  struct pitch *without, int clients, struct judge *j)
{
	for (int i = 0; i < ROUNDS; i++) {
		double base = rate_of(without, g, clients);
		double ours = base < 0 ? -1 : rate_of(with, g, clients);

		if (ours < 0)
			return bench_fail("limits: calls of %d clients failed", clients);
		if (clients == 1)
			judge_round(j, ours, base);
		else
			judge_round(j, 1e6 / ours, 1e6 / base);
	}
	return 0;
}

int bench_limits(struct bench_ground *g)
{
	struct pitch *both = xcalloc(2, sizeof(*both));
	struct judge one = { 0 }, many = { 0 };
	int rc = pitch_open(&both[0], g, false);

	if (rc == 0)
		rc = pitch_open(&both[1], g, true);
	if (rc == 0 && score_due(g, "limits-1"))
		rc = limits_compare(g, &both[1], &both[0], 1, &one);
	if (rc == 0 && score_due(g, "limits-64"))
		rc = limits_compare(g, &both[1], &both[0], CLIENTS, &many);
	pitch_close(&both[0]);
	pitch_close(&both[1]);
	free(both);
	if (rc == 0) {
		score_rounds(g, "limits-1", &one);
		score_rounds(g, "limits-64", &many);
	}
	return rc;
}
