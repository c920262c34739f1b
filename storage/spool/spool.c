#include "storage/spool/spool.h"

#include "storage/spool/spool_db.h"
#include "storage/words.h"

/* Takes the rows that were deleted out of the WAL, too: their pages are overwritten in the
 * file.  Pages that cannot be overwritten now are overwritten with the next rows. */
static void erase(struct spool *s)
{
	side_exec(spool_side(s), SQL_CHECKPOINT);
}

/* --- messages and assignments ------------------------------------------------------ */

int spool_knows(struct spool *s, const char *message_id, struct fault *f)
{
	struct spool_known_row row;

	return spool_row(s, spool_known, &row, NULL, f, .message_id = message_id);
}

int spool_note(struct spool *s, const char *message_id, int64_t now, struct fault *f)
{
	return spool_run(s, spool_note, f, .message_id = message_id, .at = now);
}

static int spool_check_room(struct spool *s, struct fault *f)
{
	struct spool_waiting_row row = { 0 };
	int rc = spool_row(s, spool_waiting, &row, NULL, f);

	if (rc < 0)
		return rc;
	if (row.n >= SPOOL_WAITING)
		return fault_set(f, FAULT_EXHAUSTED, "", "%d assignments wait already",
				 SPOOL_WAITING);
	return 0;
}

static int put_new(struct spool *s, const char *message_id, const char *content,
		   int64_t now, struct fault *f)
{
	int rc = spool_check_room(s, f);

	if (rc)
		return rc;
	rc = spool_note(s, message_id, now, f);
	if (rc)
		return rc;
	return spool_run(s, spool_put, f, .message_id = message_id, .content = content);
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
		rc = spool_run(s, spool_drop, f, .message_id = message_id);
	if (spool_end_counted(s, !rc, f))
		rc = f->code;
	if (!rc)
		erase(s);
	return rc;
}

int spool_next(struct spool *s, struct arena *arena, struct spool_assignment_row *a,
	       struct fault *f)
{
	return spool_row(s, spool_next, a, arena, f);
}

int spool_start(struct spool *s, const char *message_id, const char *task_id, int64_t now,
		struct fault *f)
{
	int rc = spool_begin(s, f);

	if (rc)
		return rc;
	rc = spool_run(s, spool_start, f, .message_id = message_id, .at = now,
		       .task_id = task_id);
	return spool_end_counted(s, !rc, f) ? f->code : rc;
}

/* --- results --------------------------------------------------------------------- */

int spool_finish(struct spool *s, const struct spool_result_row *r, int64_t now,
		 struct fault *f)
{
	int rc = spool_begin(s, f);

	if (rc)
		return rc;
	rc = spool_run(s, spool_finish, f, .message_id = r->message_id,
		       .task_id = r->task_id, .success = r->success,
		       .exit_code = r->exit_code, .interrupted = r->interrupted,
		       .elapsed_secs = r->elapsed_secs, .out = r->out, .err = r->err);
	if (!rc)
		rc = spool_note(s, r->message_id, now, f);
	if (!rc)
		rc = spool_run(s, spool_forget, f, .message_id = r->message_id);
	return spool_end(s, !rc, f) ? f->code : rc;
}

int spool_result(struct spool *s, int64_t after, const char *message_id,
		 struct arena *arena, struct spool_result_row *r, struct fault *f)
{
	if (message_id)
		return spool_row(s, spool_result_of, r, arena, f,
				 .message_id = message_id);
	return spool_row(s, spool_result, r, arena, f, .after = after);
}

int spool_ack(struct spool *s, const char *const *ids, size_t n, struct fault *f)
{
	int rc = n ? spool_begin(s, f) : 0;

	if (!n || rc)
		return rc;
	for (size_t i = 0; i < n && !rc; i++)
		rc = spool_run(s, spool_ack, f, .message_id = ids[i]);
	if (spool_end(s, !rc, f))
		rc = f->code;
	if (!rc)
		erase(s);
	return rc;
}

int spool_count(struct spool *s, struct spool_counts_row *c, struct fault *f)
{
	int rc = spool_row(s, spool_counts, c, NULL, f);

	return rc < 0 ? rc : 0;
}

/* --- variables ------------------------------------------------------------------- */

int spool_set_env(struct spool *s, const char *name, const char *value, struct fault *f)
{
	return spool_run(s, spool_env_set, f, .name = name, .value = value);
}

int spool_env(struct spool *s, const char *after, struct arena *arena, const char **name,
	      const char **value, struct fault *f)
{
	struct spool_env_row row;
	int rc = spool_row(s, spool_env, &row, arena, f, .after = after);

	if (rc == 1) {
		*name = row.name;
		*value = row.value;
	}
	return rc;
}
