#include "core/mirror/mirror_mail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mirror/mirror_mail_inside.h"

enum {
	CHUNK = 64, /* messages in memory at once */
	MOST = 2048, /* messages that a turn adds to an incomplete file */
	SLACK_MS = 3600000, /* a clock may have been set back by so much */
};

typedef struct mirror_mail_next_row head_row; /* number, team and time */

/* --- which messages ---------------------------------------------------------------- */

/* Finds the first message from a time on, provided that numbers are in order of time. */
static int first_from(struct call *call, int64_t at, int64_t *id)
{
	struct mirror_mail_ends_row ends;
	int64_t low, high;
	head_row row;
	int rc = sql_row(call, mirror_mail_ends, &ends);

	if (rc <= 0)
		return rc;
	low = ends.oldest;
	high = ends.newest + 1;
	while (low < high) {
		int64_t mid = low + (high - low) / 2;

		rc = sql_row(call, mirror_mail_next, &row, .id = mid, .limit = 1);
		if (rc < 0)
			return rc;
		if (rc == 0 || row.at >= at)
			high = mid;
		else
			low = row.id + 1;
	}
	*id = low;
	return 0;
}

/* Lists up to `limit` messages of the file's team and day behind its last one. */
static int read_missing(struct mirror_sheet *sh, int64_t limit, struct ids *out)
{
	int64_t from = sh->day * DAY_MS, upto = from + DAY_MS, first, end;
	struct call *call = &sh->show->call;
	struct mirror_mail_of_row row;
	struct query q;
	int rc = show_begin(sh->show, NULL);

	if (rc < 0)
		return rc;
	if ((rc = first_from(call, from - SLACK_MS, &first)) < 0 ||
	    (rc = first_from(call, upto + SLACK_MS, &end)) < 0)
		goto out;
	if (first <= sh->last)
		first = sh->last + 1;
	sql_query(call, &q, mirror_mail_of, .after = first - 1, .upto = end - 1,
		  .team = sh->team, .day_from = from, .day_upto = upto, .limit = limit);
	while ((rc = sql_next(call, &q, &row)) > 0)
		ids_add(out, row.id);
out:
	show_end(sh->show);
	return rc;
}

/* --- one file ------------------------------------------------------------------------- */

/* Adds those of the messages `ids` (ascending) that the file does not have yet. */
static int add_messages(struct mirror_sheet *sh, const struct ids *ids)
{
	struct call *call = &sh->show->call;
	struct arena_mark mark = arena_mark(&call->arena);
	int rc = 0;

	for (size_t at = 0; rc >= 0 && at < ids->n; at += CHUNK) {
		size_t n = ids->n - at < CHUNK ? ids->n - at : CHUNK, found = 0;
		struct mirror_mail_row *rows = NULL;

		if ((rc = show_begin(sh->show, NULL)) < 0)
			break;
		rc = sql_all(call, mirror_mail, &rows, &found,
			     .ids = ids_json(ids, at, n, &call->arena));
		show_end(sh->show);
		for (size_t i = 0; rc >= 0 && i < found; i++)
			if (rows[i].id > sh->last)
				sheet_add(sh, &rows[i]);
		if (rc >= 0)
			rc = sheet_flush(sh);
		arena_reset(&call->arena, mark);
	}
	return rc;
}

/* Adds messages behind the file's last one: 1 if some are left for the next turn, 0,
 * negative. */
static int add_missing(struct mirror_sheet *sh)
{
	struct ids ids = { 0 };
	int rc = read_missing(sh, MOST, &ids);

	if (rc >= 0)
		rc = add_messages(sh, &ids);
	sh->whole = rc >= 0 && ids.n < MOST;
	ids_release(&ids);
	return rc < 0 ? rc : !sh->whole;
}

int sheet_name(struct mirror_sheet *sh, bool ended)
{
	struct mirror_team_row team;
	int64_t has;
	char at[25];
	int rc = show_begin(sh->show, NULL);

	if (rc < 0)
		return rc;
	rc = sql_row(&sh->show->call, mirror_team, &team, .id = sh->team);
	show_end(sh->show);
	if (rc <= 0 || (team.destroyed_at != 0) != ended)
		return rc < 0 ? rc : 0;
	has = team_folder_row(sh->show, team.name);
	if (has < 0)
		return (int)has;
	if (has != sh->team && (ended || has != 0))
		return 0;
	snprintf(sh->team_name, sizeof(sh->team_name), "%s", team.name);
	team_folder(team.name, "messages", sh->folder);
	time_format(sh->day * DAY_MS, at);
	snprintf(sh->file, sizeof(sh->file), "%.10s.md", at);
	return 1;
}

/* Brings a file up to date: adds `ids`, or everything that it lacks when it is not known
 * to have all messages before them. */
static int write_sheet(struct mirror_mail *m, struct mirror_show *s, const head_row *of,
		       const struct ids *ids, bool ended)
{
	struct mirror_sheet sh = {
		.mail = m, .show = s, .team = of->team, .day = of->at / DAY_MS, .fd = -1
	};
	int rc, closed;

	if ((rc = sheet_name(&sh, ended)) <= 0 || (rc = sheet_open(&sh, true)) <= 0)
		return rc;
	rc = sh.whole ? add_messages(&sh, ids) : add_missing(&sh);
	closed = sheet_close(&sh);
	return rc < 0 ? rc : closed < 0 ? closed : rc;
}

/* --- many ------------------------------------------------------------------------------- */

static int by_file(const void *a, const void *b)
{
	const head_row *x = a, *y = b;
	int64_t x_day = x->at / DAY_MS, y_day = y->at / DAY_MS;

	if (x->team != y->team)
		return x->team < y->team ? -1 : 1;
	if (x_day != y_day)
		return x_day < y_day ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Takes the messages of one file from a list of heads that is sorted by file, from `i`
 * on: their numbers into `ids`; returns where the next file's begin. */
static size_t mirror_mail_take_file(const head_row *heads, size_t n, size_t i,
				    struct ids *ids)
{
	size_t next = i;

	for (ids->n = 0; next < n && heads[next].team == heads[i].team &&
			 heads[next].at / DAY_MS == heads[i].at / DAY_MS;
	     next++)
		ids_add(ids, heads[next].id);
	return next;
}

/* Brings each file up to date once; 1 if some are not finished. */
static int write_sheets(struct mirror_mail *m, struct mirror_show *s, head_row *heads,
			size_t n, bool ended)
{
	struct ids ids = { 0 };
	int rc = 0, more = 0;

	if (n > 1)
		qsort(heads, n, sizeof(*heads), by_file);
	for (size_t i = 0, next; rc >= 0 && i < n; i = next) {
		next = mirror_mail_take_file(heads, n, i, &ids);
		rc = write_sheet(m, s, &heads[i], &ids, ended);
		more |= rc > 0;
	}
	ids_release(&ids);
	m->synced = 0;
	return rc < 0 ? rc : more;
}

int mail_follow(struct mirror_mail *m, struct mirror_show *s, const struct ids *messages,
		bool ended)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	head_row *heads = NULL;
	size_t n = 0;
	int rc;

	if (messages->n == 0)
		return 0;
	if ((rc = show_begin(s, NULL)) < 0)
		return rc;
	rc = sql_all(&s->call, mirror_mail_heads, &heads, &n,
		     .ids = ids_json(messages, 0, messages->n, &s->call.arena));
	show_end(s);
	if (rc >= 0)
		rc = write_sheets(m, s, heads, n, ended);
	arena_reset(&s->call.arena, mark);
	return rc;
}

/* A page of heads behind *row, in the arena; *last is the page's last, or 0. */
static int mirror_mail_read_page(struct mirror_show *s, int64_t row, int64_t limit,
				 head_row **heads, size_t *n, int64_t *last)
{
	int rc = show_begin(s, NULL);

	if (rc < 0)
		return rc;
	rc = sql_all(&s->call, mirror_mail_next, heads, n, .id = row + 1, .limit = limit);
	show_end(s);
	*last = rc >= 0 && *n > 0 ? (*heads)[*n - 1].id : 0;
	return rc;
}

int mail_pass(struct mirror_mail *m, struct mirror_show *s, int64_t *row, int64_t limit)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	head_row *heads = NULL;
	int64_t last;
	size_t n = 0;
	int rc = mirror_mail_read_page(s, *row, limit, &heads, &n, &last);

	if (rc >= 0)
		rc = write_sheets(m, s, heads, n, false);
	if (rc == 0)
		*row = last;
	arena_reset(&s->call.arena, mark);
	return rc;
}

/* Whether the file lacks messages; its name has been found already. */
static int lacks(struct mirror_sheet *sh)
{
	struct ids ids = { 0 };
	int rc;

	sh->mail->text.len = 0;
	if ((rc = sheet_open(sh, false)) < 0)
		return rc;
	rc = read_missing(sh, 1, &ids);
	if (sh->fd >= 0)
		close(sh->fd);
	if (rc >= 0)
		rc = ids.n > 0 || sh->mail->text.len > 0;
	ids_release(&ids);
	return rc;
}

int mail_verify(struct mirror_mail *m, struct mirror_show *s, int64_t *row, int64_t limit,
		void (*tell)(void *with, const char *folder, const char *file),
		void *with)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	struct ids ids = { 0 };
	head_row *heads = NULL;
	size_t n = 0;
	int rc = mirror_mail_read_page(s, *row, limit, &heads, &n, row);

	if (rc >= 0 && n > 1)
		qsort(heads, n, sizeof(*heads), by_file);
	for (size_t i = 0, next; rc >= 0 && i < n; i = next) {
		struct mirror_sheet sh = { .mail = m,
					   .show = s,
					   .team = heads[i].team,
					   .day = heads[i].at / DAY_MS,
					   .fd = -1 };

		next = mirror_mail_take_file(heads, n, i, &ids);
		if ((rc = sheet_name(&sh, false)) > 0 && (rc = lacks(&sh)) > 0)
			tell(with, sh.folder, sh.file);
	}
	ids_release(&ids);
	arena_reset(&s->call.arena, mark);
	return rc < 0 ? rc : 0;
}

void mail_forget(struct mirror_mail *m)
{
	memset(m->logs, 0, sizeof(m->logs));
}

void mail_release(struct mirror_mail *m)
{
	text_release(&m->text);
	text_release(&m->tail);
	text_release(&m->entry);
}
