/*
 * who - a session that is nobody, until it joins a team.
 *
 * With one configuration for many agents nothing tells a session who it is.  It may look,
 * and register: from then on the session is that agent, and so is every `cadre` in its
 * worktree, without a token that a model would have to repeat.  A session that was an
 * agent already stays who it was.
 */
#include <stdlib.h>
#include <string.h>

#include "mcp/peer.h"

/* Keeps the identity for the worktree; what the answer says of that. */
static json_t *keep_here(struct mcp *m, const char *team, const char *name,
			 const char *token)
{
	struct home *h = m->options.home;
	struct fault f = { 0 };

	if (home_keep_here(h, team, name, token, m->lapsed, &f) == 0)
		return json_sprintf(
			"%s of team %s: in this session, and whenever cadre runs "
			"in %s",
			name, team, h->place);
	return json_sprintf("%s of team %s: in this session alone, since %s", name, team,
			    f.text);
}

static void become(struct mcp *m, json_t *answer)
{
	const char *name = param_text(answer, "name"), *team = param_text(answer, "team");
	const char *token = param_text(answer, "token");
	struct home *h = m->options.home;
	struct fault f = { 0 };

	if (!name || !team || !token || home_become(h, team, name, token, &f) < 0)
		return;
	json_object_set_new(answer, "you", keep_here(m, team, name, token));
	json_object_del(answer, "token");
	m->identity.level = h->identity.level;
	m->identity.nobody = false;
	m->identity.team = h->identity.team;
	m->identity.agent = h->identity.agent;
	m->identity.token = h->identity.token;
	client_become(m->client, &m->identity);
}

static bool may_join(const struct op *op)
{
	return (op->flags & OP_IDENTIFIES) && (op->flags & OP_WRITE);
}

void who_joins(struct request *r, const struct op *op, json_t *args)
{
	if (may_join(op))
		r->joins = json_deep_copy(args);
}

/* Faults about the caller are at no argument of the call. */
bool who_begins_anew(struct request *r, const struct fault *f)
{
	struct mcp *m = r->mcp;
	json_t *args = r->joins;

	if (!args || m->options.home->who != HOME_BY_PLACE || m->lapsed ||
	    (f->where[0] && strcmp(f->where, "/from") != 0) ||
	    (f->code != FAULT_CONFLICT && f->code != FAULT_DENIED &&
	     f->code != FAULT_NOT_FOUND))
		return false;
	m->lapsed = m->identity.nobody = true;
	m->identity.team = m->identity.agent = m->identity.token = NULL;
	client_become(m->client, &m->identity);
	r->joins = NULL;
	request_again(r, args);
	return true;
}

/* Whether the answer is about the session itself. */
static bool is_own(const struct mcp *m, const json_t *answer)
{
	const char *name = json_string_value(json_object_get(answer, "name"));

	return m->identity.nobody ||
	       (m->identity.agent && name && strcmp(m->identity.agent, name) == 0);
}

char *who_joined(struct request *r, const char *result)
{
	struct mcp *m = r->mcp;
	json_t *answer;
	char *text;

	if (!may_join(r->op))
		return NULL;
	answer = json_loads(result, 0, NULL);
	if (!is_own(m, answer)) {
		json_decref(answer);
		return NULL;
	}
	if (m->identity.nobody)
		become(m, answer);
	else
		json_object_del(answer, "token");
	text = json_dumps(answer, JSON_COMPACT);
	json_decref(answer);
	return text;
}
