#include "core/access/who.h"

#include <inttypes.h>
#include <string.h>

#include "core/access/access_door.h"
#include "core/access/bearer.h"
#include "core/access/token.h"
#include "core/call/id.h"
#include "core/team/team.h"

/* The hint if a team was renamed. */
#define RENAMED "Team %s is called %s now."

void who_enter(struct call *call, const struct caller_row *r)
{
	struct caller *c = &call->caller;

	c->team = r->team;
	c->team_name = r->team_name;
	c->inbox_capacity = r->inbox_capacity;
	c->team_state = r->state;
	c->team_stopped = r->stopped_at;
	c->team_limits = r->limits;
}

static void who_take(struct call *call, const struct caller_row *r)
{
	struct caller *c = &call->caller;

	who_enter(call, r);
	c->agent = r->agent;
	c->active_at = r->active_at;
	c->name = r->name;
	c->generation = r->generation;
}

static int who_level_of(struct call *call, const struct caller_row *r)
{
	struct team_lead_row lead;
	int rc;

	call->caller.level = strcmp(r->role, "observer") == 0 ? WHO_OBSERVER : WHO_MEMBER;
	if (r->kind == AGENT_KIND_OPERATOR) {
		call->caller.level = WHO_OPERATOR;
	} else if (strcmp(r->role, "lead") == 0 || strcmp(r->name, "lead") == 0) {
		if ((rc = sql_row(call, team_lead, &lead, .team = r->team)) < 0)
			return rc;
		if (rc > 0 && lead.id == r->agent)
			call->caller.level = WHO_LEAD;
	}
	return 0;
}

/* Whether the token is of an earlier generation. The refusal of an earlier generation's token
 * says why the token is refused. */
static bool is_old(struct call *call, const struct caller_row *r, const char *token)
{
	char old[TOKEN_SIZE];

	if (strlen(token) != TOKEN_SIZE - 1)
		return false;
	for (int64_t g = r->generation - 1; g > 0 && g > r->generation - 64; g--) {
		token_make(call->settings->secret, r->agent, g, old);
		if (token_equal(old, token, TOKEN_SIZE - 1))
			return true;
	}
	return false;
}

static int replaced(struct call *call, const struct caller_row *r)
{
	fault_set(&call->fault, FAULT_CONFLICT, "/from",
		  "%s was registered again (generation %" PRId64 "); this "
		  "session is over",
		  r->name, r->generation);
	return fault_hint(&call->fault, "Register under another name, or ask the lead.");
}

static bool is_proof(const struct caller_row *r, const uint8_t hash[TOKEN_HASH])
{
	return r->token.size == TOKEN_HASH &&
	       token_equal(hash, r->token.data, TOKEN_HASH);
}

int who_has_token(struct call *call, const char *team, uint8_t hash[32],
		  struct caller_row *r)
{
	int rc = sql_row(call, caller_by_token, r, .team_name = team,
			 .token = { hash, TOKEN_HASH });

	if (rc == 0)
		rc = sql_row(call, caller_by_former, r, .team_name = team,
			     .token = { hash, TOKEN_HASH });
	return rc;
}

/* Finds the caller's row. An agent uses its old name, or its team's old name, until the agent
 * is told the new name. So the token finds the agent in the team that has or had the name
 * `team`, even if another team has this name now. If another agent of this team has the old
 * name now, the token finds its owner only if cadre itself stored the name with the token. If a
 * person set the name and the token, they perhaps belong to different agents. */
static int find_caller(struct call *call, const char *team, struct caller_row *r)
{
	const struct identity *id = &call->identity;
	uint8_t hash[TOKEN_HASH];
	struct caller_row renamed;
	int rc = sql_row(call, caller_by_name, r, .team_name = team, .name = id->agent),
	    found;

	if (rc < 0 || !id->token || id->proven)
		return rc;
	token_hash(id->token, hash);
	if (rc > 0 && is_proof(r, hash))
		return rc;
	if (rc > 0 && !id->kept)
		found = sql_row(call, caller_by_former, &renamed, .team_name = team,
				.token = { hash, TOKEN_HASH });
	else
		found = who_has_token(call, team, hash, &renamed);
	if (found > 0)
		*r = renamed;
	return found ? found : rc;
}

static int check_proof(struct call *call, const struct caller_row *r)
{
	const struct identity *id = &call->identity;
	uint8_t hash[TOKEN_HASH];

	if (id->generation && id->generation != r->generation)
		return replaced(call, r);
	if (id->proven)
		return 0;
	if (id->token) {
		token_hash(id->token, hash);
		if (is_proof(r, hash))
			return 0;
		if (is_old(call, r, id->token))
			return replaced(call, r);
	}
	fault_set(&call->fault, FAULT_DENIED, "",
		  "the token does not belong to agent %s of team %s", id->agent,
		  id->team);
	return fault_hint(&call->fault,
			  "Register under a name of your own, or set CADRE_TOKEN "
			  "to what `cadre agent env` prints.");
}

/* Whether an address means a role in a team, and not an agent of that name. */
static bool is_role_of_team(const char *address)
{
	return !strcmp(address, "lead") || !strcmp(address, "operator") ||
	       !strcmp(address, "*");
}

static int who_only_team(struct call *call, const char **name)
{
	struct team_only_row r;
	int rc = sql_row(call, team_only, &r);

	if (rc < 0)
		return rc;
	*name = rc && r.n == 1 ? r.name : NULL;
	return 0;
}

/* The team of an operator who names no team: the team that the caller's settings name, or else
 * the only team without a team above. *team is NULL if there is no such team. */
static int who_default_team(struct call *call, const char **team)
{
	*team = call->identity.by_default;
	return *team ? 0 : who_only_team(call, team);
}

enum { NAMES_MOST = 8 };

/* Finds the team of an agent for an operator who names no team. A default team in the caller's
 * settings is the team, whether or not the agent is there. Otherwise the team is the only team
 * without a team above if the agent is there, or else the only team with an agent of that name.
 * If several teams have such an agent, *team is NULL and `*several` is true. */
static int who_team_with(struct call *call, const char *name, const char **team,
			 bool *several)
{
	struct teams_with_agent_row *with = NULL;
	struct caller_row r;
	size_t n = 0;
	int rc = who_default_team(call, team);

	*several = false;
	if (rc < 0 || call->identity.by_default || is_role_of_team(name))
		return rc;
	if (*team)
		rc = sql_row(call, caller_by_name, &r, .team_name = *team, .name = name);
	if (rc == 0)
		rc = sql_all(call, teams_with_agent, &with, &n, .name = name, .limit = 2);
	if (n == 1)
		*team = with->team;
	*several = n > 1 && !*team;
	return rc < 0 ? rc : 0;
}

/* Finds the team of the caller. An operator who acts as an agent may leave out the agent's
 * team. *team stays NULL when the team is not clear; see who_team_with() for `*several`. */
static int team_of_caller(struct call *call, const char **team, bool *several)
{
	*several = false;
	*team = call->identity.team;
	return *team || !call->identity.as
		       ? 0
		       : who_team_with(call, call->identity.agent, team, several);
}

const char *who_home(const struct call *call)
{
	const struct identity *id = &call->identity;
	return id->door || id->inside ? NULL : call->settings->home;
}

/* The last words of a fault about a missing team or agent: the path of the state. A caller in
 * the wrong folder reaches the wrong state. The path is left out for an agent, whose folder
 * others have chosen, and for a client that shows a token. */
static const char *in_state(struct call *call)
{
	const bool chosen = call->caller.agent && call->caller.level < WHO_OPERATOR;
	const char *home = call->identity.bearer || chosen ? NULL : who_home(call);

	return home ? arena_printf(&call->arena, "; the state is %.100s", home) : "";
}

static int no_such_caller(struct call *call, const char *team)
{
	const char *now;

	/* The name is read first, so that a failure of storage is not reported as a missing
	 * agent. */
	if (team_name_now(call, team, &now) < 0)
		return call->fault.code;
	fault_set(&call->fault, FAULT_NOT_FOUND, "/from",
		  "there is no agent %s in team %s%s", call->identity.agent, team,
		  in_state(call));
	if (now)
		return fault_hint(&call->fault, RENAMED, team, now);
	return fault_hint(&call->fault,
			  "Register the agent first: {agent.register}{| NAME}.");
}

/* The names of the first few teams of the state, "" if there are none; NULL after a failure. */
static const char *team_names(struct call *call)
{
	struct team_names_row *all = NULL;
	const char *names = "";
	size_t n;

	if (sql_all(call, team_names, &all, &n, .limit = NAMES_MOST + 1) < 0)
		return NULL;
	for (size_t i = 0; i < n && i < NAMES_MOST; i++)
		names = arena_printf(&call->arena, "%s%s%s", i ? names : "",
				     i ? ", " : "", all[i].name);
	return n > NAMES_MOST ? arena_printf(&call->arena, "%s, …: {team.list}", names)
			      : names;
}

/* Fills the hint of a fault about a team that is not clear, and returns the fault's code. `todo`
 * comes before the names of the teams. */
static int hint_teams(struct call *call, const char *todo, const char *names)
{
	return *names ? fault_hint(&call->fault, "%sTeams: %s.", todo, names)
		      : fault_hint(&call->fault, "Make a team: {team.create}{| NAME}.");
}

/* Refuses a name that agents of several teams have. Only the operator gets the names of the
 * teams. */
static int who_which(struct call *call, const char *name, const char *where)
{
	const char *names = who_is_nobody(call) ? "" : team_names(call);

	if (!names)
		return call->fault.code;
	fault_set(&call->fault, FAULT_INVALID, where, "several teams have an agent %s",
		  name);
	return *names ? hint_teams(call, "Name the agent's team too. ", names)
		      : fault_hint(&call->fault, "Name the agent's team too.");
}

/* Refuses a caller that names an agent but no team. Only an operator who acts as an agent gets
 * the names of the teams. */
static int agent_without_team(struct call *call, bool several)
{
	const char *names;

	if (several)
		return who_which(call, call->identity.agent, "/from");
	names = call->identity.as ? team_names(call) : NULL;
	if (call->identity.as && !names)
		return call->fault.code;
	fault_set(&call->fault, FAULT_INVALID, "/team",
		  "the call names an agent, but not the agent's team");
	return names ? hint_teams(call, "Name the agent's team too. ", names)
		     : fault_hint(&call->fault, "Name the agent's team too.");
}

static int who_take_caller(struct call *call, const struct caller_row *r)
{
	who_take(call, r);
	call->caller.own_team = r->team;
	call->caller.self = r->agent;
	call->caller.chain = r->chain;
	/* The status of an agent with a workspace is the guest's to report. */
	call->caller.comes_back = r->status == AGENT_STATUS_OFFLINE && !r->workspace &&
				  !call->identity.as && !call->op->quiet;
	return who_level_of(call, r);
}

int who_calls(struct call *call)
{
	const struct identity *id = &call->identity;
	const char *team;
	struct caller_row r;
	bool several;
	int rc;

	if (id->bearer && (rc = bearer_find(call, &r)) < 0)
		return rc;
	call->caller = (struct caller){
		.level = who_is_nobody(call) ? WHO_OBSERVER : id->level,
		.name = id->level == WHO_HOST ? "host" : "operator",
	};
	if (!id->agent || id->level == WHO_HOST)
		return 0;
	if (id->bearer)
		return who_take_caller(call, &r);
	if ((rc = team_of_caller(call, &team, &several)) < 0)
		return rc;
	if (!team)
		return agent_without_team(call, several);
	rc = id->door ? door_find(call, team, &r) : find_caller(call, team, &r);
	if (rc == 0)
		return no_such_caller(call, team);
	if (rc < 0 || (!id->door && (rc = check_proof(call, &r)) < 0))
		return rc;
	return who_take_caller(call, &r);
}

/* --- teams ------------------------------------------------------------------ */

static int no_team(struct call *call, const char *team)
{
	/* The names are read first, so that a failure of storage is not reported as a missing
	 * team. */
	const char *names = team_names(call), *now = NULL;

	if (!names || (team && team_name_now(call, team, &now) < 0))
		return call->fault.code;
	if (team)
		fault_set(&call->fault, FAULT_NOT_FOUND, "/team", "there is no team %s%s",
			  team, in_state(call));
	if (now)
		return fault_hint(&call->fault, RENAMED, team, now);
	if (!team)
		fault_set(&call->fault, FAULT_INVALID, "/team",
			  *names ? "say which team" : "there is no team yet");
	return hint_teams(call, "", names);
}

/* Finds the operator's place in the team with this name or id. Returns 1 if the place was
 * found, 0 if it was not found, or a negative fault code. */
static int who_find_place(struct call *call, const char *team, struct caller_row *r)
{
	const struct id_among all = { .noun = ID_TEAM, .where = "/team" };
	int64_t row, at;
	int rc = sql_row(call, caller_by_name, r, .team_name = team, .name = "operator");

	if (rc)
		return rc;
	if ((rc = id_parse(call, ID_TEAM, team, &row, &at)) == 0 &&
	    (rc = id_short(call, &all, team, &team)) > 0)
		rc = id_parse(call, ID_TEAM, team, &row, &at);
	return rc > 0 ? sql_row(call, caller_by_team, r, .team = row, .name = "operator")
		      : rc;
}

/* Sets the call's caller to the operator's place in a team. */
static int who_enter_place(struct call *call, const char *team)
{
	struct caller_row r;
	int rc = who_find_place(call, team, &r);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return no_team(call, team);
	who_take(call, &r);
	return 0;
}

static bool names_own(struct call *call, const char *team)
{
	int64_t row, at;

	return strcmp(team, call->caller.team_name) == 0 ||
	       (id_parse(call, ID_TEAM, team, &row, &at) > 0 && row == call->caller.team);
}

/* Whether `team` is a former name of the caller's team, and no team has that name now. Returns
 * 1 for yes, 0 for no, or a negative fault code. */
static int was_own(struct call *call, const char *team)
{
	struct team_was_called_row r;

	return sql_row(call, team_was_called, &r, .name = team,
		       .team = call->caller.team);
}

static int who_take_place(struct call *call, const char *team, bool above)
{
	struct caller_row r;
	int rc = sql_row(call, caller_by_holder, &r, .team_name = team,
			 .holder = call->caller.agent, .above = above);

	if (rc <= 0)
		return rc;
	who_take(call, &r);
	call->caller.own_team = r.team;
	return who_level_of(call, &r) < 0 ? (int)call->fault.code : 1;
}

int who_take_seat(struct call *call, const char *team)
{
	return who_take_place(call, team, false);
}

int who_take_seat_above(struct call *call, const char *team)
{
	return who_take_place(call, team, true);
}

/* If the call only reads, puts the call into a team below the caller's own team. The caller
 * must lead its own team, or must have made the lower team. Returns 1 if the call was put into
 * the lower team, 0 if the caller may not read the team, or a negative fault code. */
static int look_below(struct call *call, const char *team)
{
	struct caller_row r;
	int rc;

	if (!(call->op->flags & OP_ABOVE))
		return 0;
	rc = sql_row(call, team_under, &r, .team_name = team,
		     .own = call->caller.own_team,
		     .leads = call->caller.level >= WHO_LEAD,
		     .agent = call->caller.agent);
	if (rc > 0)
		who_enter(call, &r);
	return rc;
}

/* Refuses any team except three kinds: the caller's own team, a team in which the caller holds
 * the lead's place, and a team that look_below() allows. An agent may name its own team by the
 * team's name, a former name, the team's id or the beginning of the id. look_below() lets a
 * lead read the teams below the lead's own team. */
static int only_own(struct call *call, const char *team)
{
	const struct id_among own = {
		.noun = ID_TEAM,
		.own = call->caller.team,
		.where = "/team",
	};
	struct caller_row other;
	int rc;

	if (!team || names_own(call, team))
		return 0;
	/* A text that is a team's name is not taken for the beginning of an id. */
	rc = sql_row(call, caller_by_name, &other, .team_name = team, .name = "operator");
	if (rc == 0 && ((rc = was_own(call, team)) > 0 ||
			(rc == 0 && (rc = id_short(call, &own, team, &team)) > 0)))
		return 0;
	if (rc < 0)
		return rc;
	if ((rc = who_take_seat(call, team)) || (rc = look_below(call, team)))
		return rc < 0 ? rc : 0;
	return fault_set(&call->fault, FAULT_DENIED, "/team",
			 "an agent can reach only its own team");
}

int who_team(struct call *call, const char *team)
{
	int rc;

	if (call->identity.agent)
		return only_own(call, team);
	if (call->caller.team && (!team || names_own(call, team)))
		return 0;
	if (!team)
		team = call->identity.team;
	if (!team && (rc = who_default_team(call, &team)) < 0)
		return rc;
	return team ? who_enter_place(call, team) : no_team(call, NULL);
}

int who_means(struct call *call, const char *team)
{
	int rc = who_team(call, team);

	if (rc == 0)
		return 1;
	if (call->fault.code != FAULT_NOT_FOUND && call->fault.code != FAULT_INVALID)
		return rc;
	call->fault = (struct fault){ 0 };
	return 0;
}

/* Finds the row of the last team with the name `team` if that team has ended. Otherwise finds
 * the row of the team with the id `team`. Returns 1 if the row was found, 0 if it was not
 * found, or a negative fault code. */
static int find_ended(struct call *call, const char *team, int64_t *row)
{
	struct team_ended_row last;
	int64_t at;
	int rc = sql_row(call, team_ended, &last, .name = team);

	if (rc == 0)
		return id_parse(call, ID_TEAM, team, row, &at);
	*row = last.id;
	return rc;
}

int who_team_then(struct call *call, const char *team)
{
	struct team_row ended;
	struct fault none;
	int64_t row;
	int rc = who_team(call, team);

	team = team ? team : call->identity.team;
	if (rc == 0 || call->fault.code != FAULT_NOT_FOUND || !who_roams(call) || !team)
		return rc;
	none = call->fault;
	call->fault = (struct fault){ 0 };
	if ((rc = find_ended(call, team, &row)) > 0)
		rc = sql_row(call, team_by_id, &ended, .id = row);
	if (rc < 0)
		return rc;
	if (rc == 0) {
		call->fault = none;
		return none.code;
	}
	call->caller.team = ended.id;
	call->caller.team_name = ended.name;
	return 0;
}

int who_team_of(struct call *call, const char *team, const char *address,
		const char *where)
{
	const char *slash = address ? strchr(address, '/') : NULL;
	bool several;
	int rc;

	if (team || !address || !who_roams(call))
		return who_team(call, team);
	if (!slash && (call->identity.team || call->caller.team))
		return who_team(call, NULL);
	if (!slash) {
		rc = who_team_with(call, address, &team, &several);
		return rc < 0    ? rc
		       : several ? who_which(call, address, where)
				 : who_team(call, team);
	}
	team = arena_strndup(&call->arena, address, (size_t)(slash - address));
	rc = who_team(call, team);
	return rc < 0 ? fault_move(&call->fault, "/team", where) : rc;
}

int who_enter_again(struct call *call, int64_t team)
{
	struct caller_row place;
	int rc = sql_row(call, caller_by_team, &place, .team = team, .name = "operator");

	if (rc > 0) {
		call->caller.team = place.team;
		call->caller.team_name = place.team_name;
	}
	if (rc)
		return rc < 0 ? rc : 0;
	fault_set(&call->fault, FAULT_NOT_FOUND, "/team",
		  "the agent's team is destroyed");
	return fault_hint(&call->fault, "See the teams with: {team.list}.");
}

bool who_is_nobody(const struct call *call)
{
	return call->identity.nobody && !call->identity.agent;
}

bool who_roams(const struct call *call)
{
	return !call->identity.agent;
}

/* --- agents ------------------------------------------------------------------ */

/* `lead` means the agent that leads the team, whatever its name. */
static int find_lead(struct call *call, struct agent_row *a)
{
	struct team_lead_row lead;
	int rc = sql_row(call, team_lead, &lead, .team = call->caller.team);

	return rc > 0 ? sql_row(call, agent_by_id, a, .id = lead.id) : rc;
}

/* Removes the team from an address. The team must be the call's team. Returns 0 or a fault. */
static int take_team(struct call *call, const char **address, const char *where)
{
	size_t own = strlen(call->caller.team_name);

	if (!strchr(*address, '/'))
		return 0;
	if (strncmp(*address, call->caller.team_name, own) != 0 ||
	    (*address)[own] != '/') {
		fault_set(&call->fault, FAULT_DENIED, where, "%s is not in team %s",
			  *address, call->caller.team_name);
		return who_roams(call)
			       ? fault_hint(
					 &call->fault,
					 "Name the agent's team with `team`, or leave the team out.")
			       : call->fault.code;
	}
	*address += own + 1;
	return 0;
}

/* Adds the names of the team's other members to a fault, as many as fit. */
static int tell_available(struct call *call)
{
	char *names = call->fault.available;
	const size_t room = sizeof(call->fault.available);
	const int code = call->fault.code;
	struct agent_names_row r;
	struct query q = { 0 };
	size_t n = 0;

	while (sql_each(call, &q, agent_names, &r, .team = call->caller.team,
			.except = call->caller.agent) > 0 &&
	       n + strlen(r.name) + 1 < room)
		n += (size_t)snprintf(names + n, room - n, "%s%s", n ? "," : "", r.name);
	query_end(&q);
	return code;
}

int who_agent(struct call *call, const char *name, const char *where, struct agent_row *a)
{
	int rc;

	if ((rc = take_team(call, &name, where)) < 0)
		return rc;
	if (strcmp(name, "self") == 0 && call->caller.agent)
		rc = sql_row(call, agent_by_id, a, .id = call->caller.agent);
	else if (strcmp(name, "lead") == 0)
		rc = find_lead(call, a);
	else
		rc = sql_row(call, agent_by_name, a, .team = call->caller.team,
			     .name = name);
	if (rc < 0)
		return rc;
	if (rc > 0)
		return 0;
	fault_set(&call->fault, FAULT_NOT_FOUND, where,
		  "there is no agent %s in team %s%s", name, call->caller.team_name,
		  in_state(call));
	fault_hint(&call->fault, "See its agents with: {agent.list}.");
	return tell_available(call);
}

/* --- roles ------------------------------------------------------------------- */

int who_role(struct call *call, const char *address, const char *where, const char **role)
{
	static const char prefix[] = "role:";

	if (!strchr(address, ':'))
		return 0;
	if (take_team(call, &address, where) < 0)
		return call->fault.code;
	if (strncmp(address, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	*role = address + sizeof(prefix) - 1;
	return 1;
}

static int nobody_with(struct call *call, const char *role, int64_t except,
		       const char *where)
{
	enum { ROLES_TOLD = 20 };
	struct agent_roles_row *there = NULL;
	const char *list = "";
	size_t n;

	if (sql_all(call, agent_roles, &there, &n, .team = call->caller.team,
		    .limit = ROLES_TOLD) < 0)
		return call->fault.code;
	for (size_t i = 0; i < n; i++)
		list = arena_printf(&call->arena, "%s%s%s", list, i ? ", " : "",
				    there[i].role);
	fault_set(&call->fault, FAULT_NOT_FOUND, where,
		  "nobody%s in team %s has the role %s", except ? " else" : "",
		  call->caller.team_name, role);
	return fault_hint(&call->fault, "The team's roles are: %s.", list);
}

int who_with_role(struct call *call, const char *role, int64_t except, const char *where,
		  struct agent_row **rows, size_t *n)
{
	int rc = sql_all(call, agents_with_role, rows, n, .team = call->caller.team,
			 .role = role, .except = except);

	if (rc < 0 || *n)
		return rc;
	return nobody_with(call, role, except, where);
}

int who_one(struct call *call, const char *name, const char *where, struct agent_row *a)
{
	struct agent_row *rows = NULL;
	const char *role;
	size_t n;
	int rc = who_role(call, name, where, &role);

	if (rc <= 0)
		return rc < 0 ? rc : who_agent(call, name, where, a);
	if ((rc = who_with_role(call, role, 0, where, &rows, &n)) < 0)
		return rc;
	if (n > 1) {
		fault_set(&call->fault, FAULT_CONFLICT, where,
			  "%zu members of team %s have the role %s", n,
			  call->caller.team_name, role);
		return fault_hint(&call->fault, "Name one member, such as %s.",
				  rows->name);
	}
	*a = rows[0];
	return 0;
}

bool who_observes(const struct agent_row *a)
{
	return a->kind == AGENT_KIND_MEMBER && strcmp(a->role, "observer") == 0 &&
	       strcmp(a->name, "lead") != 0;
}

int who_may_own(struct call *call, const struct agent_row *a, const char *where)
{
	if (!who_observes(a))
		return 0;
	fault_set(&call->fault, FAULT_INVALID, where,
		  "%s is an observer; observers claim no tasks", a->name);
	return fault_hint(&call->fault,
			  "Assign the task to a member with another role or to "
			  "nobody, or give a command for the observer's daemon "
			  "to run.");
}

int who_ask(struct call *call, enum who least)
{
	static const char *const hints[] = {
		[WHO_OBSERVER] = "Register first: {agent.register}{| NAME}.",
		[WHO_MEMBER] = "Ask the team's lead or the operator.",
		[WHO_LEAD] = "Ask the team's lead or the operator.",
		[WHO_OPERATOR] = "Ask the operator.",
		[WHO_HOST] = "A running host does this by itself.",
	};

	return fault_hint(&call->fault, "%s", hints[least]);
}

int who_leads(struct call *call, const char *where, const char *others, const char *what)
{
	if (call->caller.level >= WHO_LEAD)
		return 0;
	fault_set(&call->fault, FAULT_DENIED, where,
		  "only %s%sthe lead or the operator may %s", others, *others ? ", " : "",
		  what);
	return who_ask(call, WHO_LEAD);
}

int who_acts(struct call *call, const char *name, const char *where, struct agent_row *a)
{
	int rc;

	if (name && (rc = who_agent(call, name, where, a)) < 0)
		return rc;
	if (!name && (rc = sql_row(call, agent_by_id, a, .id = call->caller.agent)) <= 0)
		return rc < 0 ? rc
			      : fault_set(&call->fault, FAULT_NOT_FOUND, where,
					  "the caller's agent no longer exists");
	if (a->id == call->caller.agent)
		return 0;
	return who_leads(call, where, "", "do this for another agent");
}

int who_is(struct call *call, const char *name, const char *where, struct agent_row *a)
{
	const struct caller *c = &call->caller;

	if (name)
		return who_acts(call, name, where, a);
	*a = (struct agent_row){ .id = c->agent,
				 .team = c->team,
				 .name = c->name,
				 .generation = c->generation };
	return 0;
}
