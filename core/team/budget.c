#include "core/team/budget.h"

#include <inttypes.h>

#include "core/access/who.h"
#include "core/base/money.h"
#include "core/call/space.h"
#include "core/message/message.h"
#include "core/team/team.h"
#include "core/turn/chain.h"

static int budget_announce(struct call *call);
static int budget_announce_in(struct call *call, int64_t team);

/* The words of each kind of budget. `noun` is what the budget counts, and `where` is the
 * argument that sets the limit. A budget of money has no noun, since its amounts have a $. */
static const struct {
	const char *noun, *where;
} kinds[] = {
	[BUDGET_KIND_TOKENS] = { "tokens", "/max_tokens" },
	[BUDGET_KIND_COST] = { NULL, "/max_cost" },
	[BUDGET_KIND_SECONDS] = { "seconds", "/max_seconds" },
	[BUDGET_KIND_MESSAGES] = { "messages", "/max_messages" },
};

enum { FIRST = BUDGET_KIND_TOKENS, LAST = BUDGET_KIND_MESSAGES };

static int64_t budget_left_of(const struct budget_row *b)
{
	int64_t left = b->most - b->used - b->reserved;

	return left > 0 ? left : 0;
}

/* An amount of a budget as a text. */
static const char *budget_amount_of(struct call *call, int64_t kind, int64_t n)
{
	char money[32];

	if (kinds[kind].noun)
		return arena_printf(&call->arena, "%" PRId64, n);
	money_write(n, money);
	return arena_strdup(&call->arena, money);
}

/* Writes how much of a limit the team `team` has left, has used, and has reserved for teams
 * below. */
static const char *tell_left(struct call *call, const char *team,
			     const struct budget_row *b)
{
	const char *noun = kinds[b->kind].noun;

	return arena_printf(
		&call->arena,
		"team %s has %s of %s%s%s left (%s): %s are used, %s reserved "
		"for teams below it",
		team, budget_amount_of(call, b->kind, budget_left_of(b)),
		budget_amount_of(call, b->kind, b->most), noun ? " " : "",
		noun ? noun : "", kinds[b->kind].where + 1,
		budget_amount_of(call, b->kind, b->used),
		budget_amount_of(call, b->kind, b->reserved));
}

static int get(struct call *call, int64_t team, int64_t kind, struct budget_row *b)
{
	*b = (struct budget_row){ .kind = kind };
	return sql_row(call, budget_row, b, .team = team, .kind = kind, .now = call->now);
}

/* --- limits ------------------------------------------------------------------------- */

/* Refuses a limit because too little is left in the team above. If `most` is 0, refuses a team
 * without a limit, because the team above has a limit. */
static int above_refuses(struct call *call, int64_t above, int64_t kind, int64_t most)
{
	struct budget_row b;
	struct team_row t;

	if (sql_row(call, team_by_id, &t, .id = above) < 0 ||
	    get(call, above, kind, &b) < 0)
		return call->fault.code;
	fault_set(&call->fault, FAULT_EXHAUSTED, kinds[kind].where, "%s",
		  tell_left(call, t.name, &b));
	return fault_hint(
		&call->fault,
		most ? "Ask for less, or ask for a higher %s."
		     : "This team needs a limit too: set %s to the team's part.",
		kinds[kind].where + 1);
}

int budget_reserve(struct call *call, int64_t team)
{
	int rc = sql_run(call, board_reserve, .team = team);

	if (rc >= 0)
		rc = sql_run(call, budget_reserve, .team = team);
	return rc < 0 ? rc : 0;
}

int budget_open(struct call *call, int64_t team, int64_t above,
		const struct budget_wish *wish)
{
	int rc = 1;

	for (int64_t kind = FIRST; kind <= LAST && rc > 0; kind++) {
		rc = sql_run(call, budget_add, .team = team, .kind = kind,
			     .most = wish->most[kind], .now = call->now);
		if (rc == 0)
			return above_refuses(call, above, kind, wish->most[kind]);
	}
	if (rc < 0 || (rc = sql_run(call, budget_count, .team = team)) < 0 || !above ||
	    (rc = budget_reserve(call, above)) < 0)
		return rc;
	return budget_announce_in(call, above);
}

/* Sets the fault for a refused limit. The reason is the team's own spending, a team below
 * without a limit, or the team above. */
static int budget_refuse(struct call *call, const struct team_row *t, int64_t kind,
			 int64_t most)
{
	struct budget_unlimited_row free = { 0 };
	struct budget_row b;
	int rc = get(call, t->id, kind, &b);

	if (rc <= 0)
		return rc;
	if (most && most < b.used + b.reserved && (!b.most || most < b.most)) {
		fault_set(&call->fault, FAULT_CONFLICT, kinds[kind].where,
			  "team %s has used %" PRId64 " %s, and has reserved %" PRId64
			  " for teams below it",
			  t->name, b.used, kinds[kind].noun, b.reserved);
		return fault_hint(&call->fault,
				  "Set the limit to the sum of both numbers, or higher.");
	}
	rc = sql_row(call, budget_unlimited, &free, .team = t->id, .kind = kind);
	if (rc <= 0 || !most)
		return rc < 0 ? rc : above_refuses(call, t->parent, kind, most);
	fault_set(&call->fault, FAULT_CONFLICT, kinds[kind].where,
		  "team %s, which is below, has no limit of its own", free.name);
	return fault_hint(&call->fault, "Give that team a limit first.");
}

int budget_change(struct call *call, int64_t team, const struct budget_wish *wish)
{
	struct team_row t;
	int rc = sql_row(call, team_by_id, &t, .id = team);

	for (int64_t kind = FIRST; kind <= LAST && rc > 0; kind++) {
		if (!wish->said[kind])
			continue;
		rc = sql_run(call, budget_set, .team = team, .kind = kind,
			     .most = wish->most[kind], .now = call->now);
		if (rc == 0)
			return budget_refuse(call, &t, kind, wish->most[kind]);
	}
	if (rc < 0 || (rc = sql_run(call, budget_count, .team = team)) < 0 ||
	    (rc = budget_announce_in(call, team)) < 0 || !t.parent ||
	    (rc = budget_reserve(call, t.parent)) < 0)
		return rc;
	return budget_announce_in(call, t.parent);
}

int budget_limits(struct call *call, int64_t team, int64_t most[BUDGET_KINDS])
{
	struct budget_row b;
	int rc = 1;

	for (int64_t kind = FIRST; kind <= LAST && rc > 0; kind++) {
		rc = get(call, team, kind, &b);
		most[kind] = b.most;
	}
	return rc < 0 ? rc : 0;
}

int budget_close(struct call *call, int64_t team)
{
	struct team_row t;
	int rc = sql_row(call, team_by_id, &t, .id = team);

	if (rc <= 0 ||
	    (rc = sql_run(call, budget_stop, .team = team, .now = call->now)) < 0 ||
	    !t.parent || (rc = sql_run(call, budget_return, .team = team)) < 0 ||
	    (rc = budget_reserve(call, t.parent)) < 0)
		return rc;
	return budget_announce_in(call, t.parent);
}

/* --- spending ----------------------------------------------------------------------- */

int budget_check(struct call *call, int64_t team, const char *where)
{
	struct budget_row b;
	struct team_row t;
	int rc;

	if (team == call->caller.team && !call->caller.team_limits)
		return 0;
	rc = sql_row(call, budget_over, &b, .team = team, .now = call->now);
	if (rc <= 0 || (rc = sql_row(call, team_by_id, &t, .id = team)) < 0)
		return rc;
	fault_set(&call->fault, FAULT_EXHAUSTED, where, "%s",
		  tell_left(call, t.name, &b));
	return fault_hint(&call->fault,
			  "Members may finish their tasks. {Ask for a higher "
			  "%s.|To go on, set a higher %s: see cadre team update.}",
			  kinds[b.kind].where + 1, kinds[b.kind].where + 1);
}

int budget_take_message(struct call *call)
{
	int64_t team = call->caller.team;
	struct budget_row b;
	int rc;

	if (!call->caller.team_limits)
		return 0;
	if ((rc = sql_run(call, budget_message, .team = team)))
		return rc < 0 ? rc : budget_announce(call);
	if ((rc = get(call, team, BUDGET_KIND_MESSAGES, &b)) < 0 || !b.most)
		/* a budget of time may have become low or used up */
		return rc < 0 ? rc : budget_announce(call);
	fault_set(&call->fault, FAULT_EXHAUSTED, "/to", "%s",
		  tell_left(call, call->caller.team_name, &b));
	return fault_hint(&call->fault,
			  "Messages to the operator are free: ask the operator "
			  "for a higher max_messages.");
}

/* Counts spending in the team up to the team's limit. The spending beyond the limit is counted
 * in the team above. So no team above shows more than is really left. Returns 0 or negative. */
static int budget_spend_here(struct call *call, int64_t team, int64_t kind, int64_t n,
			     int64_t *over)
{
	struct budget_row b;
	struct team_row t;
	int64_t own = n;
	int rc;

	if ((rc = get(call, team, kind, &b)) <= 0 ||
	    (rc = sql_row(call, team_by_id, &t, .id = team)) <= 0)
		return rc;
	if (t.parent && b.most && budget_left_of(&b) < own)
		own = budget_left_of(&b);
	if (own &&
	    (rc = sql_run(call, budget_spend, .team = team, .kind = kind, .n = own)) < 0)
		return rc;
	if (n == own)
		return 0;
	*over += team == call->caller.team ? n - own : 0;
	if ((rc = budget_spend_here(call, t.parent, kind, n - own, over)) < 0)
		return rc;
	return budget_announce_in(call, t.parent);
}

int budget_count(struct call *call, const struct team_usage_in *in, int64_t agent,
		 struct team_usage_out *out)
{
	int64_t team = call->caller.team;
	const char *said = arena_printf(&call->arena,
					"{\"tokens_in\":%" PRId64
					",\"tokens_out\":%" PRId64 ",\"cost\":%" PRId64
					"}",
					in->tokens_in, in->tokens_out, in->cost);
	int rc = budget_spend_here(call, team, BUDGET_KIND_TOKENS,
				   in->tokens_in + in->tokens_out, &out->tokens_above);

	if (rc < 0 ||
	    (rc = budget_spend_here(call, team, BUDGET_KIND_COST, in->cost,
				    &out->cost_above)) < 0 ||
	    (rc = event_emit(call, EVENT_TEAM_USAGE, team, agent, said)) < 0)
		return rc;
	return budget_announce(call);
}

int team_usage(struct call *call, const struct team_usage_in *in,
	       struct team_usage_out *out)
{
	struct budget_row tokens, cost;
	struct agent_row a;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = who_acts(call, in->agent, "/agent", &a)) < 0)
		return rc;
	if (!call->made) {
		call->made = a.id;
		if ((rc = call_key_made(call, a.id)) < 0 ||
		    (rc == 0 && (rc = budget_count(call, in, a.id, out)) < 0))
			return rc;
	}
	if ((rc = get(call, call->caller.team, BUDGET_KIND_TOKENS, &tokens)) < 0 ||
	    (rc = get(call, call->caller.team, BUDGET_KIND_COST, &cost)) < 0)
		return rc;
	out->team = call->caller.team_name;
	out->tokens = tokens.used;
	out->has_max_tokens = tokens.most > 0;
	out->max_tokens = tokens.most;
	out->cost = cost.used;
	out->has_max_cost = cost.most > 0;
	out->max_cost = cost.most;
	return 0;
}

/* --- warning ------------------------------------------------------------------------ */

static int warn(struct call *call, const struct budget_turned_row *r)
{
	const struct budget_row b = { r->kind, r->most, r->used, r->reserved, r->told };
	const char *left = tell_left(call, call->caller.team_name, &b);
	bool over = r->level > 1;
	int rc = event_by(call, .kind = over ? EVENT_TEAM_EXHAUSTED : EVENT_TEAM_LOW,
			  .team = call->caller.team, .actor = event_actor(call),
			  .subject = call->caller.team,
			  .detail = arena_printf(
				  &call->arena, "%s: %" PRId64 " of %" PRId64 " left",
				  kinds[r->kind].noun, budget_left_of(&b), r->most));

	if (rc < 0)
		return rc;
	return team_notice(
		call, "budget",
		arena_printf(
			&call->arena, "%s.%s", left,
			!over ? ""
			: r->kind == BUDGET_KIND_MESSAGES
				? " Until the team may send more messages, its agents "
				  "can write only to the operator. The team gets no new "
				  "claims, assignments, members and teams below it."
				: " Until the team may spend more, it gets no new "
				  "claims, assignments, members and teams below it."));
}

/* Announces the budgets of the call's team that have become low or used up since the last
 * announcement. For each announced budget, writes an event, and sends a message to the lead and
 * the operator. */
static int budget_announce(struct call *call)
{
	struct budget_turned_row *all = NULL;
	size_t n;
	int rc = sql_all(call, budget_turned, &all, &n, .team = call->caller.team,
			 .now = call->now);

	for (size_t i = 0; i < n && rc >= 0; i++) {
		rc = sql_run(call, budget_tell, .team = call->caller.team,
			     .kind = all[i].kind, .told = all[i].level);
		if (rc >= 0 && all[i].level > all[i].told)
			rc = warn(call, &all[i]);
	}
	return rc < 0 ? rc : 0;
}

static int announce_in(struct call *call, int64_t team, const char *name,
		       int64_t capacity)
{
	const struct caller was = call->caller;
	int rc;

	call->caller.team = team;
	call->caller.team_name = name;
	call->caller.inbox_capacity = capacity;
	rc = budget_announce(call);
	call->caller = was;
	return rc;
}

/* Calls budget_announce() for the team `team`. */
static int budget_announce_in(struct call *call, int64_t team)
{
	struct team_row t;
	int rc = sql_row(call, team_by_id, &t, .id = team);

	return rc <= 0 || t.destroyed_at
		       ? rc
		       : announce_in(call, team, t.name, t.inbox_capacity);
}

int budget_settle(struct call *call)
{
	struct budget_clocks_row *all = NULL;
	size_t n;
	int rc = sql_all(call, budget_clocks, &all, &n);

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = announce_in(call, all[i].id, all[i].name, all[i].inbox_capacity);
	return rc < 0 ? rc : 0;
}

/* Lists the limits of teams and their spending. */

static int budget_show_add(struct call *call, const struct budget_line *line,
			   struct budget_list *list)
{
	if (list->full)
		return 0;
	if (list->skip > 0) {
		list->skip--;
		return 0;
	}
	space_add(call, &record_budget_line, line, &list->lines, &list->n, INT64_MAX,
		  &list->full);
	return 0;
}

/* The part of a limit that is used or reserved, in percent. */
static int64_t budget_share_of(const struct budget_row *b)
{
	return b->most > 0 ? (int64_t)((double)(b->used + b->reserved) * 100 /
				       (double)b->most)
			   : 0;
}

static struct budget_line budget_show_line_of(const char *path,
					      const struct budget_row *b)
{
	int64_t left = b->most - b->used - b->reserved;

	return (struct budget_line){ .path = path,
				     .kind = b->kind,
				     .has_limit = b->most > 0,
				     .limit = b->most,
				     .used = b->used,
				     .reserved = b->reserved,
				     .has_left = b->most > 0,
				     .left = left > 0 ? left : 0,
				     .has_share = b->most > 0,
				     .share = budget_share_of(b) };
}

static int add_vms(struct call *call, int64_t team, const char *path, int64_t max_vms,
		   struct budget_list *list)
{
	struct budget_line line;
	struct team_counts_row vms;
	int rc = sql_row(call, team_counts, &vms, .team = team);

	if (rc <= 0)
		return rc;
	line = budget_show_line_of(
		path, &(const struct budget_row){ .kind = BUDGET_KIND_VMS,
						  .most = max_vms,
						  .used = vms.used,
						  .reserved = vms.reserved });
	/* a limit of 0 workspaces is a limit, too */
	line.has_limit = line.has_left = true;
	return budget_show_add(call, &line, list);
}

int budget_list_add(struct call *call, int64_t team, const char *path, int64_t max_vms,
		    struct budget_list *list)
{
	struct budget_line line;
	struct budget_row row;
	struct query q = { 0 };
	int rc = list->all ? add_vms(call, team, path, max_vms, list) : 0;

	if (rc < 0)
		return rc;
	while ((rc = sql_each(call, &q, budget_rows, &row, .team = team,
			      .now = call->now)) > 0) {
		line = budget_show_line_of(path, &row);
		if (row.most > 0 || (list->all && row.used > 0))
			rc = budget_show_add(call, &line, list);
	}
	return query_over(&q, rc);
}

/* Adds the budgets of all teams below the team with the path `path`. Returns 0 or negative. */
static int budget_list_below(struct call *call, int64_t team, const char *path,
			     struct budget_list *list)
{
	struct team_walk w = { .root = team, .path = path };
	int rc = 0;

	while (!list->full && (rc = team_walk_next(call, &w)) > 0)
		if ((rc = budget_list_add(call, w.at->team.id, w.at->path,
					  w.at->team.max_vms, list)) < 0)
			return rc;
	return rc;
}

/* Adds the budgets of a team. For an operator, first adds the budgets of the teams above, from
 * the top. `*path` gets the path of the team. */
static int add_line_of(struct call *call, int64_t team, const char **path,
		       struct budget_list *list)
{
	struct team_row t;
	int rc = sql_row(call, team_by_id, &t, .id = team);

	*path = NULL;
	if (rc <= 0 || (t.parent && !call->identity.agent &&
			(rc = add_line_of(call, t.parent, path, list)) < 0))
		return rc;
	*path = *path ? arena_printf(&call->arena, "%s / %s", *path, t.name) : t.name;
	return budget_list_add(call, team, *path, t.max_vms, list);
}

int team_budget(struct call *call, const struct team_budget_in *in,
		struct team_budget_out *out)
{
	struct budget_list list = { .skip = in->offset, .all = true };
	const char *path;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = add_line_of(call, call->caller.team, &path, &list)) < 0 ||
	    (call->caller.level >= WHO_LEAD &&
	     (rc = budget_list_below(call, call->caller.team, path, &list)) < 0))
		return rc;
	out->budgets = list.lines;
	out->n_budgets = list.n;
	out->more = list.full;
	out->next = in->offset + (int64_t)list.n;
	return 0;
}

/*
 * Messages from cadre itself to the lead of a team and to the operator.
 */

int team_notice(struct call *call, const char *type, const char *text)
{
	return team_tell(call, call->caller.team, type, text, CHAIN_NOTICE);
}

/* Stores the draft as a message in the call's team, and delivers this message to the operator
 * and the lead. */
static int notice_send(struct call *call, struct draft *d)
{
	struct agent_row operator, to;
	struct team_lead_row lead;
	int64_t message;
	int rc = sql_row(call, agent_by_name, &operator, .team = call->caller.team,
			 .name = "operator");

	if (rc <= 0)
		return rc;
	d->sender = operator.id;
	if ((message = message_store(call, d)) < 0)
		return (int)message;
	if ((rc = message_deliver(call, message, d, &operator)) < 0 ||
	    (rc = sql_row(call, team_lead, &lead, .team = call->caller.team)) < 0 ||
	    (rc > 0 && ((rc = sql_row(call, agent_by_id, &to, .id = lead.id)) < 0 ||
			(rc = message_deliver(call, message, d, &to)) < 0)))
		return rc;
	return event_by(call, .kind = EVENT_MESSAGE_SENT, .team = call->caller.team,
			.actor = operator.id, .subject = message);
}

int team_tell(struct call *call, int64_t team, const char *type, const char *text,
	      int64_t chain)
{
	const struct caller was = call->caller;
	/* A notice continues the chain of the caller whose call caused the notice. */
	const int64_t own = chain_of(call, &(struct draft){ 0 });
	struct draft d = { .type = type,
			   .content = text,
			   .chain = own > chain ? own : chain };
	struct team_row t;
	int rc = sql_row(call, team_by_id, &t, .id = team);

	if (rc <= 0)
		return rc;
	call->caller.team = team;
	call->caller.inbox_capacity = t.inbox_capacity;
	rc = notice_send(call, &d);
	call->caller = was;
	return rc;
}
