/* search_feed - brings the index up to date with the state. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "storage/search/search_inside.h"

enum { SLICE = 200 }; /* most rows in one transaction of search.db */

/* The data of one call of search_step(). */
struct feed {
	struct search *search;
	struct store *store;
	struct fault *fault;
	struct arena arena;
	struct search_head_row head;
	struct index_place_row place; /* numbers of the last rows in the index */
	int64_t end_ms;
	int left; /* rows for which this slice still has room */
	bool redacted; /* the index may contain the text of a redacted message */
};

/* --- how far the index is filled -------------------------------------------------------- */

static int search_feed_read_place(struct feed *feed)
{
	struct index_place_row place;
	int rc = SIDE_ROW(&feed->search->side, index_place, &place, &feed->arena);

	if (rc == SQLITE_ROW)
		feed->place = place;
	else if (rc == SQLITE_DONE)
		return SQLITE_CORRUPT;
	return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int write_place(struct search *s, const struct index_place_row *p)
{
	s->marked = true;
	return SIDE_RUN(&s->side, index_advance, .version = p->version,
			.incarnation = p->incarnation, .boot = p->boot, .whole = p->whole,
			.event = p->event, .message = p->message, .note = p->note,
			.task = p->task);
}

/* Whether the index belongs to this state and has lost no pages. */
static bool search_feed_fits(const struct feed *feed)
{
	const struct index_place_row *p = &feed->place;

	return p->version == SEARCH_VERSION &&
	       strcmp(p->incarnation, feed->head.incarnation) == 0 &&
	       (*p->boot == '\0' || strcmp(p->boot, feed->search->boot) == 0) &&
	       p->event <= feed->head.newest;
}

/* Empties the index. The caller has begun a transaction. */
static int search_feed_start_anew(struct feed *feed)
{
	int rc = search_make(feed->search);

	if (rc == SQLITE_OK)
		feed->place =
			(struct index_place_row){ .version = SEARCH_VERSION,
						  .incarnation = feed->head.incarnation,
						  .boot = feed->search->boot,
						  .event = feed->head.newest };
	return rc;
}

static bool search_feed_is_done(const struct feed *feed)
{
	const struct index_place_row *p = &feed->place;

	return search_feed_fits(feed) && p->whole && p->event >= feed->head.newest &&
	       p->message >= feed->head.last_message && p->note >= feed->head.last_note &&
	       p->task >= feed->head.last_task;
}

/* --- feeding --------------------------------------------------------------------------------- */

static const char *team_scope(struct arena *a, int64_t team)
{
	return arena_printf(a, "t%" PRId64, team);
}

/* Returns the scope tokens of a message, which name the message's team, sender and recipients.
 * A broadcast has the token `all` in place of the recipients. */
static const char *message_scope(struct feed *feed, const struct search_fed_row *m)
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

/* The title of a task, which is the first line of the task's text. */
static const char *search_feed_title(struct arena *a, const char *text)
{
	return arena_strndup(a, text, strcspn(text, "\n"));
}

/* Deletes the old text of a task from the index. If the old text equals the new text `body`,
 * deletes nothing and returns SQLITE_ROW. */
static int forget_task(struct feed *feed, int64_t id, const char *scope, const char *body)
{
	struct side_db *d = &feed->search->side;
	struct index_old_task_row old;
	int rc = SIDE_ROW(d, index_old_task, &old, &feed->arena, .id = id);

	if (rc == SQLITE_ROW && old.body && strcmp(old.body, body) == 0)
		return SQLITE_ROW;
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? SQLITE_OK : rc;
	if (!old.body)
		old.body = "";
	rc = SIDE_RUN(d, index_forget_task, .id = id, .scope = scope, .body = old.body);
	if (rc == SQLITE_OK)
		rc = SIDE_RUN(d, index_forget_title, .id = id, .scope = scope,
			      .title = search_feed_title(&feed->arena, old.body));
	return rc;
}

static int put_task(struct feed *feed, const struct search_fed_row *k)
{
	const char *scope = team_scope(&feed->arena, k->team);
	struct side_db *d = &feed->search->side;
	int rc = forget_task(feed, k->id, scope, k->body);

	if (rc == SQLITE_ROW)
		return SQLITE_OK;
	if (rc == SQLITE_OK)
		rc = SIDE_RUN(d, index_add_task, .id = k->id, .scope = scope,
			      .body = k->body);
	if (rc == SQLITE_OK)
		rc = SIDE_RUN(d, index_add_title, .id = k->id, .scope = scope,
			      .title = search_feed_title(&feed->arena, k->body));
	if (rc == SQLITE_OK)
		rc = SIDE_RUN(d, index_keep_task, .id = k->id, .team = k->team,
			      .body = k->body);
	return rc;
}

static int put_message(struct feed *feed, const struct search_fed_row *m)
{
	const char *scope = message_scope(feed, m);

	return scope ? SIDE_RUN(&feed->search->side, index_add_message, .id = m->id,
				.scope = scope, .body = m->body)
		     : SQLITE_ABORT;
}

static int search_feed_put_note(struct feed *feed, const struct search_fed_row *n)
{
	return SIDE_RUN(&feed->search->side, index_add_note, .id = n->id,
			.scope = team_scope(&feed->arena, n->team), .body = n->body);
}

/* Kinds of rows that are added to the index in the order of their numbers. feed_changes() adds
 * tasks again after a change. */
static const struct fed {
	enum sql rows;
	int (*put)(struct feed *feed, const struct search_fed_row *row);
	size_t place, last; /* offset in feed.place of the last indexed number, and offset
			       in feed.head of the last number */
} kinds[] = {
	{ sql_search_messages, put_message, offsetof(struct index_place_row, message),
	  offsetof(struct search_head_row, last_message) },
	{ sql_search_notes, search_feed_put_note, offsetof(struct index_place_row, note),
	  offsetof(struct search_head_row, last_note) },
	{ sql_search_tasks, put_task, offsetof(struct index_place_row, task),
	  offsetof(struct search_head_row, last_task) },
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

/* Adds at most feed->left rows to the index, and returns an SQLite result. A fault of the store
 * is in feed->fault.
 *
 * FTS5 writes rows into one part of the index as long as the numbers of the rows rise. The
 * index stores each row under the negated number. For this reason the query returns the last
 * row of a slice first. */
static int feed_rows(struct feed *feed, const struct fed *kind)
{
	const int64_t last = *(const int64_t *)((const char *)&feed->head + kind->last);
	int64_t *place = (int64_t *)((char *)&feed->place + kind->place);
	/* Every query in `kinds` has the same parameters. */
	const struct sql_search_tasks_in in = { *place, last, feed->left };
	struct arena_mark mark = arena_mark(&feed->arena);
	struct search_fed_row row;
	struct query q;
	int rc = SQLITE_OK;

	store_query(feed->store, &q, kind->rows, &in);
	while (rc == SQLITE_OK &&
	       store_next(&q, &row, sizeof(row), &feed->arena, feed->fault) > 0) {
		rc = kind->put(feed, &row);
		/* The row with the greatest number is read first, so later rows do not change
		 * `*place`. */
		if (*place < row.id)
			*place = row.id;
		feed->left--;
		arena_reset(&feed->arena, mark);
	}
	query_end(&q);
	if (rc == SQLITE_OK && feed->left > 0)
		*place = last;
	return rc;
}

static int last_first(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x < y) - (x > y);
}

/* Reads the next events about tasks and redactions. Stores the subject of each event in
 * `tasks`, and returns the number of events. */
static int changed_tasks(struct feed *feed, int64_t tasks[SLICE])
{
	struct search_task_events_row e;
	struct query q;
	int n = 0;

	store_query(feed->store, &q, sql_search_task_events,
		    &(const struct sql_search_task_events_in){ .after = feed->place.event,
							       .upto = feed->head.newest,
							       .limit = feed->left });
	while (store_next(&q, &e, sizeof(e), &feed->arena, feed->fault) > 0) {
		tasks[n++] = e.subject;
		feed->redacted |= e.redacted;
		feed->place.event = e.seq;
	}
	query_end(&q);
	qsort(tasks, (size_t)n, sizeof(*tasks), last_first);
	return n;
}

/* Updates the tasks that events have changed. feed_changes() runs last, since place.event means
 * that the index contains everything up to this event.
 *
 * To remove a redacted text, the index of messages would need the old text, which is not stored
 * anywhere. After a redaction, the function empties the index, and later slices fill the index
 * again. */
static int feed_changes(struct feed *feed)
{
	struct arena_mark mark = arena_mark(&feed->arena);
	struct search_fed_row k;
	int64_t tasks[SLICE];
	int rc = SQLITE_OK, n = changed_tasks(feed, tasks);

	if (feed->redacted) {
		feed->redacted = false;
		return search_feed_start_anew(feed);
	}
	for (int i = 0; i < n && rc == SQLITE_OK && !feed->fault->code; i++) {
		const struct sql_search_task_in in = { .id = tasks[i] };

		if (i > 0 && tasks[i] == tasks[i - 1])
			continue;
		if (store_row(feed->store, sql_search_task, &in, &k, sizeof(k),
			      &feed->arena, feed->fault) > 0)
			rc = put_task(feed, &k);
		arena_reset(&feed->arena, mark);
	}
	feed->left -= n;
	if (rc == SQLITE_OK && feed->left > 0)
		feed->place.event = feed->head.newest;
	feed->place.whole = 1;
	return rc;
}

/* Joins parts of the index if the index has many parts. SQLite counts one change for each
 * statement, and more changes if the statement joined parts. */
static int search_feed_merge(struct feed *feed)
{
	struct side_db *d = &feed->search->side;
	int before = sqlite3_total_changes(d->db);
	int rc = SIDE_RUN(d, index_merge_messages);

	if (rc == SQLITE_OK)
		rc = SIDE_RUN(d, index_merge_tasks);
	if (rc == SQLITE_OK)
		rc = SIDE_RUN(d, index_merge_titles);
	if (rc == SQLITE_OK)
		rc = SIDE_RUN(d, index_merge_notes);
	feed->search->parts = sqlite3_total_changes(d->db) - before > SEARCH_PLACES;
	return rc;
}

/* Adds one slice of rows to the index. The caller has begun a transaction of search.db. */
static int search_feed_fill(struct feed *feed)
{
	int rc;

	if ((rc = search_feed_read_place(feed)))
		return rc;
	/* If the log has lost events that follow place.event, some changes are unknown, so the
	 * index is emptied. */
	if ((!search_feed_fits(feed) || feed->place.event + 1 < feed->head.oldest) &&
	    (rc = search_feed_start_anew(feed)))
		return rc;
	feed->place.boot = feed->search->boot;
	feed->left = SLICE;
	for (size_t i = 0; i <= KINDS && feed->left > 0 && rc == SQLITE_OK; i++) {
		rc = i < KINDS ? feed_rows(feed, &kinds[i]) : feed_changes(feed);
		if (feed->fault->code)
			return SQLITE_ABORT;
	}
	if (rc || (rc = write_place(feed->search, &feed->place)))
		return rc;
	return search_feed_merge(feed);
}

static int merge_alone(struct feed *feed)
{
	int rc = search_mark(feed->search);

	return rc ? rc : search_feed_merge(feed);
}

static int transact(struct feed *feed, int (*change)(struct feed *feed))
{
	struct side_db *d = &feed->search->side;
	int rc = SIDE_RUN(d, index_begin);

	if (rc == SQLITE_OK && (rc = change(feed)) == SQLITE_OK)
		rc = SIDE_RUN(d, index_commit);
	if (!sqlite3_get_autocommit(d->db))
		SIDE_RUN(d, index_rollback);
	if (rc == SQLITE_OK)
		search_copy_wal(feed->search);
	return rc;
}

static int feed_all(struct feed *feed)
{
	int rc = search_feed_read_place(feed);

	while (rc == SQLITE_OK && !search_feed_is_done(feed)) {
		rc = transact(feed, search_feed_fill);
		if (clock_steady_ms() >= feed->end_ms)
			return rc;
	}
	/* Each search joins a few parts, until no parts are left to join. If joining fails,
	 * searches are slower, but find the same rows. */
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

	if (rc < 0) {
		arena_release(&feed.arena);
		return rc;
	}
	rc = feed_all(&feed);
	if (search_is_damage(rc)) {
		search_throw_away(s);
		if ((rc = search_connect(s, SEARCH_OPEN_MS)) == SQLITE_OK)
			rc = feed_all(&feed);
	}
	*indexed_to = search_feed_fits(&feed) && feed.place.whole ? feed.place.event : 0;
	*more = !search_feed_is_done(&feed);
	arena_release(&feed.arena);
	if (f->code)
		return f->code;
	return rc == SQLITE_OK || search_is_busy(rc) ? 0
						     : search_failed(s, rc, "write", f);
}
