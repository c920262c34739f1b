/*
 * mirror_mail_inside - a file of the message log while it is open.
 */
#ifndef CORE_MIRROR_MIRROR_MAIL_INSIDE_H
#define CORE_MIRROR_MIRROR_MAIL_INSIDE_H

#include "core/mirror/mirror_mail.h"

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

/* Opens the file and finds its last message: 1, 0 if there is no file, negative.  `make`:
 * a missing file is made. */
int sheet_open(struct mirror_sheet *sh, bool make);

/* Finds the name of the file, from its team and day: 1, or 0 if the team has no folder
 * (any more).  A destroyed team (`ended`) keeps its folder until that is archived. */
int sheet_name(struct mirror_sheet *sh, bool ended);

/* Reads the open file from a place on into mail->tail: 0 or negative. */
int sheet_read(struct mirror_sheet *sh, off_t from, off_t size);
/* The number in a heading, "## TIME NAMES <!-- NUMBER -->"; 0 if the line is no such
 * heading. */
int64_t sheet_heading(const char *line, size_t len);
/* Whether a heading belongs to a message of this state: 1, 0, negative.  After a restore an
 * old number may be that of another message. */
int sheet_knows(struct mirror_sheet *sh, const char *line, int64_t id);

/* Renders a message for the end of the file; sheet_flush() writes it. */
void sheet_add(struct mirror_sheet *sh, const struct mirror_mail_row *row);
/* Writes the messages that were added: 0 or negative. */
int sheet_flush(struct mirror_sheet *sh);

/* Closes the file, and remembers its state if it is complete: 0 or negative. */
int sheet_close(struct mirror_sheet *sh);

#endif
