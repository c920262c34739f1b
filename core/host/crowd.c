#include "core/host/crowd.h"

#include <sys/resource.h>

#include "core/host/host_inside.h"
#include "core/host/metrics/metrics.h"
#include "core/wire/wire.h"

void crowd_open(struct crowd *crowd)
{
	struct rlimit r;

	crowd->most = CLIENTS_MOST;
	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	if (r.rlim_cur < 2 * CLIENTS_MOST) {
		r.rlim_cur = r.rlim_max < 2 * CLIENTS_MOST ? r.rlim_max
							   : 2 * CLIENTS_MOST;
		if (setrlimit(RLIMIT_NOFILE, &r))
			getrlimit(RLIMIT_NOFILE, &r);
	}
	if (r.rlim_cur / 2 < CLIENTS_MOST)
		crowd->most = r.rlim_cur / 2;
}

/* The answer is in the client's socket before the connection is closed: nothing has been
 * written to it yet, so it fits. */
static void crowd_turn_away(struct conn *c, const char *why)
{
	struct fault f = { 0 };

	metrics_hit(c->host->metrics, HIT_CLIENTS);
	fault_set(&f, FAULT_EXHAUSTED, "", "%s: %zu are connected to the host", why,
		  c->host->clients->crowd.n);
	fault_hint(&f, "End some of them. --direct does without the host.");
	f.retry_after_ms = CLIENT_SILENT_MS;
	wire_write_fault(&c->flow.out, &f, false, NULL);
	flow_send(&c->flow);
}

static bool is_silent(const struct conn *c, uint64_t now)
{
	return c->seated && !c->started && now - c->since >= CLIENT_SILENT_MS;
}

/* The newest clients stand first. */
static void crowd_make_room(struct host *host)
{
	struct conn *oldest = NULL;

	for (struct conn *c = host->clients->first; c; c = c->next)
		if (is_silent(c, uv_now(&host->loop)))
			oldest = c;
	if (!oldest)
		return;
	crowd_turn_away(oldest, "a newer client needs the place");
	conn_close(oldest);
}

bool crowd_enter(struct conn *c)
{
	struct crowd *crowd = &c->host->clients->crowd;

	if (crowd->n >= crowd->most)
		crowd_make_room(c->host);
	if (crowd->n >= crowd->most) {
		log_seldom(c->host->log, &crowd->refused, LOG_LEVEL_WARN,
			   "further clients are turned away",
			   LOG_NUMBER("clients", crowd->n));
		crowd_turn_away(c, "too many clients");
		return false;
	}
	c->since = uv_now(&c->host->loop);
	c->seated = true;
	crowd->n++;
	return true;
}

void crowd_leave(struct conn *c)
{
	c->host->clients->crowd.n -= c->seated;
	c->seated = false;
}
