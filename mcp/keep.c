/*
 * keep - an agent that thinks for an hour keeps its claims.
 *
 * As long as its `cadre mcp` lives, the process looks after the tasks that its
 * agent holds and renews those that have little left.  When the process ends,
 * so does this, and the lease says the rest.
 */
#include "core/base/clock.h"
#include "mcp/mcp_peer.h"

#include <string.h>

#include "ops.gen.h"

enum {
	FIRST_MS = 10000, /* claims from before this process began */
	SOON_MS = 1000,
	LATER_MS = 30000,
	RENEW_MS = 450000, /* half of the usual lease */
	FAIL_MS = 10000,
};

/* Plans the next look at the agent's claims: soon after a call that may have claimed
 * a task. */
void keep_soon(struct mcp *m, const struct op *done)
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
	(void)arg, (void)result, (void)f; /* a claim that is lost is lost */
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
		const char *until = param_text(task, "lease_until");
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

void keep_run(struct mcp *m, int64_t now)
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
