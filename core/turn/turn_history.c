/*
 * turn_history - an agent's messages and turns, in the order of their times.
 *
 * Both are read newest first and merged by their times, until the page is full; it is told
 * oldest first.
 */
#include <string.h>

#include "core/access/who.h"
#include "core/message/inbox.h"
#include "core/call/space.h"
#include "core/turn/turn.h"

enum { TEXT_MOST = 4096 }; /* bytes of JSON of an entry's text */

struct page {
	struct call *call;
	const struct agent_history_in *in;
	int64_t agent, sender; /* sender: 0: any */
	struct history_entry *entries; /* newest first */
	size_t n;
	bool full;
};

static bool is_within(const struct page *p, int64_t at, const char *text)
{
	const struct agent_history_in *in = p->in;

	return (!in->has_since || at >= in->since) &&
	       (!in->has_until || at < in->until) &&
	       (!in->query || strstr(text, in->query));
}

/* Adds an entry with as much of its text as there is room for; false where the page is full. */
static bool turn_history_add(struct page *p, struct history_entry *e, const char *text)
{
	int64_t size;

	if ((int64_t)p->n >= p->in->limit)
		return !(p->full = true);
	e->text = space_cut(p->call, text, TEXT_MOST, &size);
	if (size > e->text_size)
		e->text_size = size;
	e->has_text_size = e->text_size != 0;
	if (!space_take(p->call, &record_history_entry, e))
		return !(p->full = true);
	*(struct history_entry *)arena_push(&p->call->arena, &p->entries, &p->n,
					    sizeof(*e)) = *e;
	return true;
}

static bool add_turn(struct page *p, const struct history_turns_row *r)
{
	struct history_entry e = { .kind = "turn",
				   .at = r->started_at,
				   .has_turn = true,
				   .turn = r->id,
				   .has_state = true,
				   .state = r->state,
				   .text_size = r->size };
	const char *text = r->text ? r->text : "";

	if (strlen(text) >= (size_t)r->size)
		e.text_size = 0;
	return !is_within(p, r->started_at, text) || turn_history_add(p, &e, text);
}

static bool turn_history_add_message(struct page *p, const struct history_messages_row *r)
{
	struct history_entry e = { .kind = "message",
				   .at = r->at,
				   .has_turn = r->turn != 0,
				   .turn = r->turn,
				   .has_seq = true,
				   .seq = r->id,
				   .from = r->name,
				   .message_type = r->type };

	if (strcmp(r->name, "operator"))
		e.metadata = arena_printf(&p->call->arena,
					  "{\"type\":\"inter-agent\",\"sender\":\"%s\"}",
					  r->name);
	return !is_within(p, r->at, r->content) || turn_history_add(p, &e, r->content);
}

/* Whether entries of a kind are wanted: `turn`, `message`, or a message's type. */
static bool wants_turns(const struct agent_history_in *in)
{
	return !in->sender && (!in->kind || strcmp(in->kind, "turn") == 0);
}

static const char *type_wanted(const struct agent_history_in *in)
{
	return in->kind && strcmp(in->kind, "message") ? in->kind : NULL;
}

/* Takes the newer one of both until the page is full, or both end. */
static int turn_history_merge(struct page *p, struct query *turns, struct query *messages)
{
	struct history_messages_row m;
	struct history_turns_row t;
	int has_t = sql_next(p->call, turns, &t), has_m = sql_next(p->call, messages, &m);

	while ((has_t > 0 || has_m > 0) && has_t >= 0 && has_m >= 0) {
		bool turn = has_t > 0 && (has_m <= 0 || t.started_at >= m.at);
		int64_t newest = turn ? t.started_at : m.at;

		if (p->in->has_since && newest < p->in->since)
			return 0;

		if (!(turn ? add_turn(p, &t) : turn_history_add_message(p, &m)))
			return 0;
		if (turn)
			has_t = sql_next(p->call, turns, &t);
		else
			has_m = sql_next(p->call, messages, &m);
	}
	return has_t < 0 ? has_t : has_m < 0 ? has_m : 0;
}

/* Tells the page oldest first, and where the one before it ends. */
static void turn_history_tell(struct page *p, struct agent_history_out *out)
{
	out->history = arena_alloc(&p->call->arena, (p->n + 1) * sizeof(*p->entries));
	out->n_history = p->n;
	out->more = p->full;
	for (size_t i = 0; i < p->n; i++) {
		const struct history_entry *e = &p->entries[p->n - 1 - i];

		out->history[i] = *e;
		if (e->has_seq && (!out->has_before || e->seq < out->before)) {
			out->has_before = true;
			out->before = e->seq;
		}
		if (!e->has_seq &&
		    (!out->has_before_turn || e->turn < out->before_turn)) {
			out->has_before_turn = true;
			out->before_turn = e->turn;
		}
	}
	if (p->in->has_before && !out->has_before) {
		out->has_before = true;
		out->before = p->in->before;
	}
	if (p->in->has_before_turn && !out->has_before_turn) {
		out->has_before_turn = true;
		out->before_turn = p->in->before_turn;
	}
}

/* The agent whose messages the caller may see beside its own; 0: all. */
static int64_t turn_history_sees(const struct call *call)
{
	return call->caller.level >= WHO_LEAD ? 0 : call->caller.agent;
}

int agent_history(struct call *call, const struct agent_history_in *in,
		  struct agent_history_out *out)
{
	struct page p = { .call = call, .in = in };
	struct query turns, messages;
	struct agent_row a, s = { 0 };
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = who_agent(call, in->name, "/name", &a)) < 0 ||
	    (in->sender && (rc = who_agent(call, in->sender, "/sender", &s)) < 0))
		return rc;
	sql_query(call, &turns, history_turns, .agent = wants_turns(in) ? a.id : 0,
		  .most = in->query ? INT64_MAX : TEXT_MOST,
		  .before = in->has_before_turn ? in->before_turn : INT64_MAX);
	sql_query(call, &messages, history_messages,
		  .agent = in->kind && strcmp(in->kind, "turn") == 0 ? 0 : a.id,
		  .team = call->caller.team, .own = turn_history_sees(call),
		  .sender = s.id, .type = type_wanted(in),
		  .before = in->has_before ? in->before : INT64_MAX);
	rc = turn_history_merge(&p, &turns, &messages);
	query_end(&turns);
	query_end(&messages);
	if (rc < 0)
		return rc;
	turn_history_tell(&p, out);
	return 0;
}
