/*
 * mirror_mail - the log of a team's messages, written where the configuration asks for
 * it.
 *
 * teams/TEAM/messages/DATE.md is only ever appended to, so what a person writes
 * into it stays; only the text of a redacted message is written over.  A message is a heading that
 * ends with its number, and its text as a quotation, so that no text can look like a heading.
 * Before the first append to a file the messages at its end are looked up in the rows: messages
 * missing after the last known message are appended, and a message that a crash cut short is
 * completed.  Days and times are UTC's.
 */
#ifndef CORE_MIRROR_MIRROR_MAIL_H
#define CORE_MIRROR_MIRROR_MAIL_H

#include <sys/types.h>

#include "core/mirror/mirror_show.h"

enum { MAIL_LOGS = 64, DAY_MS = 86400000 };

/* A log file that is known to be complete, as the mirror left it. */
struct mail_log {
	int64_t team, day; /* row; days since the epoch; team 0: none */
	int64_t last; /* message */
	ino_t inode;
	off_t size;
};

struct mirror_mail {
	bool on;
	struct mail_log logs[MAIL_LOGS];
	unsigned turn; /* index of the file that is forgotten next */
	int synced; /* files in this turn */
	struct text text, tail, entry; /* scratch: to write, the end, one message */
};

/* Frees the memory of the message log. */
void mail_release(struct mirror_mail *m);
/* Forgets all files: numbers may belong to other messages by now. */
void mail_forget(struct mirror_mail *m);

/* Logs these messages, of living teams or of ended ones; files_commit() makes them
 * durable.  0, negative, or 1: some are left, and the call must be repeated. */
int mail_follow(struct mirror_mail *m, struct mirror_show *s, const struct ids *messages,
		bool ended);

/* Takes the texts of redacted messages out of the files, logged or not: 0 or negative. */
int mail_redact(struct mirror_mail *m, struct mirror_show *s, const struct ids *messages);

/* Appends missing messages to the files of living teams, for the days of up to `limit`
 * messages behind *row; *row becomes the last of these, or 0 at the end.  Returns as
 * mail_follow() does. */
int mail_pass(struct mirror_mail *m, struct mirror_show *s, int64_t *row, int64_t limit);

/* mail_pass() that changes no file: calls `tell` for each file that lacks messages. */
int mail_verify(struct mirror_mail *m, struct mirror_show *s, int64_t *row, int64_t limit,
		void (*tell)(void *with, const char *folder, const char *file),
		void *with);

#endif
