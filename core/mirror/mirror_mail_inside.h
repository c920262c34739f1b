/*
 * mirror_mail_inside - one file of the message log while it is open.
 */
#ifndef CORE_MIRROR_MIRROR_MAIL_INSIDE_H
#define CORE_MIRROR_MIRROR_MAIL_INSIDE_H

#include "core/mirror/mirror_mail.h"

struct sheet {
	struct mail *mail; /* whose scratch is used: one sheet at a time */
	struct show *show;
	int64_t team, day;
	char team_name[65], folder[FILES_PATH], file[20];
	int fd; /* -1: none */
	int64_t last; /* the newest message in it that is known */
	size_t loose; /* bytes at the end of mail->tail, behind that one */
	bool whole; /* nothing older is missing */
	bool wrote;
};

/* Opens the file and finds its last message: 1, 0 if there is none, negative.
 * `make`: one that is not there is made. */
int sheet_open(struct sheet *sh, bool make);

void sheet_add(struct sheet *sh, const struct mirror_mail_row *row);
/* Writes what was added. */
int sheet_flush(struct sheet *sh);

/* Keeps in mind how it was left, if it is whole. */
int sheet_close(struct sheet *sh);

#endif
