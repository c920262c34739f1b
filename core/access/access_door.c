#include "core/access/access_door.h"

#include <string.h>

#include "core/access/token.h"
#include "core/access/who.h"

bool door_split(struct arena *a, const char *token, const char **name, const char **hex)
{
	const char *dot = strchr(token, '.');

	if (!dot || dot == token || dot - token > 64 || strlen(dot + 1) != TOKEN_SIZE - 1)
		return false;
	*name = arena_strndup(a, token, (size_t)(dot - token));
	*hex = dot + 1;
	return true;
}

/* --- policy ----------------------------------------------------------------------- */

int door_is_open(struct call *call, int64_t team, int64_t agent, bool *yes)
{
	struct network_team_row teams;
	struct door_workspace_row w = { 0 };
	int rc = sql_row(call, network_team, &teams, .team = team);

	if (rc < 0 || (rc = sql_row(call, door_workspace, &w, .agent = agent)) < 0)
		return rc;
	*yes = teams.allow_inter_vm && (rc == 0 || w.allow_inter_vm);
	return 0;
}

static int check_policy(struct call *call, int64_t team, int64_t from, int64_t to)
{
	bool yes;
	int rc = door_is_open(call, team, to, &yes);

	if (rc == 0 && yes && from != to)
		rc = door_is_open(call, team, from, &yes);
	if (rc < 0 || yes)
		return rc;
	fault_set(&call->fault, FAULT_DENIED, "",
		  "the team's policy does not let VMs reach each other "
		  "(allow_inter_vm)");
	return fault_hint(&call->fault,
			  "Send the message through the host: {message.send}.");
}

/* --- tokens ------------------------------------------------------------------------ */

/* Gives the same refusal for every wrong token. So the caller does not learn which agents other
 * teams have. */
static int no_door(struct call *call)
{
	fault_set(&call->fault, FAULT_DENIED, "/door",
		  "this token is not valid at this door");
	return fault_hint(&call->fault, "Ask for a token with: {agent.door}{| NAME}.");
}

int door_find(struct call *call, const char *team, struct caller_row *who)
{
	const struct identity *id = &call->identity;
	struct caller_row owner = { 0 };
	uint8_t hash[TOKEN_HASH];
	char token[TOKEN_SIZE];
	int rc;

	if (!id->token || strlen(id->token) != TOKEN_SIZE - 1)
		return no_door(call);
	token_hash(id->door, hash);
	if ((rc = who_has_token(call, team, hash, &owner)) > 0)
		rc = sql_row(call, caller_by_team, who, .team = owner.team,
			     .name = id->agent);
	if (rc <= 0)
		return rc < 0 ? rc : no_door(call);
	token_for_door(call->settings->secret, who->agent, who->generation, owner.agent,
		       owner.generation, token);
	if (!token_equal(token, id->token, TOKEN_SIZE - 1))
		return no_door(call);
	rc = check_policy(call, owner.team, who->agent, owner.agent);
	return rc < 0 ? rc : 1;
}

int agent_door(struct call *call, const struct agent_door_in *in,
	       struct agent_door_out *out)
{
	struct agent_endpoints_row door = { 0 };
	char token[TOKEN_SIZE];
	struct agent_row a;
	int rc;

	if ((rc = who_team_of(call, in->team, in->name, "/name")) < 0 ||
	    (rc = who_agent(call, in->name, "/name", &a)) < 0 ||
	    (rc = check_policy(call, a.team, call->caller.agent, a.id)) < 0 ||
	    (rc = sql_row(call, agent_endpoints, &door, .agent = a.id)) < 0)
		return rc;
	token_for_door(call->settings->secret, call->caller.agent,
		       call->caller.generation, a.id, a.generation, token);
	out->name = a.name;
	out->url = door.http;
	out->token = arena_printf(&call->arena, "%s.%s", call->caller.name, token);
	return 0;
}
