/*
 * vault_card - handles a write to teams/TEAM/cards/AGENT.json, which changes the agent's card.
 *
 * The file shows rows, so a write changes the rows and not the file. After a change of the
 * rows, the mirror writes the rows to the file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/vault/vault_page.h"
#include "core/vault/vault_inside.h"

/* Changes the fault, so that it names the place in `content` that caused the fault. */
static int move_into_content(struct call *call)
{
	char where[sizeof(call->fault.where)];

	snprintf(where, sizeof(where), "/content%.50s", call->fault.where);
	memcpy(call->fault.where, where, sizeof(where));
	return call->fault.code;
}

static bool differs(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") != 0;
}

static bool same_endpoints(const struct endpoints *a, const struct endpoints *b)
{
	return !differs(a->http, b->http) && a->has_vsock == b->has_vsock &&
	       a->vsock.cid == b->vsock.cid && a->vsock.port == b->vsock.port;
}

/* Copies from the card `from` the fields that the host itself changes. */
static void move_along(struct card *card, const struct card *from)
{
	card->status = from->status;
	card->endpoints = from->endpoints;
	card->fault = from->fault;
}

/* Returns the first field that differs between the text (`said`) and the card (`is`) although
 * the writer may not change the field. Returns NULL if there is no such field. */
static const char *first_foreign(const struct card *said, const struct card *is)
{
	return differs(said->name, is->name)                       ? "name"
	       : differs(said->role, is->role)                     ? "role"
	       : differs(said->team, is->team)                     ? "team"
	       : differs(said->parent_team, is->parent_team)       ? "parent_team"
	       : differs(said->workspace_id, is->workspace_id)     ? "workspace_id"
	       : said->has_last_active                             ? "last_active"
	       : said->has_description_size                        ? "description_size"
	       : said->has_more                                    ? "more"
	       : said->generation != is->generation                ? "generation"
	       : said->status != is->status                        ? "status"
	       : !same_endpoints(&said->endpoints, &is->endpoints) ? "endpoints"
	       : differs(said->fault, is->fault)                   ? "fault"
								   : NULL;
}

/* The fields `rev` and `sum` of the card's file from which a writer made the text. */
struct origin {
	int64_t rev;
	const char *sum; /* NULL: the text has no sum */
};

/* Whether the file from which the text was made showed exactly the card `card`. */
static bool was_so(const struct origin *from, const struct card *card)
{
	struct page page = { 0 };
	char sum[PAGE_SUM + 1];

	card_page(card, &page);
	page_sum(&page, from->rev, sum);
	page_release(&page);
	return strcmp(sum, from->sum) == 0;
}

static bool same_card(const struct card *a, const struct card *b)
{
	struct page one = { 0 }, other = { 0 };
	bool same;

	card_page(a, &one);
	card_page(b, &other);
	same = one.text.len == other.text.len &&
	       memcmp(one.text.data, other.text.data, one.text.len) == 0;
	page_release(&one);
	page_release(&other);
	return same;
}

static int refuse_field(struct call *call, const char *field, bool moved)
{
	const char *where = arena_printf(&call->arena, "/content/%s", field);

	if (moved) {
		fault_set(&call->fault, FAULT_CONFLICT, where,
			  "the card has another %s now", field);
		return fault_hint(&call->fault,
				  "Read the card again, and edit the new text.");
	}
	fault_set(&call->fault, FAULT_DENIED, where, "only the host writes %s", field);
	return fault_hint(&call->fault,
			  "Leave that field unchanged. You may change "
			  "description, skills, protocols, schemas and project.");
}

static int refuse_moved(struct call *call, const struct origin *from, const char *why)
{
	fault_set(&call->fault, FAULT_CONFLICT, "/content",
		  "the card has changed since event %" PRId64 ", on which "
		  "this text is based; %s",
		  from->rev, why);
	return fault_hint(&call->fault, "Read the card again, and edit the new text.");
}

/* Whether the text was made from the card of an earlier agent that had the same name as `a`.
 * Returns 1, 0 or negative. */
static int is_anothers(struct call *call, const struct agent_row *a,
		       const struct origin *from)
{
	struct agent_made_row made;
	int rc = from->sum ? sql_row(call, agent_made, &made, .agent = a->id) : 0;

	return rc > 0 ? from->rev <= made.made_after : rc;
}

/* Compares a text with the present card. The text's sum tells whether the text was made from
 * the present card. Returns 0 if the caller may make this change, or a fault. Returns 1 if the
 * card already has the text's values, because this text was written before. */
static int check_foreign(struct call *call, const struct agent_row *a,
			 const struct card *said, const struct origin *from)
{
	const char *field;
	struct card is, as_said; /* as_said: the card with the text's values in the
				    fields that the host changes */
	bool moved;
	int rc = card_tell_whole(call, a, &is);

	if (rc < 0 || (rc = is_anothers(call, a, from)) < 0)
		return rc;
	if (rc > 0)
		return refuse_moved(call, from,
				    "this text is the card of an earlier agent");
	is.has_last_active = false; /* the file does not show the time of the last call */
	as_said = is;
	move_along(&as_said, said);
	if (from->sum && was_so(from, &as_said)) {
		is = as_said; /* only the host has changed the card meanwhile */
	} else if (from->sum && !was_so(from, &is)) {
		if (same_card(said, &as_said))
			return 1;
		return refuse_moved(call, from,
				    arena_printf(&call->arena,
						 "the card and this text differ in: %s",
						 card_differences(call, said, &as_said)));
	}
	if (!(field = first_foreign(said, &is)))
		return 0;
	moved = !from->sum && !first_foreign(said, &as_said);
	return refuse_field(call, field, moved);
}

/* Takes the fields `rev` and `sum`, which a page of the mirror has, out of the JSON. Returns 0,
 * or `invalid` if `rev` or `sum` has a wrong type. */
static int take_origin(struct call *call, json_t *json, struct origin *from)
{
	const json_t *rev = json_object_get(json, "rev");
	const char *sum = json_string_value(json_object_get(json, "sum"));

	if (rev && !json_is_integer(rev))
		return fault_set(&call->fault, FAULT_INVALID, "/content/rev",
				 "must be a whole number");
	if (!sum && json_object_get(json, "sum"))
		return fault_set(&call->fault, FAULT_INVALID, "/content/sum",
				 "must be a text");
	from->rev = json_integer_value(rev);
	/* A `rev` without a `sum` gets the sum "", which no card has. */
	from->sum = sum || rev ? arena_printf(&call->arena, "%s", sum ? sum : "") : NULL;
	json_object_del(json, "rev");
	json_object_del(json, "sum");
	return 0;
}

/* The value that removes an optional field of a card. */
static json_t *vault_card_nothing(const struct field *field)
{
	return field->type->kind == KIND_JSON ? json_object() : json_string("");
}

/* Reads a card as the arguments of agent.update, which are the fields that may be changed. The
 * JSON still owns the texts of `change`. The file is the whole card, so a field that the file
 * does not have is removed from the card. */
static int read_change(struct call *call, json_t *card, struct agent_update_in *change)
{
	const struct record *r = op_agent_update->in;
	json_t *args = json_object(), *value;
	int rc;

	for (size_t i = 0; i < r->n_fields; i++) {
		const char *name = r->fields[i].name;

		if (!json_object_get(card, name) && field_find(&record_card, name))
			json_object_set_new(card, name,
					    vault_card_nothing(&r->fields[i]));
		if ((value = json_object_get(card, name)))
			json_object_set(args, name, value);
	}
	rc = op_decode(r, args, change, DECODE_STRICT, &call->arena, &call->fault);
	json_decref(args);
	return rc < 0 ? move_into_content(call) : 0;
}

static int change_card(struct call *call, const struct agent_row *a, json_t *json)
{
	struct agent_update_in change = { 0 };
	struct card said = { 0 };
	struct origin from = { 0 };
	int rc;

	if (take_origin(call, json, &from) < 0)
		return call->fault.code;
	if (op_decode(&record_card, json, &said, DECODE_EXACT, &call->arena,
		      &call->fault) < 0)
		return move_into_content(call);
	if ((rc = check_foreign(call, a, &said, &from)) < 0)
		return rc;
	if (rc > 0) {
		/* A plan must not set call->made, because the write after the plan has to store
		 * the idempotency key. */
		call->made = call->plans ? 0 : a->id;
		return 0;
	}
	if ((rc = read_change(call, json, &change)) < 0)
		return rc;
	return call->plans ? 0 : agent_change(call, &change, NULL);
}

int vault_write_card(struct call *call, const struct vault_card *card,
		     const char *content)
{
	json_error_t error;
	struct agent_row a;
	json_t *json;
	int rc;

	call->vault->rows = true;
	if ((rc = who_team(call, card->team)) < 0)
		return fault_move(&call->fault, "/team", "/path");
	if ((rc = who_acts(call, card->agent, "/path", &a)) < 0 || call->made)
		return rc;
	json = json_take(content, strlen(content), JSON_REJECT_DUPLICATES, &error);
	if (!json) {
		fault_set(&call->fault, FAULT_INVALID, "/content",
			  "not JSON: %s, line %d", error.text, error.line);
		return fault_hint(&call->fault,
				  "A card is one JSON object: write the whole object.");
	}
	rc = change_card(call, &a, json);
	json_decref(json);
	return rc;
}
