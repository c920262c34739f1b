/*
 * mirror_mail_redact - takes the text of a redacted message out of the log.
 *
 * The bytes of the text are written over where they stand: the file keeps its size, so that
 * nothing that a person or the mirror writes at its end meanwhile is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mirror/mirror_file_inside.h"
#include "core/mirror/mirror_mail_inside.h"

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
