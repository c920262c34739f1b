/*
 * mirror_mail - the log of a team's messages, written where the configuration asks for
 * it.
 *
 * teams/TEAM/messages/DATE.md shows the messages of a day; when that page is full, the next
 * messages come on DATE-2.md, and so on, and the full page stays as it is.  Each page is placed
 * as any page of the mirror: the text of a person's edit is kept as DATE.conflict.md.  A page
 * keeps the messages that the state no longer has, since new messages are added behind the last
 * message of the newest page.  A message is a heading that ends with its number, and its text as a
 * quotation, so that no text can look like a heading.  A redaction changes the text of the message
 * in each file of that day, a person's files included.  Days and times are UTC's.
 */
#ifndef CORE_MIRROR_MIRROR_MAIL_H
#define CORE_MIRROR_MIRROR_MAIL_H

#include "core/mirror/mirror_show.h"

enum { DAY_MS = 86400000 };

struct mirror_mail {
	bool on;
	struct ids days; /* of teams, that have messages to show */
	struct ids redacted; /* messages whose old texts a file may hold */
	struct text body; /* scratch: a page behind its frontmatter */
	/* Takes the place of files_put() for the page in show->page; NULL: pages are placed. */
	int (*check)(void *with, const char *team, const char *below, const char *file);
	void *with;
};

/* Frees the memory of the message log. */
void mail_release(struct mirror_mail *m);
/* Forgets the days and the redacted messages. */
void mail_forget(struct mirror_mail *m);

/* Adds the days of these messages to m->days, in a transaction of the caller: 0 or negative. */
int mail_follow(struct mirror_mail *m, struct call *call, const struct ids *messages);

/* Stages the pages of m->days, of living teams or of ended ones.  0, negative, or 1: some are
 * left, and the call must be repeated after files_commit(). */
int mail_show(struct mirror_mail *m, struct mirror_show *s, bool ended);

/* Takes the texts of m->redacted out of the files, logged or not, and places these files; the
 * messages stay in the list while another process writes a file that was replaced.  0 or
 * negative. */
int mail_redact(struct mirror_mail *m, struct mirror_show *s);

/* Stages the pages that lack messages, of living teams and the days of up to `limit` messages
 * behind *row; *row becomes the last of these messages, or 0 at the end.  Returns as mail_show()
 * does. */
int mail_pass(struct mirror_mail *m, struct mirror_show *s, int64_t *row, int64_t limit);

#endif
