#include "core/overview/needs.h"

#include <inttypes.h>
#include <string.h>

#include "core/message/inbox.h"
#include "core/call/space.h"
#include "core/task/task.h"
#include "core/turn/chain.h"

enum {
	EACH_MOST = 5, /* maximum number of rows of each kind in an answer */
	MAIL_MOST = 25, /* maximum number of messages that are read for these rows */
	COUNT_MOST = 20, /* maximum number of rows of each kind that are counted */
	RESULTS_MOST = 100, /* maximum number of results that are counted */
	TEAMS_MOST = 100, /* maximum number of teams with mail; in a count also the
			     maximum number of teams in need */
	WORDS_MOST = 200, /* bytes of a message that an answer shows */
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
static void needs_add_one(struct gathering *g, struct need one, const char *more)
{
	if (++g->of_kind > EACH_MOST)
		one = (struct need){ .what = one.what,
				     .text = "and more",
				     .command = more };
	needs_add(g, one);
}

/* Like needs_add_one(), for a need other than mail. */
static void needs_add_stuck(struct gathering *g, struct need one, const char *more)
{
	g->needs->stuck++;
	needs_add_one(g, one, more);
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

/* Returns the command by which the operator does `what` as the agent `name`. Returns NULL if
 * the caller is an agent, because an agent cannot act as another agent. */
static const char *needs_as(const struct gathering *g, const char *name, const char *what)
{
	return g->call->identity.agent ? NULL
				       : arena_printf(&g->call->arena, "%s --as %s %s",
						      needs_command_of(g), name, what);
}

/* Returns the first words of a message. */
static const char *needs_words(struct call *call, const char *content)
{
	int64_t size;
	const char *words = space_cut(call, content, WORDS_MOST, &size);

	return size ? arena_printf(&call->arena, "%s…", words) : words;
}

/* --- each kind ---------------------------------------------------------------------- */

static const char *results_text(struct call *call, int64_t n)
{
	return n > RESULTS_MOST
		       ? arena_printf(&call->arena, "over %d results", RESULTS_MOST)
		       : arena_printf(&call->arena, "%" PRId64 " result%s", n,
				      n == 1 ? "" : "s");
}

/* Describes a message that waits for the caller. A notice of cadre or of a program is read. A
 * message from somebody who wrote a text is answered. */
static struct need message_waits(const struct gathering *g, const struct inbox_row *r)
{
	struct arena *a = &g->call->arena;
	const char *cadre = needs_command_of(g);
	const bool written = !strcmp(r->type, "text") || !strcmp(r->type, "request");

	return (struct need){
		.what = CONCERN_MAIL,
		.name = arena_printf(a, "#%" PRId64, r->message),
		.since = r->at,
		.text = arena_printf(a, "%s: %s", r->sender_name,
				     needs_words(g->call, r->content)),
		.command = written ? arena_printf(a, "%s reply %" PRId64 " TEXT", cadre,
						  r->message)
				   : arena_printf(a, "%s inbox", cadre),
	};
}

/* Whether a message is cadre's notice of a failed or called-off task, which add_tasks() lists. */
static bool message_is_listed(const struct call *call, const struct inbox_row *r)
{
	return r->chain == CHAIN_NOTICE && !strcmp(r->type, "task_update") &&
	       !strcmp(r->sender_name, "operator") && r->at > call->now - NEWS_MS;
}

/* Adds the first messages that wait for the caller, with their words. */
static int add_messages(struct gathering *g, int64_t queued)
{
	struct call *call = g->call;
	struct inbox_row r;
	struct query q = { 0 };
	int rc = 0;

	while (queued && (rc = sql_each(call, &q, inbox_next, &r, .agent = agent_of(g),
					.now = call->now, .limit = MAIL_MOST)) > 0) {
		if (message_is_listed(call, &r))
			continue;
		needs_add_one(g, message_waits(g, &r),
			      arena_printf(&call->arena, "%s inbox",
					   needs_command_of(g)));
		if (g->of_kind > EACH_MOST)
			break;
	}
	return query_over(&q, rc);
}

static int add_mail(struct gathering *g)
{
	struct call *call = g->call;
	struct results_waiting_row results;
	struct inbox_state_row inbox;
	int rc;

	if ((rc = inbox_counters(call, agent_of(g), &inbox)) < 0 ||
	    (rc = sql_row(call, results_waiting, &results, .agent = agent_of(g),
			  .most = RESULTS_MOST + 1)) < 0)
		return rc;
	g->needs->mail += inbox.queued + results.n;
	if (g->needs->counts)
		return 0;
	if (results.n)
		needs_add(g,
			  (struct need){ .what = CONCERN_MAIL,
					 .name = call->caller.name,
					 .text = results_text(call, results.n),
					 .command = arena_printf(&call->arena, "%s inbox",
								 needs_command_of(g)) });
	return add_messages(g, inbox.queued);
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
		needs_add_stuck(
			g,
			(struct need){
				.what = CONCERN_ACK,
				.name = arena_printf(&call->arena, "#%" PRId64,
						     r.message),
				.since = r.ack_due_at,
				.text = arena_printf(
					&call->arena,
					"%s has not acknowledged what %s sent: %s",
					r.to_name, r.sender_name,
					needs_words(call, r.content)),
				.command = arena_printf(&call->arena, "%s send %s TEXT",
							needs_command_of(g), r.to_name) },
			"cadre inbox overdue");
	return rc;
}

/* Describes a task that is blocked, or that failed or was cancelled, by its title and the
 * reason. */
static struct need task_trouble(const struct gathering *g,
				const struct tasks_troubled_row *r)
{
	struct arena *a = &g->call->arena;
	const char *id = task_name(g->call, r->number), *cadre = needs_command_of(g),
		   *behind = NULL, *mine;
	struct need n = { .what = CONCERN_TASK, .name = id, .since = r->since };

	if (r->state == TASK_STATE_BLOCKED) {
		mine = arena_printf(a, "task unblock %s", id);
		n.text = arena_printf(a, "%s: %s is blocked: %s", r->title, r->owner_name,
				      r->note);
		n.command = needs_as(g, r->owner_name, mine);
		if (!n.command)
			n.command = strcmp(g->call->caller.name, r->owner_name) != 0
					    ? arena_printf(a, "%s send %s TEXT", cadre,
							   r->owner_name)
					    : arena_printf(a, "%s %s", cadre, mine);
		return n;
	}
	behind = task_behind(g->call, r->id);
	n.text = arena_printf(a, "%s: %s%s%s%s%s", r->title,
			      r->state == TASK_STATE_CANCELLED ? "called off" : "failed",
			      *r->note ? ": " : "", r->note, behind ? "; " : "",
			      behind ? behind : "");
	n.command = r->state == TASK_STATE_CANCELLED
			    ? arena_printf(a, "%s task show %s", cadre, id)
			    : arena_printf(a, "%s task retry %s", cadre, id);
	return n;
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
		needs_add_stuck(g, task_trouble(g, &r),
				"cadre task list --status failed,blocked");
	return rc;
}

static struct need agent_trouble(const struct gathering *g,
				 const struct agents_troubled_row *r)
{
	const struct call *call = g->call;
	struct arena *a = &g->call->arena;
	struct need n = { .what = CONCERN_AGENT, .name = r->name, .since = r->active_at };
	const char *task = r->task ? task_name(g->call, r->task) : "";

	if (r->status == AGENT_STATUS_OFFLINE) {
		n.text = arena_printf(a, "is offline and holds task %s", task);
		n.command = needs_as(g, r->name, arena_printf(a, "release %s", task));
		return n;
	}
	n.text = r->status == AGENT_STATUS_STUCK
			 ? "is stuck: its daemon makes no progress"
			 : "has given up";
	n.command = arena_printf(a, "%s agent whois %s", needs_command_of(g), r->name);
	if (r->status == AGENT_STATUS_FAILED &&
	    r->failures >= call->settings->config.runner_max_failures) {
		n.text = "takes no more turns, because its runner has failed";
		n.command = arena_printf(a, "%s agent update %s --runner COMMAND",
					 needs_command_of(g), r->name);
	}
	return n;
}

static int add_agents(struct gathering *g)
{
	struct call *call = g->call;
	struct agents_troubled_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, agents_troubled, &r, .team = g->team->id,
			      .now = call->now, .limit = needs_most(g))) > 0)
		needs_add_stuck(g, agent_trouble(g, &r), "cadre agent list");
	return rc;
}

static struct need parked_why(const struct gathering *g,
			      const struct agents_parked_row *r, bool hosted)
{
	struct arena *a = &g->call->arena;
	struct need n = { .what = CONCERN_AGENT, .name = r->name, .since = r->active_at };
	char at[25];

	if (!hosted) {
		n.text = "has mail and takes no turns, because no host runs";
		n.command = "cadre up";
	} else if (r->until) {
		time_format(r->until, at);
		n.text = arena_printf(
			a, "is at the limit of its client's plan until %.16sZ", at);
		n.command = arena_printf(a, "%s agent update %s --runner COMMAND",
					 needs_command_of(g), r->name);
	} else {
		n.text = arena_printf(a, "has mail that starts no turn (%s)",
				      r->hour ? "limits.turns_per_hour" : "limits.chain");
		n.command =
			arena_printf(a, "%s send %s TEXT", needs_command_of(g), r->name);
	}
	return n;
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
		needs_add_stuck(g, parked_why(g, &r, hosted), "cadre agent list");
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
		needs_add_stuck(
			g,
			(struct need){
				.what = CONCERN_WORKSPACE,
				.name = r.name,
				.since = r.changed_at,
				.text = r.fault ? arena_printf(&call->arena, "failed: %s",
							       r.fault)
						: "failed: the host's log has the cause",
				.command = r.fault ? arena_printf(&call->arena,
								  "%s workspace start %s",
								  needs_command_of(g),
								  r.name)
						   : "cadre logs" },
			"cadre workspace list");
	return rc;
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
		needs_add_stuck(
			g,
			(struct need){
				.what = CONCERN_RESULT,
				.name = r.sender_name,
				.since = r.since,
				.text = arena_printf(&call->arena, "has not read %s",
						     results_text(call, r.n)),
				.command = needs_as(g, r.sender_name, "inbox --take") },
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
			  .text = r.running ? "stopped; commands of some workspaces run "
					      "on, see cadre workspace list"
					    : "stopped",
			  .command = arena_printf(&call->arena, "cadre thaw %s",
						  g->team->name),
			  .since = r.stopped_at });
	return 0;
}

static int needs_add_budgets(struct gathering *g)
{
	struct call *call = g->call;
	struct budget_row b;
	const char *kind;
	int rc = sql_row(call, budget_over, &b, .team = g->team->id, .now = call->now);

	if (rc <= 0)
		return rc;
	kind = field_choice(&record_budget_line, "kind", b.kind);
	needs_add(g, (struct need){
			     .what = CONCERN_TEAM,
			     .name = g->team->name,
			     .text = arena_printf(&call->arena,
						  "may spend no more %s: the limit of "
						  "%" PRId64 " is reached",
						  kind, b.most),
			     .command = arena_printf(&call->arena,
						     "cadre team update %s --max-%s N",
						     g->team->name, kind) });
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
		*text = arena_printf(&call->arena, "%s %s%s%s%s", needs.rows[0].name,
				     needs.rows[0].text,
				     needs.rows[0].command ? ": " : "",
				     needs.rows[0].command ? needs.rows[0].command : "",
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
		needs_add(&g,
			  (struct need){ .what = CONCERN_STATE,
					 .text = arena_strdup(&call->arena, f.text),
					 .command = arena_strdup(&call->arena, f.hint) });
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
