#include "core/overview/needs.h"

#include <inttypes.h>

#include "core/message/inbox.h"
#include "core/call/space.h"
#include "core/task/task.h"
#include "core/turn/chain.h"

enum {
	EACH_MOST = 5, /* maximum number of rows of each kind in an answer */
	COUNT_MOST = 20, /* maximum number of rows of each kind that are counted */
	RESULTS_MOST = 100, /* maximum number of results that are counted */
	TEAMS_MOST = 100, /* maximum number of teams with mail; in a count also the
			     maximum number of teams in need */
	NEWS_MS = 24 * 3600 * 1000, /* time for which a task that failed is listed */
};

struct gathering {
	struct call *call;
	struct needs *needs;
	const struct team_seat_row *team;
	size_t of_kind; /* number of rows of the kind that is gathered now */
};

static void needs_add(struct gathering *g, struct need need)
{
	struct needs *all = g->needs;

	need.has_since = need.since != 0;
	need.team = all->named ? g->team->name : NULL;
	if (all->counts)
		return;
	all->full |= !space_take(g->call, &record_need, &need);
	if (!all->full)
		arena_add(&g->call->arena, all->rows, all->n, need);
}

/* Adds a row of the kind that is gathered now. After EACH_MOST rows of a kind, the next row
 * only says that there are more rows. `more` is the command that shows all rows. */
static void needs_add_one(struct gathering *g, enum concern what, const char *name,
			  int64_t since, const char *text, const char *more)
{
	const struct need one = {
		.what = what, .name = name, .since = since, .text = text
	};

	g->needs->stuck++;
	needs_add(g,
		  ++g->of_kind <= EACH_MOST
			  ? one
			  : (struct need){ .what = what,
					   .text = arena_printf(&g->call->arena,
								"and more: %s", more) });
}

/* Returns the maximum number of rows of each kind to read. */
static int64_t needs_most(const struct gathering *g)
{
	return g->needs->counts ? COUNT_MOST : EACH_MOST + 1;
}

static int64_t agent_of(const struct gathering *g)
{
	const struct call *call = g->call;

	return call->identity.agent ? call->caller.agent : g->team->agent;
}

/* Returns the command `cadre`, with the team's name if the answer is about several teams. */
static const char *needs_command_of(const struct gathering *g)
{
	return g->needs->named
		       ? arena_printf(&g->call->arena, "cadre --team %s", g->team->name)
		       : "cadre";
}

/* --- each kind ---------------------------------------------------------------------- */

static const char *results_text(struct call *call, int64_t n)
{
	return n > RESULTS_MOST
		       ? arena_printf(&call->arena, "over %d results", RESULTS_MOST)
		       : arena_printf(&call->arena, "%" PRId64 " result%s", n,
				      n == 1 ? "" : "s");
}

static int add_mail(struct gathering *g)
{
	struct call *call = g->call;
	struct results_waiting_row results;
	struct inbox_state_row inbox;
	struct inbox_row oldest = { 0 };
	struct query q;
	const char *text;
	int rc;

	if ((rc = inbox_counters(call, agent_of(g), &inbox)) < 0 ||
	    (rc = sql_row(call, results_waiting, &results, .agent = agent_of(g),
			  .most = RESULTS_MOST + 1)) < 0)
		return rc;
	sql_query(call, &q, inbox_next, .agent = agent_of(g), .now = call->now,
		  .limit = 1);
	if ((rc = sql_next(call, &q, &oldest)) < 0)
		return rc;
	query_end(&q);
	g->needs->mail += inbox.queued + results.n;
	text = inbox.queued ? arena_printf(&call->arena, "%" PRId64 " message%s",
					   inbox.queued, inbox.queued == 1 ? "" : "s")
			    : "";
	if (results.n)
		text = arena_printf(&call->arena, "%s%s%s", text, *text ? ", " : "",
				    results_text(call, results.n));
	if (*text)
		needs_add(g, (struct need){ .what = CONCERN_MAIL,
					    .name = call->caller.name,
					    .since = oldest.at,
					    .text = arena_printf(
						    &call->arena, "%s for you: %s inbox",
						    text, needs_command_of(g)) });
	return 0;
}

static int add_acks(struct gathering *g)
{
	struct call *call = g->call;
	struct acks_overdue_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, acks_overdue, &r, .team = g->team->id,
			      .now = call->now,
			      .agent = call->caller.level >= WHO_LEAD ? 0 : agent_of(g),
			      .limit = needs_most(g))) > 0)
		needs_add_one(
			g, CONCERN_ACK,
			arena_printf(&call->arena, "#%" PRId64, r.message), r.ack_due_at,
			arena_printf(&call->arena, "%s has not acknowledged what %s sent",
				     r.to_name, r.sender_name),
			"cadre inbox overdue");
	return rc;
}

/* Returns the text for a task that is blocked, or that failed or was cancelled. If a command
 * can help, the text begins with the command, because a screen may cut the end of the text. */
static const char *task_trouble(const struct gathering *g,
				const struct tasks_troubled_row *r)
{
	struct arena *a = &g->call->arena;
	const char *id = task_name(g->call, r->number), *behind;

	if (r->state == TASK_STATE_BLOCKED)
		return arena_printf(a, "%s task unblock %s: blocked, %s",
				    needs_command_of(g), id, r->note);
	if (!(behind = task_behind(g->call, r->id)))
		return arena_printf(a, "failed: %s", r->title);
	return r->state == TASK_STATE_CANCELLED
		       ? arena_printf(a, "called off, and %s: %s", behind, r->title)
		       : arena_printf(a, "%s task retry %s: failed, and %s",
				      needs_command_of(g), id, behind);
}

static int add_tasks(struct gathering *g)
{
	struct call *call = g->call;
	struct tasks_troubled_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, tasks_troubled, &r, .team = g->team->id,
			      .now = call->now, .recent = call->now - NEWS_MS,
			      .limit = needs_most(g))) > 0)
		needs_add_one(g, CONCERN_TASK, task_name(call, r.number), r.since,
			      task_trouble(g, &r),
			      "cadre task list --status failed,blocked");
	return rc;
}

static const char *agent_trouble(const struct gathering *g,
				 const struct agents_troubled_row *r)
{
	const struct call *call = g->call;

	if (r->status == AGENT_STATUS_FAILED &&
	    r->failures >= call->settings->config.runner_max_failures)
		return arena_printf(&g->call->arena,
				    "takes no more turns, for its runner has failed: "
				    "%s agent update %s --runner COMMAND",
				    needs_command_of(g), r->name);
	return r->status == AGENT_STATUS_STUCK ? "is stuck: its daemon makes no progress"
	       : r->status == AGENT_STATUS_FAILED ? "has given up"
						  : "is offline and holds a task";
}

static int add_agents(struct gathering *g)
{
	struct call *call = g->call;
	struct agents_troubled_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, agents_troubled, &r, .team = g->team->id,
			      .now = call->now, .limit = needs_most(g))) > 0)
		needs_add_one(g, CONCERN_AGENT, r.name, r.active_at, agent_trouble(g, &r),
			      "cadre agent list");
	return rc;
}

static const char *parked_why(const struct gathering *g,
			      const struct agents_parked_row *r, bool hosted)
{
	struct arena *a = &g->call->arena;
	char at[25];

	if (!hosted)
		return "has mail and takes no turns, for no host runs: cadre up";
	if (r->until) {
		time_format(r->until, at);
		return arena_printf(
			a, "is at the limit of its client's plan until %.16sZ", at);
	}
	return arena_printf(a, "has mail that starts no turn (%s): %s send %s TEXT",
			    r->hour ? "limits.turns_per_hour" : "limits.chain",
			    needs_command_of(g), r->name);
}

/* Adds agents whose runners take no turns although mail waits. */
static int needs_add_parked(struct gathering *g)
{
	struct call *call = g->call;
	const bool hosted = call_finds_host(call);
	struct agents_parked_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, agents_parked, &r, .team = g->team->id,
			      .now = call->now, .hosted = hosted,
			      .chain = chain_most(call), .per_hour = chain_per_hour(call),
			      .limit = needs_most(g))) > 0)
		needs_add_one(g, CONCERN_AGENT, r.name, r.active_at,
			      parked_why(g, &r, hosted), "cadre agent list");
	return rc;
}

static int add_workspaces(struct gathering *g)
{
	struct call *call = g->call;
	struct workspaces_failed_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, workspaces_failed, &r, .team = g->team->id,
			      .limit = needs_most(g))) > 0)
		needs_add_one(g, CONCERN_WORKSPACE, r.name, r.changed_at,
			      r.fault ? arena_printf(&call->arena, "failed: %s", r.fault)
				      : "failed: cadre logs says why",
			      "cadre workspace list");
	return rc;
}

/* Returns the command by which the operator reads the results of another agent, or "" if the
 * caller is an agent. */
static const char *reading_for(const struct gathering *g, const char *name)
{
	return g->call->identity.agent
		       ? ""
		       : arena_printf(&g->call->arena, ": %s --as %s inbox --take",
				      needs_command_of(g), name);
}

/* Adds unread results. A team whose work is done stays in the state `completing` until its
 * results have been read. */
static int add_results(struct gathering *g)
{
	struct call *call = g->call;
	struct team_is_busy_row busy;
	struct results_unread_row r;
	struct query q = { 0 };
	int rc;

	if (call->caller.level < WHO_LEAD)
		return 0;
	rc = sql_row(call, team_is_busy, &busy, .team = g->team->id);
	if (rc < 0 || busy.any)
		return rc < 0 ? rc : 0;
	while ((rc = sql_each(call, &q, results_unread, &r, .team = g->team->id,
			      .reader = agent_of(g), .most = RESULTS_MOST + 1,
			      .limit = needs_most(g))) > 0)
		needs_add_one(g, CONCERN_RESULT, r.sender_name, r.since,
			      arena_printf(&call->arena, "has not read %s%s",
					   results_text(call, r.n),
					   reading_for(g, r.sender_name)),
			      "cadre results");
	return rc;
}

/* Adds the team if the team is stopped. A stopped team waits until somebody lets the team go
 * on. */
static int add_stopped(struct gathering *g)
{
	struct call *call = g->call;
	struct team_stop_row r;
	int rc = sql_row(call, team_stopped, &r, .team = g->team->id);

	if (rc <= 0)
		return rc;
	needs_add(g,
		  (struct need){
			  .what = CONCERN_TEAM,
			  .name = g->team->name,
			  .text = arena_printf(
				  &call->arena, "stopped: cadre thaw %s%s", g->team->name,
				  r.running ? "; commands of some workspaces run on, see "
					      "cadre workspace list"
					    : ""),
			  .since = r.stopped_at });
	return 0;
}

static int needs_add_budgets(struct gathering *g)
{
	struct call *call = g->call;
	struct budget_row b;
	int rc = sql_row(call, budget_over, &b, .team = g->team->id, .now = call->now);

	if (rc > 0)
		needs_add(g, (struct need){
				     .what = CONCERN_TEAM,
				     .name = g->team->name,
				     .text = arena_printf(
					     &call->arena,
					     "may spend no more %s: cadre team budget %s",
					     field_choice(&record_budget_line, "kind",
							  b.kind),
					     g->team->name) });
	return rc < 0 ? rc : 0;
}

/* Gathers the caller's mail and all things in a team that need somebody's attention. A count
 * leaves out stops, budgets and unread results. Their functions are the first two and the last
 * one in `add`. */
static int needs_add_all(struct gathering *g)
{
	static int (*const add[])(struct gathering * g) = {
		add_stopped, needs_add_budgets, add_mail,       add_acks,    add_tasks,
		add_agents,  needs_add_parked,  add_workspaces, add_results,
	};
	const size_t n = sizeof(add) / sizeof(*add) - g->needs->counts;
	int rc = 0;

	for (size_t i = g->needs->counts ? 2 : 0; i < n && rc >= 0; i++) {
		g->of_kind = 0;
		rc = add[i](g);
	}
	return rc;
}

int needs_first_agent(struct call *call, int64_t team, const char **text)
{
	struct needs needs = { 0 };
	struct team_seat_row seat = { .id = team };
	struct gathering g = { .call = call, .needs = &needs, .team = &seat };
	int rc = add_agents(&g);

	if (needs.n)
		*text = arena_printf(&call->arena, "%s %s%s", needs.rows[0].name,
				     needs.rows[0].text,
				     needs.n > 1 ? "; and more: cadre team status" : "");
	return rc < 0 ? rc : 0;
}

static int needs_gather(struct call *call, struct needs *needs, int64_t team)
{
	struct team_seat_row seat;
	int rc = sql_row(call, team_seat, &seat, .team = team);

	return rc <= 0 ? rc
		       : needs_add_all(&(struct gathering){
				 .call = call, .needs = needs, .team = &seat });
}

/* Gathers the needs of all teams as long as the answer has room. Reads at most TEAMS_MOST teams
 * with mail. Teams with waiting mail are listed before other teams in which something may need
 * attention. */
static int needs_gather_all(struct call *call, struct needs *needs)
{
	struct teams_with_mail_row *mail = NULL;
	struct team_in_need_row next = { 0 };
	size_t n;
	int rc = sql_all(call, teams_with_mail, &mail, &n, .now = call->now,
			 .limit = TEAMS_MOST);

	for (size_t i = 0; i < n && rc >= 0 && !needs->full; i++)
		rc = needs_gather(call, needs, mail[i].team);
	for (int k = 0; rc >= 0 && !needs->full && (!needs->counts || k < TEAMS_MOST);
	     k++) {
		bool done = false;

		rc = sql_row(call, team_in_need, &next, .after = next.id,
			     .counts = needs->counts, .now = call->now);
		if (rc < 0 || !next.id)
			return rc;
		for (size_t i = 0; i < n; i++)
			done |= mail[i].team == next.id;
		if (!done)
			rc = needs_gather(call, needs, next.id);
	}
	return rc;
}

/* If the state refuses writes, adds a row that says so before all other rows, because a refusal
 * concerns everybody. */
static void needs_add_state(struct call *call, struct needs *needs)
{
	struct gathering g = { .call = call, .needs = needs };
	struct fault f = { 0 };

	/* If the check itself cannot read the file, the fault has no hint, and the next call
	 * may succeed. */
	if (store_look(call->store, &f) < 0 && *f.hint)
		needs_add(&g, (struct need){ .what = CONCERN_STATE,
					     .text = arena_printf(&call->arena, "%s; %s",
								  f.text, f.hint) });
}

int needs_tell(struct call *call, int64_t team, struct need **rows, size_t *n)
{
	struct team_only_row teams = { 0 };
	struct needs needs = { 0 };
	int rc;

	needs_add_state(call, &needs);
	rc = team ? needs_gather(call, &needs, team) : sql_row(call, team_only, &teams);
	needs.named = teams.n > 1;
	if (rc >= 0 && !team)
		rc = needs_gather_all(call, &needs);
	*rows = needs.rows;
	*n = needs.n;
	return rc < 0 ? rc : 0;
}

int needs_count(struct call *call, int64_t team, struct needs *needs)
{
	*needs = (struct needs){ .counts = true };
	return team ? needs_gather(call, needs, team) : needs_gather_all(call, needs);
}
