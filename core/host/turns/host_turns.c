#include "core/host/turns/host_turns.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/host/host_inside.h"
#include "core/host/turns/hosted_turn.h"
#include "ops.gen.h"

enum { RETRY_AFTER_MS = 1000, MOST = 8 };

static void host_turns_on_timer(uv_timer_t *timer)
{
	turns_poke(timer->data);
}

static void ask_again(struct host *host, int64_t ms)
{
	uv_timer_start(&host->turns->timer, host_turns_on_timer,
		       ms > 0 ? (uint64_t)ms : 1, 0);
}

static void take_agents(struct turns *t, const struct turn_next_out *out)
{
	if (out->n_agents > t->room) {
		t->room = out->n_agents;
		t->agents = xreallocarray(t->agents, t->room, sizeof(*t->agents));
	}
	if (out->n_agents)
		memcpy(t->agents, out->agents, out->n_agents * sizeof(*t->agents));
	t->n_agents = out->n_agents;
}

static void on_next(struct job *job)
{
	struct host *host = job->owner;
	struct turns *t = host->turns;
	const struct turn_next_out *out = job->call.out;

	t->busy = false;
	if (job->call.fault.code) {
		log_line(host->log, LOG_LEVEL_WARN, "turns do not begin",
			 LOG_FAULT(&job->call.fault));
		if (!host->stopping)
			ask_again(host, RETRY_AFTER_MS);
		job_free(job);
		return;
	}
	t->began = true;
	take_agents(t, out);
	/* The next host ends what a host that is stopping has begun. */
	for (size_t i = 0; i < out->n_starts && !host->stopping; i++)
		hosted_turn_new(host, &out->starts[i]);
	for (size_t i = 0; i < out->n_stops; i++)
		hosted_turn_stop(host, out->stops[i]);
	if (out->has_again_at && !host->stopping)
		ask_again(host, out->again_at - job->call.now + 1);
	t->again |= out->more;
	job_free(job);
	if (t->again)
		turns_poke(host);
}

void turns_poke(struct host *host)
{
	struct turns *t = host->turns;
	struct turn_next_in *in;
	struct job *job;

	if (host->stopping)
		return;
	t->again = t->busy;
	if (t->busy)
		return;
	job = host_job(host, op_turn_next, on_next, host);
	in = job->call.in;
	in->start = !t->began;
	in->most = MOST;
	t->busy = true;
	host_submit(host, job);
}

static int by_row(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static bool has_runner(const struct turns *t, int64_t agent)
{
	return t->n_agents &&
	       bsearch(&agent, t->agents, t->n_agents, sizeof(agent), by_row) != NULL;
}

/* Whether an event may give some agent a turn, or take one away. */
static bool matters(const struct turns *t, const struct host_event_row *e)
{
	switch (e->kind) {
	case EVENT_MESSAGE_SENT:
	case EVENT_MESSAGE_REQUEUED:
		return e->target ? has_runner(t, e->target) : t->n_agents > 0;
	case EVENT_TURN_RUNNER:
	case EVENT_WORKSPACE_READY:
		return true;
	case EVENT_AGENT_REPLACED:
	case EVENT_AGENT_REMOVED:
		return has_runner(t, e->subject);
	case EVENT_TEAM_THAWED:
	case EVENT_TEAM_UPDATED:
		return t->n_agents > 0;
	default:
		return false;
	}
}

/* Some agent may get a turn, or be stopped in one. */
static void turns_event(struct host *host, const struct host_event_row *e)
{
	if (matters(host->turns, e))
		turns_poke(host);
}

static void turns_caught_up(struct host *host, bool missed)
{
	if (missed)
		turns_poke(host);
}

static void turns_make(struct host *host)
{
	uv_timer_init(&host->loop, &host->turns->timer);
	host->turns->timer.data = host;
}

/* Ends what an earlier host left, and begins. */
static void turns_start(struct host *host)
{
	turns_poke(host);
}

/* Turns run on; the next host ends them. */
static void turns_close(struct host *host)
{
	hosted_turns_close(host);
	uv_close((uv_handle_t *)&host->turns->timer, NULL);
}

static void turns_release(struct host *host)
{
	free(host->turns->agents);
}

const struct host_room room_turns = {
	.size = sizeof(struct turns),
	.make = turns_make,
	.start = turns_start,
	.event = turns_event,
	.caught_up = turns_caught_up,
	.close = turns_close,
	.release = turns_release,
};
