/* The acts of a client on teams below the common team. The client makes teams, spends the
 * teams' budgets, and ends the teams. */
#include <stdio.h>
#include <string.h>

#include "tests/crash/worker.h"

static void forget(struct worker *w, const char *team)
{
	for (int i = 0; i < w->n_teams; i++)
		if (!strcmp(w->teams[i], team)) {
			memmove(w->teams[i], w->teams[--w->n_teams], sizeof(w->teams[i]));
			return;
		}
}

void worker_team_answered(struct worker *w, const struct op *op, const json_t *args)
{
	if (!strcmp(op->name, "team.create") && w->n_teams < TEAMS_MOST)
		snprintf(w->teams[w->n_teams++], sizeof(w->teams[0]), "%s",
			 json_string_value(json_object_get(args, "name")));
	else if (!strcmp(op->name, "team.destroy"))
		forget(w, json_string_value(json_object_get(args, "team")));
}

/* A random team that this worker made, or NULL. */
static const char *some_team(struct worker *w)
{
	return w->n_teams ? w->teams[dice_below(&w->dice, w->n_teams)] : NULL;
}

/* Makes a team below the common team or below one of the worker's teams. The new team's budget
 * is often larger than the remainder of the upper team's budget. */
void act_found(struct worker *w)
{
	const char *above = dice_percent(&w->dice, 60) ? NULL : some_team(w);
	char key[48], parent[48];

	if (w->n_teams == TEAMS_MOST)
		return;
	snprintf(parent, sizeof(parent), "%s", above ? above : "crash");
	new_key(w, key);
	json_decref(attempt(w, "team.create",
			    json_pack("{sssssis[{ss}{ss}]}", "name", key, "parent",
				      parent, "max_tokens",
				      1 + dice_below(&w->dice, above ? 1000 : 5000),
				      "roles", "name", "ann", "name", "ben"),
			    key));
}

void act_spend(struct worker *w)
{
	const char *team = dice_percent(&w->dice, 50) ? some_team(w) : NULL;
	char key[48];
	json_t *args = json_pack("{sisi}", "tokens_in", dice_below(&w->dice, 200),
				 "tokens_out", dice_below(&w->dice, 20));

	if (team)
		json_object_set_new(args, "team", json_string(team));
	json_decref(attempt(w, "team.usage", args, new_key(w, key)));
}

/* Ends a team. The team may have ended already, since the end of a team also ends the teams
 * below. */
void act_end_team(struct worker *w)
{
	const char *team = some_team(w);
	char key[48], name[48];

	if (!team)
		return;
	snprintf(name, sizeof(name), "%s", team);
	json_decref(attempt(w, "team.destroy",
			    json_pack("{sssb}", "team", name, "confirm", 1),
			    new_key(w, key)));
	forget(w, name);
}
