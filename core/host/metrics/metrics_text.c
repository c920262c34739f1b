/*
 * metrics_text - the table of all metrics, and their text.
 *
 * docs/observability.md repeats the table of this file. The dashboard and the alerts use names
 * of the table. The test tests/e2e/metrics.sh checks docs/observability.md, the dashboard and
 * the alerts against this table.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/access/limit.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/version.h"
#include "core/host/host_inside.h"
#include "core/host/metrics/metrics.h"
#include "core/host/web/web.h"
#include "core/mirror/mirror.h"

enum { BOUNDS = 9, GUEST_STATES = WORKSPACE_STATE_DESTROYED, BUDGETS_MOST = 2000 };

/* A number to which one thread adds, and which other threads may read. */
struct counter {
	_Atomic uint64_t n;
};

/* Counts values. A value's size decides in which bucket the value is counted. The last bucket
 * has no upper bound. */
struct histogram {
	struct counter bucket[BOUNDS + 1], sum;
};

/* The upper bounds of a histogram's buckets, as numbers and as text. */
struct scale {
	struct {
		uint64_t most;
		const char *text;
	} bound[BOUNDS];
};

extern const struct scale scale_ns, scale_calls;

/* Counts the calls of an operation. */
struct op_count {
	struct counter ended[FAULT_COUNT + 1]; /* calls by their fault; the last entry:
						  calls without a fault */
	struct histogram time; /* time of a call, in ns */
};

struct metrics {
	struct op_count *ops; /* in the order of op_table; the last entry: unknown
				 operations */
	struct counter hits[HITS], old_epochs;
	struct histogram batch, sync; /* `batch`: number of calls per batch; `sync`: ns
					 per sync */
	int64_t started_at; /* ms since 1970 */
	int64_t counted_to; /* number of the last event that `events` counts */
	int64_t *events; /* number of events of each kind, in the order of event_table */
};

/* Values that one metrics_read() has read from the state's rows and files. */
struct scrape {
	struct metrics_now_row now;
	int64_t now_ms;
	int64_t counted_to; /* number of the last event that `events` counts */
	int64_t oldest_at; /* when the oldest waiting message was sent, or 0 */
	int64_t guests[GUEST_STATES];
	int64_t *events; /* number of events of each kind, in the order of event_table */
	struct metrics_budgets_row *budgets;
	size_t n_budgets;
	int64_t wal_bytes, state_bytes, mirrored_to;
};

static inline uint64_t counter_read(const struct counter *c)
{
	return atomic_load_explicit(&c->n, memory_order_relaxed);
}

/* Only one thread adds to a counter, so the addition need not be atomic. */
static inline void counter_add(struct counter *c, uint64_t n)
{
	atomic_store_explicit(&c->n, counter_read(c) + n, memory_order_relaxed);
}

/* The sources of a metric's samples, and the text to which the samples are appended. */
struct exposition {
	struct text *out;
	const struct host *host;
	const struct metrics *m;
	const struct scrape *rows;
};

struct metric {
	const char *name, *type, *help;
	void (*put)(const struct metric *metric, const struct exposition *e);
	size_t at; /* if `put` and `event` are unset: offset in struct scrape */
	int event; /* if `put` is unset: the kind of event that is counted */
};

/* --- samples --------------------------------------------------------------------- */

static void metrics_text_put_plain(const struct metric *metric,
				   const struct exposition *e, int64_t n)
{
	text_addf(e->out, "%s %" PRId64 "\n", metric->name, n);
}

static void put_with(const struct metric *metric, const struct exposition *e,
		     const char *label, const char *value, int64_t n)
{
	text_addf(e->out, "%s{%s=\"%s\"} %" PRId64 "\n", metric->name, label, value, n);
}

static void put_counter(const struct metric *metric, const struct exposition *e,
			const char *label, const char *value, const struct counter *c)
{
	put_with(metric, e, label, value, (int64_t)counter_read(c));
}

/* Appends a histogram's sum in the unit of `scale`'s bounds. */
static void put_sum(struct text *out, const struct scale *scale, uint64_t sum)
{
	if (scale == &scale_ns)
		text_addf(out, "%" PRIu64 ".%09" PRIu64, sum / 1000000000,
			  sum % 1000000000);
	else
		text_addf(out, "%" PRIu64, sum);
}

/* Appends a histogram. `labels` is "" or like `name="value"`. */
static void put_histogram(const struct metric *metric, const struct exposition *e,
			  const char *labels, const struct scale *scale,
			  const struct histogram *h)
{
	const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";
	uint64_t n = 0;

	for (int i = 0; i <= BOUNDS; i++) {
		n += counter_read(&h->bucket[i]);
		text_addf(e->out, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", metric->name,
			  labels, *labels ? "," : "",
			  i < BOUNDS ? scale->bound[i].text : "+Inf", n);
	}
	text_addf(e->out, "%s_sum%s%s%s ", metric->name, open, labels, close);
	put_sum(e->out, scale, counter_read(&h->sum));
	text_addf(e->out, "\n%s_count%s%s%s %" PRIu64 "\n", metric->name, open, labels,
		  close, n);
}

/* --- calls -------------------------------------------------------------------------- */

static void put_calls(const struct metric *metric, const struct exposition *e)
{
	for (size_t i = 0; i <= op_count; i++)
		for (int k = 0; k <= FAULT_COUNT; k++) {
			uint64_t n = counter_read(&e->m->ops[i].ended[k]);

			if (n)
				text_addf(e->out,
					  "%s{operation=\"%s\",fault=\"%s\"} %" PRIu64
					  "\n",
					  metric->name,
					  i < op_count ? op_table[i].name : "unknown",
					  k < FAULT_COUNT ? fault_info(-1 - k)->name
							  : "none",
					  n);
		}
}

static void put_call_times(const struct metric *metric, const struct exposition *e)
{
	char labels[100];

	for (size_t i = 0; i < op_count; i++) {
		const struct histogram *h = &e->m->ops[i].time;

		snprintf(labels, sizeof(labels), "operation=\"%s\"", op_table[i].name);
		if (counter_read(&h->sum))
			put_histogram(metric, e, labels, &scale_ns, h);
	}
}

static const char *hit_name(int hit)
{
	static const char *const others[] = { "pair", "exhausted", "queue", "clients" };

	return hit < HIT_PAIR ? field_choice(&record_rate_limit, "category", hit)
			      : others[hit - HIT_PAIR];
}

static void put_hits(const struct metric *metric, const struct exposition *e)
{
	for (int i = 0; i < HITS; i++)
		put_counter(metric, e, "limit", hit_name(i), &e->m->hits[i]);
}

static void put_old_epochs(const struct metric *metric, const struct exposition *e)
{
	metrics_text_put_plain(metric, e, (int64_t)counter_read(&e->m->old_epochs));
}

static void put_queues(const struct metric *metric, const struct exposition *e)
{
	put_with(metric, e, "queue", "write", (int64_t)e->host->calls->n_writes);
	put_with(metric, e, "queue", "read", (int64_t)e->host->calls->n_reads);
	put_with(metric, e, "queue", "wait", (int64_t)e->host->waiters->n);
}

static void put_clients(const struct metric *metric, const struct exposition *e)
{
	metrics_text_put_plain(metric, e, (int64_t)e->host->clients->crowd.n);
}

/* --- the disk ------------------------------------------------------------------------ */

static void put_batches(const struct metric *metric, const struct exposition *e)
{
	put_histogram(metric, e, "", &scale_calls, &e->m->batch);
}

static void put_syncs(const struct metric *metric, const struct exposition *e)
{
	put_histogram(metric, e, "", &scale_ns, &e->m->sync);
}

static void put_lag(const struct metric *metric, const struct exposition *e,
		    const char *follower, int64_t position)
{
	int64_t lag = e->rows->now.event - position;

	put_with(metric, e, "follower", follower, lag > 0 ? lag : 0);
}

/* Appends the lag of each follower of the event log: the number of events that the follower has
 * not read yet. A follower that is not in use reads no events, and its lag is 0. */
static void put_lags(const struct metric *metric, const struct exposition *e)
{
	const struct host *host = e->host;
	const int64_t end = e->rows->now.event;

	put_lag(metric, e, "waits", host->follow->wanted ? host->follow->position : end);
	put_lag(metric, e, "stream",
		host->web_feed->groups ? host->web_feed->position : end);
	put_lag(metric, e, "mirror", e->rows->mirrored_to);
	put_lag(metric, e, "search", scribe_indexed_to(host->scribe));
	put_lag(metric, e, "notify",
		host->notifier ? notifier_position(host->notifier) : end);
}

/* --- the state ------------------------------------------------------------------------- */

static void put_inboxes(const struct metric *metric, const struct exposition *e)
{
	put_with(metric, e, "state", "queued", e->rows->now.queued);
	put_with(metric, e, "state", "fetched", e->rows->now.leased);
	put_with(metric, e, "state", "delayed", e->rows->now.delayed);
}

static void put_oldest(const struct metric *metric, const struct exposition *e)
{
	int64_t at = e->rows->oldest_at, ms = at ? e->rows->now_ms - at : 0;

	if (ms < 0)
		ms = 0;
	text_addf(e->out, "%s %" PRId64 ".%03d\n", metric->name, ms / 1000,
		  (int)(ms % 1000));
}

static int64_t count_of(const struct exposition *e, int kind)
{
	return e->m->events[event_kind(kind) - event_table];
}

static void put_deliveries(const struct metric *metric, const struct exposition *e)
{
	static const struct {
		int kind;
		const char *state;
	} all[] = {
		{ EVENT_MESSAGE_DELAYED, "delayed" },
		{ EVENT_MESSAGE_NOTIFIED, "notified" },
		{ EVENT_MESSAGE_FETCHED, "fetched" },
		{ EVENT_MESSAGE_REQUEUED, "requeued" },
		{ EVENT_MESSAGE_ACKED, "acked" },
		{ EVENT_MESSAGE_DROPPED, "dropped" },
		{ EVENT_MESSAGE_EXPIRED, "expired" },
		{ EVENT_MESSAGE_DEAD, "dead" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		put_with(metric, e, "state", all[i].state, count_of(e, all[i].kind));
}

static void metrics_text_put_events(const struct metric *metric,
				    const struct exposition *e)
{
	for (size_t i = 0; i < event_count; i++)
		put_with(metric, e, "event", event_table[i].name, e->m->events[i]);
}

static void put_guests(const struct metric *metric, const struct exposition *e)
{
	for (int i = 0; i < GUEST_STATES; i++)
		put_with(metric, e, "state", field_choice(&record_workspace, "state", i),
			 e->rows->guests[i]);
}

static void put_linked(const struct metric *metric, const struct exposition *e)
{
	metrics_text_put_plain(metric, e, (int64_t)e->host->guests->n_linked);
}

static void put_budget(const struct metric *metric, const struct exposition *e,
		       const struct metrics_budgets_row *b, int64_t n)
{
	text_addf(e->out, "%s{team=\"%s\",budget=\"%s\"} %" PRId64 "\n", metric->name,
		  b->team, field_choice(&record_budget_line, "kind", b->kind), n);
}

static void metrics_text_put_limits(const struct metric *metric,
				    const struct exposition *e)
{
	for (size_t i = 0; i < e->rows->n_budgets; i++)
		put_budget(metric, e, &e->rows->budgets[i], e->rows->budgets[i].most);
}

static void put_left(const struct metric *metric, const struct exposition *e)
{
	for (size_t i = 0; i < e->rows->n_budgets; i++) {
		int64_t rest = e->rows->budgets[i].rest;

		put_budget(metric, e, &e->rows->budgets[i], rest > 0 ? rest : 0);
	}
}

/* --- the host ----------------------------------------------------------------------------- */

static void put_info(const struct metric *metric, const struct exposition *e)
{
	put_with(metric, e, "version", CADRE_VERSION, 1);
}

static void put_start(const struct metric *metric, const struct exposition *e)
{
	text_addf(e->out, "%s %" PRId64 ".%03d\n", metric->name, e->m->started_at / 1000,
		  (int)(e->m->started_at % 1000));
}

static void put_log_lines(const struct metric *metric, const struct exposition *e)
{
	for (int i = 0; i < LOG_LEVELS; i++)
		put_with(metric, e, "level", log_level_name(i),
			 log_lines(e->host->log, i));
}

/* --- the table ------------------------------------------------------------------------- */

static const struct metric table[] = {
	{ "cadre_info", "gauge", "Always 1; the label is the host's version.",
	  .put = put_info },
	{ "cadre_start_time_seconds", "gauge", "When the host started, in Unix time.",
	  .put = put_start },
	{ "cadre_calls_total", "counter",
	  "Answered calls through the host, by operation and fault.", .put = put_calls },
	{ "cadre_call_seconds", "histogram",
	  "Time from a call's arrival to its answer, without "
	  "calls that wait for an event.",
	  .put = put_call_times },
	{ "cadre_queue_depth", "gauge",
	  "Calls in progress, and calls that wait for an event.", .put = put_queues },
	{ "cadre_clients", "gauge", "Clients that are connected to the host's socket.",
	  .put = put_clients },
	{ "cadre_limits_hit_total", "counter",
	  "Calls and clients that a limit refused, by limit.", .put = put_hits },
	{ "cadre_refused_epochs_total", "counter",
	  "Calls refused because the epoch of their claim is over.",
	  .put = put_old_epochs },
	{ "cadre_batch_calls", "histogram",
	  "Number of writing calls in each transaction: they share its commit.",
	  .put = put_batches },
	{ "cadre_fsync_seconds", "histogram",
	  "Time that a commit waited for the WAL to reach the disk.", .put = put_syncs },
	{ "cadre_wal_bytes", "gauge", "Size of the file state.db-wal.",
	  .at = offsetof(struct scrape, wal_bytes) },
	{ "cadre_state_bytes", "gauge", "Size of the file state.db.",
	  .at = offsetof(struct scrape, state_bytes) },
	{ "cadre_follower_lag_events", "gauge",
	  "Events that a follower of the event log has yet to read.", .put = put_lags },
	{ "cadre_inbox_deliveries", "gauge",
	  "Copies of messages that are not finished, by state.", .put = put_inboxes },
	{ "cadre_oldest_unfetched_seconds", "gauge",
	  "Age of the oldest message that waits in an inbox; 0 "
	  "if none waits.",
	  .put = put_oldest },
	{ "cadre_messages_total", "counter", "Messages sent.",
	  .event = EVENT_MESSAGE_SENT },
	{ "cadre_deliveries_total", "counter", "Copies of messages that entered a state.",
	  .put = put_deliveries },
	{ "cadre_claims_held", "gauge", "Claims whose lease runs.",
	  .at = offsetof(struct scrape, now.claims) },
	{ "cadre_claims_total", "counter", "Tasks claimed.",
	  .event = EVENT_TASK_CLAIMED },
	{ "cadre_lapses_total", "counter", "Claims whose lease ran out.",
	  .event = EVENT_TASK_LAPSED },
	{ "cadre_assignments_open", "gauge", "Commands that wait for a daemon or run.",
	  .at = offsetof(struct scrape, now.assignments) },
	{ "cadre_events_total", "counter", "Events of the state, by kind.",
	  .put = metrics_text_put_events },
	{ "cadre_guests", "gauge", "Living workspaces by state.", .put = put_guests },
	{ "cadre_guests_linked", "gauge", "Guests that answer the host now.",
	  .put = put_linked },
	{ "cadre_budget_limit", "gauge", "Limit of a living team's budget.",
	  .put = metrics_text_put_limits },
	{ "cadre_budget_left", "gauge",
	  "Part of a living team's budget that is neither spent "
	  "nor reserved.",
	  .put = put_left },
	{ "cadre_log_lines_total", "counter", "Lines of the host's log, by level.",
	  .put = put_log_lines },
};

/* A metrics_read() has counted events of each kind. Adds these counts to the counts in
 * m->events. */
static void take_events(struct metrics *m, const struct scrape *s)
{
	for (size_t i = 0; i < event_count; i++)
		m->events[i] += s->events[i];
	m->counted_to = s->counted_to;
}

/* Appends all metrics in Prometheus's text format, with the results of metrics_read(). Returns
 * true if some events are not counted yet. */
static bool metrics_write(const struct job *job, struct text *out)
{
	const struct host *host = job->owner;
	const struct exposition e = { out, host, host->metrics, job->call.out };

	take_events(host->metrics, e.rows);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct metric *metric = &table[i];

		text_addf(out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help,
			  metric->name, metric->type);
		if (metric->put)
			metric->put(metric, &e);
		else if (metric->event)
			metrics_text_put_plain(metric, &e, count_of(&e, metric->event));
		else
			metrics_text_put_plain(
				metric, &e,
				*(const int64_t *)((const char *)e.rows + metric->at));
	}
	return e.rows->counted_to < e.rows->now.event;
}

/* --- count ------------------------------------------------------------------- */

/* count - adds to the counters. */

const struct scale scale_ns = { {
	{ 250000, "0.00025" },
	{ 500000, "0.0005" },
	{ 1000000, "0.001" },
	{ 2500000, "0.0025" },
	{ 5000000, "0.005" },
	{ 10000000, "0.01" },
	{ 50000000, "0.05" },
	{ 250000000, "0.25" },
	{ 2500000000, "2.5" },
} };

const struct scale scale_calls = { {
	{ 1, "1" },
	{ 2, "2" },
	{ 4, "4" },
	{ 8, "8" },
	{ 16, "16" },
	{ 32, "32" },
	{ 64, "64" },
	{ 128, "128" },
	{ 256, "256" },
} };

static void observe(struct histogram *h, const struct scale *scale, uint64_t value)
{
	int i = 0;

	while (i < BOUNDS && value > scale->bound[i].most)
		i++;
	counter_add(&h->bucket[i], 1);
	counter_add(&h->sum, value);
}

/* The limit that refused a call with the fault `f`; HITS: `f` is not the fault of a limit. */
static int hit_of(const struct op *op, const struct fault *f)
{
	if (f->code == FAULT_EXHAUSTED)
		return HIT_EXHAUSTED;
	if (f->code != FAULT_RATE_LIMITED)
		return HITS;
	return *f->where || op->rate == RATE_FREE ? HIT_PAIR
						  : (int)limit_category(op->rate);
}

static void count_fault(struct metrics *m, const struct op *op, const struct fault *f)
{
	struct op_count *c = &m->ops[op ? (size_t)op->index : op_count];
	int hit = op ? hit_of(op, f) : HITS;

	counter_add(&c->ended[f->code ? -1 - f->code : FAULT_COUNT], 1);
	if (hit < HITS)
		counter_add(&m->hits[hit], 1);
	if (f->code == FAULT_CONFLICT && strcmp(f->where, "/epoch") == 0)
		counter_add(&m->old_epochs, 1);
}

void metrics_call(struct metrics *m, const struct call *call, uint64_t ns)
{
	count_fault(m, call->op, &call->fault);
	if (!call->waited)
		observe(&m->ops[call->op->index].time, &scale_ns, ns);
}

void metrics_refused(struct metrics *m, const struct op *op, const struct fault *why)
{
	count_fault(m, op, why);
}

void metrics_hit(struct metrics *m, int limit)
{
	counter_add(&m->hits[limit], 1);
}

void metrics_batch(struct metrics *m, size_t calls, int64_t syncs, int64_t ns)
{
	observe(&m->batch, &scale_calls, calls);
	for (int64_t i = 0; i < syncs; i++)
		observe(&m->sync, &scale_ns, (uint64_t)(ns / syncs));
}

struct metrics *metrics_new(void)
{
	struct metrics *m = xcalloc(1, sizeof(*m));

	m->ops = xcalloc(op_count + 1, sizeof(*m->ops));
	m->events = xcalloc(event_count, sizeof(*m->events));
	m->started_at = clock_wall_ms();
	return m;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	free(m->ops);
	free(m->events);
	free(m);
}

static void metrics_make(struct host *host)
{
	host->metrics = metrics_new();
}

/* Reads the number of the newest event, since only later events are counted. If the read fails,
 * all events are counted. */
static void metrics_survey(struct host *host, struct store *store)
{
	struct call look = { .store = store };
	struct event_last_row last = { 0 };

	if (call_begin(&look, false) == 0) {
		if (sql_row(&look, event_last, &last) > 0)
			host->metrics->counted_to = last.seq;
		store_rollback(store);
	}
	arena_release(&look.arena);
}

static void metrics_release(struct host *host)
{
	metrics_free(host->metrics);
}

const struct host_room room_metrics = {
	.make = metrics_make,
	.survey = metrics_survey,
	.release = metrics_release,
};

/* --- read -------------------------------------------------------------------- */

/* read - reads the numbers in the state's rows, and the sizes of the state's files. */

enum { EVENTS_AT_ONCE = 50000 }; /* a limit, so that no client waits long */

/* Counts at most EVENTS_AT_ONCE events, from the first event behind `after`. */
static void count_events(struct call *call, struct scrape *s, int64_t after)
{
	struct metrics_events_row row;
	struct query q = { 0 };

	s->counted_to = s->now.event - after > EVENTS_AT_ONCE ? after + EVENTS_AT_ONCE
							      : s->now.event;
	while (sql_each(call, &q, metrics_events, &row, .after = after,
			.last = s->counted_to) > 0) {
		const struct event_kind *kind = event_kind((int)row.kind);

		if (kind)
			s->events[kind - event_table] += row.n;
	}
}

static int read_guests(struct call *call, struct scrape *s)
{
	struct metrics_guests_row row;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, metrics_guests, &row)) > 0)
		s->guests[row.state] = row.n;
	return rc;
}

static int metrics_read_rows(struct call *call, struct scrape *s)
{
	struct metrics_oldest_row oldest = { 0 };
	int rc = sql_row(call, metrics_now, &s->now, .now = call->now);

	s->now_ms = call->now;
	if (rc >= 0)
		rc = sql_row(call, metrics_oldest, &oldest);
	s->oldest_at = oldest.at;
	if (rc >= 0)
		rc = read_guests(call, s);
	if (rc >= 0)
		rc = sql_all(call, metrics_budgets, &s->budgets, &s->n_budgets,
			     .now = call->now, .limit = BUDGETS_MOST);
	return rc;
}

/* The size of a file of the state. The file is not opened, since only SQLite may open the
 * state's files. */
static int64_t metrics_read_size_of(const char *dir, const char *name)
{
	char path[4200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return stat(path, &st) ? 0 : st.st_size;
}

/* Reads a struct scrape into job->call.out, on a reader's thread. job->owner is the host. */
static void metrics_read(struct job *job, struct store *store)
{
	const struct host *host = job->owner;
	struct call *call = &job->call;
	struct scrape *s = arena_alloc(&call->arena, sizeof(*s));

	s->events = arena_alloc(&call->arena, event_count * sizeof(*s->events));
	call->store = store;
	call->out = s;
	if (call_begin(call, false))
		return;
	if (metrics_read_rows(call, s) >= 0)
		count_events(call, s, job->number);
	store_rollback(store);
	s->state_bytes = metrics_read_size_of(host->home->dir, "state.db");
	s->wal_bytes = metrics_read_size_of(host->home->dir, "state.db-wal");
	s->mirrored_to = mirror_cursor(host->home, s->now.incarnation);
}

/* --- GET /metrics ------------------------------------------------------------ */

/*
 * web_metrics - GET /metrics: the host's counters, for Prometheus.
 *
 * Only the operator and observers of all teams may read metrics, since metrics name teams. A
 * request that arrives while the rows are being read shares the result. Therefore many requests
 * at the same time cost no more than a single request. If more than EVENTS_AT_ONCE events are
 * new, some events are counted after the answer.
 */

/* A client that asks for metrics. The struct is in the arena of the client's request. */
struct scraper {
	struct http *x;
	struct conn *call; /* call that reads the caller's rights, or NULL */
	struct scraper *next, **at; /* links of web->scrapers */
};

static void web_metrics_leave(struct scraper *s)
{
	if (!s->at)
		return;
	*s->at = s->next;
	if (s->next)
		s->next->at = s->at;
	s->at = NULL;
}

static void web_metrics_on_gone(struct http *x)
{
	struct scraper *s = x->owner;

	if (s->call)
		conn_close(s->call);
	web_metrics_leave(s);
}

static void web_metrics_read_rows(struct host *host);

static void web_metrics_on_read(struct job *job)
{
	static const char type[] = "text/plain; version=0.0.4; charset=utf-8";
	struct host *host = job->owner;
	struct web *web = host->web;
	const struct fault *why = &job->call.fault;
	struct text text = { 0 };
	bool more = false;

	web->scraping = false;
	if (!why->code)
		more = metrics_write(job, &text);
	while (web->scrapers) {
		struct scraper *s = web->scrapers;

		web_metrics_leave(s);
		if (why->code)
			web_refuse(s->x, 0, why);
		else
			http_answer(s->x, 200, type, text.data, text.len);
	}
	text_release(&text);
	job_free(job);
	if (more && !host->stopping)
		web_metrics_read_rows(host);
}

static void web_metrics_read_rows(struct host *host)
{
	struct job *job;

	if (host->web->scraping)
		return;
	host->web->scraping = true;
	job = job_new(&host->jobs);
	job->owner = host;
	/* metrics_read() counts the events behind this number. Only one metrics_read() runs at
	 * a time, so no event is counted twice. */
	job->number = host->metrics->counted_to;
	job->read = metrics_read;
	job->done = web_metrics_on_read;
	host_read(host, job);
}

/* Whether the caller may see all teams. */
static bool sees_all(const struct call *call)
{
	const struct token_who_out *who = call->out;

	return who->level == CALLER_LEVEL_OPERATOR || call->identity.looks;
}

static void web_metrics_on_known(struct conn *c, struct job *job)
{
	struct http *x = c->owner;
	struct scraper *s = x->owner;
	struct web *web = c->host->web;
	struct fault *f = &job->call.fault;

	s->call = NULL;
	web_note_use(c->host, &job->call);
	if (!f->code && !sees_all(&job->call)) {
		fault_set(f, FAULT_DENIED, "",
			  "/metrics needs a token that sees all teams");
		fault_hint(f, "Make an observer's token, and send it: cadre token "
			      "create prometheus --observer");
	}
	if (f->code) {
		web_refuse_call(x, f);
		return;
	}
	s->next = web->scrapers;
	s->at = &web->scrapers;
	if (s->next)
		s->next->at = &s->next;
	web->scrapers = s;
	web_metrics_read_rows(c->host);
}

void web_metrics(struct http *x)
{
	struct scraper *s = arena_alloc(&x->arena, sizeof(*s));

	*s = (struct scraper){ .x = x };
	x->owner = s;
	x->gone = web_metrics_on_gone;
	s->call = web_start(x, op_token_who, json_object(), web_metrics_on_known);
}
