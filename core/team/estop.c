#include "core/team/estop.h"

#include "core/access/who.h"
#include "core/event/event.h"
#include "core/team/team.h"

int estop_check(struct call *call, const char *where)
{
	if (!call->caller.team_stopped)
		return 0;
	fault_set(&call->fault, FAULT_CONFLICT, where, "team %s is stopped",
		  call->caller.team_name);
	return fault_hint(&call->fault, "Nothing new can begin before {team.thaw}.");
}

/* Moves the ends of leases by ESTOP_FAR into the future, in a team that was stopped at the time
 * `stopped_at`. */
static int estop_hold_leases(struct call *call, int64_t team, int64_t stopped_at)
{
	int64_t passed = call->now - stopped_at;
	int rc = sql_run(call, freeze_tasks, .team = team, .far = ESTOP_FAR,
			 .passed = passed, .now = call->now);

	if (rc >= 0)
		rc = sql_run(call, freeze_reservations, .team = team, .far = ESTOP_FAR,
			     .passed = passed, .now = call->now);
	if (rc >= 0)
		rc = sql_run(call, freeze_deliveries, .team = team, .far = ESTOP_FAR,
			     .passed = passed, .now = call->now);
	return rc < 0 ? rc : 0;
}

int estop_hold(struct call *call)
{
	const struct caller *c = &call->caller;

	return c->team_stopped ? estop_hold_leases(call, c->team, c->team_stopped) : 0;
}

/* Restores leases and timeouts, and makes them longer by the time of the pause. */
static int estop_give_back(struct call *call, int64_t team, int64_t stopped_at)
{
	/* The pause is negative if the clock was put back meanwhile. The ends of leases follow
	 * the same clock. */
	int64_t pause = call->now - stopped_at;
	int rc =
		sql_run(call, thaw_tasks, .team = team, .far = ESTOP_FAR, .pause = pause);

	if (rc >= 0)
		rc = sql_run(call, thaw_reservations, .team = team, .far = ESTOP_FAR,
			     .pause = pause);
	if (rc >= 0)
		rc = sql_run(call, thaw_deliveries, .team = team, .far = ESTOP_FAR,
			     .pause = pause);
	if (rc >= 0)
		rc = sql_run(call, thaw_assignments, .team = team, .pause = pause,
			     .stopped_at = stopped_at);
	if (rc >= 0)
		rc = sql_run(call, thaw_daemons, .team = team, .now = call->now);
	if (rc >= 0)
		rc = sql_run(call, budget_go_on, .team = team, .now = call->now);
	return rc < 0 ? rc : 0;
}

/* A walk through the teams that are stopped or thawed. */
struct walk {
	const char **done, **left; /* names of teams, in the call's arena */
	size_t n_done, n_left;
	int64_t running; /* number of workspaces whose guests have not stopped */
	bool denied; /* the caller may not thaw one of the teams */
};

static int estop_tell(struct call *call, int64_t team, int kind)
{
	return event_by(call, .kind = kind, .team = team, .actor = event_actor(call),
			.subject = team);
}

/* Counts the workspaces of a stopped team whose guests have not stopped. In the process of a
 * host nothing is counted, because the host tells the guests to stop now. The status shows the
 * guests that cannot stop. */
static int count_running(struct call *call, int64_t team, struct walk *w)
{
	struct team_stop_row r;
	int rc = call->host ? 0 : sql_row(call, team_stopped, &r, .team = team);

	w->running += rc > 0 ? r.running : 0;
	return rc;
}

static int stop_one(struct call *call, const struct team_subtree_row *t, struct walk *w)
{
	int rc = sql_run(call, team_stop, .team = t->id, .now = call->now,
			 .agent = call->identity.agent ? call->caller.agent : 0);

	if (rc == 0) {
		arena_add(&call->arena, w->left, w->n_left, t->name);
		return sql_run(call, team_stop_above, .team = t->id,
			       .agent = call->identity.agent ? call->caller.agent : 0);
	}
	if (rc < 0)
		return rc;
	arena_add(&call->arena, w->done, w->n_done, t->name);
	if ((rc = estop_hold_leases(call, t->id, call->now)) < 0 ||
	    (rc = sql_run(call, budget_stop, .team = t->id, .now = call->now)) < 0)
		return rc;
	return estop_tell(call, t->id, EVENT_TEAM_STOPPED);
}

static int estop_stop(struct call *call, const struct team_subtree_row *t, struct walk *w)
{
	int rc = stop_one(call, t, w);

	return rc < 0 ? rc : count_running(call, t->id, w);
}

static int thaw(struct call *call, const struct team_subtree_row *t, struct walk *w)
{
	struct team_row team;
	int rc = sql_row(call, team_by_id, &team, .id = t->id);

	if (rc <= 0 || !team.stopped_at)
		return rc;
	rc = sql_run(call, team_thaw, .team = t->id, .operator= !call->identity.agent,
		     .own_team = call->caller.own_team);
	if (rc <= 0) {
		w->denied = true;
		return rc;
	}
	if (t->id == call->caller.team)
		call->caller.team_stopped = 0;
	arena_add(&call->arena, w->done, w->n_done, t->name);
	rc = estop_give_back(call, t->id, team.stopped_at);
	return rc < 0 ? rc : estop_tell(call, t->id, EVENT_TEAM_THAWED);
}

typedef int each(struct call *call, const struct team_subtree_row *t, struct walk *w);

/* Calls `f` for a team and for all teams below it, from the top. */
static int walk_from(struct call *call, int64_t team, each *f, struct walk *w)
{
	struct team_subtree_row *all = NULL;
	size_t n;
	int rc = sql_all(call, team_subtree, &all, &n, .team = team);

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = f(call, &all[n - 1 - i], w);
	return rc;
}

static int estop_walk_all(struct call *call, each *f, struct walk *w)
{
	struct team_subtree_row *tops = NULL;
	size_t n;
	int rc = sql_all(call, teams_top, &tops, &n);

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = walk_from(call, tops[i].id, f, w);
	return rc;
}

/* Calls `f` for the named team and all teams below it, or for all teams. */
static int estop_walk(struct call *call, const char *team, bool all, each *f,
		      struct walk *w)
{
	int rc;

	if (all && call->identity.agent) {
		fault_set(&call->fault, FAULT_DENIED, "/all",
			  "only the operator can name all teams");
		return who_ask(call, WHO_OPERATOR);
	}
	if (all && team)
		return fault_set(&call->fault, FAULT_INVALID, "/all",
				 "name a team or give `all`, not both");
	if (all)
		return estop_walk_all(call, f, w);
	if ((rc = team ? team_enter_below(call, team) : 0) < 0 ||
	    (rc == 0 && (rc = who_team(call, team)) < 0))
		return rc;
	return walk_from(call, call->caller.team, f, w);
}

/* Lists the teams that are stopped now, for a repeated call. */
static int estop_look(struct call *call, const struct team_subtree_row *t, struct walk *w)
{
	struct team_row team;
	int rc = sql_row(call, team_by_id, &team, .id = t->id);

	if (rc <= 0 || !team.stopped_at)
		return rc;
	arena_add(&call->arena, w->left, w->n_left, t->name);
	return count_running(call, t->id, w);
}

/* Sets call->made, so that a repeated call changes nothing. */
static void estop_made(struct call *call)
{
	call->made = call->caller.team ? call->caller.team : 1;
}

int team_estop(struct call *call, const struct team_estop_in *in,
	       struct team_estop_out *out)
{
	struct walk w = { 0 };
	int rc = estop_walk(call, in->team, in->all, call->made ? estop_look : estop_stop,
			    &w);

	estop_made(call);

	out->teams = w.done;
	out->n_teams = w.n_done;
	out->before = w.left;
	out->n_before = w.n_left;
	out->running = w.running;
	out->has_running = w.running > 0;
	return rc < 0 ? rc : 0;
}

int team_thaw(struct call *call, const struct team_thaw_in *in, struct team_thaw_out *out)
{
	struct walk w = { 0 };
	int rc = estop_walk(call, in->team, in->all, call->made ? estop_look : thaw, &w);

	estop_made(call);
	if (rc < 0)
		return rc;
	if (w.denied && !w.n_done) {
		fault_set(
			&call->fault, FAULT_DENIED, "/team",
			"the team was stopped from above, so the thaw must come from above");
		return fault_hint(&call->fault,
				  "Ask the lead of the team above it, or the operator.");
	}
	out->teams = w.done;
	out->n_teams = w.n_done;
	return 0;
}
