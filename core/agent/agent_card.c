/*
 * agent_card - the cards of agents, as answers show them to other callers.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/access/access_door.h"
#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/base/link_address.h"
#include "core/call/id.h"
#include "core/call/space.h"
#include "core/message/inbox.h"
#include "core/message/message.h"
#include "core/task/task.h"
#include "core/turn/turn.h"

/* Whether a list of a card has room for one more text. If the list has no room, the card says
 * that there are more texts. */
static bool agent_card_has_room(struct call *call, struct card *card, const char *text)
{
	if (!call->form.most || space_take_text(call, text))
		return true;
	card->has_more = card->more = true;
	return false;
}

static int tell_traits(struct call *call, int64_t agent, struct card *card)
{
	struct agent_protocols_row p;
	struct agent_skills_row s;
	struct query q;
	int rc;

	sql_query(call, &q, agent_skills, .agent = agent);
	while ((rc = sql_next(call, &q, &s)) > 0 &&
	       agent_card_has_room(call, card, s.skill))
		arena_add(&call->arena, card->skills, card->n_skills, s.skill);
	query_end(&q);
	if (rc < 0)
		return rc;
	sql_query(call, &q, agent_protocols, .agent = agent);
	while ((rc = sql_next(call, &q, &p)) > 0 &&
	       agent_card_has_room(call, card, p.protocol))
		arena_add(&call->arena, card->protocols, card->n_protocols, p.protocol);
	return query_over(&q, rc);
}

/* If the caller has limited the size of the answer, cuts the description, and leaves out
 * schemas that have no room. */
static void cut_card(struct call *call, struct card *card)
{
	if (!call->form.most)
		return;
	card->description = space_text(call, card->description, space_all(call) / 3,
				       &card->description_size);
	card->has_description_size = card->description_size > 0;
	if (card->input_schema && !agent_card_has_room(call, card, card->input_schema))
		card->input_schema = NULL;
	if (card->output_schema && !agent_card_has_room(call, card, card->output_schema))
		card->output_schema = NULL;
}

struct endpoints card_endpoints(const char *http, int64_t cid, const char *address)
{
	struct link_address a = { .kind = LINK_UNIX };
	struct fault f = { 0 };

	if (!cid && address && link_parse(address, "", &a, &f) == 0 &&
	    a.kind == LINK_VSOCK)
		cid = a.number;
	return (struct endpoints){
		.http = http,
		.has_vsock = cid > 0,
		.vsock = { .cid = cid > 0 ? cid : 0, .port = cid > 0 ? LINK_CONTROL : 0 },
	};
}

/* Fills in the endpoints at which other agents reach the member. The HTTP endpoint is filled in
 * if the network policy lets other agents call the member. */
static int tell_endpoints(struct call *call, const struct agent_row *a, struct card *card)
{
	struct agent_endpoints_row at;
	bool open;
	int rc = door_is_open(call, a->team, a->id, &open);

	if (rc < 0 || (rc = sql_row(call, agent_endpoints, &at, .agent = a->id)) <= 0)
		return rc;
	card->endpoints = card_endpoints(open ? at.http : NULL, at.cid, at.address);
	return 0;
}

int card_tell(struct call *call, const struct agent_row *a, struct card *card)
{
	struct agent_holds_row holds;
	struct team_parent_row above;
	struct workspace_row w;
	int rc = sql_row(call, agent_holds, &holds, .agent = a->id, .now = call->now);

	if (rc < 0)
		return rc;
	*card = (struct card){
		.name = a->name,
		.role = a->role,
		.description = a->description,
		.input_schema = a->input_schema,
		.output_schema = a->output_schema,
		.status = agent_status_now(a->status, holds.any),
		.team = call->caller.team_name,
		.project = a->project,
		.generation = a->generation,
		.has_last_active = true,
		.last_active = a->active_at,
	};
	if ((rc = sql_row(call, team_parent, &above, .team = a->team)) < 0)
		return rc;
	card->parent_team = rc > 0 ? above.name : NULL;
	cut_card(call, card);
	if (a->workspace) {
		if ((rc = sql_row(call, workspace_by_id, &w, .id = a->workspace)) < 0)
			return rc;
		card->workspace_id = id_public(call, ID_WORKSPACE, w.id, w.created_at);
		card->fault = w.fault;
		if ((rc = tell_endpoints(call, a, card)) < 0)
			return rc;
	}
	return tell_traits(call, a->id, card);
}

int card_tell_whole(struct call *call, const struct agent_row *a, struct card *card)
{
	const struct form form = call->form;
	int rc;

	call->form.most = 0;
	rc = card_tell(call, a, card);
	call->form = form;
	return rc;
}

/* A card as a JSON object, made from compact JSON text. The caller releases the object. */
static json_t *card_fields(const struct card *card)
{
	struct text text = { 0 };
	json_t *fields;

	op_encode(&record_card, card, &text);
	fields = json_loadb(text.data, text.len, 0, NULL);
	text_release(&text);
	return fields;
}

/* Whether two fields have exactly the same text, or both are missing. The function compares
 * JSON texts, not JSON values, because the order of the keys in a card's input or output schema
 * matters. */
static bool same_field(const json_t *a, const json_t *b)
{
	char *one = json_dumps(a, JSON_ENCODE_ANY),
	     *other = json_dumps(b, JSON_ENCODE_ANY);
	bool same = one && other ? strcmp(one, other) == 0 : one == other;

	free(one);
	free(other);
	return same;
}

const char *card_differences(struct call *call, const struct card *a,
			     const struct card *b)
{
	json_t *one = card_fields(a), *other = card_fields(b);
	const char *names = "";

	for (size_t i = 0; i < record_card.n_fields; i++) {
		const char *name = record_card.fields[i].name;

		if (!same_field(json_object_get(one, name), json_object_get(other, name)))
			names = arena_printf(&call->arena, "%s%s%s", names,
					     *names ? ", " : "", name);
	}
	json_decref(one);
	json_decref(other);
	return names;
}

/* --- whois ------------------------------------------------------------------------------ */

enum {
	SAID_SHOWN = 60, /* bytes of an agent's last message */
	RESERVED_SHOWN = 20, /* maximum number of reservations that an answer lists */
};

/* Lists the agent's first reservations, as many as fit in a quarter of the answer. If
 * reservations are left, their number ends the list, such as `+80`. */
static int whois_tell_reserved(struct call *call, const struct agent_row *a,
			       struct agent_whois_out *out)
{
	struct reservation_line_row r;
	struct query q = { 0 };
	size_t left = 0, room = space_all(call) / 4;
	int rc;

	while ((rc = sql_each(call, &q, reservation_lines, &r, .team = a->team,
			      .agent = a->id, .after = 0, .now = call->now)) > 0) {
		size_t size = text_json_size(r.paths) + 1;

		if (left || out->n_reserved == RESERVED_SHOWN || size > room ||
		    !space_take_bytes(call, size)) {
			left++;
			continue;
		}
		room -= size;
		arena_add(&call->arena, out->reserved, out->n_reserved, r.paths);
	}
	query_end(&q);
	if (rc == 0 && left)
		arena_add(&call->arena, out->reserved, out->n_reserved,
			  arena_printf(&call->arena, "+%zu", left));
	return rc < 0 ? rc : 0;
}

/* Tells the task that the agent works on, and the agent's reservations. */
static int whois_tell_work(struct call *call, const struct agent_row *a,
			   struct agent_whois_out *out)
{
	struct task_claimed_at_row claimed;
	struct task_row t;
	int64_t size;
	int rc = sql_row(call, task_held, &t, .agent = a->id, .team = a->team,
			 .now = call->now, .limit = 1);

	if (rc > 0) {
		out->has_work = true;
		out->work.id = task_name(call, t.number);
		out->work.title = space_text(call, t.title, space_all(call) / 4, &size);
		rc = sql_row(call, task_claimed_at, &claimed, .task = t.id,
			     .now = call->now);
		out->work.has_since = rc > 0;
		out->work.since = rc > 0 ? claimed.at : 0;
		out->work.blocked = rc > 0 ? claimed.blocked : NULL;
		out->work.also = rc > 0 ? claimed.also : NULL;
	}
	return rc < 0 ? rc : whois_tell_reserved(call, a, out);
}

/* Tells the first words of the agent's last message. Only callers who may read all mail of the
 * team, and the agent itself, get these words. */
static int whois_tell_said(struct call *call, const struct agent_row *a,
			   struct agent_whois_out *out)
{
	struct message_said_row m;
	struct copies c = { 0 };
	int64_t size;
	int rc;

	if (call->caller.level < WHO_LEAD && call->caller.agent != a->id)
		return 0;
	rc = sql_row(call, message_said, &m, .team = a->team, .agent = a->id);
	if (rc <= 0)
		return rc;
	out->said = space_cut(call, m.content, SAID_SHOWN, &size);
	if (size)
		out->said = arena_printf(&call->arena, "%s…", out->said);
	out->has_said_at = true;
	out->said_at = m.at;
	rc = message_copies(call, m.id, m.to_all, &c);
	out->said_to = c.to;
	return rc < 0 ? rc : 0;
}

static int whois_tell_mail(struct call *call, const struct agent_row *a,
			   struct agent_whois_out *out)
{
	struct inbox_state_row inbox;
	struct inbox_since_row since;
	int rc = inbox_counters(call, a->id, &inbox);

	if (rc < 0)
		return rc;
	out->queued = inbox.queued;
	out->leased = inbox.leased;
	out->assignments = inbox.assignments;
	rc = sql_row(call, inbox_since, &since, .agent = a->id);
	out->has_mail_since = rc > 0 && since.at;
	out->mail_since = out->has_mail_since ? since.at : 0;
	return rc < 0 ? rc : 0;
}

static int whois_tell_turn(struct call *call, const struct agent_row *a,
			   struct agent_whois_out *out)
{
	struct runner_of_row runner;
	struct turn_last_row last;
	struct turn_row u;
	int rc = sql_row(call, runner_of, &runner, .agent = a->id);

	if (rc > 0)
		out->runner = runner_say_command(runner.command);
	if (rc < 0 || (rc = sql_row(call, turn_last, &last, .agent = a->id)) <= 0 ||
	    !last.id || (rc = sql_row(call, turn_by_id, &u, .id = last.id)) <= 0)
		return rc;
	out->has_turn = out->has_turn_state = out->has_turn_at = true;
	out->turn = u.id;
	out->turn_state = u.state;
	out->turn_at = u.started_at;
	return 0;
}

int agent_whois(struct call *call, const struct agent_whois_in *in,
		struct agent_whois_out *out)
{
	struct agent_row a;
	int rc;

	if ((rc = who_team_of(call, in->team, in->name, "/name")) < 0 ||
	    (rc = who_agent(call, in->name, "/name", &a)) < 0 ||
	    (rc = whois_tell_mail(call, &a, out)) < 0 ||
	    (rc = card_tell(call, &a, &out->card)) < 0 ||
	    (rc = whois_tell_work(call, &a, out)) < 0 ||
	    (rc = whois_tell_said(call, &a, out)) < 0)
		return rc;
	out->has_offline_since = out->card.status == AGENT_STATUS_OFFLINE;
	out->offline_since = out->has_offline_since ? a.active_at : 0;
	return whois_tell_turn(call, &a, out);
}

/* --- by range --------------------------------------------------------------------------- */

/* Joins the texts of a list into one text: each text of the list is a line. */
static const char *as_lines(struct call *call, const char *const *texts, size_t n)
{
	const char *all = "";

	for (size_t i = 0; i < n; i++)
		all = arena_printf(&call->arena, "%s%s\n", all, texts[i]);
	return all;
}

static const char *agent_card_part_of(struct call *call, enum card_part part,
				      const struct card *card)
{
	switch (part) {
	case CARD_PART_DESCRIPTION:
		return card->description;
	case CARD_PART_SKILLS:
		return as_lines(call, (const char *const *)card->skills, card->n_skills);
	case CARD_PART_PROTOCOLS:
		return as_lines(call, (const char *const *)card->protocols,
				card->n_protocols);
	case CARD_PART_INPUT_SCHEMA:
		return card->input_schema;
	case CARD_PART_OUTPUT_SCHEMA:
		return card->output_schema;
	}
	return NULL;
}

int agent_part(struct call *call, const struct agent_part_in *in,
	       struct agent_part_out *out)
{
	struct agent_row a;
	struct card card;
	struct space_range r = { .offset = in->offset,
				 .length = (int64_t)space_all(call) };
	int rc;

	if ((rc = who_team_of(call, in->team, in->name, "/name")) < 0 ||
	    (rc = who_agent(call, in->name, "/name", &a)) < 0 ||
	    (rc = card_tell_whole(call, &a, &card)) < 0)
		return rc;
	space_range(call, agent_card_part_of(call, (enum card_part)in->part, &card), &r);
	out->text = r.text;
	out->size = r.size;
	out->next = r.next;
	out->more = r.next < r.size;
	return 0;
}
