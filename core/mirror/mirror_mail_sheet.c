/* mirror_mail_sheet - finding the end of a day's file, and appending to it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mirror/mirror_file_inside.h"
#include "core/mirror/mirror_mail_inside.h"

enum {
	TAIL_BYTES = 65536, /* looked at first; then more */
	FEW = 8, /* files to sync one by one; files_commit() syncs the rest together */
};

/* --- its end ----------------------------------------------------------------------- */

int64_t sheet_heading(const char *line, size_t len)
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

int sheet_knows(struct mirror_sheet *sh, const char *line, int64_t id)
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

int sheet_read(struct mirror_sheet *sh, off_t from, off_t size)
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

int sheet_open(struct mirror_sheet *sh, bool make)
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

/* The file may end in an unfinished line: the start of this message, cut by a crash, or
 * something that a person typed. */
void sheet_add(struct mirror_sheet *sh, const struct mirror_mail_row *row)
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

int sheet_flush(struct mirror_sheet *sh)
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

int sheet_close(struct mirror_sheet *sh)
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
