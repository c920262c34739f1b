#include "storage/spool/spool.h"

#include "storage/spool/spool_db.h"

/* --- messages and assignments ------------------------------------------------------ */

int spool_knows(struct spool *s, const char *message_id, struct fault *f)
{
	sqlite3_stmt *st = spool_get(s, SPOOL_KNOWS, message_id);
	int rc = spool_row(s, st, f);

	sqlite3_reset(st);
	return rc;
}

int spool_note(struct spool *s, const char *message_id, int64_t now, struct fault *f)
{
	sqlite3_stmt *st = spool_get(s, SPOOL_NOTE, message_id);

	sqlite3_bind_int64(st, 2, now);
	return spool_run(s, st, f);
}

static int check_room(struct spool *s, struct fault *f)
{
	sqlite3_stmt *st = spool_get(s, SPOOL_ROOM, NULL);
	int rc = spool_row(s, st, f);
	int64_t n = rc == 1 ? sqlite3_column_int64(st, 0) : 0;

	sqlite3_reset(st);
	if (rc < 0)
		return rc;
	if (n >= SPOOL_WAITING)
		return fault_set(f, FAULT_EXHAUSTED, "", "%d assignments wait already",
				 SPOOL_WAITING);
	return 0;
}

static int put_new(struct spool *s, const char *message_id, const char *content,
		   int64_t now, struct fault *f)
{
	sqlite3_stmt *st;
	int rc = check_room(s, f);

	if (rc)
		return rc;
	rc = spool_note(s, message_id, now, f);
	if (rc)
		return rc;
	st = spool_get(s, SPOOL_PUT, message_id);
	sqlite3_bind_text(st, 2, content, -1, SQLITE_STATIC);
	return spool_run(s, st, f);
}

int spool_put(struct spool *s, const char *message_id, const char *content, int64_t now,
	      struct fault *f)
{
	int rc = spool_knows(s, message_id, f);

	if (rc)
		return rc < 0 ? rc : 0;
	rc = spool_begin(s, f);
	if (rc)
		return rc;
	rc = put_new(s, message_id, content, now, f);
	return spool_end(s, !rc, f) ? f->code : rc;
}

int spool_drop(struct spool *s, const char *message_id, int64_t now, struct fault *f)
{
	int rc = spool_begin(s, f);

	if (rc)
		return rc;
	rc = spool_note(s, message_id, now, f);
	if (!rc)
		rc = spool_run(s, spool_get(s, SPOOL_DROP, message_id), f);
	return spool_end_counted(s, !rc, f) ? f->code : rc;
}

int spool_next(struct spool *s, struct arena *arena, struct spool_assignment *a,
	       struct fault *f)
{
	sqlite3_stmt *st = spool_get(s, SPOOL_NEXT, NULL);
	int rc = spool_row(s, st, f);

	if (rc == 1) {
		a->seq = sqlite3_column_int64(st, 0);
		a->message_id = spool_text(st, 1, arena);
		a->content = spool_text(st, 2, arena);
	}
	sqlite3_reset(st);
	return rc;
}

int spool_start(struct spool *s, const char *message_id, const char *task_id, int64_t now,
		struct fault *f)
{
	sqlite3_stmt *st;
	int rc = spool_begin(s, f);

	if (rc)
		return rc;
	st = spool_get(s, SPOOL_START, message_id);
	sqlite3_bind_int64(st, 2, now);
	sqlite3_bind_text(st, 3, task_id, -1, SQLITE_STATIC);
	rc = spool_run(s, st, f);
	return spool_end_counted(s, !rc, f) ? f->code : rc;
}

/* --- results --------------------------------------------------------------------- */

int spool_finish(struct spool *s, const struct spool_result *r, int64_t now,
		 struct fault *f)
{
	sqlite3_stmt *st;
	int rc = spool_begin(s, f);

	if (rc)
		return rc;
	st = spool_get(s, SPOOL_FINISH, r->message_id);
	sqlite3_bind_text(st, 2, r->task_id, -1, SQLITE_STATIC);
	sqlite3_bind_int(st, 3, r->success);
	sqlite3_bind_int64(st, 4, r->exit_code);
	sqlite3_bind_int(st, 5, r->interrupted);
	sqlite3_bind_int64(st, 6, r->elapsed_secs);
	sqlite3_bind_text(st, 7, r->out, (int)r->out_size, SQLITE_STATIC);
	sqlite3_bind_text(st, 8, r->err, (int)r->err_size, SQLITE_STATIC);
	rc = spool_run(s, st, f);
	if (!rc)
		rc = spool_note(s, r->message_id, now, f);
	if (!rc)
		rc = spool_run(s, spool_get(s, SPOOL_FORGET, r->message_id), f);
	return spool_end(s, !rc, f) ? f->code : rc;
}

static void read_result(sqlite3_stmt *st, struct arena *a, struct spool_result *r)
{
	r->seq = sqlite3_column_int64(st, 0);
	r->message_id = spool_text(st, 1, a);
	r->task_id = spool_text(st, 2, a);
	r->success = sqlite3_column_int(st, 3);
	r->exit_code = sqlite3_column_int64(st, 4);
	r->interrupted = sqlite3_column_int(st, 5);
	r->elapsed_secs = sqlite3_column_int64(st, 6);
	r->out = spool_text(st, 7, a);
	r->out_size = (size_t)sqlite3_column_bytes(st, 7);
	r->err = spool_text(st, 8, a);
	r->err_size = (size_t)sqlite3_column_bytes(st, 8);
}

int spool_result(struct spool *s, int64_t after, const char *message_id,
		 struct arena *arena, struct spool_result *r, struct fault *f)
{
	sqlite3_stmt *st = message_id ? spool_get(s, SPOOL_RESULT_OF, message_id)
				      : spool_get(s, SPOOL_RESULT, NULL);
	int rc;

	if (!message_id)
		sqlite3_bind_int64(st, 1, after);
	rc = spool_row(s, st, f);
	if (rc == 1)
		read_result(st, arena, r);
	sqlite3_reset(st);
	return rc;
}

int spool_ack(struct spool *s, const char *const *ids, size_t n, struct fault *f)
{
	int rc = n ? spool_begin(s, f) : 0;

	if (!n || rc)
		return rc;
	for (size_t i = 0; i < n && !rc; i++)
		rc = spool_run(s, spool_get(s, SPOOL_ACK, ids[i]), f);
	return spool_end(s, !rc, f) ? f->code : rc;
}

int spool_count(struct spool *s, struct spool_counts *c, struct fault *f)
{
	sqlite3_stmt *st = spool_get(s, SPOOL_COUNT, NULL);
	int rc = spool_row(s, st, f);

	if (rc == 1) {
		c->waiting = sqlite3_column_int64(st, 0);
		c->running = sqlite3_column_int64(st, 1);
		c->results = sqlite3_column_int64(st, 2);
	}
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* --- variables ------------------------------------------------------------------- */

int spool_set_env(struct spool *s, const char *name, const char *value, struct fault *f)
{
	sqlite3_stmt *st = spool_get(s, SPOOL_ENV_SET, name);

	sqlite3_bind_text(st, 2, value, -1, SQLITE_STATIC);
	return spool_run(s, st, f);
}

int spool_env(struct spool *s, const char *after, struct arena *arena, const char **name,
	      const char **value, struct fault *f)
{
	sqlite3_stmt *st = spool_get(s, SPOOL_ENV, after);
	int rc = spool_row(s, st, f);

	if (rc == 1) {
		*name = spool_text(st, 0, arena);
		*value = spool_text(st, 1, arena);
	}
	sqlite3_reset(st);
	return rc;
}
