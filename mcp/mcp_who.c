/*
 * mcp_who - a session without an agent, until it joins a team.
 *
 * If many agents share one configuration, nothing tells a session which agent it is. A session
 * without an agent may read, and may join a team as an agent. After joining, the session and
 * every `cadre` command in its worktree act as that agent. The model never has to pass a token.
 * A session that is already an agent stays that agent, with two exceptions: another session may
 * already be this agent, or the agent's identity may not be valid any more.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "mcp/mcp_peer.h"
#include "ops.gen.h"

/* Stores the identity for the worktree and for the client's session. Returns a text for the
 * answer, which says where the identity is stored. */
static json_t *keep_here(struct mcp *m, const char *team, const char *name,
			 const char *token)
{
	struct home *h = m->options.home;
	struct fault f = { 0 }, none = { 0 };
	const bool here = home_keep_here(h, team, name, token, m->lapsed, &f) == 0;
	const bool session = home_keep_session(h, team, name, token, m->lapsed, &none) ==
			     0;

	if (here)
		return json_sprintf(
			"%s of team %s: in this session, and whenever cadre runs "
			"in %s",
			name, team, h->place);
	return json_sprintf(
		"%s of team %s: in this session %s (%s)", name, team,
		session ? "and in programs that its client runs here" : "alone", f.text);
}

static void mcp_who_become(struct mcp *m, json_t *answer)
{
	const char *name = json_find_text(answer, "name"),
		   *team = json_find_text(answer, "team");
	const char *token = json_find_text(answer, "token");
	struct home *h = m->options.home;
	struct fault f = { 0 };

	if (!name || !team || !token || home_become(h, team, name, token, &f) < 0)
		return;
	json_object_set_new(answer, "you", keep_here(m, team, name, token));
	m->identity.level = h->identity.level;
	m->identity.nobody = false;
	m->identity.kept = h->identity.kept;
	m->identity.team = h->identity.team;
	m->identity.agent = h->identity.agent;
	m->identity.token = h->identity.token;
	client_become(m->client, &m->identity);
}

static bool may_join(const struct op *op)
{
	return (op->flags & OP_IDENTIFIES) && (op->flags & OP_WRITE);
}

static struct identity nobody_of(const struct mcp *m)
{
	struct identity who = m->identity;

	who.nobody = true;
	who.team = who.agent = who.token = NULL;
	return who;
}

/* Whether the request's caller is no agent. */
static bool calls_as_nobody(const struct request *r)
{
	return r->as || r->mcp->identity.nobody;
}

/* Sets the key of a call by which a session becomes an agent. The key of a call to join is
 * stored, so that a later process can use the same key. If the process is killed before it
 * stores the identity for its directory, the next session in this directory gets the agent by
 * the same call. A session that runs at the same time does not get the agent. A key that the
 * client chose is dropped, because somebody else could know the key. */
static void mcp_who_set_key(struct request *r, const struct op *op, json_t *args)
{
	struct mcp *m = r->mcp;
	const struct home *h = m->options.home;
	struct fault f = { 0 };
	struct here_call *call = &m->joining;
	char *words;

	if (!calls_as_nobody(r))
		return;
	json_object_del(args, op_key(op));
	if (home_can_keep(m->options.home, &f) < 0)
		return;
	words = json_dumps(args, JSON_COMPACT | JSON_SORT_KEYS);
	if (here_begin(h->dir, h->place, words, call, &f) == 0)
		json_object_set_new(args, op_key(op), json_string(call->key));
	free(words);
}

/* If another session is already the agent of this directory, and this session asks to become a
 * different agent, makes the call as nobody. Other calls of this session keep the session's
 * identity. */
static void step_aside(struct request *r, json_t *args)
{
	struct mcp *m = r->mcp;
	const char *name = json_find_text(args, "name");

	if (!m->options.home->beside || m->options.home->who != HOME_BY_PLACE || !name ||
	    !m->identity.agent || strcmp(name, m->identity.agent) == 0)
		return;
	m->nobody = nobody_of(m);
	r->as = &m->nobody;
}

void who_joins(struct request *r, const struct op *op, json_t *args)
{
	if (!may_join(op))
		return;
	step_aside(r, args);
	r->joins = json_deep_copy(args);
	mcp_who_set_key(r, op, args);
}

/* A call to join starts again only after a fault about the caller. A fault about the caller
 * names no argument of the call, or the argument /from. */
bool who_begins_anew(struct request *r, const struct fault *f)
{
	struct mcp *m = r->mcp;
	json_t *args = r->joins;

	if (!args || m->options.identity || calls_as_nobody(r) ||
	    (m->options.home->who != HOME_BY_PLACE &&
	     m->options.home->who != HOME_BY_SESSION) ||
	    m->lapsed || (f->where[0] && strcmp(f->where, "/from") != 0) ||
	    (f->code != FAULT_CONFLICT && f->code != FAULT_DENIED &&
	     f->code != FAULT_NOT_FOUND))
		return false;
	m->lapsed = true;
	m->identity = nobody_of(m);
	client_become(m->client, &m->identity);
	r->joins = NULL;
	mcp_who_set_key(r, r->op, args);
	request_next(r, r->op, args);
	return true;
}

/* --- secrets ----------------------------------------------------------------------- */

static bool has_secrets(const struct record *r)
{
	for (size_t i = 0; i < r->n_fields; i++) {
		const struct type *t = r->fields[i].type;

		if (t->given == GIVEN_SECRET ||
		    (t->kind == KIND_RECORD && has_secrets(t->record)))
			return true;
	}
	return false;
}

static void take_secrets(const struct record *r, json_t *value);

/* Removes the secrets from a field's value, which is a record or a list of records. */
static void take_inner(const struct type *t, json_t *value)
{
	json_t *item;
	size_t i;

	if (t->kind != KIND_RECORD)
		return;
	json_array_foreach(value, i, item)
		take_secrets(t->record, item);
	take_secrets(t->record, value);
}

static void take_secrets(const struct record *r, json_t *value)
{
	for (size_t i = 0; i < r->n_fields && json_is_object(value); i++) {
		const struct field *field = &r->fields[i];

		if (field->type->given == GIVEN_SECRET)
			json_object_del(value, field->name);
		else
			take_inner(field->type, json_object_get(value, field->name));
	}
}

void who_settle(struct request *r)
{
	struct mcp *m = r->mcp;

	if (!may_join(r->op))
		return;
	here_settle(m->options.home->dir, &m->joining);
}

char *who_result(struct request *r, const char *result)
{
	struct mcp *m = r->mcp;
	json_t *answer;
	char *text;

	if (!has_secrets(r->op->out))
		return NULL;
	answer = json_loads(result, 0, NULL);
	if (may_join(r->op) && calls_as_nobody(r))
		mcp_who_become(m, answer);
	take_secrets(r->op->out, answer);
	text = json_dumps(answer, JSON_COMPACT);
	json_decref(answer);
	return text;
}

/* --- claims of a running process --------------------------------------------- */

/*
 * keep - an agent that thinks for an hour keeps its claims.
 *
 * A running `cadre mcp` process checks the tasks that its agent holds, and renews the leases
 * that end soon. After the end of the process, nobody renews the leases, and each claim ends
 * with its lease.
 */

enum {
	FIRST_MS = 10000, /* time to the first check, for claims of earlier processes */
	SOON_MS = 1000,
	LATER_MS = 30000,
	RENEW_MS = 450000, /* leases that end within this time are renewed; half of the
			      default lease */
	FAIL_MS = 10000,
};

/* Plans the next check of the agent's claims, soon after the call `done`, which may have
 * claimed a task. */
void mcp_keep_soon(struct mcp *m, const struct op *done)
{
	int64_t at;

	if (!m->identity.agent || m->end_by)
		return;
	at = clock_steady_ms() + (done->gives == GIVES_CLAIM ? SOON_MS : FIRST_MS);
	if (!m->keep_at || at < m->keep_at)
		m->keep_at = at;
}

static void renew_done(void *arg, const char *result, const struct fault *f)
{
	(void)arg, (void)result, (void)f; /* a heartbeat cannot regain a lost claim */
}

static void keep_renew(struct mcp *m, json_t *task)
{
	json_t *args = json_pack("{s:O, s:O}", "task", json_object_get(task, "id"),
				 "epoch", json_object_get(task, "epoch"));

	if (args)
		client_start(m->client, op_task_heartbeat, args, renew_done, NULL);
	json_decref(args);
}

static void list_done(void *arg, const char *result, const struct fault *f)
{
	struct mcp *m = arg;
	json_t *answer = result ? json_loads(result, 0, NULL) : NULL, *task;
	int64_t shortest = 2 * LATER_MS, now = clock_wall_ms();
	size_t i;

	(void)f;
	m->keeping = false;
	json_array_foreach(json_object_get(answer, "tasks"), i, task) {
		const char *until = json_find_text(task, "lease_until");
		int64_t left = until ? time_parse(until) - now : -1;

		if (left <= 0)
			continue;
		shortest = left < shortest ? left : shortest;
		if (left < RENEW_MS)
			keep_renew(m, task);
	}
	m->keep_at = clock_steady_ms() + (result ? shortest / 2 : FAIL_MS);
	json_decref(answer);
}

void mcp_keep_run(struct mcp *m, int64_t now)
{
	struct fault f = { 0 };
	struct client *c;
	json_t *args;

	if (!m->keep_at || now < m->keep_at || m->keeping || m->end_by || !m->renews)
		return;
	c = mcp_client(m, &f);
	m->keep_at = now + FAIL_MS;
	if (!c)
		return;
	args = json_pack("{s:b}", "mine", 1);
	m->keeping = true;
	client_start(c, op_task_list, args, list_done, m);
	json_decref(args);
}

void mcp_renews(struct mcp *m, bool renews)
{
	m->renews = renews;
}
