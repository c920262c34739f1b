/*
 * mirror_mail - writes the log of a team's messages, if the configuration asks for the log.
 *
 * teams/TEAM/messages/DATE.md shows the messages of a day. When DATE.md is full, the next
 * messages are written to DATE-2.md, and so on. A full page changes only by a redaction. As
 * with any page of the mirror, the text of a person's edit is kept as DATE.conflict.md. New
 * messages are added after the last message of the newest page, so the pages keep messages that
 * the state no longer has.
 *
 * A message is shown as a heading, which ends with the message's number, and a quotation of the
 * text. No text can look like a heading, because each text is quoted. A redaction changes the
 * message's text in each file of the message's day, including people's files. Days and times
 * are in UTC.
 */
#ifndef CORE_MIRROR_MIRROR_MAIL_H
#define CORE_MIRROR_MIRROR_MAIL_H

#include "core/mirror/mirror_show.h"

enum { DAY_MS = 86400000 };

struct mirror_mail {
	bool on;
	struct ids days; /* days on which teams have messages to show */
	struct ids redacted; /* messages whose old texts a file may hold */
	struct text body; /* scratch: the text of a page after the frontmatter */
	/* If `check` is not NULL, `check` is called instead of files_put() for the page in
	 * show->page. */
	int (*check)(void *with, const char *team, const char *below, const char *file);
	void *with;
};

/* Frees the memory of the message log. */
void mail_release(struct mirror_mail *m);
/* Forgets the days and the redacted messages. */
void mail_forget(struct mirror_mail *m);

/* Adds the days of these messages to m->days, in a transaction of the caller. Returns 0 or a
 * negative fault code. */
int mail_follow(struct mirror_mail *m, struct call *call, const struct ids *messages);

/* Stages the pages of m->days. If `ended` is set, stages only pages of destroyed teams, else
 * only pages of living teams. Returns 1 if pages are left, 0 if no pages are left, or a fault
 * code. If pages are left, the call must be repeated after files_commit(). */
int mail_show(struct mirror_mail *m, struct mirror_show *s, bool ended);

/* Removes the texts of the messages in m->redacted from the files of these messages' days, even
 * if the log is off. Places the changed files. The messages stay in m->redacted as long as
 * another process still writes a replaced file. Returns 0 or a negative fault code. */
int mail_redact(struct mirror_mail *m, struct mirror_show *s);

/* Reads up to `limit` messages whose row numbers are higher than *row. For the days of these
 * messages, stages the pages of living teams that are missing or that lack messages. Sets *row
 * to the last message that was read, or to 0 at the end. Returns 1 if pages are left, 0 if no
 * pages are left, or a fault code. */
int mail_pass(struct mirror_mail *m, struct mirror_show *s, int64_t *row, int64_t limit);

#endif
