/* search_feed - bringing the index up to the state. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "storage/search/search_inside.h"

enum { SLICE = 200 }; /* rows in one transaction of search.db */

/* How far the index has come; as search.db keeps it. */
struct place {
	int64_t version;
	char incarnation[40], boot[40];
	int64_t whole; /* 0 while rows from before `event` are still fed */
	int64_t event, message, note, task;
};

/* One run of search_step(). */
struct feed {
	struct search *search;
	struct store *store;
	struct fault *fault;
	struct arena arena;
	struct search_head_row head;
	struct place place;
	int64_t end_ms;
	int left; /* rows that this slice may still take */
};

/* --- how far it has come ---------------------------------------------------------------- */

static int read_place(struct search *s, struct place *p)
{
	sqlite3_stmt *st = search_stmt(s, SEARCH_CURSOR);
	int rc = st ? sqlite3_step(st) : sqlite3_errcode(s->db);

	if (rc == SQLITE_ROW) {
		p->version = sqlite3_column_int64(st, 0);
		snprintf(p->incarnation, sizeof(p->incarnation), "%s",
			 (const char *)sqlite3_column_text(st, 1));
		snprintf(p->boot, sizeof(p->boot), "%s",
			 (const char *)sqlite3_column_text(st, 2));
		p->whole = sqlite3_column_int64(st, 3);
		p->event = sqlite3_column_int64(st, 4);
		p->message = sqlite3_column_int64(st, 5);
		p->note = sqlite3_column_int64(st, 6);
		p->task = sqlite3_column_int64(st, 7);
		rc = SQLITE_OK;
	} else if (rc == SQLITE_DONE) {
		rc = SQLITE_CORRUPT;
	}
	if (st)
		sqlite3_reset(st);
	return rc;
}

static int write_place(struct search *s, const struct place *p)
{
	sqlite3_stmt *st = search_stmt(s, SEARCH_ADVANCE);

	if (!st)
		return sqlite3_errcode(s->db);
	sqlite3_bind_int64(st, 1, p->version);
	search_bind(st, 2, p->incarnation);
	search_bind(st, 3, p->boot);
	sqlite3_bind_int64(st, 4, p->whole);
	sqlite3_bind_int64(st, 5, p->event);
	sqlite3_bind_int64(st, 6, p->message);
	sqlite3_bind_int64(st, 7, p->note);
	sqlite3_bind_int64(st, 8, p->task);
	s->marked = true;
	return search_run(s, SEARCH_ADVANCE);
}

/* Whether what is there is of this state and whole. */
static bool fits(const struct feed *feed)
{
	const struct place *p = &feed->place;

	return p->version == SEARCH_VERSION &&
	       strcmp(p->incarnation, feed->head.incarnation) == 0 &&
	       (*p->boot == '\0' || strcmp(p->boot, feed->search->boot) == 0) &&
	       p->event <= feed->head.newest;
}

/* Inside a transaction: empties the index. */
static int start_anew(struct feed *feed)
{
	struct search *s = feed->search;
	int rc;

	if ((rc = search_make(s)))
		return rc;
	feed->place =
		(struct place){ .version = SEARCH_VERSION, .event = feed->head.newest };
	snprintf(feed->place.incarnation, sizeof(feed->place.incarnation), "%s",
		 feed->head.incarnation);
	return SQLITE_OK;
}

static bool is_done(const struct feed *feed)
{
	const struct place *p = &feed->place;

	return fits(feed) && p->whole && p->event >= feed->head.newest &&
	       p->message >= feed->head.last_message && p->note >= feed->head.last_note &&
	       p->task >= feed->head.last_task;
}

/* --- feeding --------------------------------------------------------------------------------- */

static int add(struct search *s, enum search_place place, int64_t row, const char *scope,
	       const char *body)
{
	sqlite3_stmt *st = search_stmt(s, SEARCH_ADD + place);

	if (!st)
		return sqlite3_errcode(s->db);
	sqlite3_bind_int64(st, 1, row);
	search_bind(st, 2, scope);
	search_bind(st, 3, body);
	return search_run(s, SEARCH_ADD + place);
}

static const char *team_scope(struct arena *a, int64_t team)
{
	return arena_printf(a, "t%" PRId64, team);
}

/* The team, the sender and each recipient; of a broadcast just that it is one. */
static const char *message_scope(struct feed *feed, const struct search_messages_row *m)
{
	struct search_recipients_row to;
	const char *scope;
	struct query q;

	scope = arena_printf(&feed->arena, "t%" PRId64 " a%" PRId64 "%s", m->team,
			     m->sender, m->to_all ? " all" : "");
	if (m->to_all)
		return scope;
	store_query(feed->store, &q, sql_search_recipients,
		    &(const struct sql_search_recipients_in){ .message = m->id });
	while (store_next(&q, &to, sizeof(to), &feed->arena, feed->fault) > 0)
		scope = arena_printf(&feed->arena, "%s a%" PRId64, scope, to.agent);
	return feed->fault->code ? NULL : scope;
}

/* Each of these takes up to `left` rows, and returns an SQLite result; a fault
 * of the store is in feed->fault. */
static int feed_messages(struct feed *feed)
{
	struct arena_mark mark = arena_mark(&feed->arena);
	struct search_messages_row m;
	struct query q;
	int rc = SQLITE_OK;

	store_query(
		feed->store, &q, sql_search_messages,
		&(const struct sql_search_messages_in){ .after = feed->place.message,
							.upto = feed->head.last_message,
							.limit = feed->left });
	while (rc == SQLITE_OK &&
	       store_next(&q, &m, sizeof(m), &feed->arena, feed->fault) > 0) {
		const char *scope = message_scope(feed, &m);

		if (!scope)
			break;
		rc = add(feed->search, SEARCH_MESSAGES, m.id, scope, m.body);
		feed->place.message = m.id;
		feed->left--;
		arena_reset(&feed->arena, mark);
	}
	query_end(&q);
	if (rc == SQLITE_OK && feed->left > 0)
		feed->place.message = feed->head.last_message;
	return rc;
}

static int feed_notes(struct feed *feed)
{
	struct arena_mark mark = arena_mark(&feed->arena);
	struct search_notes_row n;
	struct query q;
	int rc = SQLITE_OK;

	store_query(feed->store, &q, sql_search_notes,
		    &(const struct sql_search_notes_in){ .after = feed->place.note,
							 .upto = feed->head.last_note,
							 .limit = feed->left });
	while (rc == SQLITE_OK &&
	       store_next(&q, &n, sizeof(n), &feed->arena, feed->fault) > 0) {
		rc = add(feed->search, SEARCH_NOTES, n.id,
			 team_scope(&feed->arena, n.team), n.text);
		feed->place.note = n.id;
		feed->left--;
		arena_reset(&feed->arena, mark);
	}
	query_end(&q);
	if (rc == SQLITE_OK && feed->left > 0)
		feed->place.note = feed->head.last_note;
	return rc;
}

/* Takes the old text of a task out; 1 when it is what is there now. */
static int forget_task(struct feed *feed, int64_t id, const char *scope, const char *body)
{
	struct search *s = feed->search;
	sqlite3_stmt *old = search_stmt(s, SEARCH_OLD_TASK),
		     *st = search_stmt(s, SEARCH_FORGET_TASK);
	int rc;

	if (!old || !st)
		return sqlite3_errcode(s->db);
	sqlite3_bind_int64(old, 1, id);
	rc = sqlite3_step(old);
	if (rc == SQLITE_ROW) {
		const char *was = (const char *)sqlite3_column_text(old, 0);

		if (was && strcmp(was, body) == 0) {
			sqlite3_reset(old);
			return SQLITE_ROW;
		}
		sqlite3_bind_int64(st, 1, id);
		search_bind(st, 2, scope);
		sqlite3_bind_text(st, 3, was, -1, SQLITE_TRANSIENT);
		rc = search_run(s, SEARCH_FORGET_TASK);
	} else if (rc == SQLITE_DONE) {
		rc = SQLITE_OK;
	}
	sqlite3_reset(old);
	return rc;
}

static int put_task(struct feed *feed, int64_t id, int64_t team, const char *body)
{
	struct search *s = feed->search;
	const char *scope = team_scope(&feed->arena, team);
	sqlite3_stmt *st = search_stmt(s, SEARCH_KEEP_TASK);
	int rc = forget_task(feed, id, scope, body);

	if (rc == SQLITE_ROW)
		return SQLITE_OK;
	if (rc || !st || (rc = add(s, SEARCH_TASKS, id, scope, body)))
		return rc ? rc : sqlite3_errcode(s->db);
	sqlite3_bind_int64(st, 1, id);
	sqlite3_bind_int64(st, 2, team);
	search_bind(st, 3, body);
	return search_run(s, SEARCH_KEEP_TASK);
}

/* Tasks by their numbers: those that were there before the log was. */
static int feed_tasks(struct feed *feed)
{
	struct arena_mark mark = arena_mark(&feed->arena);
	struct search_tasks_row k;
	struct query q;
	int rc = SQLITE_OK;

	store_query(feed->store, &q, sql_search_tasks,
		    &(const struct sql_search_tasks_in){ .after = feed->place.task,
							 .upto = feed->head.last_task,
							 .limit = feed->left });
	while (rc == SQLITE_OK &&
	       store_next(&q, &k, sizeof(k), &feed->arena, feed->fault) > 0) {
		rc = put_task(feed, k.id, k.team, k.body);
		feed->place.task = k.id;
		feed->left--;
		arena_reset(&feed->arena, mark);
	}
	query_end(&q);
	if (rc == SQLITE_OK && feed->left > 0)
		feed->place.task = feed->head.last_task;
	return rc;
}

/* Tasks that the log says have changed.  It comes last, since the place in the
 * log is what says that everything up to there is in. */
static int feed_changes(struct feed *feed)
{
	struct arena_mark mark = arena_mark(&feed->arena);
	struct search_task_events_row e;
	struct search_task_row k;
	struct query q;
	int rc = SQLITE_OK;

	store_query(feed->store, &q, sql_search_task_events,
		    &(const struct sql_search_task_events_in){ .after = feed->place.event,
							       .upto = feed->head.newest,
							       .limit = feed->left });
	while (rc == SQLITE_OK &&
	       store_next(&q, &e, sizeof(e), &feed->arena, feed->fault) > 0) {
		const struct sql_search_task_in in = { .id = e.subject };
		int found = store_row(feed->store, sql_search_task, &in, &k, sizeof(k),
				      &feed->arena, feed->fault);

		if (found > 0)
			rc = put_task(feed, k.id, k.team, k.body);
		else if (found < 0)
			break;
		feed->place.event = e.seq;
		feed->left--;
		arena_reset(&feed->arena, mark);
	}
	query_end(&q);
	if (rc == SQLITE_OK && feed->left > 0)
		feed->place.event = feed->head.newest;
	feed->place.whole = 1;
	return rc;
}

/* Joins parts of the index where they are many.  Each statement counts one change, and
 * more where it found something to join. */
static int merge(struct feed *feed)
{
	struct search *s = feed->search;
	int before = sqlite3_total_changes(s->db), rc = SQLITE_OK;

	for (int i = 0; i < SEARCH_PLACES && rc == SQLITE_OK; i++)
		rc = search_run(s, SEARCH_MERGE + i);
	s->parts = sqlite3_total_changes(s->db) - before > SEARCH_PLACES;
	return rc;
}

/* Fills one transaction of search.db. */
static int fill(struct feed *feed)
{
	static int (*const feeds[])(struct feed * feed) = { feed_messages, feed_notes,
							    feed_tasks, feed_changes };
	int rc;

	if ((rc = read_place(feed->search, &feed->place)))
		return rc;
	if (!fits(feed) && (rc = start_anew(feed)))
		return rc;
	/* The log was cut behind our place: all tasks are looked at again. */
	if (feed->place.event + 1 < feed->head.oldest) {
		feed->place.whole = feed->place.task = 0;
		feed->place.event = feed->head.newest;
	}
	memcpy(feed->place.boot, feed->search->boot, sizeof(feed->search->boot));
	feed->left = SLICE;
	for (size_t i = 0; i < 4 && feed->left > 0 && rc == SQLITE_OK; i++) {
		rc = feeds[i](feed);
		if (feed->fault->code)
			return SQLITE_ABORT;
	}
	if (rc || (rc = write_place(feed->search, &feed->place)))
		return rc;
	return merge(feed);
}

static int merge_alone(struct feed *feed)
{
	int rc = search_mark(feed->search);

	return rc ? rc : merge(feed);
}

static int transact(struct feed *feed, int (*change)(struct feed *feed))
{
	int rc = search_run(feed->search, SEARCH_BEGIN);

	if (rc == SQLITE_OK && (rc = change(feed)) == SQLITE_OK)
		rc = search_run(feed->search, SEARCH_COMMIT);
	if (!sqlite3_get_autocommit(feed->search->db))
		search_run(feed->search, SEARCH_ROLLBACK);
	if (rc == SQLITE_OK)
		search_copy_wal(feed->search);
	return rc;
}

static int feed_all(struct feed *feed)
{
	int rc = read_place(feed->search, &feed->place);

	while (rc == SQLITE_OK && !is_done(feed)) {
		rc = transact(feed, fill);
		if (clock_steady_ms() >= feed->end_ms)
			return rc;
	}
	/* A little with each search, until nothing is left to join.  Where it cannot be
	 * written the search is slower, and as good. */
	if (rc == SQLITE_OK && feed->search->parts &&
	    (rc = transact(feed, merge_alone)) != SQLITE_OK && !search_is_damage(rc)) {
		feed->search->parts = false;
		rc = SQLITE_OK;
	}
	return rc;
}

int search_step(struct search *s, struct store *store, int64_t budget_ms,
		int64_t *indexed_to, bool *more, struct fault *f)
{
	const struct sql_search_head_in none = { 0 };
	struct feed feed = { .search = s,
			     .store = store,
			     .fault = f,
			     .end_ms = clock_steady_ms() + budget_ms };
	int rc = store_row(store, sql_search_head, &none, &feed.head, sizeof(feed.head),
			   &feed.arena, f);

	if (rc <= 0) {
		arena_release(&feed.arena);
		return rc < 0 ? rc
			      : fault_set(f, FAULT_INTERNAL, "", "no row of the state");
	}
	rc = feed_all(&feed);
	if (search_is_damage(rc)) {
		search_throw_away(s);
		if ((rc = search_connect(s, SEARCH_OPEN_MS)) == SQLITE_OK)
			rc = feed_all(&feed);
	}
	*indexed_to = fits(&feed) && feed.place.whole ? feed.place.event : 0;
	*more = !is_done(&feed);
	arena_release(&feed.arena);
	if (f->code)
		return f->code;
	return rc == SQLITE_OK || search_is_busy(rc) ? 0
						     : search_failed(s, rc, "write", f);
}
