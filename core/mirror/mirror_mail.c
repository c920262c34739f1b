#include "core/mirror/mirror_mail.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mirror/mirror_file.h"

/*
 * A file of the message log while it is open.
 */

struct mirror_sheet {
	struct mirror_mail
		*mail; /* owner of the scratch texts: one sheet is open at a time */
	struct mirror_show *show;
	int64_t team, day;
	char team_name[65], folder[FILES_PATH], file[20];
	int fd; /* -1: none */
	int64_t last; /* the newest message that is known to be in the file; 0: none */
	size_t loose; /* bytes at the end of mail->tail, behind that message */
	bool whole; /* the file has all older messages */
	bool wrote;
};

/* Finding the end of a day's file, and appending to it. */

enum {
	TAIL_BYTES = 65536, /* looked at first; then more */
	FEW = 8, /* files to sync one by one; files_commit() syncs the rest together */
};

/* --- its end ----------------------------------------------------------------------- */

/* The number in a heading, "## TIME NAMES <!-- NUMBER -->"; 0 if the line is no such
 * heading. */
static int64_t sheet_heading(const char *line, size_t len)
{
	static const char start[] = " <!-- ", end[] = " -->";
	size_t digits = len;
	int64_t n = 0;

	if (len < 30 || memcmp(line, "## ", 3) != 0 ||
	    memcmp(line + len - strlen(end), end, strlen(end)) != 0)
		return 0;
	len -= strlen(end);
	for (digits = len;
	     digits > 0 && line[digits - 1] >= '0' && line[digits - 1] <= '9';)
		digits--;
	if (len - digits > 18 || digits < strlen(start) ||
	    memcmp(line + digits - strlen(start), start, strlen(start)) != 0)
		return 0;
	for (; digits < len; digits++)
		n = n * 10 + line[digits] - '0';
	return n;
}

/* Whether a heading belongs to a message of this state: 1, 0, negative.  After a restore an
 * old number may be that of another message. */
static int sheet_knows(struct mirror_sheet *sh, const char *line, int64_t id)
{
	struct mirror_mail_next_row row;
	char at[25];
	int rc = show_begin(sh->show, NULL);

	if (rc < 0)
		return rc;
	rc = sql_row(&sh->show->call, mirror_mail_next, &row, .id = id, .limit = 1);
	show_end(sh->show);
	if (rc <= 0 || row.id != id || row.team != sh->team || row.at / DAY_MS != sh->day)
		return rc < 0 ? rc : 0;
	time_format(row.at, at);
	return memcmp(line + 3, at + 11, 12) == 0;
}

/* Finds the last heading in mail->tail that is known: 1, with its place and number, or
 * 0. */
static int find_heading(struct mirror_sheet *sh, bool from_start, size_t *at, int64_t *id)
{
	const struct text *tail = &sh->mail->tail;
	size_t end = tail->len;

	while (end > 0) {
		const char *before = memrchr(tail->data, '\n', end - 1);
		size_t start = before ? (size_t)(before - tail->data) + 1 : 0;
		size_t len = end - start;

		if (!before && !from_start)
			break;
		len -= tail->data[end - 1] == '\n';
		*id = sheet_heading(tail->data + start, len);
		if (*id > 0) {
			int rc = sheet_knows(sh, tail->data + start, *id);

			*at = start;
			if (rc != 0)
				return rc;
		}
		end = start;
	}
	return 0;
}

/* Compares the text at `at` with `entry`, which should stand there: a part that a crash
 * cut off is added, and the text behind it is loose. */
static void match(struct mirror_sheet *sh, size_t at)
{
	const struct text *tail = &sh->mail->tail, *entry = &sh->mail->entry;
	size_t there = tail->len - at;
	size_t both = there < entry->len ? there : entry->len;

	sh->loose = there;
	if (both > 0 && memcmp(tail->data + at, entry->data, both) != 0)
		return;
	sh->loose -= both;
	text_add(&sh->mail->text, entry->data + both, entry->len - both);
}

static int match_message(struct mirror_sheet *sh, size_t at)
{
	struct call *call = &sh->show->call;
	struct ids one = { .v = &sh->last, .n = 1 };
	struct mirror_mail_row row;
	int rc = show_begin(sh->show, NULL);

	if (rc < 0)
		return rc;
	rc = sql_row(call, mirror_mail, &row, .ids = ids_json(&one, 0, 1, &call->arena));
	show_end(sh->show);
	if (rc <= 0)
		return rc;
	sh->mail->entry.len = 0;
	render_mail(&row, &sh->mail->entry);
	match(sh, at);
	return 0;
}

/* Reads the open file from a place on into mail->tail: 0 or negative. */
static int sheet_read(struct mirror_sheet *sh, off_t from, off_t size)
{
	struct text *tail = &sh->mail->tail;
	char piece[16384];

	tail->len = 0;
	text_add(tail, "", 0);
	while (from < size) {
		size_t want = (size_t)(size - from) < sizeof(piece)
				      ? (size_t)(size - from)
				      : sizeof(piece);
		ssize_t n = pread(sh->fd, piece, want, from);

		if (n < 0 && errno != EINTR)
			return files_fault(&sh->show->call.fault, "read", sh->file);
		if (n == 0)
			break; /* the file was shortened meanwhile */
		text_add(tail, piece, n > 0 ? (size_t)n : 0);
		from += n > 0 ? n : 0;
	}
	return 0;
}

static int mirror_mail_sheet_find_end(struct mirror_sheet *sh, off_t size)
{
	off_t window = TAIL_BYTES;
	size_t at;
	int rc;

	for (;; window *= 4) {
		off_t from = size > window ? size - window : 0;

		if ((rc = sheet_read(sh, from, size)) < 0 ||
		    (rc = find_heading(sh, from == 0, &at, &sh->last)) < 0)
			return rc;
		if (rc > 0)
			return match_message(sh, at);
		if (from == 0)
			break;
	}
	sh->last = 0;
	sh->mail->entry.len = 0;
	render_mail_header(sh->team_name, sh->day, &sh->mail->entry);
	match(sh, 0);
	return 0;
}

/* --- opening ----------------------------------------------------------------------------- */

static struct mail_log *log_of(struct mirror_mail *m, int64_t team, int64_t day)
{
	for (int i = 0; i < MAIL_LOGS; i++)
		if (m->logs[i].team == team && m->logs[i].day == day)
			return &m->logs[i];
	return NULL;
}

/* Opens or makes the file, once: 1, 0 if there is none, -1. */
static int open_once(struct mirror_sheet *sh, int dir, bool make, struct stat *st)
{
	int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK;

	sh->fd = files_open_below(dir, sh->file, flags);
	if (sh->fd < 0 && errno == ENOENT && make) {
		sh->fd = files_open_below(dir, sh->file, flags | O_CREAT | O_EXCL);
		sh->show->files.made = true;
	}
	if (sh->fd >= 0 && fstat(sh->fd, st) == 0 && S_ISREG(st->st_mode))
		return 1;
	if (sh->fd < 0 && errno == ENOENT)
		return 0;
	if (sh->fd >= 0)
		close(sh->fd);
	sh->fd = -1;
	return -1;
}

/* A symlink or folder in the place of the file is a person's, and is moved aside. */
static int mirror_mail_sheet_open_file(struct mirror_sheet *sh, bool make,
				       struct stat *st)
{
	struct files *fs = &sh->show->files;

	for (int tries = 0; tries < 4; tries++) {
		int dir = files_folder(fs, sh->folder, make), rc;

		if (dir < 0)
			return errno == ENOENT || errno == ELOOP || errno == ENOTDIR ? 0
										     : -1;
		rc = open_once(sh, dir, make, st);
		if (rc > 0 || (rc == 0 && !make))
			return rc;
		if (rc < 0 &&
		    (!make || errno == EACCES || files_move_aside(dir, sh->file) < 0))
			return make ? -1 : 0;
	}
	return -1;
}

/* Opens the file and finds its last message: 1, 0 if there is no file, negative.  `make`:
 * a missing file is made. */
static int sheet_open(struct mirror_sheet *sh, bool make)
{
	const struct mail_log *log = log_of(sh->mail, sh->team, sh->day);
	struct stat st;
	int rc = mirror_mail_sheet_open_file(sh, make, &st);

	if (rc < 0)
		return files_fault(&sh->show->call.fault, "open", sh->file);
	if (rc == 0)
		return 0;
	sh->mail->text.len = 0;
	if (log && log->inode == st.st_ino && log->size == st.st_size) {
		sh->last = log->last;
		sh->whole = true;
		return 1;
	}
	rc = mirror_mail_sheet_find_end(sh, st.st_size);
	if (rc < 0) {
		close(sh->fd);
		sh->fd = -1;
	}
	return rc < 0 ? rc : 1;
}

/* --- appending ---------------------------------------------------------------------------- */

/* Renders a message for the end of the file; sheet_flush() writes it.  The file may end in an
 * unfinished line: the start of this message, cut by a crash, or something that a person
 * typed. */
static void sheet_add(struct mirror_sheet *sh, const struct mirror_mail_row *row)
{
	struct text *entry = &sh->mail->entry, *text = &sh->mail->text;
	const struct text *tail = &sh->mail->tail;
	size_t skip = 0;

	entry->len = 0;
	render_mail(row, entry);
	if (sh->loose > 0) {
		const char *loose = tail->data + tail->len - sh->loose;

		if (sh->loose <= entry->len && !memcmp(entry->data, loose, sh->loose))
			skip = sh->loose;
		else if (loose[sh->loose - 1] != '\n')
			text_add(text, "\n", 1);
		sh->loose = 0;
	}
	text_add(text, entry->data + skip, entry->len - skip);
	sh->last = row->id;
}

/* Writes the messages that were added: 0 or negative. */
static int sheet_flush(struct mirror_sheet *sh)
{
	struct text *text = &sh->mail->text;
	size_t done = 0;

	while (done < text->len) {
		ssize_t n = write(sh->fd, text->data + done, text->len - done);

		if (n < 0 && errno != EINTR)
			return files_fault(&sh->show->call.fault, "append to", sh->file);
		done += n > 0 ? (size_t)n : 0;
		sh->wrote = true;
	}
	text->len = 0;
	return 0;
}

static void mirror_mail_sheet_remember(struct mirror_sheet *sh)
{
	struct mail_log *log = log_of(sh->mail, sh->team, sh->day);
	struct stat st;

	if (!log)
		log = &sh->mail->logs[sh->mail->turn++ % MAIL_LOGS];
	*log = (struct mail_log){ 0 };
	if (sh->whole && fstat(sh->fd, &st) == 0)
		*log = (struct mail_log){ sh->team, sh->day, sh->last, st.st_ino,
					  st.st_size };
}

/* Closes the file, and remembers its state if it is complete: 0 or negative. */
static int sheet_close(struct mirror_sheet *sh)
{
	int rc = sheet_flush(sh);

	if (rc >= 0 && sh->wrote && ++sh->mail->synced > FEW)
		sh->show->files.made = true; /* files_commit() syncs all */
	else if (rc >= 0 && sh->wrote && fdatasync(sh->fd) < 0)
		rc = files_fault(&sh->show->call.fault, "sync", sh->file);
	if (rc < 0)
		sh->whole = false;
	mirror_mail_sheet_remember(sh);
	close(sh->fd);
	sh->fd = -1;
	return rc;
}

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

/* Finds the name of the file, from its team and day: 1, or 0 if the team has no folder
 * (any more).  A destroyed team (`ended`) keeps its folder until that is archived. */
static int sheet_name(struct mirror_sheet *sh, bool ended)
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

/*
 * Takes the text of a redacted message out of the log.
 *
 * The bytes of the text are written over where they stand: the file keeps its size, so that
 * nothing that a person or the mirror writes at its end meanwhile is lost.
 */

/* Finds the lines of a message in the file's text from `*at` on, behind its heading: 1, 0
 * if it is not there, negative. */
static int find_lines(struct mirror_sheet *sh, int64_t id, size_t *at)
{
	const struct text *file = &sh->mail->tail;
	size_t end;

	for (size_t start = *at; start < file->len; start = end + 1) {
		const char *line = file->data + start;
		const char *stop = memchr(line, '\n', file->len - start);

		end = stop ? (size_t)(stop - file->data) : file->len;
		if (sheet_heading(line, end - start) == id) {
			*at = end + 1;
			return sheet_knows(sh, line, id);
		}
	}
	return 0;
}

/* Writes over the quoted lines from `at` on: `note` where the first of them has room for it,
 * and dashes. Returns where they end. */
static size_t blank_lines(struct text *file, size_t at, const char *note)
{
	char *s = file->data;
	bool quoted = false;

	while (at < file->len) {
		const char *stop = memchr(s + at, '\n', file->len - at);
		size_t end = stop ? (size_t)(stop - s) : file->len;
		size_t room = end > at + 2 ? end - at - 2 : 0;
		size_t n = !quoted && room >= strlen(note) ? strlen(note) : 0;

		if (s[at] == '#' || (quoted && s[at] != '>'))
			break;
		if (s[at] == '>' && room) {
			memcpy(s + at + 2, note, n);
			memset(s + at + 2 + n, '-', room - n);
		}
		quoted |= s[at] == '>';
		at = end + 1;
	}
	return at < file->len ? at : file->len;
}

static int write_over(struct mirror_sheet *sh, size_t at, size_t end)
{
	const char *s = sh->mail->tail.data;

	while (at < end) {
		ssize_t n = pwrite(sh->fd, s + at, end - at, (off_t)at);

		if (n <= 0 && errno != EINTR)
			return files_fault(&sh->show->call.fault, "write", sh->file);
		at += n > 0 ? (size_t)n : 0;
	}
	if (fdatasync(sh->fd) < 0)
		return files_fault(&sh->show->call.fault, "sync", sh->file);
	return 0;
}

/* Takes the text out of the open file, also where a person copied it within that. */
static int redact_file(struct mirror_sheet *sh, const struct mirror_mail_row *row,
		       off_t size)
{
	size_t at = 0, end;
	int rc = sheet_read(sh, 0, size);

	while (rc >= 0 && (rc = find_lines(sh, row->id, &at)) > 0) {
		end = blank_lines(&sh->mail->tail, at, row->content);
		rc = write_over(sh, at, end);
		at = end;
	}
	return rc;
}

static int redact_in(struct mirror_sheet *sh, const struct mirror_mail_row *row)
{
	struct stat st;
	int dir = files_folder(&sh->show->files, sh->folder, false), rc;

	if (dir < 0)
		return 0;
	sh->fd = files_open_below(dir, sh->file, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
	if (sh->fd < 0 || fstat(sh->fd, &st) < 0 || !S_ISREG(st.st_mode))
		rc = 0; /* there is no log of that day */
	else
		rc = redact_file(sh, row, st.st_size);
	if (sh->fd >= 0)
		close(sh->fd);
	return rc;
}

static int redact_one(struct mirror_mail *m, struct mirror_show *s,
		      const struct mirror_mail_row *row)
{
	struct mirror_sheet sh = {
		.mail = m, .show = s, .team = row->team, .day = row->at / DAY_MS, .fd = -1
	};
	int rc = sheet_name(&sh, false);

	if (rc == 0)
		rc = sheet_name(&sh, true);
	return rc <= 0 ? rc : redact_in(&sh, row);
}

int mail_redact(struct mirror_mail *m, struct mirror_show *s, const struct ids *messages)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	struct mirror_mail_row *rows = NULL;
	size_t n = 0;
	int rc;

	if (messages->n == 0)
		return 0;
	if ((rc = show_begin(s, NULL)) < 0)
		return rc;
	rc = sql_all(&s->call, mirror_mail, &rows, &n,
		     .ids = ids_json(messages, 0, messages->n, &s->call.arena));
	show_end(s);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = redact_one(m, s, &rows[i]);
	arena_reset(&s->call.arena, mark);
	return rc;
}
