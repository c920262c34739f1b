#include "core/mirror/mirror_mail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/mirror/mirror_file.h"

enum {
	PAGE_BYTES = 262144, /* size of a page at which the next page begins */
	PAGES = 16, /* maximum number of pages that a call of mail_show() stages */
	GAPS = 16, /* number of consecutive missing pages after which the search for pages
		      ends */
	CHUNK = 64, /* maximum number of messages in memory */
	DAY_BITS = 20, /* number of bits that hold a day's number */
	SLACK_MS = 3600000, /* the maximum time by which a clock may have been set back */
};

typedef struct mirror_mail_next_row head_row; /* number, team and time of a message */

/*
 * The pages that show one team's messages of one day. One page is in mail->body.
 */
struct mail_sheet {
	struct mirror_mail *mail;
	struct mirror_show *show;
	int64_t team, day;
	char team_name[65], folder[FILES_PATH], date[11], file[32];
	int pages; /* number of the newest page */
	int number; /* number of the page in mail->body */
	int64_t first, last, last_at; /* the page's first and last message (or 0), and the
					 last message's time */
	bool bounded; /* all further messages are added to the page, even if the page is
			 full */
	bool changed; /* messages were added to the page */
	size_t most; /* number of staged files at which the call of mail_show() ends */
	const struct mirror_mail_row *redacted;
};

/* --- which messages ---------------------------------------------------------------- */

/* Finds the first message that was sent at `at` or later. The result is exact only if messages
 * are numbered in the order of their times. */
static int mail_first_from(struct call *call, int64_t at, int64_t *id)
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

/* Limits the range of messages to the day of `sh`. If sh->last is 0, sets sh->last to a message
 * that is surely before the day. Lowers *upto to the last message that may belong to the day. */
static int mail_find_ends(struct mail_sheet *sh, int64_t *upto)
{
	const int64_t from = sh->day * DAY_MS, end = from + DAY_MS + SLACK_MS;
	struct call *call = &sh->show->call;
	int64_t first = sh->last + 1, behind = *upto;
	int rc = show_begin(sh->show, NULL);

	if (rc < 0)
		return rc;
	if (!sh->last)
		rc = mail_first_from(call, from - SLACK_MS, &first);
	if (rc >= 0 && end < call->now)
		rc = mail_first_from(call, end, &behind);
	show_end(sh->show);
	sh->last = first - 1;
	*upto = behind < *upto ? behind - 1 : *upto;
	return rc;
}

/* --- pages ----------------------------------------------------------------------- */

static const char *mail_page_name(struct mail_sheet *sh, int number)
{
	snprintf(sh->file, sizeof(sh->file), number > 1 ? "%s-%d.md" : "%s.md", sh->date,
		 number);
	return sh->file;
}

static void mail_begin_page(struct mail_sheet *sh, int number)
{
	sh->number = number;
	sh->first = 0;
	sh->changed = false;
	sh->mail->body.len = 0;
	text_addf(&sh->mail->body, "---\n\n# Messages of %s, %s\n\n", sh->team_name,
		  sh->date);
}

/* Stages the page whose text is in mail->body. */
static int mail_put_page(struct mail_sheet *sh, const char *file)
{
	struct mirror_mail *m = sh->mail;
	struct mirror_show *s = sh->show;
	struct text *t = page_start(&s->page, PAGE_MARKDOWN);

	text_addf(t, "team: \"%s\"\ndate: \"%s\"\nfirst: %" PRId64 "\n", sh->team_name,
		  sh->date, sh->first);
	text_addf(t, "last: %" PRId64 "\nlast_ms: %" PRId64 "\n", sh->last, sh->last_at);
	s->page.split = t->len;
	text_add(t, m->body.data, m->body.len);
	sh->changed = false;
	return m->check ? m->check(m->with, sh->team_name, "messages", file)
			: files_put(&s->files, sh->folder, file, &s->page, s->rev,
				    &s->call.fault);
}

/* Copies to mail->body the text of the file that was just read. Returns whether the mirror
 * wrote the file. */
static bool mail_take_page(struct mail_sheet *sh)
{
	const struct text *old = &sh->show->files.old;
	const size_t tail = page_tail(old->data, old->len);

	sh->mail->body.len = 0;
	text_add(&sh->mail->body, old->data + tail, old->len - tail);
	if (!tail)
		return false;
	sh->first = page_number(old->data, old->len, "first: ");
	sh->last = page_number(old->data, old->len, "last: ");
	sh->last_at = page_number(old->data, old->len, "last_ms: ");
	return true;
}

/* Returns 1 if the state has never had the last message of the page, 0 if the state had the
 * message, or a fault code. After the restore of an older state, a page may show messages that
 * the state has never had. Cleaning deletes messages, but never the newest message. */
static int mail_is_strange(struct mail_sheet *sh)
{
	head_row row;
	int rc = show_begin(sh->show, NULL);

	if (rc < 0)
		return rc;
	rc = sql_row(&sh->show->call, mirror_mail_next, &row, .id = sh->last, .limit = 1);
	show_end(sh->show);
	if (rc <= 0)
		return rc < 0 ? rc : 1;
	return row.id == sh->last && (row.team != sh->team || row.at != sh->last_at);
}

/* Reads a page. Returns 1 if the page was read, 0 if the page cannot be used, or a fault code.
 * A page cannot be used if it is missing, was edited by a person, or is of another state. */
static int mail_read_page(struct mail_sheet *sh, int number)
{
	struct mirror_show *s = sh->show;
	int rc = files_read(&s->files, sh->folder, mail_page_name(sh, number),
			    &s->files.old, &s->call.fault);

	if (rc <= 0 || !mail_take_page(sh))
		return rc < 0 ? rc : 0;
	sh->number = number;
	if ((rc = mail_is_strange(sh)) == 0)
		return 1;
	sh->last = 0;
	if (rc > 0 && !sh->mail->check) /* only this page shows the messages that the
					   state has lost */
		rc = files_set_aside(&s->files, sh->folder, sh->file, &s->call.fault);
	return rc < 0 ? rc : 0;
}

/* Adds a message to the page, or to the next page if this page is full. */
static int mail_add(struct mail_sheet *sh, const struct mirror_mail_row *row)
{
	struct mirror_mail *m = sh->mail;
	int rc = 0;

	if (m->body.len > PAGE_BYTES && !sh->bounded) {
		if (sh->changed)
			rc = mail_put_page(sh, mail_page_name(sh, sh->number));
		mail_begin_page(sh, sh->number + 1);
	}
	render_mail(row, &m->body);
	if (!sh->first)
		sh->first = row->id;
	sh->last = row->id;
	sh->last_at = row->at;
	sh->changed = true;
	return rc;
}

/* Adds the messages after sh->last, up to `upto`. Returns 1 if messages are left for the next
 * call, 0 if no messages are left, or a fault code. */
static int mail_fill(struct mail_sheet *sh, int64_t upto)
{
	struct call *call = &sh->show->call;
	struct arena_mark mark = arena_mark(&call->arena);
	bool full = false;
	size_t n = 0;
	int rc = mail_find_ends(sh, &upto);

	do {
		struct mirror_mail_row *rows = NULL;

		if (rc < 0 || (rc = show_begin(sh->show, NULL)) < 0)
			break;
		rc = sql_all(call, mirror_mail, &rows, &n, .after = sh->last,
			     .upto = upto, .team = sh->team, .day_from = sh->day * DAY_MS,
			     .day_upto = (sh->day + 1) * DAY_MS, .limit = CHUNK);
		show_end(sh->show);
		for (size_t i = 0; rc >= 0 && i < n; i++)
			rc = mail_add(sh, &rows[i]);
		arena_reset(&call->arena, mark);
		full = !sh->bounded && sh->show->files.n_staged >= sh->most;
	} while (n == CHUNK && !full);
	if (rc >= 0 && sh->changed)
		rc = mail_put_page(sh, mail_page_name(sh, sh->number));
	return rc < 0 ? rc : n == CHUNK && full;
}

/* --- days ------------------------------------------------------------------------ */

/* Adds new messages after the last message of the newest page that can be used. */
static int mail_go_on(struct mail_sheet *sh)
{
	int number = sh->pages, rc = 0;

	sh->last = 0;
	while (number > 0 && (rc = mail_read_page(sh, number)) == 0)
		number--;
	if (rc < 0)
		return rc;
	if (number == 0 || number < sh->pages)
		mail_begin_page(sh, number + 1);
	return mail_fill(sh, INT64_MAX - 1);
}

/* Writes the missing page `number` if the next page exists. If earlier pages are missing too,
 * their messages are added to this page. */
static int mail_bring_back(struct mail_sheet *sh, int number)
{
	struct mirror_show *s = sh->show;
	int64_t upto;
	int rc = files_read(&s->files, sh->folder, mail_page_name(sh, number),
			    &s->files.old, &s->call.fault);

	if (rc < 0 || (rc > 0 && s->files.old.len > 0) ||
	    (rc = mail_read_page(sh, number + 1)) <= 0)
		return rc < 0 ? rc : 0;
	if (s->files.n_staged >= sh->most)
		return 1;
	upto = sh->first - 1;
	sh->last = rc = 0;
	for (int before = number - 1; rc == 0 && before > 0; before--)
		rc = mail_read_page(sh, before);
	if (rc < 0)
		return rc;
	mail_begin_page(sh, number);
	sh->bounded = true;
	rc = mail_fill(sh, upto);
	sh->bounded = false;
	return rc;
}

/* Finds the team's name and folder, and counts the pages of the day. Returns 1 if the pages can
 * be shown in the team's folder, 0 if not, or a fault code. A destroyed team (`ended`) keeps
 * its folder until the folder is archived. */
static int mail_find_pages(struct mail_sheet *sh, bool ended)
{
	struct mirror_team_row team;
	char at[25], path[FILES_PATH + 33];
	int64_t has;
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
	snprintf(sh->date, sizeof(sh->date), "%.10s", at);
	for (int i = 1; i <= sh->pages + GAPS; i++) {
		snprintf(path, sizeof(path), "%s/%s", sh->folder, mail_page_name(sh, i));
		if (files_there(&sh->show->files, path))
			sh->pages = i;
	}
	return 1;
}

/* Combines a team and a day into one number. */
static int64_t mail_day(const head_row *head)
{
	return head->team << DAY_BITS | head->at / DAY_MS;
}

int mail_follow(struct mirror_mail *m, struct call *call, const struct ids *messages)
{
	head_row head;
	struct query q = { 0 };
	int rc;

	if (messages->n == 0)
		return 0;
	while ((rc = sql_each(call, &q, mirror_mail_heads, &head,
			      .ids = ids_json(messages, 0, messages->n, &call->arena))) >
	       0)
		ids_add(&m->days, mail_day(&head));
	ids_settle(&m->days);
	return rc;
}

/* Stages the messages of each day in `days`. If `whole` is set, also writes missing pages.
 * Returns 1 if some days are not finished, 0 if all days are finished, or a fault code. */
static int mail_show_days(struct mirror_mail *m, struct mirror_show *s,
			  const struct ids *days, bool ended, bool whole)
{
	const size_t most = s->files.n_staged + PAGES;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < days->n; i++) {
		struct mail_sheet sh = { .mail = m,
					 .show = s,
					 .team = days->v[i] >> DAY_BITS,
					 .day = days->v[i] & ((1 << DAY_BITS) - 1),
					 .most = most };

		if (s->files.n_staged >= most)
			return 1;
		if ((rc = mail_find_pages(&sh, ended)) <= 0)
			continue;
		rc = 0;
		for (int number = 1; whole && rc == 0 && number < sh.pages; number++)
			rc = mail_bring_back(&sh, number);
		if (rc == 0)
			rc = mail_go_on(&sh);
	}
	return rc;
}

int mail_show(struct mirror_mail *m, struct mirror_show *s, bool ended)
{
	return mail_show_days(m, s, &m->days, ended, false);
}

int mail_pass(struct mirror_mail *m, struct mirror_show *s, int64_t *row, int64_t limit)
{
	struct ids days = { 0 };
	int64_t last = 0;
	head_row head;
	struct query q = { 0 };
	int rc = show_begin(s, NULL);

	if (rc < 0)
		return rc;
	while ((rc = sql_each(&s->call, &q, mirror_mail_next, &head, .id = *row + 1,
			      .limit = limit)) > 0) {
		ids_add(&days, mail_day(&head));
		last = head.id;
	}
	show_end(s);
	ids_settle(&days);
	if (rc >= 0 && (rc = mail_show_days(m, s, &days, false, true)) == 0)
		*row = last;
	ids_release(&days);
	return rc;
}

void mail_forget(struct mirror_mail *m)
{
	m->days.n = m->redacted.n = 0;
}

void mail_release(struct mirror_mail *m)
{
	ids_release(&m->days);
	ids_release(&m->redacted);
	text_release(&m->body);
}

/* --- redaction ------------------------------------------------------------------- */

/* Replaces the redacted message's old text in mail->body with the text that the row has now.
 * The old text is the quotation below the message's heading. Returns whether mail->body has
 * changed. */
static bool mail_rewrite(struct mail_sheet *sh)
{
	struct text *body = &sh->mail->body, out = { 0 };
	const struct mirror_mail_row *row = sh->redacted;
	char time[25], start[20], mark[40];
	bool inside = false, quoted = false, changed;
	const char *line = body->data, *const end = line + body->len;

	time_format(row->at, time);
	snprintf(start, sizeof(start), "## %.12s ", time + 11);
	snprintf(mark, sizeof(mark), " <!-- %" PRId64 " -->", row->id);
	for (size_t n; line < end; line += n) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		n = (size_t)((stop ? stop + 1 : end) - line);
		if (inside && *line == '>') {
			if (!quoted)
				render_mail_text(row->content, &out);
			quoted = true;
			continue;
		}
		if (n > 3 && memcmp(line, "## ", 3) == 0)
			inside = !strncmp(line, start, strlen(start)) &&
				 memmem(line, n, mark, strlen(mark));
		else if (quoted)
			inside = false;
		quoted = false;
		text_add(&out, line, n);
	}
	changed = out.len != body->len || memcmp(out.data, body->data, out.len) != 0;
	text_release(body);
	*body = out;
	return changed;
}

/* Removes the redacted text from a file of the day. The file may be a page or a person's file. */
static int mail_redact_file(void *with, const char *name)
{
	struct mail_sheet *sh = with;
	struct files *fs = &sh->show->files;
	struct fault *f = &sh->show->call.fault;
	bool ours;
	int rc;

	if (strncmp(name, sh->date, 10) != 0)
		return 0;
	rc = files_read(fs, sh->folder, name, &fs->old, f);
	if (rc <= 0 || fs->old.len == 0 || fs->old.len > FILES_TEXT)
		return rc < 0 ? rc : 0;
	ours = mail_take_page(sh);
	if (!mail_rewrite(sh))
		return 0;
	rc = ours ? mail_put_page(sh, name)
		  : files_replace(fs, sh->folder, name, &sh->mail->body, f);
	return rc < 0 ? rc : 0;
}

/* Removes the redacted text from all files of the day. If a person changes a file while the
 * file is replaced, the person's version is kept beside the new file and may still have the
 * text. Therefore all files are checked again until a pass changes no file. */
static int mail_redact_one(struct mail_sheet *sh)
{
	struct files *fs = &sh->show->files;
	struct fault *f = &sh->show->call.fault;
	size_t changed;
	int rc = mail_find_pages(sh, false);

	if (rc == 0)
		rc = mail_find_pages(sh, true);
	if (rc <= 0 || (rc = files_commit(fs, f)) < 0)
		return rc;
	do {
		rc = files_list(fs, sh->folder, mail_redact_file, sh, f);
		changed = fs->n_staged;
		if (rc >= 0)
			rc = files_commit(fs, f);
	} while (rc >= 0 && changed);
	files_drop_spares(fs);
	return rc;
}

int mail_redact(struct mirror_mail *m, struct mirror_show *s)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < m->redacted.n; i++) {
		struct mirror_mail_row row;
		head_row head;

		if ((rc = show_begin(s, NULL)) < 0)
			break;
		rc = sql_row(&s->call, mirror_mail_next, &head, .id = m->redacted.v[i],
			     .limit = 1);
		if (rc > 0)
			rc = sql_row(&s->call, mirror_mail, &row,
				     .after = m->redacted.v[i] - 1,
				     .upto = m->redacted.v[i], .team = head.team,
				     .day_from = head.at, .day_upto = head.at + 1,
				     .limit = 1);
		show_end(s);
		if (rc > 0)
			rc = mail_redact_one(&(struct mail_sheet){ .mail = m,
								   .show = s,
								   .team = row.team,
								   .day = row.at / DAY_MS,
								   .redacted = &row });
	}
	if (rc >= 0 && !s->files.left)
		m->redacted.n = 0;
	arena_reset(&s->call.arena, mark);
	return rc < 0 ? rc : 0;
}
