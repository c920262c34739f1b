/*
 * agent_start - tells a newly joined agent, in one short answer, what the agent has to do.
 */
#include <string.h>

#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/call/space.h"
#include "core/message/inbox.h"
#include "core/overview/needs.h"
#include "core/reservation/reservation.h"
#include "core/task/task.h"
#include "core/team/estop.h"

/* The answer has at most 1,000 bytes, including the notice about messages that wait for the
 * caller. */
enum {
	ANSWER_MOST = 940, /* bytes of the answer, without the text that the doors add */
	HELD_SHOWN = 5,
	TEAMMATES_SHOWN = 8,
	TEXT_SHOWN = 80, /* bytes of one title; three or more titles together have as many
			    bytes as two titles */
	ROLE_SHOWN = 40,
};

static const char *short_text(struct call *call, const char *text, size_t most)
{
	int64_t size;

	return space_cut(call, text, most, &size);
}

static int tell_held(struct call *call, int64_t agent, struct agent_start_out *out)
{
	struct task_held_count_row all = { 0 };
	struct task_row *held = NULL;
	size_t n, most;
	int rc = sql_all(call, task_held, &held, &n, .agent = agent,
			 .team = call->caller.team, .now = call->now,
			 .limit = HELD_SHOWN);

	if (rc >= 0 && n == HELD_SHOWN)
		rc = sql_row(call, task_held_count, &all, .agent = agent,
			     .team = call->caller.team, .now = call->now);
	out->holds_more = all.n > (int64_t)n ? all.n - (int64_t)n : 0;
	most = n > 2 ? 2 * TEXT_SHOWN / n : TEXT_SHOWN;
	for (size_t i = 0; i < n && rc >= 0; i++) {
		const bool ends = held[i].lease_until && held[i].lease_until < ESTOP_FAR;
		struct task_blocked_row hindrance = { 0 };

		if (held[i].state_now == TASK_STATE_BLOCKED)
			rc = sql_row(call, task_blocked, &hindrance, .task = held[i].id);
		arena_add(&call->arena, out->holding, out->n_holding,
			  (struct held_task){
				  .id = task_name(call, held[i].number),
				  .title = short_text(call, held[i].title, most),
				  .status = held[i].state_now,
				  .has_left_seconds = ends,
				  .left_seconds =
					  ends ? (held[i].lease_until - call->now) / 1000
					       : 0,
				  .blocked = short_text(call, hindrance.why, most),
			  });
	}
	return rc;
}

static int tell_board(struct call *call, struct agent_start_out *out)
{
	struct board_counts counts = { 0 };
	struct task_line_row best;
	struct query q;
	int rc = sql_row(call, team_board, &counts, .team = call->caller.team,
			 .now = call->now);

	if (rc < 0)
		return rc;
	out->ready = counts.ready;
	out->pending = counts.pending;
	if ((rc = task_stuck(call, &out->stuck)) < 0)
		return rc;
	sql_query(call, &q, task_ready_lines, .team = call->caller.team, .limit = 1,
		  .now = call->now);
	rc = sql_next(call, &q, &best);
	query_end(&q);
	if (rc <= 0 || best.assignee_name)
		return rc;
	out->has_best = true;
	rc = task_tell_line(call, &best, &out->best);
	out->best.title = short_text(call, out->best.title, TEXT_SHOWN);
	return rc;
}

/* The number of bytes of the answer as a model gets it. */
static size_t agent_start_bytes_of(const struct call *call,
				   const struct agent_start_out *out)
{
	struct text t = { .counts = true };

	op_encode_brief(call->op, out, &t);
	return t.len;
}

/* Adds a teammate to the answer. Returns false if the answer is full. */
static bool add_teammate(struct call *call, const struct agent_line *line, size_t *bytes,
			 struct agent_start_out *out)
{
	const struct teammate mate = { line->name,
				       short_text(call, line->role, ROLE_SHOWN),
				       agent_status_now(line->status, line->task),
				       line->task };
	size_t more = op_size_brief(call->op, &record_teammate, &mate) + 1;

	if (out->n_teammates == TEAMMATES_SHOWN || *bytes + more > ANSWER_MOST)
		return false;
	*bytes += more;
	arena_add(&call->arena, out->teammates, out->n_teammates, mate);
	return true;
}

/* Lists the paths that teammates have reserved, as many as still fit into the answer. */
static int tell_reserved_paths(struct call *call, struct agent_start_out *out)
{
	int rc = reservation_words(call, 0, &out->reserved, &out->n_reserved);

	while (rc >= 0 && out->n_reserved &&
	       agent_start_bytes_of(call, out) > ANSWER_MOST)
		out->n_reserved--;
	return rc;
}

/* Lists as many teammates as still fit into the answer, and counts the teammates that do not
 * fit. */
static int agent_start_tell_teammates(struct call *call, const struct agent_row *self,
				      struct agent_start_out *out)
{
	size_t bytes = agent_start_bytes_of(call, out);
	struct team_counts_row team;
	struct agent_line line;
	struct query q = { 0 };
	int rc = sql_row(call, team_counts, &team, .team = call->caller.team);

	if (rc < 0)
		return rc;
	while (memset(&line, 0, sizeof(line)),
	       (rc = sql_each(call, &q, agent_lines, &line, .team = call->caller.team,
			      .after = "", .now = call->now)) > 0)
		if (strcmp(line.name, self->name) != 0 &&
		    !add_teammate(call, &line, &bytes, out))
			break;
	query_end(&q);
	out->others = team.members - (int64_t)out->n_teammates -
		      (self->kind == AGENT_KIND_MEMBER);
	return rc < 0 ? rc : 0;
}

/* The one thing that the agent has to do first. Mail is read before held tasks are continued,
 * and held tasks are continued before a new task is claimed. */
static const char *agent_start_next_of(const struct agent_start_out *out)
{
	if (out->unread)
		return "inbox receive";
	if (out->n_holding)
		return "task show: go on with what you hold";
	if (out->ready)
		return "task claim";
	return "inbox wait";
}

int agent_start(struct call *call, const struct agent_start_in *in,
		struct agent_start_out *out)
{
	struct inbox_state_row inbox;
	struct agent_row a;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = sql_row(call, agent_by_id, &a, .id = call->caller.agent)) < 0 ||
	    (rc = inbox_counters(call, a.id, &inbox)) < 0)
		return rc;
	out->name = a.name;
	out->team = call->caller.team_name;
	out->role = short_text(call, a.role, ROLE_SHOWN);
	out->unread = inbox.queued;
	if ((rc = tell_held(call, a.id, out)) < 0 || (rc = tell_board(call, out)) < 0)
		return rc;
	if (call->caller.level >= WHO_LEAD &&
	    (rc = needs_first_agent(call, call->caller.team, &out->trouble)) < 0)
		return rc;
	out->next = agent_start_next_of(out);
	if ((rc = tell_reserved_paths(call, out)) < 0)
		return rc;
	return agent_start_tell_teammates(call, &a, out);
}
