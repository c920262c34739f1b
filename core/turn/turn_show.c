/*
 * turn_show - turns as they are told: lists, what they printed, and the history of an agent.
 */
#include <string.h>

#include "core/access/who.h"
#include "core/call/space.h"
#include "core/turn/turn.h"

static void turn_show_line_of(struct turn_line *l, const struct turn_line_row *r)
{
	*l = (struct turn_line){ .turn = r->id,
				 .agent = r->name,
				 .state = r->state,
				 .messages = r->messages,
				 .queued_at = r->queued_at,
				 .has_started_at = r->started_at != 0,
				 .started_at = r->started_at,
				 .has_ended_at = r->ended_at != 0,
				 .ended_at = r->ended_at,
				 .has_exit_code = r->exited,
				 .exit_code = r->exit_code,
				 .reason = r->reason,
				 .size = r->size,
				 .has_tokens_in = r->tokens_in != 0,
				 .tokens_in = r->tokens_in,
				 .has_tokens_out = r->tokens_out != 0,
				 .tokens_out = r->tokens_out,
				 .has_cost = r->cost != 0,
				 .cost = r->cost };
}

int turn_list(struct call *call, const struct turn_list_in *in, struct turn_list_out *out)
{
	struct agent_row a = { 0 };
	struct turn_line_row r;
	struct query q;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (in->agent && (rc = who_agent(call, in->agent, "/agent", &a)) < 0))
		return rc;
	sql_query(call, &q, turn_lines, .team = call->caller.team, .agent = a.id,
		  .before = in->has_before ? in->before : INT64_MAX,
		  .limit = in->limit + 1);
	while ((rc = sql_next(call, &q, &r)) > 0) {
		struct turn_line l;

		turn_show_line_of(&l, &r);
		if ((int64_t)out->n_turns >= in->limit ||
		    !space_take(call, &record_turn_line, &l)) {
			out->more = true;
			break;
		}
		*(struct turn_line *)arena_push(&call->arena, &out->turns, &out->n_turns,
						sizeof(l)) = l;
	}
	query_end(&q);
	return rc < 0 ? rc : 0;
}

/* The turn that is meant: one of the call's team, by its number or as an agent's last. */
static int find_turn(struct call *call, const struct turn_read_in *in, struct turn_row *u)
{
	struct turn_last_row last;
	struct agent_row a;
	int64_t id = in->turn;
	int rc;

	if (!id && !in->agent)
		return fault_set(&call->fault, FAULT_INVALID, "/turn",
				 "0 is the last turn of an `agent`");
	if (!id) {
		if ((rc = who_agent(call, in->agent, "/agent", &a)) < 0 ||
		    (rc = sql_row(call, turn_last, &last, .agent = a.id)) < 0)
			return rc;
		id = last.id;
	}
	rc = sql_row(call, turn_by_id, u, .id = id);
	if (rc < 0 || (rc > 0 && u->team == call->caller.team))
		return rc < 0 ? rc : 0;
	if (!in->turn)
		return fault_set(&call->fault, FAULT_CONFLICT, "/agent",
				 "%s has taken no turn yet", a.name);
	return fault_set(&call->fault, FAULT_NOT_FOUND, "/turn",
			 "there is no turn %lld in team %s", (long long)in->turn,
			 call->caller.team_name);
}

/* Tells what the turn printed from the offset on, as far as the answer has room. */
static int tell_output(struct call *call, const struct turn_read_in *in,
		       const struct turn_row *u, struct turn_read_out *out)
{
	int64_t most = in->has_length ? in->length : (int64_t)space_all(call), base = -1;
	struct space_range range;
	struct turn_output_from_row r;
	struct text t = { 0 };
	struct query q;
	int rc;

	sql_query(call, &q, turn_output_from, .turn = u->id, .from = in->offset);
	while ((rc = sql_next(call, &q, &r)) > 0) {
		if (base < 0)
			base = r.start;
		text_add(&t, r.text, strlen(r.text));
		if (base + (int64_t)t.len > in->offset + most)
			break;
	}
	query_end(&q);
	base = base < 0 ? in->offset : base;
	range = (struct space_range){ .offset = in->offset - base, .length = most };
	space_range(call, t.data ? t.data : "", &range);
	out->text = range.text;
	out->size = u->kept;
	out->next = base + range.next;
	out->more = out->next < u->kept;
	text_release(&t);
	return rc < 0 ? rc : 0;
}

int turn_read(struct call *call, const struct turn_read_in *in, struct turn_read_out *out)
{
	struct turn_row u;
	struct agent_row a;
	struct turn_line_row l;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 || (rc = find_turn(call, in, &u)) < 0 ||
	    (rc = sql_row(call, agent_by_id, &a, .id = u.agent)) < 0)
		return rc;
	l = (struct turn_line_row){ .id = u.id,
				    .name = a.name,
				    .state = u.state,
				    .messages = u.messages,
				    .queued_at = u.queued_at,
				    .started_at = u.started_at,
				    .ended_at = u.ended_at,
				    .exit_code = u.exit_code,
				    .exited = u.exited,
				    .reason = u.reason,
				    .size = u.size,
				    .tokens_in = u.tokens_in,
				    .tokens_out = u.tokens_out,
				    .cost = u.cost };
	turn_show_line_of(&out->turn, &l);
	return tell_output(call, in, &u, out);
}
