/* metrics_read - numbers that the rows of the state and its files give. */
#include <stdio.h>
#include <sys/stat.h>

#include "core/host/metrics/metrics_inside.h"
#include "core/mirror/mirror.h"

enum { EVENTS_AT_ONCE = 50000 }; /* nobody waits for more to be counted */

/* Counts events behind `after`; of very many the first. */
static void count_events(struct call *call, struct scrape *s, int64_t after)
{
	struct metrics_events_row row;
	struct query q;

	s->counted_to = s->now.event - after > EVENTS_AT_ONCE ? after + EVENTS_AT_ONCE
							      : s->now.event;
	sql_query(call, &q, metrics_events, .after = after, .last = s->counted_to);
	while (sql_next(call, &q, &row) > 0) {
		const struct event_kind *kind = event_kind((int)row.kind);

		if (kind)
			s->events[kind - event_table] += row.n;
	}
}

static int read_guests(struct call *call, struct scrape *s)
{
	struct metrics_guests_row row;
	struct query q;
	int rc;

	sql_query(call, &q, metrics_guests);
	while ((rc = sql_next(call, &q, &row)) > 0)
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

/* The size of a file, which only SQLite may open. */
static int64_t metrics_read_size_of(const char *dir, const char *name)
{
	char path[4200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return stat(path, &st) ? 0 : st.st_size;
}

void metrics_read(struct job *job, struct store *store)
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
