#include "storage/search.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "storage/inside.h"
#include "storage/search_inside.h"

enum {
	VERSION = 1,
	SLICE = 200, /* rows in one transaction of search.db */
	BUSY_MS = 20, /* patience with another process that indexes */
};

/* `boot` is the machine's boot id while somebody has it open for writing: a
 * machine that went down meanwhile may have lost pages that were not synced. */
static const char schema[] =
	"CREATE TABLE place (one INTEGER PRIMARY KEY CHECK (one = 1),"
	" version INTEGER NOT NULL, incarnation TEXT NOT NULL, boot TEXT NOT NULL,"
	" whole INTEGER NOT NULL, event INTEGER NOT NULL, message INTEGER NOT NULL,"
	" note INTEGER NOT NULL, task INTEGER NOT NULL) STRICT;"
	"CREATE TABLE task_body (id INTEGER PRIMARY KEY, team INTEGER NOT NULL,"
	" body TEXT NOT NULL) STRICT;"
	"CREATE VIRTUAL TABLE message_text USING fts5(scope, body, content='',"
	" columnsize=0, tokenize='unicode61 remove_diacritics 2');"
	"CREATE VIRTUAL TABLE task_text USING fts5(scope, body, content='',"
	" columnsize=0, tokenize='unicode61 remove_diacritics 2');"
	"CREATE VIRTUAL TABLE note_text USING fts5(scope, body, content='',"
	" columnsize=0, tokenize='unicode61 remove_diacritics 2');"
	"INSERT INTO place VALUES (1, 0, '', '', 0, 0, 0, 0, 0);";

static const char drop[] = "DROP TABLE IF EXISTS place; DROP TABLE IF EXISTS task_body;"
			   "DROP TABLE IF EXISTS message_text;"
			   "DROP TABLE IF EXISTS task_text;"
			   "DROP TABLE IF EXISTS note_text;";

#define FIND(table)                                                \
	"SELECT rowid FROM " table " WHERE " table " MATCH :match" \
	" AND rowid < :before ORDER BY rowid DESC LIMIT :limit"
#define ADD(table) "INSERT INTO " table "(rowid, scope, body) VALUES (?1, ?2, ?3)"

static const char *const texts[SEARCH_SQL_COUNT] = {
	[SEARCH_BEGIN] = "BEGIN IMMEDIATE",
	[SEARCH_COMMIT] = "COMMIT",
	[SEARCH_ROLLBACK] = "ROLLBACK",
	[SEARCH_CURSOR] = "SELECT version, incarnation, boot, whole, event, message,"
			  " note, task FROM place WHERE one = 1",
	[SEARCH_ADVANCE] = "UPDATE place SET version = ?1, incarnation = ?2, boot = ?3,"
			   " whole = ?4, event = ?5, message = ?6, note = ?7, task = ?8",
	[SEARCH_ADD + SEARCH_MESSAGES] = ADD("message_text"),
	[SEARCH_ADD + SEARCH_TASKS] = ADD("task_text"),
	[SEARCH_ADD + SEARCH_NOTES] = ADD("note_text"),
	[SEARCH_FIND + SEARCH_MESSAGES] = FIND("message_text"),
	[SEARCH_FIND + SEARCH_TASKS] = FIND("task_text"),
	[SEARCH_FIND + SEARCH_NOTES] = FIND("note_text"),
	/* A contentless table is told what it holds to be rid of it. */
	[SEARCH_FORGET_TASK] = "INSERT INTO task_text(task_text, rowid, scope, body)"
			       " VALUES ('delete', ?1, ?2, ?3)",
	[SEARCH_OLD_TASK] = "SELECT body FROM task_body WHERE id = ?1",
	[SEARCH_KEEP_TASK] = "INSERT OR REPLACE INTO task_body(id, team, body)"
			     " VALUES (?1, ?2, ?3)",
};

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

/* --- the database ------------------------------------------------------------------- */

/* Busy: another process indexes; it is not a failure. */
static bool is_busy(int rc)
{
	return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;
}

static int search_fault(struct search *s, int rc, const char *what, struct fault *f)
{
	return fault_set(f, FAULT_UNAVAILABLE, "", "cannot %s the search index: %s", what,
			 s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
}

static sqlite3_stmt *stmt(struct search *s, int id)
{
	if (!s->stmts[id])
		sqlite3_prepare_v3(s->db, texts[id], -1, SQLITE_PREPARE_PERSISTENT,
				   &s->stmts[id], NULL);
	return s->stmts[id];
}

/* Runs a statement that gives no rows, bound already. */
static int run(struct search *s, int id)
{
	sqlite3_stmt *st = stmt(s, id);
	int rc = st ? sqlite3_step(st) : sqlite3_errcode(s->db);

	if (st)
		sqlite3_reset(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void bind_text(sqlite3_stmt *st, int at, const char *text)
{
	sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}

static void disconnect(struct search *s)
{
	for (int i = 0; i < SEARCH_SQL_COUNT; i++) {
		sqlite3_finalize(s->stmts[i]);
		s->stmts[i] = NULL;
	}
	if (s->words)
		s->tokenizer.xDelete(s->words);
	s->words = NULL;
	sqlite3_close(s->db);
	s->db = NULL;
}

static int exec(struct search *s, const char *sql)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL);
}

/* Makes the tables unless somebody else just did. */
static int make_tables(struct search *s)
{
	int version = 0, rc;
	sqlite3_stmt *st = NULL;

	if ((rc = sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &st, NULL)))
		return rc;
	rc = sqlite3_step(st);
	version = rc == SQLITE_ROW ? sqlite3_column_int(st, 0) : -1;
	sqlite3_finalize(st);
	if (rc != SQLITE_ROW)
		return rc;
	if (version == VERSION)
		return SQLITE_OK;
	if ((rc = exec(s, drop)) || (rc = exec(s, schema)))
		return rc;
	return exec(s, "PRAGMA user_version=1");
}

static int connect(struct search *s)
{
	int rc;

	if (s->path && mknod(s->path, S_IFREG | 0600, 0) < 0 && errno != EEXIST)
		return SQLITE_CANTOPEN;
	rc = sqlite3_open_v2(
		s->path ? s->path : ":memory:", &s->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc)
		return rc;
	sqlite3_extended_result_codes(s->db, 1);
	/* Making it is worth a wait; indexing is not. */
	sqlite3_busy_timeout(s->db, 5000);
	if ((rc = exec(s, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
			  "PRAGMA cache_size=-1024; BEGIN IMMEDIATE")) ||
	    (rc = make_tables(s)) || (rc = exec(s, "COMMIT")) ||
	    (rc = search_words_open(s)))
		return rc;
	sqlite3_busy_timeout(s->db, BUSY_MS);
	return SQLITE_OK;
}

static void throw_away(struct search *s)
{
	static const char *const parts[] = { "", "-wal", "-shm" };
	char path[4200];

	disconnect(s);
	for (int i = 0; s->path && i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", s->path, parts[i]);
		unlink(path);
	}
}

static bool is_damage(int rc)
{
	return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
}

static void read_boot(char out[37])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, out, 36) : 0;

	out[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

int search_open(struct search **out, const char *dir, struct fault *f)
{
	struct search *s = calloc(1, sizeof(*s));
	int rc;

	if (!s || (dir && asprintf(&s->path, "%s/search.db", dir) < 0))
		abort();
	read_boot(s->boot);
	rc = connect(s);
	/* Many may make it at once, and turning the WAL on does not wait. */
	for (int tries = 0; is_busy(rc) && tries < 50; tries++) {
		const struct timespec pause = { .tv_nsec = 10000000 };

		disconnect(s);
		nanosleep(&pause, NULL);
		rc = connect(s);
	}
	if (is_damage(rc)) {
		throw_away(s);
		rc = connect(s);
	}
	if (rc != SQLITE_OK) {
		search_fault(s, rc, "open", f);
		search_close(s);
		return f->code;
	}
	*out = s;
	return 0;
}

/* Copies all of the WAL into the file and syncs it, unless others read it. */
static bool checkpoint(struct search *s)
{
	sqlite3_stmt *st = NULL;
	bool done = false;

	if (sqlite3_prepare_v2(s->db, "PRAGMA wal_checkpoint(TRUNCATE)", -1, &st, NULL) ==
	    SQLITE_OK)
		done = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0) == 0;
	sqlite3_finalize(st);
	return done;
}

/* Says that the machine may go down without harm.  The first write is there to
 * have a checkpoint sync the file, pages that were copied before included. */
static void unmark(struct search *s)
{
	if (exec(s, "PRAGMA synchronous=FULL; UPDATE place SET boot = boot") ==
		    SQLITE_OK &&
	    checkpoint(s))
		exec(s, "UPDATE place SET boot = ''");
}

void search_close(struct search *s)
{
	if (!s)
		return;
	if (s->db && s->marked && s->path)
		unmark(s);
	disconnect(s);
	free(s->path);
	free(s);
}

struct search *store_search(struct store *store, struct fault *f)
{
	if (!store->search)
		search_open(&store->search,
			    store->flags & STORE_MEMORY ? NULL : store->dir, f);
	return store->search;
}

/* --- how far it has come ---------------------------------------------------------------- */

static int read_place(struct search *s, struct place *p)
{
	sqlite3_stmt *st = stmt(s, SEARCH_CURSOR);
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
	sqlite3_stmt *st = stmt(s, SEARCH_ADVANCE);

	if (!st)
		return sqlite3_errcode(s->db);
	sqlite3_bind_int64(st, 1, p->version);
	bind_text(st, 2, p->incarnation);
	bind_text(st, 3, p->boot);
	sqlite3_bind_int64(st, 4, p->whole);
	sqlite3_bind_int64(st, 5, p->event);
	sqlite3_bind_int64(st, 6, p->message);
	sqlite3_bind_int64(st, 7, p->note);
	sqlite3_bind_int64(st, 8, p->task);
	s->marked = true;
	return run(s, SEARCH_ADVANCE);
}

/* Whether what is there is of this state and whole. */
static bool fits(const struct feed *feed)
{
	const struct place *p = &feed->place;

	return p->version == VERSION &&
	       strcmp(p->incarnation, feed->head.incarnation) == 0 &&
	       (*p->boot == '\0' || strcmp(p->boot, feed->search->boot) == 0) &&
	       p->event <= feed->head.newest;
}

/* Inside a transaction: empties the index. */
static int start_anew(struct feed *feed)
{
	struct search *s = feed->search;
	int rc;

	if ((rc = exec(s, drop)) || (rc = exec(s, schema)))
		return rc;
	feed->place = (struct place){ .version = VERSION, .event = feed->head.newest };
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
	sqlite3_stmt *st = stmt(s, SEARCH_ADD + place);

	if (!st)
		return sqlite3_errcode(s->db);
	sqlite3_bind_int64(st, 1, row);
	bind_text(st, 2, scope);
	bind_text(st, 3, body);
	return run(s, SEARCH_ADD + place);
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
	sqlite3_stmt *old = stmt(s, SEARCH_OLD_TASK), *st = stmt(s, SEARCH_FORGET_TASK);
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
		bind_text(st, 2, scope);
		sqlite3_bind_text(st, 3, was, -1, SQLITE_TRANSIENT);
		rc = run(s, SEARCH_FORGET_TASK);
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
	sqlite3_stmt *st = stmt(s, SEARCH_KEEP_TASK);
	int rc = forget_task(feed, id, scope, body);

	if (rc == SQLITE_ROW)
		return SQLITE_OK;
	if (rc || !st || (rc = add(s, SEARCH_TASKS, id, scope, body)))
		return rc ? rc : sqlite3_errcode(s->db);
	sqlite3_bind_int64(st, 1, id);
	sqlite3_bind_int64(st, 2, team);
	bind_text(st, 3, body);
	return run(s, SEARCH_KEEP_TASK);
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
	return rc ? rc : write_place(feed->search, &feed->place);
}

static int feed_slice(struct feed *feed)
{
	int rc = run(feed->search, SEARCH_BEGIN);

	if (rc == SQLITE_OK && (rc = fill(feed)) == SQLITE_OK)
		rc = run(feed->search, SEARCH_COMMIT);
	if (!sqlite3_get_autocommit(feed->search->db))
		run(feed->search, SEARCH_ROLLBACK);
	return rc;
}

static int64_t mono_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int feed_all(struct feed *feed)
{
	int rc = read_place(feed->search, &feed->place);

	while (rc == SQLITE_OK && !is_done(feed)) {
		rc = feed_slice(feed);
		if (mono_ms() >= feed->end_ms)
			break;
	}
	return rc;
}

int search_step(struct search *s, struct store *store, int64_t budget_ms,
		int64_t *indexed_to, bool *more, struct fault *f)
{
	const struct sql_search_head_in none = { 0 };
	struct feed feed = {
		.search = s, .store = store, .fault = f, .end_ms = mono_ms() + budget_ms
	};
	int rc = store_row(store, sql_search_head, &none, &feed.head, sizeof(feed.head),
			   &feed.arena, f);

	if (rc <= 0) {
		arena_release(&feed.arena);
		return rc < 0 ? rc
			      : fault_set(f, FAULT_INTERNAL, "", "no row of the state");
	}
	rc = feed_all(&feed);
	if (is_damage(rc)) {
		throw_away(s);
		if ((rc = connect(s)) == SQLITE_OK)
			rc = feed_all(&feed);
	}
	*indexed_to = fits(&feed) && feed.place.whole ? feed.place.event : 0;
	*more = !is_done(&feed);
	arena_release(&feed.arena);
	if (f->code)
		return f->code;
	return rc == SQLITE_OK || is_busy(rc) ? 0 : search_fault(s, rc, "write", f);
}

/* --- looking ------------------------------------------------------------------------------------ */

static char *full_match(const struct search_query *q, const struct search_scope *scope)
{
	char team[40] = "", agent[80] = "", *out;

	if (scope->team)
		snprintf(team, sizeof(team), "scope : \"t%" PRId64 "\" AND ",
			 scope->team);
	if (scope->agent && scope->place == SEARCH_MESSAGES)
		snprintf(agent, sizeof(agent),
			 "scope : (\"a%" PRId64 "\" OR \"all\") AND ", scope->agent);
	if (asprintf(&out, "%s%sbody : %s", team, agent, q->match) < 0)
		abort();
	return out;
}

int search_match(struct search *s, const struct search_query *q,
		 const struct search_scope *scope, int64_t before, int64_t *rows,
		 int limit, struct fault *f)
{
	sqlite3_stmt *st = stmt(s, SEARCH_FIND + scope->place);
	char *match = full_match(q, scope);
	int n = 0, rc;

	if (!st) {
		free(match);
		return search_fault(s, sqlite3_errcode(s->db), "read", f);
	}
	bind_text(st, 1, match);
	sqlite3_bind_int64(st, 2, before);
	sqlite3_bind_int64(st, 3, limit);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && n < limit)
		rows[n++] = sqlite3_column_int64(st, 0);
	if (rc == SQLITE_ERROR) {
		fault_set(f, FAULT_INVALID, "/query", "%s", sqlite3_errmsg(s->db));
		fault_hint(f, "put what is not a word in \"quotes\"");
	} else if (rc != SQLITE_DONE && rc != SQLITE_ROW) {
		search_fault(s, rc, "read", f);
	}
	sqlite3_reset(st);
	free(match);
	return f->code ? (int)f->code : n;
}
