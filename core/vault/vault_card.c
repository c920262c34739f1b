/*
 * vault_card - writes of teams/TEAM/cards/AGENT.json, which are changes of that agent's card.
 *
 * The file shows rows, so nothing is written there: the mirror shows what came of it.
 */
#include <stdio.h>
#include <string.h>

#include "core/access/who.h"
#include "core/agent.h"
#include "core/vault/vault_inside.h"

/* A fault in the text, at its place there. */
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

/* The first field of which the card says something else than is so, and which is not the
 * writer's; NULL if there is none.  `moves`: the host may have changed it by itself. */
static const char *first_foreign(const struct card *said, const struct card *is,
				 bool *moves)
{
	*moves = false;
	if (differs(said->name, is->name))
		return "name";
	if (differs(said->role, is->role))
		return "role";
	if (differs(said->team, is->team))
		return "team";
	if (differs(said->parent_team, is->parent_team))
		return "parent_team";
	if (differs(said->workspace_id, is->workspace_id))
		return "workspace_id";
	if (said->generation != is->generation)
		return "generation";
	*moves = true;
	if (said->status != is->status)
		return "status";
	if (differs(said->endpoints.http, is->endpoints.http))
		return "endpoints";
	return differs(said->fault, is->fault) ? "fault" : NULL;
}

static int check_foreign(struct call *call, const struct agent_row *a,
			 const struct card *said)
{
	const char *field, *where;
	struct card is;
	bool moves;
	int rc = card_tell(call, a, &is);

	if (rc < 0 || !(field = first_foreign(said, &is, &moves)))
		return rc < 0 ? rc : 0;
	where = arena_printf(&call->arena, "/content/%s", field);
	if (moves) {
		fault_set(&call->fault, FAULT_CONFLICT, where,
			  "the card has another %s now", field);
		return fault_hint(&call->fault, "Read the card again, and change that.");
	}
	fault_set(&call->fault, FAULT_DENIED, where, "%s is the host's to write", field);
	return fault_hint(&call->fault, "Leave it as it is; change description, skills, "
					"protocols, schemas and project.");
}

/* Reads a card as arguments of agent.update, which has the fields that may be changed. */
static int read_change(struct call *call, json_t *card, struct agent_update_in *change)
{
	const struct record *r = op_agent_update->in;
	json_t *args = json_object(), *value;
	int rc;

	for (size_t i = 0; i < r->n_fields; i++)
		if ((value = json_object_get(card, r->fields[i].name)))
			json_object_set(args, r->fields[i].name, value);
	rc = op_decode(r, args, change, DECODE_STRICT, &call->arena, &call->fault);
	json_decref(args);
	return rc < 0 ? move_into_content(call) : 0;
}

static int change_card(struct call *call, const struct agent_row *a, json_t *json)
{
	struct agent_update_in change = { 0 };
	struct card said = { 0 };
	int rc;

	json_object_del(json, "rev"); /* a file has them as lines of its own */
	json_object_del(json, "sum");
	if (op_decode(&record_card, json, &said, DECODE_STRICT, &call->arena,
		      &call->fault) < 0)
		return move_into_content(call);
	if ((rc = check_foreign(call, a, &said)) < 0 ||
	    (rc = read_change(call, json, &change)) < 0)
		return rc;
	return call->plans ? 0 : agent_change(call, &change);
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
	json = json_loads(content, JSON_REJECT_DUPLICATES, &error);
	if (!json) {
		fault_set(&call->fault, FAULT_INVALID, "/content", "no JSON: %s, line %d",
			  error.text, error.line);
		return fault_hint(&call->fault, "A card is one object: write it whole.");
	}
	rc = change_card(call, &a, json);
	json_decref(json);
	return rc;
}
