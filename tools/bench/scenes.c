/* Scenes that the table's numbers do not describe. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/load.h"

/* The index is made after the tasks, a slice with each search. */
int scene_search(struct scene *s)
{
	int rc = scene_open(s);

	for (int i = 0; i < 2 && rc == 0; i++) {
		bool whole = false;

		for (int n = 0; n < 2400 && rc == 0 && !whole; n++) {
			struct text out = { 0 };

			rc = stage_call(&s->stages[i], "search.find",
					"{\"query\":\"task\",\"limit\":1,\"team\":\"t\"}",
					&out);
			whole = rc == 0 && !strstr(out.data, "\"indexed_to\":0");
			text_release(&out);
			bench_rest(0.05);
		}
		rc = rc || !whole ? bench_fail("the index is not made") : 0;
	}
	return rc;
}

/* The first of two hosts has limits; a host takes them from the environment. */
int scene_limits(struct scene *s)
{
	static const char *const names[] = { "CADRE_LIMITS_ENABLED",
					     "CADRE_LIMITS_TEAM_MESSAGE_BURST",
					     "CADRE_LIMITS_TEAM_MESSAGE_PER_MINUTE" };
	int rc = 0;

	for (int i = 0; i < 2 && rc == 0; i++) {
		setenv(names[0], i == 0 ? "true" : "false", 1);
		setenv(names[1], "1000000", 1);
		setenv(names[2], "1000000", 1);
		rc = stage_open(&s->stages[i], s->ground, i == 0 ? "limits" : "free") ||
		     stage_team(&s->stages[i], s->bench->agents, 0) ||
		     stage_serve(&s->stages[i]);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
	return rc;
}

/* Until the inboxes are full. */
int scene_broadcast(struct scene *s)
{
	const struct act *act = &s->bench->lines[0].ours;
	struct series sent = { 0 };
	int rc = scene_open(s);

	while (rc == 0 && sent.n < 2 * (size_t)s->bench->capacity)
		rc = act_load(s, act, &sent);
	free(sent.ms);
	return rc;
}
