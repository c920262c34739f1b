/*
 * mirror_mail - the log of a team's messages, written if the configuration asks for the log.
 *
 * teams/TEAM/messages/DATE.md shows the messages of a day; when this page is full, the next
 * messages are written to DATE-2.md, and so on. A full page does not change. As with any page
 * of the mirror, the text of a person's edit is kept as DATE.conflict.md. A page keeps the
 * messages that the state no longer has, since new messages are added behind the last message
 * of the newest page. A message is shown as a heading that ends with the message's number, and
 * the text as a quotation, so that no text can look like a heading. A redaction changes the
 * text of the message in each file of that day, a person's files included. Days and times are
 * in UTC.
 */
#ifndef CORE_MIRROR_MIRROR_MAIL_H
#define CORE_MIRROR_MIRROR_MAIL_H

#include "core/mirror/mirror_show.h"

enum { DAY_MS = 86400000 };

struct mirror_mail {
	bool on;
	struct ids days; /* days of teams with messages to show */
	struct ids redacted; /* messages whose old texts a file may hold */
	struct text body; /* scratch: a page behind its frontmatter */
	/* Called instead of files_put() for the page in show->page; NULL: files_put() is
	 * called. */
	int (*check)(void *with, const char *team, const char *below, const char *file);
	void *with;
};

/* Frees the memory of the message log. */
void mail_release(struct mirror_mail *m);
/* Forgets the days and the redacted messages. */
void mail_forget(struct mirror_mail *m);

/* Adds the days of these messages to m->days, in a transaction of the caller: 0 or negative. */
int mail_follow(struct mirror_mail *m, struct call *call, const struct ids *messages);

/* Stages the pages of m->days, of living teams or of ended ones. 0, negative, or 1 if pages are
 * left: then the call must be repeated after files_commit(). */
int mail_show(struct mirror_mail *m, struct mirror_show *s, bool ended);

/* Takes the texts of m->redacted out of the files, logged or not, and places these files; the
 * messages stay in the list as long as another process still writes a replaced file. 0 or
 * negative. */
int mail_redact(struct mirror_mail *m, struct mirror_show *s);

/* Takes up to `limit` messages behind *row, and stages the pages of living teams that lack
 * messages of the same days. *row becomes the last of the messages taken, or 0 at the end.
 * Returns as mail_show() does. */
int mail_pass(struct mirror_mail *m, struct mirror_show *s, int64_t *row, int64_t limit);

#endif
